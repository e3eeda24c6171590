"""Two people decide: nobody is both of them, by whichever chain of invitations and links."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi import FastAPI
from hypothesis import event, example, given
from hypothesis import strategies as st

from discreet.web import Settings, create_app
from tests.web.accounts.test_accounts import link_on
from tests.web.client import BOTH_STORES, CHEAP, ORIGIN, PASSWORD, Browser, Clock, make_accounts, signed_in
from tests.web.puppeteers import Asked, House
from tests.web.release_data import approve, plan, seen_on, state_of, work_off
from tests.web.samples import account_number

NEW = {"password": PASSWORD, "again": PASSWORD}
LIMIT = {"database": "clinic", "name": "eve", "limit": "2.5", "action": "deny", "until": "", "reason": "a report"}


@pytest.fixture
def app(app: FastAPI) -> FastAPI:
    """With a custodian more, whom nobody invited."""
    make_accounts(app, "custodian2")
    return app


def invite(browser: Browser, name: str) -> Browser:
    """Invite a custodian and take the invitation up oneself."""
    link = link_on(browser.post("/accounts", {"name": name, "role": "custodian"}).text)
    return take_up(browser.app, link)


def link_to(browser: Browser, name: str) -> str:
    """A link to set the password of an account."""
    return link_on(browser.post(f"/accounts/{account_number(browser.app, name)}/link").text)


def take_up(app: FastAPI, link: str) -> Browser:
    browser = Browser(app)
    assert browser.post(link, NEW).status_code == 303
    return browser


def propose(browser: Browser) -> int:
    answer = browser.post("/gateway/limits", LIMIT)
    assert answer.status_code == 303, answer.text
    return int(answer.headers["location"].removeprefix("/gateway/limits/").partition("?")[0])


def decide(browser: Browser, number: int) -> int:
    return browser.post(f"/gateway/limits/{number}/approve").status_code


@BOTH_STORES
def test_an_account_that_an_invited_account_invited_is_no_second_person(app: FastAPI) -> None:
    one = signed_in(app, "custodian")
    number, release = propose(one), plan(app, one)
    work_off(app)
    third = invite(invite(one, "bruno"), "carla")
    assert decide(third, number) == 403
    assert third.post(f"/releases/plans/{release}/approve", {"seen": seen_on(signed_in(app, "custodian2"), release)}).status_code == 403  # fmt: skip
    assert state_of(app, release) == "planned"
    approve(app, release, "custodian2")
    assert decide(signed_in(app, "custodian2"), number) == 303


@BOTH_STORES
def test_nor_if_they_were_invited_long_before(app: FastAPI) -> None:
    one = signed_in(app, "custodian")
    third = invite(invite(one, "bruno"), "carla")
    assert decide(third, propose(one)) == 403


def test_nor_is_the_account_that_invited_the_one_that_asks(app: FastAPI) -> None:
    one = signed_in(app, "custodian")
    assert decide(one, propose(invite(invite(one, "bruno"), "carla"))) == 403


def test_nor_are_two_accounts_that_one_person_invited(app: FastAPI) -> None:
    one = signed_in(app, "custodian")
    assert decide(invite(invite(one, "carla"), "dieter"), propose(invite(one, "bruno"))) == 403


@pytest.mark.parametrize("made", ["before", "after"])
def test_nor_is_an_account_that_the_asker_took_over_by_a_link(app: FastAPI, clock: Clock, made: str) -> None:
    one = signed_in(app, "custodian")
    link = link_to(one, "custodian2") if made == "before" else ""
    clock.wait(seconds=1)
    number = propose(one)
    clock.wait(seconds=1)
    assert decide(take_up(app, link or link_to(one, "custodian2")), number) == 403


def test_a_link_that_nobody_used_takes_nothing_from_anybody(app: FastAPI) -> None:
    one = signed_in(app, "custodian")
    number = propose(one)
    link_to(one, "custodian2")
    assert decide(signed_in(app, "custodian2"), number) == 303


@contextmanager
def house(migrated: Path) -> Iterator[House]:
    """A house with nobody in it."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_KEYS", f"{folder}/keys")
        store = str(shutil.copy(migrated, folder))
        settings = Settings(store=store, data=Path(folder), origin=ORIGIN, clock=Clock(), hashing=CHEAP)
        app = create_app(settings)
        try:
            yield House(app)
        finally:
            app.state.site.close()


ACTS = ("add", "vouch", "invite", "link", "use", "take over", "role", "close", *["ask"] * 3, *["approve"] * 6)
Move = tuple[str, int, int, int]
START = ("add", 0, 0, 0)
moves = st.lists(st.tuples(st.sampled_from(ACTS), *[st.integers(0, 11)] * 3), min_size=8, max_size=40)


def play(made: House, move: Move) -> None:
    """One move, by whichever person controls whichever account."""
    act, first, second, third = move
    everybody, able = list(made.control), made.names
    if act == "add" or not able:
        made.operator_adds()
        made.use(list(made.control)[-1], by_its_maker=False)
        return
    by, name = able[first % len(able)], everybody[second % len(everybody)]
    person = sorted(made.control[by])[third % len(made.control[by])]
    match act:
        case "vouch":
            made.operator_links(name)
        case "invite":
            made.invite(by, person)
        case "link":
            made.link(by, person, name)
        case "use" | "take over":
            made.use(name, by_its_maker=act == "take over")
        case "role":
            made.change_role(by, name)
        case "close":
            made.close(by, name)
        case "ask":
            made.ask(("plan", "limit", "withdrawal")[second % 3], by)
        case "approve" if made.asked:
            decide_on(made, made.asked[second % len(made.asked)], by)


def decide_on(made: House, asked: Asked, name: str) -> None:
    """Approve it, if it waits, and see that the rule was kept: nobody is behind both, and nobody is refused in vain."""
    if asked.decided:
        return
    answer, granted = made.approves(asked, name), made.expects(asked, name)
    assert answer == (303 if granted else 403), (asked, name, made.history)
    if granted:
        asked.decided = True
        assert not asked.controlled_by & made.control[name], "one person could have asked and approved"


@given(moves)
@example([("ask", 0, 1, 0), ("invite", 0, 0, 0), ("take over", 0, 2, 0), ("invite", 2, 0, 0), ("take over", 0, 3, 0), ("approve", 3, 0, 0)])  # fmt: skip
@example([("link", 0, 1, 0), ("ask", 0, 1, 0), ("take over", 0, 1, 0), ("approve", 1, 0, 0)])
@example([("ask", 0, 1, 0), ("approve", 1, 0, 0), ("ask", 1, 2, 0), ("approve", 0, 1, 0)])
@example([("link", 0, 1, 0), ("take over", 0, 1, 0), ("vouch", 0, 1, 0), ("use", 0, 1, 0), ("ask", 0, 1, 0), ("approve", 1, 0, 0)])  # fmt: skip
def test_nobody_is_behind_both_eyes_and_nobody_honest_is_refused(migrated_store: Path, moves: list[Move]) -> None:
    """Random histories in which people invite, take over, vouch, close and ask, held against who controls what."""
    with house(migrated_store) as made:
        for move in [START, START, *moves]:
            play(made, move)
        waiting = [asked for asked in made.asked if not asked.decided]
        for asked, name in itertools.product(waiting[:3], made.names):
            assert made.offers(asked, name) == made.expects(asked, name), "the page offers what would be granted"
        granted = sum(asked.decided for asked in made.asked)
        event(f"asked: {bool(made.asked)}, approved: {bool(granted)}")
