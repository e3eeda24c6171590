"""A house of custodians and administrators in which a person may hold many accounts: the real application, and who controls what.

Each person begins with one account, which the operator gave them in person or which another person's link opened for them.
A person who makes a link to an account sees it, and so controls that account from when it is used: they may have used it
themselves. That is what this model keeps, person by person; the application knows nothing of persons.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from fastapi import FastAPI

from discreet.web.accounts import credentials
from discreet.web.releases import store as plans
from tests.web.accounts.test_accounts import link_on
from tests.web.client import ORIGIN, PASSWORD, Browser, signed_in
from tests.web.histories import OPERATOR, History, Step, may_approve, usable
from tests.web.samples import account_number, make_plan

LIMIT = {"database": "clinic", "limit": "2.5", "action": "deny", "until": "", "reason": "a report"}


@dataclass
class Asked:
    """Something that waits for a second person."""

    what: str
    """plan, limit or withdrawal."""
    number: int
    asker: str
    then: int
    controlled_by: frozenset[int]
    """Who controlled the account that asked, at that moment."""
    decided: bool = False


@dataclass
class House:
    """The application, its history, and who controls which account."""

    app: FastAPI
    history: History = field(default_factory=list)
    control: dict[str, set[int]] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    proposed: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    """Roles that wait: the account, the role, who proposed it."""
    holder: dict[str, int] = field(default_factory=dict)
    links: dict[str, tuple[str, int | None]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    people: Callable[[], int] = field(default_factory=lambda: itertools.count().__next__)

    def named(self, role: str) -> list[str]:
        """Accounts in this role that can be used."""
        return [
            name for name in self.roles if self.roles[name] == role and usable(self.history, name, len(self.history))
        ]

    def _happened(self, kind: str, account: str, by: str = OPERATOR, proposer: str = "") -> None:
        self.history.append(Step(kind, account, by, proposer))  # type: ignore[arg-type]

    def _new(self, role: str) -> str:
        name = f"person{len(self.control)}"
        self.control[name], self.roles[name] = set(), role
        return name

    def operator_adds(self, role: str) -> str:
        """A new account, handed to a person who has none."""
        name, site = self._new(role), self.app.state.site
        made = credentials.add_by_operator(site.ledger, site.settings, name=name, role=role, actor="root")
        self._happened("invited", name)
        self.links[name] = (made.removeprefix(ORIGIN), None)
        return name

    def operator_links(self, name: str) -> None:
        """A new link to an account, for a person who controls no other one: the operator looks whom it is."""
        others = [one for one, people in self.control.items() if one != name and self.holder.get(name) in people]
        if others or not usable(self.history, name, len(self.history)):
            return
        site = self.app.state.site
        made = credentials.link_by_operator(site.ledger, site.settings, name=name, actor="root")
        self._happened("linked", name)
        self.links[name] = (made.removeprefix(ORIGIN), None)

    def invite(self, by: str, person: int, role: str) -> None:
        """An administrator makes an account and sees its link."""
        name = self._new(role)
        page = signed_in(self.app, by).post("/accounts", {"name": name, "role": role}).text
        self._happened("invited", name, by)
        self.links[name] = (link_on(page), person)

    def link(self, by: str, person: int, name: str) -> None:
        """An administrator makes a link to an account and sees it."""
        answer = signed_in(self.app, by).post(f"/accounts/{account_number(self.app, name)}/link")
        if answer.status_code != 200:
            return  # it is closed
        self._happened("linked", name, by)
        self.links[name] = (link_on(answer.text), person)

    def use(self, name: str, *, by_its_maker: bool) -> None:
        """A link is used: by who made it, or by who it was meant for."""
        if name not in self.links:
            return
        path, maker = self.links.pop(name)
        user = maker if by_its_maker and maker is not None else self.holder.get(name)
        user = self.people() if user is None else user
        if Browser(self.app).post(path, {"password": PASSWORD, "again": PASSWORD}).status_code != 303:
            return  # taken back, since the account was closed or has another role
        self._happened("used", name)
        self.holder.setdefault(name, user)
        self.control[name] = {user} if maker is None else {*self.control[name], maker, user}

    def propose_role(self, by: str, name: str, role: str) -> None:
        """An administrator proposes another role for an account."""
        form = {"role": role, "reason": "a new post"}
        answer = signed_in(self.app, by).post(f"/accounts/{account_number(self.app, name)}/role", form)
        assert answer.status_code in (303, 409, 422), answer.text
        if answer.status_code == 303:
            self.proposed[int(re.findall(r"[0-9]+", answer.headers["location"])[0])] = (name, role, by)

    def approve_role(self, by: str, number: int) -> bool:
        """A custodian approves it, if the rule lets them; a change of a role is approved by two people as well."""
        name, role, proposer = self.proposed[number]
        answer = signed_in(self.app, by).post(f"/accounts/changes/{number}/approve").status_code
        if answer != 303:
            return False
        assert by not in (proposer, name)
        assert not self.control[by] & self.control[proposer], "one person could have proposed and approved"
        del self.proposed[number]
        self.roles[name] = role
        self._happened("role", name, by, proposer)
        return True

    def reset_factor(self, by: str, name: str) -> None:
        """An administrator removes the second factor of an account, which counts like a change of its role."""
        path = f"/accounts/{account_number(self.app, name)}/second-factor"
        if signed_in(self.app, by).post(path).status_code == 303:
            self._happened("role", name, by)

    def close(self, by: str, name: str) -> None:
        """Close an account, or open it again."""
        act = "close" if usable(self.history, name, len(self.history)) or name not in self.holder else "reopen"
        answer = signed_in(self.app, by).post(f"/accounts/{account_number(self.app, name)}/{act}")
        if answer.status_code == 303:
            self._happened("closed" if act == "close" else "reopened", name, by)

    def ask(self, what: str, by: str) -> None:
        """A plan of a release, a limit, or the withdrawal of one that holds."""
        then, people = len(self.history), frozenset(self.control[by])
        if what == "plan":
            number = make_plan(self.app, by)[0]
        elif what == "limit":
            form = {**LIMIT, "name": f"user{len(self.asked)}"}
            answer = signed_in(self.app, by).post("/gateway/limits", form)
            number = int(answer.headers["location"].removeprefix("/gateway/limits/").partition("?")[0])
        else:
            held = [one.number for one in self.asked if one.what == "limit" and one.decided]
            taken = [one.number for one in self.asked if one.what == "withdrawal"]
            free = [one for one in held if one not in taken]
            if not free:
                return
            number = free[0]
            assert signed_in(self.app, by).post(f"/gateway/limits/{number}/withdraw").status_code == 303
        self.asked.append(Asked(what, number, by, then, people))

    def expects(self, asked: Asked, name: str) -> bool:
        """Whether this account must be let approve it."""
        able = self.roles[name] == "custodian" and name in self.named("custodian")
        return able and may_approve(self.history, asked.asker, asked.then, name, len(self.history))

    def offers(self, asked: Asked, name: str) -> bool:
        """Whether the page of it offers to approve it."""
        page = signed_in(self.app, name).get(f"{PLACES[asked.what]}/{asked.number}").text
        return f'action="{PLACES[asked.what]}/{asked.number}{ACTS[asked.what]}"' in page

    def approves(self, asked: Asked, name: str) -> int:
        """Approve it; gives the answer's status."""
        with self.app.state.site.store.reading() as connection:
            plan = plans.find(connection, asked.number) if asked.what == "plan" else None
        path = f"{PLACES[asked.what]}/{asked.number}{ACTS[asked.what]}"
        return signed_in(self.app, name).post(path, {"seen": plan.seen if plan else ""}).status_code


PLACES = {"plan": "/releases/plans", "limit": "/gateway/limits", "withdrawal": "/gateway/limits"}
ACTS = {"plan": "/approve", "limit": "/approve", "withdrawal": "/withdrawal/approve"}
