"""Whose actions led to an account: who invited it, gave out the links to its passwords or changed its role.

Replayed from the ledger, where nobody can change it afterwards, entry by entry, so that it is known for any moment. A link
counts once it is used, for the account that made it: its person has seen it. It counts for good, since a later link may have
been asked for in the name of another. Only the operator, on the command line, puts an account into the hands of one person
alone: by making it, or by a link that is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sqlalchemy import Connection, literal, select

from discreet.ledger import Entry
from discreet.store.tables.ledger import ENTRY
from discreet.store.tables.web import ACCOUNT
from discreet.web.accounts.accounts import Act
from discreet.web.ledger.store import entry_of

HARMLESS = frozenset({Act.SIGNED_OUT, Act.PASSWORD_CHANGED, Act.TOKEN_MADE, Act.TOKEN_REVOKED})
"""Acts that put an account into nobody's hands and leave it as it was; what is not known to be harmless counts."""


@dataclass(frozen=True)
class Origin:
    """Where an account came from."""

    hands: Mapping[str, int]
    """Everybody whose actions led to it, its own name included, each with the entry by which."""
    since: int | None
    """The entry since which it could be used without a break; None while it cannot be."""


@dataclass
class _Account:
    hands: dict[str, int]
    offered: Mapping[str, int] | None = field(default_factory=dict)
    """Whose hands come in with the link that waits to be used; None for a link of the operator."""
    has_password: bool = False
    since: int | None = None


def replay(entries: Iterable[Entry], *, before: int | None = None) -> dict[str, Origin]:
    """The origin of every account after these entries about accounts, or as it was before one of them."""
    known: dict[str, _Account] = {}
    for entry in entries:
        if before is not None and entry.sequence >= before:
            break
        _apply(known, entry)
    return {name: Origin(MappingProxyType(dict(one.hands)), one.since) for name, one in known.items()}


def _apply(known: dict[str, _Account], entry: Entry) -> None:
    name, number, act = entry.subject.removeprefix("account:"), entry.sequence, entry.details.get("act")
    account = known.setdefault(name, _Account({name: number}))
    match act:
        case Act.MADE:
            account.has_password, account.since = True, number
        case Act.INVITED | Act.LINKED:
            account.offered = _reach(known, entry)
        case Act.OPERATOR_INVITED | Act.OPERATOR_LINKED:
            account.offered = None
        case Act.PASSWORD_SET:
            _take_up(account, name, number)
        case Act.CLOSED:
            account.since = None
        case Act.REOPENED:
            account.since = number if account.has_password else None
        case _ if act not in HARMLESS:  # such as a change of the role
            account.hands = {**_reach(known, entry), **account.hands}
            account.since = None if account.since is None else number


def _reach(known: Mapping[str, _Account], entry: Entry) -> dict[str, int]:
    """Whose hands an act brings in: of the one who acts, and of everybody behind them at that moment."""
    behind = known[entry.actor].hands if entry.actor in known else {}
    return dict.fromkeys((*behind, entry.actor), entry.sequence)


def _take_up(account: _Account, name: str, number: int) -> None:
    if account.offered is None:  # a link of the operator: it shuts out everybody who was behind the account before
        account.hands, account.since = {name: number}, number
    else:
        account.hands = {**account.offered, **account.hands}
    account.offered, account.has_password = {}, True
    account.since = number if account.since is None else account.since


def account_entries(connection: Connection) -> tuple[Entry, ...]:
    """All that the ledger says was done to accounts, in order."""
    about = ENTRY.c.subject == literal("account:") + ACCOUNT.c.name  # by the index of subjects, however long the ledger
    done = (ENTRY.c.event == "web.account", ENTRY.c.outcome == "done")
    found = select(ENTRY.c.sequence, ENTRY.c.body).join(ACCOUNT, about).where(*done).order_by(ENTRY.c.sequence)
    return tuple(entry_of(row.sequence, row.body) for row in connection.execute(found))
