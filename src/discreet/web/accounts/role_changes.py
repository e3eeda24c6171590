"""Role changes: an administrator proposes another role for an account, and a custodian decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select
from starlette.responses import Response

from discreet.store.tables.web import ACCOUNT, ROLE_CHANGE
from discreet.store.transitions import StateMachine
from discreet.web.accounts import accounts, second_approver
from discreet.web.accounts.accounts import Account, Act
from discreet.web.accounts.second_approver import Asked, History
from discreet.web.framework.context import Context, Here, by_number, go, or_again
from discreet.web.framework.permissions import GRANTED, PERMISSIONS, ROLES
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Page, Route, Submit

LONGEST_REASON = 400


@dataclass(frozen=True)
class RoleChange:
    """Another role for an account, and how far the decision is."""

    id: int
    account: int
    name: str
    """Of the account."""
    role: str
    was: str
    reason: str
    state: str
    proposer: str
    made: str
    entry: int
    decider: str | None
    decided: str | None
    answer: str | None
    """Why it was rejected."""

    @property
    def subject(self) -> str:
        """What the ledger calls the account."""
        return f"account:{self.name}"

    @property
    def asked(self) -> Asked:
        """What a custodian has to agree to."""
        return Asked(self.proposer, self.entry, "proposed", barred=self.name, about="This is about your own account.")


def too_late() -> Problem:
    """It was decided by another person, or the account has another role by now."""
    return Problem(409, "This has been decided by now, or the account has changed.", remedy="Look at it again.")


CHANGES = StateMachine(
    ROLE_CHANGE,
    {"proposed": ("approved", "rejected", "withdrawn"), "approved": (), "rejected": (), "withdrawn": ()},
    too_late,
)
_PROPOSER, _DECIDER = ACCOUNT.alias("proposer_account"), ACCOUNT.alias("decider_account")
_COLUMNS = ("id", "account", "role", "was", "reason", "state", "made", "entry", "decided", "answer")
_SELECTED = (
    select(
        *(ROLE_CHANGE.c[column] for column in _COLUMNS),
        ACCOUNT.c.name,
        _PROPOSER.c.name.label("proposer"),
        _DECIDER.c.name.label("decider"),
    )
    .join(ACCOUNT, ACCOUNT.c.id == ROLE_CHANGE.c.account)
    .join(_PROPOSER, _PROPOSER.c.id == ROLE_CHANGE.c.proposer)
    .outerjoin(_DECIDER, _DECIDER.c.id == ROLE_CHANGE.c.decider)
)


def find(connection: Connection, number: int) -> RoleChange | None:
    """By number."""
    row = connection.execute(_SELECTED.where(ROLE_CHANGE.c.id == number)).one_or_none()
    return None if row is None else RoleChange(**row._mapping)


def waiting(connection: Connection, *, account: int | None = None) -> list[RoleChange]:
    """All that await a decision, or those of an account, the newest first."""
    wanted = _SELECTED.where(ROLE_CHANGE.c.state == "proposed").order_by(ROLE_CHANGE.c.id.desc())
    if account is not None:
        wanted = wanted.where(ROLE_CHANGE.c.account == account)
    return [RoleChange(**row._mapping) for row in connection.execute(wanted)]


CHANGE = by_number("role change", find)
"""Proposals have no owner; who may decide on one is checked where it is decided."""


def propose(context: Context, person: Account) -> int:
    """Propose another role, which the account gets once a custodian approves it; gives the number of the proposal."""
    role = context.form.choice("role", list(ROLES))
    reason = context.form.text("reason", most=LONGEST_REASON)
    if role == person.role:
        raise Problem(422, "The account has this role already.", remedy="Choose another one.")
    if not reason:
        raise Problem(422, "A proposal needs a reason.", remedy="Say in a sentence why the role should change.")

    def along(connection: Connection) -> int:
        if waiting(connection, account=person.id):
            raise Problem(409, "Another role is proposed for this account.", remedy="Withdraw that proposal first.")
        values = {"account": person.id, "role": role, "was": person.role, "reason": reason, "state": "proposed"}
        values |= {"proposer": context.owner.id, "made": context.site.stamp()}
        values |= {"entry": second_approver.moment(connection)}
        return int(connection.execute(insert(ROLE_CHANGE).values(values).returning(ROLE_CHANGE.c.id)).scalar_one())

    details = {"act": Act.ROLE_PROPOSED.value, "role": role, "was": person.role, "reason": reason}
    number: int = context.act("web.account", f"account:{person.name}", along=along, **details)
    return number


def change_page(context: Here) -> Response:
    """One proposal, what it would change, and the decision."""
    with context.site.store.reading() as connection:
        change = find(connection, context.loaded.id) or context.loaded
        second = History.read(connection).view(connection, change.asked, context.owner.name, "accounts.approve")
    gained, lost = GRANTED[change.role] - GRANTED[change.was], GRANTED[change.was] - GRANTED[change.role]
    return context.page(
        "role_change.html",
        change=change,
        second=second,
        gained=[meaning for name, meaning in PERMISSIONS.items() if name in gained],
        lost=[meaning for name, meaning in PERMISSIONS.items() if name in lost],
    )


@or_again(change_page)
def approve(context: Here) -> Response:
    """Give the account its new role; sessions, tokens and links of the old one end."""
    change: RoleChange = context.loaded
    about = {"event": "web.account", "subject": change.subject, "act": Act.ROLE_CHANGED.value, "role": change.role}
    second_approver.require(context, change.asked, permission="accounts.approve", **about)
    site = context.site

    def along(connection: Connection) -> None:
        values: dict[str, Any] = {"decider": context.owner.id, "decided": site.stamp()}
        CHANGES.move(connection, ROLE_CHANGE.c.id == change.id, to="approved", **values)
        if not accounts.change_role(connection, change.account, change.role, was=change.was, now=site.stamp()):
            raise too_late()

    details = {"act": Act.ROLE_CHANGED.value, "role": change.role, "was": change.was, "proposed_by": change.proposer}
    context.act("web.account", change.subject, along=along, **details)
    return go(f"/accounts/changes/{change.id}", said="role-changed")


@or_again(change_page)
def reject(context: Here) -> Response:
    """Leave the account as it is, and say why."""
    change: RoleChange = context.loaded
    answer = context.form.text("reason", most=LONGEST_REASON)
    if context.owner.name in (change.proposer, change.name):
        words = (
            "You proposed this yourself" if context.owner.name == change.proposer else change.asked.about.rstrip(".")
        )
        details = {"act": Act.ROLE_REJECTED.value, "role": change.role}
        raise second_approver.refuse(
            context,
            "web.account",
            change.subject,
            f"{words}, so you cannot reject it.",
            second_approver.OTHERS,
            **details,
        )
    if not answer:
        raise Problem(422, "A rejection needs a reason.", remedy="Say in a sentence what should be different.")

    def along(connection: Connection) -> None:
        values: dict[str, Any] = {"decider": context.owner.id, "decided": context.site.stamp(), "answer": answer}
        CHANGES.move(connection, ROLE_CHANGE.c.id == change.id, to="rejected", **values)

    details = {"act": Act.ROLE_REJECTED.value, "role": change.role, "proposed_by": change.proposer, "reason": answer}
    context.act("web.account", change.subject, along=along, **details)
    return go(f"/accounts/changes/{change.id}", said="role-rejected")


@or_again(change_page)
def withdraw(context: Here) -> Response:
    """End the proposal without effect."""
    change: RoleChange = context.loaded

    def along(connection: Connection) -> None:
        CHANGES.move(connection, ROLE_CHANGE.c.id == change.id, to="withdrawn")

    context.act("web.account", change.subject, along=along, act=Act.ROLE_WITHDRAWN.value, role=change.role)
    return go(f"/accounts/changes/{change.id}", said="role-withdrawn")


ROLE_ROUTES: tuple[Route, ...] = (
    Page("/accounts/changes/{number}", "accounts.read", change_page, loads=CHANGE),
    Submit("/accounts/changes/{number}/approve", "accounts.approve", approve, loads=CHANGE),
    Submit("/accounts/changes/{number}/reject", "accounts.approve", reject, loads=CHANGE),
    Submit("/accounts/changes/{number}/withdraw", "accounts.change", withdraw, loads=CHANGE),
)
