"""Limits that two people agreed on: taken up by a running gateway, before the policy, and given up again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import StoreError
from discreet.gateway.analysis.disclosure import SEEN, UNTOLD, Publication
from discreet.gateway.enforcement.decide import (
    AgreedLimits,
    ExposureLimit,
    ExposureLimits,
    adds_nothing,
    decide,
    linked,
)
from discreet.gateway.enforcement.verdicts import Who
from discreet.ledger.entry import timestamp
from discreet.misuse import Exposure, Sensitivity
from discreet.store import Store, gateway_limits
from discreet.store.gateway_limits import PARTS, Agreed
from discreet.web.accounts import accounts
from tests.gateway.governed import Guarding, connected, policy
from tests.gateway.running import wait_for

LEVELS = (0.0, 0.2, 0.5, 1.0)
F = Sensitivity.from_dict({"a": {"otherwise": 1.0}, "b": {"otherwise": 1.0}, SEEN: {"otherwise": 0.0}})
EMPTY = Exposure(F, bucket=1e12)
WEIGHTS = st.sampled_from(LEVELS)
ROWS = st.lists(st.tuples(WEIGHTS, WEIGHTS, st.sampled_from([1, 2, 5])), min_size=1, max_size=6)


def publication(rows: list[tuple[float, float, int]], first: int = 0) -> Publication:
    a, b, crowds = zip(*rows, strict=True)
    return Publication(
        np.arange(first, first + len(rows)),
        {"a": np.array(a), "b": np.array(b)},
        np.array(crowds),
        {"a": LEVELS, "b": LEVELS},
        {"a": (0,), "b": (1,)},
        len(rows),
        reducible=True,
    )


def value(before: Exposure, told: Publication, rows: list[int]) -> float:
    return before.learn(told.knowledge(np.array(rows, dtype=np.int64)), at=1).value


@given(ROWS, ROWS, st.floats(0, 3))
@settings(deadline=None)
def test_the_largest_allowed_part(
    known: list[tuple[float, float, int]], rows: list[tuple[float, float, int]], limit: float
) -> None:
    before = EMPTY.learn(publication(known, 100).knowledge(), at=0)
    told = publication(rows)
    outcome = decide(before, told, ExposureLimit(limit, "subset"), at=1)
    places = range(len(rows))
    fitting = [
        len(some)
        for size in range(len(rows) + 1)
        for some in combinations(places, size)
        if value(before, told, list(some)) <= limit
    ]
    most = max(fitting, default=0)
    if outcome.what == "release":
        assert most == len(rows)
    elif outcome.what == "subset":
        assert outcome.rows is not None
        assert int(outcome.rows.sum()) == most
        assert outcome.after.value <= limit
    else:
        assert most == 0


@given(ROWS, st.floats(0, 3))
@settings(deadline=None)
def test_masks_bring_everything_within_the_limit(rows: list[tuple[float, float, int]], limit: float) -> None:
    told = publication(rows)
    outcome = decide(EMPTY, told, ExposureLimit(limit, "mask"), at=1)
    assert outcome.what in ("release", "mask")
    assert outcome.after.value <= limit
    if outcome.masked is not None:
        assert set(outcome.masked) == {"a", "b"}
        again = EMPTY.learn(told.knowledge(masked=outcome.masked), at=1)
        assert again.value == outcome.after.value


@given(ROWS)
@settings(deadline=None)
def test_the_same_again_adds_nothing(rows: list[tuple[float, float, int]]) -> None:
    told = publication(rows)
    once = EMPTY.learn(told.knowledge(), at=0)
    assert adds_nothing(once, once.learn(told.knowledge(), at=1))
    assert not adds_nothing(EMPTY, once)


def test_what_is_not_told_is_not_learned() -> None:
    told = Publication(
        np.array([1, 2]), {"a": np.array([1.0, UNTOLD])}, np.array([1, 1]), {"a": LEVELS}, {"a": (0,)}, 2
    )
    assert EMPTY.learn(told.knowledge(), at=0).value == 1.0
    assert EMPTY.learn(told.worst(), at=0).value == 1.0


def test_a_key_that_is_linked_makes_everybody_recognisable() -> None:
    seen = EMPTY.learn(publication([(1.0, 0.0, 5)] * 4).knowledge(), at=0)
    assert seen.value == 0.4
    link = Publication(np.array([9]), {SEEN: np.zeros(1)}, np.array([1]), {SEEN: (0.0,)}, marks=(77,), unmasks=True)
    after = decide(seen, link, ExposureLimit(9.0, "deny"), at=1).after
    assert after.value == 2.0
    later = publication([(1.0, 0.0, 5)], 50)
    assert linked(after, Publication(**{**later.__dict__, "marks": (77,)}), at=2)[1].crowds.tolist() == [1]


def test_a_limit_of_nothing_denies() -> None:
    outcome = decide(EMPTY, publication([(1.0, 1.0, 1)]), ExposureLimit(0.0, "deny"), at=0)
    assert (outcome.what, outcome.after) == ("deny", EMPTY)


NOW = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)


class Broken:
    """A store that cannot be read."""

    @contextmanager
    def reading(self) -> Iterator[Any]:
        raise StoreError("gone", remedy="wait")
        yield


def agreed(name: str, allowed: int, *, until: str | None = None, action: Any = "deny", number: int = 1) -> Agreed:
    return Agreed(number, "clinic", name, allowed * PARTS, action, until, "because", "approved", 1, timestamp(NOW))


def knowing(*known: Agreed, clock: Callable[[], datetime] = lambda: NOW) -> AgreedLimits:
    """What a gateway knows whose store has gone since."""
    found = AgreedLimits(Broken(), "clinic", clock=clock)  # type: ignore[arg-type]
    found._known = {one.name: one for one in known}
    return found


def who(user: str, application: str = "psql") -> Who:
    return Who(user, "clinic", application, "10.0.0.1", False, {})


def test_the_own_limit_comes_before_that_of_everybody_and_both_before_the_policy() -> None:
    chosen = policy(more='\n[[gateway.limits]]\nusers = ["ann"]\nlimit = 9.0\ncontext = "night"\n')
    limit = ExposureLimits(chosen.gateway, 2.0)  # type: ignore[arg-type]
    assert limit.now(who("ann"), frozenset()) == ExposureLimit(9.0, "deny", "night", "gateway.limits 1")
    assert limit.now(who("ben"), frozenset()) == ExposureLimit(2.0, "deny", rule="misuse.limit")
    both = ExposureLimits(
        chosen.gateway, 2.0, agreed=knowing(agreed("ann", 5, number=7), agreed("*", 1, action="mask"))
    )  # type: ignore[arg-type]
    assert both.now(who("ann"), frozenset()) == ExposureLimit(5.0, "deny", "night", "agreed 7"), (
        "weights stay the policy's"
    )
    assert both.now(who("ben"), frozenset()) == ExposureLimit(1.0, "mask", None, "agreed 1")


def test_the_application_is_told_only_where_the_policy_names_it() -> None:
    chosen = policy(more='\n[[gateway.limits]]\napplications = ["bi"]\nlimit = 1.0\n')
    limit = ExposureLimits(chosen.gateway, 2.0)  # type: ignore[arg-type]
    assert limit.now(who("ann", "bi"), frozenset()).application == "bi"
    assert limit.now(who("ann", "Mrs Miller, B20"), frozenset()).application == ""


@given(own=st.none() | st.integers(-3, 3), everybody=st.none() | st.integers(-3, 3), later=st.integers(0, 4))
def test_what_is_known_holds_without_the_store_but_never_longer_than_its_end(
    own: int | None, everybody: int | None, later: int
) -> None:
    """Hours from now to the end of each limit; None for a limit without an end."""
    ends = {"ann": own, "*": everybody}
    known = [
        agreed(name, 3, until=None if hours is None else timestamp(NOW + timedelta(hours=hours)), number=place)
        for place, (name, hours) in enumerate(ends.items())
    ]
    found = knowing(*known, clock=lambda: NOW + timedelta(hours=later))
    found.read()
    expected = next((place for place, hours in enumerate(ends.values()) if hours is None or hours > later), None)
    now = found.now("ann")
    assert (None if now is None else now.id) == expected


def test_a_user_named_like_everybody_has_no_limit_of_her_own() -> None:
    assert knowing(agreed("ann", 5)).now("*") is None


def agree(store: Store, name: str, allowed: float, **more: Any) -> Agreed:
    """Two people agree on a limit."""
    with store.writing() as connection:
        people = []
        for person in ("one", "other"):
            found = accounts.by_name(connection, person)
            people.append(found[0].id if found else accounts.add(connection, name=person, role="custodian", now="now"))
        now = timestamp(datetime.now(UTC))
        values = {"action": "deny", "until": None, "reason": "because", **more}
        number = gateway_limits.propose(
            connection,
            database="postgres",
            name=name,
            allowed=int(allowed * PARTS),
            account=people[0],
            now=now,
            entry=0,
            **values,
        )
        found_limit = gateway_limits.find(connection, number)
        assert found_limit is not None
        gateway_limits.approve(connection, found_limit, account=people[1], now=now)
        approved = gateway_limits.find(connection, number)
        assert approved is not None
    return approved


def end(store: Store, limit: Agreed) -> None:
    """The same two agree that it no longer holds."""
    now = timestamp(datetime.now(UTC))
    with store.writing() as connection:
        one, other = (accounts.by_name(connection, name) for name in ("one", "other"))
        assert one is not None
        assert other is not None
        gateway_limits.propose_withdrawal(connection, limit, account=one[0].id, now=now, entry=0)
        (asked,) = gateway_limits.withdrawals(connection, of=[limit.id], state="proposed")
        gateway_limits.approve(connection, asked, account=other[0].id, now=now)


def sees(connection: Any, key: int) -> bool:
    try:
        return connection.execute(f"SELECT diagnosis FROM patients WHERE id = {key}").fetchone() is not None
    except psycopg.errors.InsufficientPrivilege:
        return False


@pytest.mark.postgres
def test_a_running_gateway_takes_a_limit_up_and_gives_it_up_again(guard: Callable[..., Guarding]) -> None:
    running = guard(limit=1.0)
    with connected(running.url()) as ann, connected(running.url("ben")) as ben:
        assert [sees(ann, key) for key in (1, 2)] == [True, False]
        raised = agree(running.ledger.store, "ann", 2.0)
        wait_for(lambda: sees(ann, 2), seconds=10)
        assert [sees(ann, key) for key in (3, 4, 5)] == [True, True, False], "2 at x = 2 are four people"
        assert [sees(ben, key) for key in (1, 2)] == [True, False], "others have what the policy says"
        (refusal,) = [one for one in running.ledger.entries(actor="ann") if one.outcome == "refused"][-1:]
        assert (refusal.details["limit"], refusal.details["rule"]) == ("2", f"agreed {raised.id}")
        end(running.ledger.store, raised)
        wait_for(lambda: not sees(ann, 1), seconds=10)
        last = [one for one in running.ledger.entries(actor="ann") if one.outcome == "refused"][-1]
        assert (last.details["limit"], last.details["rule"]) == ("1", "misuse.limit")


@pytest.mark.postgres
def test_a_new_session_has_a_limit_for_everybody_at_once(guard: Callable[..., Guarding]) -> None:
    running = guard(limit=2.0)
    agree(running.ledger.store, "*", 1.0)
    with connected(running.url()) as ann:
        assert [sees(ann, key) for key in (1, 2)] == [True, False]
    agree(running.ledger.store, "ann", 2.0)
    with connected(running.url()) as ann:
        assert [sees(ann, key) for key in (2, 3, 4, 5)] == [True, True, True, False]


@pytest.mark.postgres
def test_a_limit_of_another_database_or_of_the_past_changes_nothing(guard: Callable[..., Guarding]) -> None:
    running = guard(limit=1.0)
    agree(running.ledger.store, "ann", 3.0, until=timestamp(datetime.now(UTC) - timedelta(seconds=1)))
    with connected(running.url()) as ann:
        assert [sees(ann, key) for key in (1, 2)] == [True, False]


@pytest.mark.postgres
def test_an_entry_says_what_set_the_limit_and_the_start_says_x(guard: Callable[..., Guarding]) -> None:
    running = guard(limit=1.0, more='\n[[gateway.limits]]\nusers = ["ann"]\nlimit = 2.0\n')
    with connected(running.url()) as ann:
        assert sees(ann, 1)
        given = [one for one in running.ledger.entries(actor="ann") if one.outcome == "reserved"]
    assert [one.details["rule"] for one in given] == ["gateway.limits 1"]
    (start,) = running.ledger.entries(event="gateway.started")
    assert start.details["x"] == "2"


@pytest.mark.postgres
def test_a_statement_that_is_not_run_has_a_reference_too(guard: Callable[..., Guarding]) -> None:
    running = guard()
    with connected(running.url()) as ann, pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
        ann.execute("CREATE TABLE own.taken AS SELECT diagnosis FROM patients")
    hint = caught.value.diag.message_hint or ""
    found = re.search(r"\(reference ([0-9A-F]{4})\)$", hint)
    assert found, hint
    (entry,) = [one for one in running.ledger.entries(actor="ann") if one.outcome == "refused"]
    assert entry.sequence == int(found[1], 16)
