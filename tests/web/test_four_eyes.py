"""Two people decide: nobody is both of them, by whichever chain of invitations and links."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from fastapi import FastAPI
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from discreet.web import Settings, create_app
from discreet.web.accounts import accounts
from tests.examples import examples
from tests.web.accounts.test_accounts import link_on
from tests.web.client import BOTH_STORES, CHEAP, ORIGIN, PASSWORD, Browser, Clock, make_accounts, signed_in
from tests.web.puppeteers import House
from tests.web.release_data import approve, plan, seen_on, state_of, work_off
from tests.web.samples import account_number
from tests.web.test_matrix import make_token

PLACES = st.integers(0, 11)
MANY_ROLES = st.sampled_from(["custodian", "custodian", "administrator", "worker"])
NEW = {"password": PASSWORD, "again": PASSWORD}
LIMIT = {"database": "clinic", "name": "eve", "limit": "2.5", "action": "deny", "until": "", "reason": "a report"}


@pytest.fixture
def app(app: FastAPI) -> FastAPI:
    """With a custodian and an administrator more, whom nobody invited."""
    make_accounts(app, "custodian2", "administrator2")
    return app


def invite(browser: Browser, name: str, role: str = "custodian") -> Browser:
    """Invite a person and take the invitation up oneself."""
    link = link_on(browser.post("/accounts", {"name": name, "role": role}).text)
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
def test_two_accounts_that_one_administrator_made_are_no_two_people(app: FastAPI) -> None:
    """Not for a limit and not for a release; accounts that two administrators made are."""
    one = signed_in(app, "administrator")
    bruno, carla = invite(one, "bruno"), invite(one, "carla")
    number, release = propose(bruno), plan(app, bruno)
    work_off(app)
    assert decide(carla, number) == 403
    seen = {"seen": seen_on(signed_in(app, "custodian2"), release)}
    assert carla.post(f"/releases/plans/{release}/approve", seen).status_code == 403
    assert state_of(app, release) == "planned"
    approve(app, release, "custodian2")
    assert decide(signed_in(app, "custodian2"), number) == 303
    other = invite(signed_in(app, "administrator2"), "dora")
    assert decide(other, propose(bruno)) == 303


@BOTH_STORES
def test_nor_are_two_whose_passwords_one_administrator_reset(app: FastAPI) -> None:
    one = signed_in(app, "administrator")
    first = take_up(app, link_to(one, "custodian"))
    second = take_up(app, link_to(one, "custodian2"))
    assert decide(second, propose(first)) == 403


def test_nor_are_accounts_at_the_ends_of_a_chain_of_administrators(app: FastAPI) -> None:
    """An administrator invites another, who invites both."""
    deputy = invite(signed_in(app, "administrator"), "deputy", "administrator")
    first, second = invite(deputy, "bruno"), invite(signed_in(app, "administrator"), "carla")
    assert decide(second, propose(first)) == 403


def test_custodians_and_auditors_make_no_accounts_and_administrators_decide_nothing(app: FastAPI) -> None:
    for role in ("custodian", "auditor", "manager", "worker"):
        browser = signed_in(app, role)
        assert browser.post("/accounts", {"name": "eve", "role": "custodian"}).status_code == 403
        assert browser.post(f"/accounts/{account_number(app, 'worker')}/link").status_code == 403
        assert browser.post(f"/accounts/{account_number(app, 'worker')}/role", {"role": "custodian"}).status_code == 403
    administrator, number = signed_in(app, "administrator"), propose(signed_in(app, "custodian"))
    assert decide(administrator, number) == 403
    for path in ("/datasets", "/ledger", "/reports", "/releases", "/gateway", "/linkage", "/lab", "/tokens"):
        assert administrator.get(path).status_code == 403, path


def role_of(app: FastAPI, name: str) -> str:
    with app.state.site.store.reading() as connection:
        found = accounts.by_name(connection, name)
    assert found is not None
    return found[0].role


def propose_role(browser: Browser, name: str, role: str) -> str:
    form = {"role": role, "reason": "a new post"}
    answer = browser.post(f"/accounts/{account_number(browser.app, name)}/role", form)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"].partition("?")[0])


@BOTH_STORES
def test_a_role_is_changed_by_two_and_ends_sessions_and_tokens(app: FastAPI) -> None:
    administrator, worker = signed_in(app, "administrator"), signed_in(app, "worker")
    token = make_token(app, "worker", "dashboard.read")
    path = propose_role(administrator, "worker", "custodian")
    assert administrator.post(f"{path}/approve").status_code == 403
    assert worker.get("/account").status_code == 200
    assert role_of(app, "worker") == "worker"
    assert "worker as custodian" in signed_in(app, "custodian").get("/").text
    assert signed_in(app, "custodian").post(f"{path}/approve").status_code == 303
    assert role_of(app, "worker") == "custodian"
    assert worker.get("/account").status_code == 303, "the session of the old role has ended"
    api = Browser(app, headers={"Authorization": f"Bearer {token}"})
    assert api.get("/api/v1/me").status_code == 401
    assert signed_in(app, "custodian").post(f"{path}/approve").status_code in (403, 409), "it is decided"


def test_who_led_to_a_role_does_not_decide_with_it(app: FastAPI) -> None:
    """Neither the custodian who approved it, nor an account of the administrator who proposed it; and not about what was
    asked before."""
    before = propose(signed_in(app, "custodian2"))
    path = propose_role(signed_in(app, "administrator"), "worker", "custodian")
    assert signed_in(app, "custodian").post(f"{path}/approve").status_code == 303
    worker = signed_in(app, "worker")
    assert decide(worker, before) == 403
    assert decide(worker, propose(signed_in(app, "custodian"))) == 403
    assert decide(worker, propose(invite(signed_in(app, "administrator"), "bruno"))) == 403
    assert decide(worker, propose(signed_in(app, "custodian2"))) == 303


def test_an_administrator_does_not_approve_a_role_by_an_account_of_their_own(app: FastAPI) -> None:
    administrator = signed_in(app, "administrator")
    puppet = invite(administrator, "bruno")
    path = propose_role(administrator, "worker", "custodian")
    assert puppet.post(f"{path}/approve").status_code == 403
    oneself = propose_role(administrator, "custodian2", "auditor")
    assert signed_in(app, "custodian2").post(f"{oneself}/approve").status_code == 403, "nobody decides about themselves"
    assert (role_of(app, "worker"), role_of(app, "custodian2")) == ("worker", "custodian")


def test_a_role_is_rejected_with_a_reason_withdrawn_and_proposed_once(app: FastAPI) -> None:
    administrator, custodian = signed_in(app, "administrator"), signed_in(app, "custodian")
    path = propose_role(administrator, "worker", "manager")
    form = {"role": "auditor", "reason": "no"}
    assert administrator.post(f"/accounts/{account_number(app, 'worker')}/role", form).status_code == 409
    assert custodian.post(f"{path}/reject").status_code == 422
    assert custodian.post(f"{path}/reject", {"reason": "not needed"}).status_code == 303
    assert "not needed" in administrator.get(path).text
    again = propose_role(administrator, "worker", "manager")
    assert administrator.post(f"{again}/withdraw").status_code == 303
    assert custodian.post(f"{again}/approve").status_code == 409
    assert role_of(app, "worker") == "worker"


def test_the_last_administrator_keeps_the_role(app: FastAPI) -> None:
    administrator = signed_in(app, "administrator")
    assert administrator.post(f"/accounts/{account_number(app, 'administrator2')}/close").status_code == 303
    path = propose_role(administrator, "administrator", "worker")
    assert signed_in(app, "custodian").post(f"{path}/approve").status_code == 409
    assert role_of(app, "administrator") == "administrator"


@pytest.mark.parametrize("made", ["before", "after"])
def test_nor_is_an_account_that_the_asker_took_over_by_a_link(app: FastAPI, clock: Clock, made: str) -> None:
    """The administrator has an account as a custodian, and asks with it."""
    one = signed_in(app, "administrator")
    asker = invite(one, "bruno")
    link = link_to(one, "custodian2") if made == "before" else ""
    clock.wait(seconds=1)
    number = propose(asker)
    clock.wait(seconds=1)
    assert decide(take_up(app, link or link_to(one, "custodian2")), number) == 403


def test_nor_is_one_that_an_administrator_opened_again(app: FastAPI) -> None:
    """Of a person who left, and whose password is known to them."""
    one = signed_in(app, "administrator")
    for act in ("close", "reopen"):
        assert one.post(f"/accounts/{account_number(app, 'custodian2')}/{act}").status_code == 303
    assert decide(signed_in(app, "custodian2"), propose(invite(one, "bruno"))) == 403
    assert decide(signed_in(app, "custodian2"), propose(signed_in(app, "custodian"))) == 303


def test_a_link_that_nobody_used_takes_nothing_from_anybody(app: FastAPI) -> None:
    one = signed_in(app, "administrator")
    number = propose(invite(one, "bruno"))
    link_to(one, "custodian2")
    assert decide(signed_in(app, "custodian2"), number) == 303


class FourEyes(RuleBasedStateMachine):
    """People invite, take over, vouch, change roles, close and ask, held against who controls what.

    Each account action is one that the application offers, by whichever person controls whichever account; the model keeps
    who has seen which link. Two people must be behind whatever is approved, and nobody honest is refused.
    """

    migrated: Path

    def __init__(self) -> None:
        super().__init__()
        self.leaving = ExitStack()
        folder = self.leaving.enter_context(tempfile.TemporaryDirectory())
        self.leaving.enter_context(pytest.MonkeyPatch.context()).setenv("DISCREET_KEYS", f"{folder}/keys")
        store = str(shutil.copy(self.migrated, folder))
        settings = Settings(store=store, data=Path(folder), origin=ORIGIN, clock=Clock(), hashing=CHEAP)
        app = create_app(settings)
        self.leaving.callback(app.state.site.close)
        self.made = House(app)
        for role in ("administrator", "custodian", "custodian"):
            self.made.use(self.made.operator_adds(role), by_its_maker=False)
        boss = next(iter(self.made.control))
        for taken in (True, False):  # an administrator has invited two custodians, and is one of them
            self.made.invite(boss, self.person(0, boss), "custodian")
            self.made.use(list(self.made.control)[-1], by_its_maker=taken)

    def teardown(self) -> None:
        """Nothing that waits is offered to an account that would be refused, and the other way round."""
        made = self.made
        waiting = [asked for asked in made.asked if not asked.decided]
        for asked, name in itertools.product(waiting[:2], made.named("custodian")[:4]):
            assert made.offers(asked, name) == made.expects(asked, name), "the page offers what would be granted"
        self.leaving.close()

    def pick(self, place: int, role: str) -> str:
        """An account that can be used, in a role."""
        able = self.made.named(role)
        return able[place % len(able)] if able else ""

    def anybody(self, place: int) -> str:
        """Any account."""
        return list(self.made.control)[place % len(self.made.control)]

    def person(self, place: int, account: str) -> int:
        """One of the people who control it."""
        people = sorted(self.made.control[account])
        return people[place % len(people)]

    @rule(role=MANY_ROLES)
    def operator_adds(self, role: str) -> None:
        """The operator hands a new account to a new person."""
        self.made.use(self.made.operator_adds(role), by_its_maker=False)

    @rule(name=PLACES)
    def operator_vouches(self, name: int) -> None:
        """The operator hands the owner of an account a link."""
        self.made.operator_links(self.anybody(name))

    @rule(by=PLACES, person=PLACES, role=MANY_ROLES, takes=st.booleans())
    def invite(self, by: int, person: int, role: str, takes: bool) -> None:
        """An administrator invites, and may use the link themselves."""
        if administrator := self.pick(by, "administrator"):
            self.made.invite(administrator, self.person(person, administrator), role)
            if takes:
                self.made.use(list(self.made.control)[-1], by_its_maker=True)

    @rule(by=PLACES, person=PLACES, name=PLACES)
    def reset(self, by: int, person: int, name: int) -> None:
        """An administrator makes a link to an account."""
        if administrator := self.pick(by, "administrator"):
            self.made.link(administrator, self.person(person, administrator), self.anybody(name))

    @rule(name=PLACES, takes=st.booleans())
    def use(self, name: int, takes: bool) -> None:
        """A link that waits is used, before or after something was asked."""
        self.made.use(self.anybody(name), by_its_maker=takes)

    @rule(by=PLACES, name=PLACES, role=MANY_ROLES)
    def propose_role(self, by: int, name: int, role: str) -> None:
        """An administrator proposes another role."""
        if administrator := self.pick(by, "administrator"):
            self.made.propose_role(administrator, self.anybody(name), role)

    @rule(by=PLACES, which=PLACES)
    def approve_role(self, by: int, which: int) -> None:
        """A custodian tries to approve it."""
        custodian, proposed = self.pick(by, "custodian"), list(self.made.proposed)
        if custodian and proposed:
            self.made.approve_role(custodian, proposed[which % len(proposed)])

    @rule(by=PLACES, name=PLACES)
    def reset_factor(self, by: int, name: int) -> None:
        """An administrator removes a second factor."""
        if administrator := self.pick(by, "administrator"):
            self.made.reset_factor(administrator, self.anybody(name))

    @rule(by=PLACES, name=PLACES)
    def close(self, by: int, name: int) -> None:
        """An administrator closes an account, or opens it again."""
        if administrator := self.pick(by, "administrator"):
            self.made.close(administrator, self.anybody(name))

    @rule(by=PLACES, what=st.sampled_from(["plan", "limit", "withdrawal"]))
    def ask(self, by: int, what: str) -> None:
        """A custodian asks for something that two decide."""
        if custodian := self.pick(by, "custodian"):
            self.made.ask(what, custodian)

    @precondition(lambda self: any(not asked.decided for asked in self.made.asked))
    @rule(by=PLACES, which=PLACES)
    def approve(self, by: int, which: int) -> None:
        """A custodian approves: as the rule says, and never with one person behind both."""
        waiting, name = [asked for asked in self.made.asked if not asked.decided], self.pick(by, "custodian")
        if not name:
            return
        asked = waiting[which % len(waiting)]
        expected = self.made.expects(asked, name)
        assert self.made.approves(asked, name) == (303 if expected else 403), (asked, name, self.made.history)
        if expected:
            asked.decided = True
            assert not asked.controlled_by & self.made.control[name], "one person could have asked and approved"


def test_nobody_is_behind_both_eyes_and_nobody_honest_is_refused(migrated_store: Path) -> None:
    """Random histories of account actions."""
    FourEyes.migrated = migrated_store
    many = settings(max_examples=examples(30), stateful_step_count=30)
    run_state_machine_as_test(FourEyes, settings=many)  # type: ignore[no-untyped-call]
