"""The ledger as rooms use it, on both stores: spend, refuse, repeat, disclose, look and prove."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, insert, select, text

from discreet.errors import BudgetExhausted, KeyReused, Outdated, Refused, UsageError
from discreet.ledger import Ledger, Receipt, Request, merkle
from discreet.ledger.commit import write
from discreet.ledger.ledger import utc_now
from discreet.ledger.operations import Hold, Spend
from discreet.store.tables.ledger import NODE
from discreet.store.tables.web import LIMIT
from tests.examples import examples
from tests.ledger.conftest import Clock

WHO = {"actor": "ann", "event": "linkage.revealed"}


def spend(ledger: Ledger, cost: Any, key: str, **more: Any) -> Receipt:
    return ledger.spend("ann", cost, key=key, **{**WHO, **more})


@pytest.fixture
def rich(ledger: Ledger) -> Ledger:
    """A ledger in which Ann may spend ten."""
    ledger.set_budget("ann", limit=10, actor="custodian")
    return ledger


def test_a_spend_is_an_entry_with_all_it_should_say(rich: Ledger) -> None:
    digest = "ab" * 32
    receipt = spend(
        rich,
        3,
        "k1",
        subject="project:7/pair:12",
        risk_before=Fraction(31, 432),
        risk_after="3/4",
        policy=digest,
        details={"characters": 3},
    )
    (entry,) = rich.entries(last=1)
    assert entry == receipt.entry
    assert entry.to_dict() == {
        "sequence": 2,
        "time": "2026-03-01T12:00:00.000000Z",
        "clock": None,
        "actor": "ann",
        "room": "linkage",
        "event": "linkage.revealed",
        "outcome": "done",
        "subject": "project:7/pair:12",
        "risk_before": "31/432",
        "risk_after": "3/4",
        "policy": digest,
        "key": "k1",
        "budget": {
            "name": "ann",
            "parts": 1,
            "amount": 3,
            "held": 0,
            "allowed": 10,
            "spent": 3,
            "reserved": 0,
            "reservation": None,
            "expires": None,
        },
        "details": {"characters": 3},
        "previous": next(rich.entries(after=0)).leaf,
    }
    assert (receipt.granted, receipt.amount, receipt.left, receipt.replayed) == (True, 3, 7, False)


def test_the_last_part_is_granted_and_one_more_refused_and_both_are_entries(rich: Ledger) -> None:
    assert spend(rich, 10, "a").granted
    refused = spend(rich, 1, "b")
    assert not refused.granted
    assert [entry.outcome for entry in rich.entries(actor="ann")] == ["done", "refused"]
    assert rich.budget("ann").left == 0
    with pytest.raises(BudgetExhausted, match="has 0 left; this costs 1"):
        refused.require()


def test_the_same_key_gives_the_first_outcome_again_also_a_refusal(rich: Ledger) -> None:
    first, again = spend(rich, 4, "a"), spend(rich, 4, "a")
    assert (again.entry, again.leaf, again.replayed) == (first.entry, first.leaf, True)
    assert not spend(rich, 7, "b").granted
    rich.set_budget("ann", limit=100, actor="custodian")
    assert not spend(rich, 7, "b").granted
    assert spend(rich, 7, "c").granted
    assert rich.budget("ann").spent == 11
    assert rich.receipt(actor="ann", key="a") == Receipt(first.entry, first.leaf, replayed=True)
    assert rich.receipt(actor="bob", key="a") is None


@pytest.mark.parametrize("other", [{"cost": 5}, {"subject": "pair:2"}, {"event": "web.shown"}], ids=str)
def test_the_same_key_for_something_else_is_an_error(rich: Ledger, other: dict[str, Any]) -> None:
    asked = {"cost": 4, "key": "a", "subject": "pair:1"}
    spend(rich, **asked)
    with pytest.raises(KeyReused):
        spend(rich, **{**asked, **other})
    assert rich.budget("ann").spent == 4


def test_the_same_key_of_another_actor_is_another_request(rich: Ledger) -> None:
    assert not spend(rich, 4, "a").replayed
    assert not spend(rich, 4, "a", actor="bob").replayed


def test_the_same_key_twice_in_one_batch_is_one_entry(rich: Ledger) -> None:
    request = Request.of(**WHO, key="a", step=Spend("ann", Fraction(6)))
    receipts = [future.result() for future in [rich.submit(request) for _ in range(5)]]
    assert {receipt.sequence for receipt in receipts} == {2}
    assert rich.budget("ann").spent == 6


def test_amounts_are_exact_and_roundings_go_against_the_spender(ledger: Ledger) -> None:
    ledger.set_budget("kapr", limit=Fraction(1, 3), parts=1_000, actor="custodian")
    assert ledger.budget("kapr").limit == Fraction(333, 1000)
    assert ledger.spend("kapr", Fraction(1, 3000), key="a", **WHO).amount == Fraction(1, 1000)
    assert ledger.spend("kapr", 0.1, key="b", **WHO).amount == Fraction(101, 1000)  # the float is a little above 1/10
    assert ledger.spend("kapr", "1/10", key="c", **WHO).amount == Fraction(1, 10)
    assert ledger.budget("kapr").spent == Fraction(202, 1000)


def test_a_total_is_spent_up_to_and_never_twice(ledger: Ledger) -> None:
    ledger.set_budget("kapr", limit=1, parts=432, actor="custodian")
    now = ledger.budget("kapr")
    first = ledger.spend("kapr", to=Fraction(31, 432), version=now.version, key="a", **WHO)
    assert (first.amount, first.left) == (Fraction(31, 432), Fraction(401, 432))
    with pytest.raises(Outdated):
        ledger.spend("kapr", to=Fraction(3, 4), version=now.version, key="b", **WHO)
    second = ledger.spend("kapr", to=Fraction(3, 4), version=ledger.budget("kapr").version, key="b", **WHO)
    assert second.amount == Fraction(3, 4) - Fraction(31, 432)
    assert ledger.spend("kapr", to=Fraction(1, 2), key="c", **WHO).amount == 0
    assert ledger.spend("kapr", to=Fraction(3, 4), key="a", **WHO).entry == first.entry
    assert ledger.budget("kapr").spent == Fraction(3, 4)
    assert not ledger.spend("kapr", to=2, key="d", **WHO).granted


def test_what_is_wrong_with_a_spend_is_said_and_writes_nothing(rich: Ledger) -> None:
    wrong: list[dict[str, Any]] = [{"cost": -1}, {"cost": None}, {"cost": 1, "to": 1}, {"cost": float("nan")}]
    for asked in wrong:
        with pytest.raises(UsageError):
            rich.spend("ann", key="k", **asked, **WHO)
    with pytest.raises(UsageError, match="no budget 'bob'"):
        rich.spend("bob", 1, key="k", **WHO)
    assert rich.head()["size"] == 2
    assert not spend(rich, 10**30, "k").granted


def test_a_limit_can_be_raised_and_lowered_to_what_is_used(rich: Ledger) -> None:
    spend(rich, 4, "a")
    rich.set_budget("ann", limit=4, actor="custodian")
    assert not spend(rich, 1, "b").granted
    with pytest.raises(UsageError, match="4 of budget 'ann' is used"):
        rich.set_budget("ann", limit=3, actor="custodian")
    with pytest.raises(UsageError, match="1 parts"):
        rich.set_budget("ann", limit=5, parts=7, actor="custodian")
    rich.set_budget("ann", limit=5, actor="custodian", key="raise")
    rich.set_budget("ann", limit=5, actor="custodian", key="raise")
    with pytest.raises(KeyReused):
        rich.set_budget("ann", limit=6, actor="custodian", key="raise")
    assert spend(rich, 1, "c").granted
    wrong: dict[str, Any]
    for wrong in ({"limit": -1}, {"limit": 1, "parts": 0}, {"limit": 2**62}, {"limit": 1, "name": "a\nb"}):
        with pytest.raises(UsageError):
            rich.set_budget(**{"name": "new", "actor": "custodian", **wrong})


def test_nothing_is_sent_before_its_entry_is_durable(rich: Ledger) -> None:
    def send(receipt: Receipt) -> str:
        with rich.store.reading() as connection:  # another connection sees only what is committed
            found = connection.execute(
                text("SELECT outcome FROM ledger_entry WHERE key = :key"), {"key": receipt.entry.key}
            )
            return str(found.scalar())

    assert rich.disclose(send, budget="ann", cost=10, key="a", **WHO) == "done"
    assert rich.disclose(send, key="b", actor="ann", event="web.shown") == "done"
    with pytest.raises(Refused):
        rich.disclose(lambda receipt: pytest.fail("sent"), budget="ann", cost=1, key="c", **WHO)
    with pytest.raises(UsageError):
        rich.disclose(lambda receipt: pytest.fail("sent"), budget="nobody", cost=1, key="d", **WHO)


def test_a_refusal_by_a_room_is_an_entry(ledger: Ledger) -> None:
    receipt = ledger.refuse(actor="eve", event="gateway.answered", key="q", details={"reason": "not parsable"})
    assert not receipt.granted
    with pytest.raises(Refused, match="entry 1"):
        receipt.require()
    with pytest.raises(KeyReused):
        ledger.record(actor="eve", event="gateway.answered", key="q")
    assert [entry.outcome for entry in ledger.entries(room="gateway")] == ["refused"]


def note_node(connection: Connection) -> None:
    """Some change to the store that a room brings along; the table does not matter."""
    connection.execute(insert(NODE), [{"level": 1, "position": 1, "hash": "along"}])


def nodes(ledger: Ledger) -> list[str]:
    with ledger.store.reading() as connection:
        return list(connection.execute(select(NODE.c.hash)).scalars())


def test_changes_that_come_along_stand_and_fall_with_the_entry(rich: Ledger) -> None:
    def fail(connection: Connection) -> None:
        note_node(connection)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        spend(rich, 4, "a", along=fail)
    assert (nodes(rich), rich.budget("ann").spent, rich.receipt(actor="ann", key="a")) == ([], 0, None)
    assert not spend(rich, 11, "b", along=note_node).granted
    assert nodes(rich) == []
    assert spend(rich, 4, "a", along=note_node).granted
    assert spend(rich, 4, "a", along=note_node).replayed
    assert (nodes(rich), rich.budget("ann").spent) == (["along"], 4)


def test_the_failure_of_one_request_is_its_own(rich: Ledger) -> None:
    def fail(_connection: Connection) -> None:
        raise ZeroDivisionError

    steps = [Spend("ann", Fraction(1)), Spend("nobody", Fraction(1)), Spend("ann", Fraction(2))]
    asked = [Request.of(**WHO, key=f"{number}", step=step) for number, step in enumerate(steps)]
    futures = [rich.submit(request) for request in [*asked, Request.of(**WHO, key="z", step=steps[0], along=fail)]]
    assert futures[0].result().granted
    assert isinstance(futures[1].exception(), UsageError)
    assert futures[2].result().granted
    assert isinstance(futures[3].exception(), ZeroDivisionError)
    assert rich.budget("ann").spent == 3


def test_what_comes_along_is_written_in_groups_and_fails_by_itself(rich: Ledger) -> None:
    def entry(number: int, *, fails: bool) -> Request:
        def along(connection: Connection) -> None:
            connection.execute(insert(LIMIT), [{"key": f"along {number}", "since": "", "count": 1}])
            if fails:
                raise Outdated("Somebody was quicker.")

        return Request.of(**WHO, key=f"{number}", step=Spend("ann", Fraction(1)), along=along)

    asked = [entry(number, fails=number % 2 == 1) for number in range(12)]
    with rich.store.writing() as connection:
        outcomes, *_ = write(connection, asked, keys=rich.keys, clock=utc_now, store=rich.store, seen=None)
    assert [isinstance(outcome, Outdated) for outcome in outcomes] == [False, True] * 6
    assert noted(rich) == sorted(f"along {number}" for number in range(0, 12, 2))
    assert rich.budget("ann").spent == 6
    assert [entry.key for entry in rich.entries(event=WHO["event"])] == ["0", "2", "4", "6", "8", "10"]
    assert rich.verify().holds
    futures = [
        rich.submit(Request.of(**WHO, key=f"x{number}", step=Hold("ann", Fraction(1)), along=fail_late(number)))
        for number in range(4)
    ]
    assert [future.exception() is not None for future in futures] == [False, True, False, True]
    assert (rich.budget("ann").reserved, rich.verify().holds) == (2, True)


def noted(ledger: Ledger) -> list[str]:
    with ledger.store.reading() as connection:
        return sorted(connection.execute(select(LIMIT.c.key)).scalars())


def fail_late(number: int) -> Callable[[Connection], None]:
    def along(connection: Connection) -> None:
        connection.execute(insert(LIMIT), [{"key": f"held {number}", "since": "", "count": 1}])
        if number % 2:
            raise Outdated("Somebody was quicker.")

    return along


def test_asynchronous_callers_wait_without_a_thread_of_their_own(rich: Ledger) -> None:
    async def many() -> list[Receipt]:
        asked = [Request.of(**WHO, key=f"{number}", step=Spend("ann", Fraction(1))) for number in range(12)]
        return await asyncio.gather(*(asyncio.wrap_future(rich.submit(request)) for request in asked))

    with ThreadPoolExecutor(1) as thread:  # this one may have a loop already: that of a browser
        receipts = thread.submit(lambda: asyncio.run(many())).result()
    assert sum(receipt.granted for receipt in receipts) == 10


def test_a_request_that_is_taken_back_in_time_is_not_written(rich: Ledger) -> None:
    with rich.store.writing():  # nobody else can write meanwhile
        first = rich.submit(Request.of(**WHO, key="a", step=Spend("ann", Fraction(1))))
        while not first.running():
            pass
        second = rich.submit(Request.of(**WHO, key="b", step=Spend("ann", Fraction(1))))
        assert second.cancel()
    assert first.result().granted
    assert spend(rich, 1, "c").granted
    assert rich.receipt(actor="ann", key="b") is None


def test_a_closed_ledger_refuses(store_url: str) -> None:
    ledger = Ledger.open(store_url)
    ledger.record(actor="ann", event="web.shown")
    ledger.close()
    with pytest.raises(UsageError, match="closed"):
        ledger.record(actor="ann", event="web.shown")


def test_entries_are_chosen(rich: Ledger, clock: Clock) -> None:
    clock.turn(hours=1)
    for number, subject in enumerate(["project:7", "project:7/pair:1", "project:71", "project:7%/x", "project:7_"]):
        rich.record(actor="bob", event="web.shown", subject=subject, details={"n": number})
    clock.turn(hours=1)
    rich.record(actor="eve", event="releases.traced")

    def found(**wanted: Any) -> list[int]:
        return [entry.sequence for entry in rich.entries(**wanted)]

    assert found() == list(range(8))
    assert found(subject="project:7") == [2, 3]
    assert found(subject="project:7%") == [5]
    assert found(actor="bob", last=2) == [5, 6]
    assert found(room="releases") == found(event="releases.traced") == [7]
    assert found(after=5) == [6, 7]
    assert found(since=clock.now) == [7]
    assert found(until=clock.now, after=4) == [5, 6]
    assert found(outcome="refused") == []
    assert [budget.to_dict()["left"] for budget in rich.budgets()] == ["10"]


def test_a_clock_that_is_turned_back_changes_no_order(rich: Ledger, clock: Clock) -> None:
    clock.turn(hours=-1)
    spend(rich, 1, "a")
    clock.turn(hours=2)
    spend(rich, 1, "b")
    times = [(entry.time[11:16], entry.clock and entry.clock[11:16]) for entry in rich.entries()]
    assert times == [("12:00", None), ("12:00", None), ("12:00", "11:00"), ("13:00", None)]
    assert rich.verify().holds


@pytest.mark.parametrize("entries", [1, 255, 256, 257, 700])
def test_proofs_from_the_store_are_those_of_the_tree(ledger: Ledger, entries: int) -> None:
    asked = [Request.of(actor="ann", event="web.shown", key=f"{number}") for number in range(entries)]
    for future in [ledger.submit(request) for request in asked]:
        future.result()
    head = ledger.head()
    leaves = [bytes.fromhex(entry.leaf) for entry in ledger.entries()]
    assert head["size"] == len(leaves) == entries + 1
    tree = merkle.over(leaves)
    assert head["root"] == tree(0, len(leaves)).hex()
    for number in {0, 1, entries // 2, entries}:
        path = [bytes.fromhex(node) for node in ledger.prove_inclusion(number)]
        assert path == merkle.inclusion(tree, number, len(leaves))
        assert ledger.prove_inclusion(number, size=number + 1) == [
            node.hex() for node in merkle.inclusion(tree, number, number + 1)
        ]
    for old in {0, 1, entries // 2, entries, entries + 1}:
        assert ledger.prove_consistency(old) == [node.hex() for node in merkle.consistency(tree, old, len(leaves))]
    for wrong in (-1, entries + 1):
        with pytest.raises(UsageError):
            ledger.prove_inclusion(wrong)
    for wrong in (-1, entries + 2):
        with pytest.raises(UsageError):
            ledger.prove_consistency(wrong)
        with pytest.raises(UsageError):
            ledger.prove_consistency(0, size=wrong)
    assert ledger.verify(heads=[head]).holds


operations = st.lists(
    st.one_of(
        st.tuples(st.just("spend"), st.integers(0, 12)),
        st.tuples(st.just("to"), st.integers(0, 30)),
        st.tuples(st.just("reserve"), st.integers(0, 12)),
        st.tuples(st.just("settle"), st.integers(0, 12)),
        st.tuples(st.just("release"), st.just(0)),
        st.tuples(st.just("limit"), st.integers(0, 40)),
    ),
    max_size=12,
)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations)
def test_whatever_happens_the_budget_is_what_was_granted_and_never_exceeded(
    ledger: Ledger, done: list[tuple[str, int]]
) -> None:
    name = f"budget {ledger.head()['size']}"
    ledger.set_budget(name, limit=20, actor="custodian")
    limit, spent, held = 20, 0, []
    for number, (what, amount) in enumerate(done):
        words = {**WHO, "key": f"{name} {number}"}
        match what:
            case "spend":
                granted = ledger.spend(name, amount, **words).granted
                assert granted == (spent + sum(r.amount for r in held) + amount <= limit)
                spent += amount if granted else 0
            case "to":
                missing = max(0, amount - spent - sum(r.amount for r in held))
                granted = ledger.spend(name, to=amount, **words).granted
                assert granted == (spent + sum(r.amount for r in held) + missing <= limit)
                spent += missing if granted else 0
            case "reserve":
                receipt = ledger.reserve(name, amount, **words)
                assert receipt.granted == (spent + sum(r.amount for r in held) + amount <= limit)
                held += [receipt] if receipt.granted else []
            case "settle" if held:
                used = min(amount, held[-1].amount)
                spent += ledger.settle(held.pop(), used).amount
            case "release" if held:
                ledger.release(held.pop())
            case "limit" if amount >= spent + sum(r.amount for r in held):
                ledger.set_budget(name, limit=amount, actor="custodian")
                limit = amount
    found = ledger.budget(name)
    assert (found.limit, found.spent, found.reserved) == (limit, spent, sum(r.amount for r in held))
    assert ledger.verify().holds


def test_refusals_of_a_minute_are_one_entry_and_a_count(tmp_path: Path) -> None:
    """A thousand clicks are two entries; another person, another event and another minute have their own."""
    now = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
    ledger = Ledger.open(tmp_path / "store.db", clock=lambda: now)
    with ledger:
        receipts = {
            ledger.refuse_often(actor="eve", event="web.approved", subject="plan:1").sequence for _ in range(1_000)
        }
        other = ledger.refuse_often(actor="bob", event="web.approved", subject="plan:1")
        assert len(receipts) == 1
        assert [entry.actor for entry in ledger.entries(outcome="refused")] == ["eve", "bob"]
        now += timedelta(minutes=1)
        again = ledger.refuse_often(actor="eve", event="web.approved", subject="plan:2")
        ledger.refuse_often(actor="eve", event="web.approved", subject="plan:3")
        found = list(ledger.entries(outcome="refused"))
        assert [(entry.actor, entry.details.get("more")) for entry in found] == [
            ("eve", None),
            ("bob", None),
            ("eve", 999),
            ("eve", None),
        ]
        assert found[2].details == {"more": 999, "minute": "2026-05-04T09:00Z", "first": min(receipts)}
        assert other.sequence < again.sequence
    with Ledger.open(tmp_path / "store.db") as reopened:
        assert [entry.details.get("more") for entry in reopened.entries(outcome="refused")][-1] == 1
        assert reopened.verify().holds
