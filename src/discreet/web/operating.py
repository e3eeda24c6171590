"""What the operator does on the command line: make an account, or a link to one, that no other account is behind.

Two people decide only if neither made the other's account, so that a third has to make accounts: the operator, who has the
store and its keys.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from discreet.errors import UsageError
from discreet.ledger import Ledger
from discreet.ledger.entry import timestamp
from discreet.web.accounts import accounts, one_time_links
from discreet.web.accounts.accounts import Act
from discreet.web.framework.settings import Settings


def add(ledger: Ledger, settings: Settings, *, name: str, role: str, actor: str) -> str:
    """A new account; gives the address of the link that opens it."""
    if not accounts.NAME.fullmatch(name):
        raise UsageError(accounts.NAME_WORDS, remedy="Give another name, such as ann.lee.")
    made: list[str] = []

    def along(connection: Connection) -> None:
        if accounts.by_name(connection, name) is not None:
            raise UsageError(
                "There is an account with this name already.",
                remedy="Choose another name; or give this one a new link with: discreet account link NAME",
            )
        number = accounts.add(connection, name=name, role=role, now=timestamp(settings.clock()))
        made.append(one_time_links.make(connection, settings, number))

    _record(ledger, Act.OPERATOR_INVITED, name, role, actor, along)
    return one_time_links.address(settings, made[-1])


def new_link(ledger: Ledger, settings: Settings, *, name: str, actor: str) -> str:
    """A link to set the password of an account; once it is used, nobody else is behind that account any more."""
    made: list[str] = []
    with ledger.store.reading() as connection:
        found = accounts.by_name(connection, name)
    if found is None:
        raise UsageError("There is no account with this name.", remedy="Make it with: discreet account add NAME")
    if found[0].disabled:
        raise UsageError("The account is closed.", remedy="Have a custodian open it again first, or make another one.")
    number, role = found[0].id, found[0].role

    def along(connection: Connection) -> None:
        made.append(one_time_links.make(connection, settings, number))

    _record(ledger, Act.OPERATOR_LINKED, name, role, actor, along)
    return one_time_links.address(settings, made[-1])


def _record(ledger: Ledger, act: Act, name: str, role: str, actor: str, along: Callable[[Connection], object]) -> None:
    details = {"act": act.value, "role": role}
    ledger.record(actor=actor, event="web.account", subject=f"account:{name}", details=details, along=along)
