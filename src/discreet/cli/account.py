"""`discreet account`: accounts of the web application, created from outside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from discreet.cli.options import acting, added, as_option, option, store_option
from discreet.cli.output import say
from discreet.web.framework.permissions import ROLES

Command = TypeVar("Command", bound=Callable[..., Any])


def account_options(command: Command) -> Command:
    """The store, the address of the web application, and the person acting."""
    words = "Address of the web application, as given to `discreet serve`; the link starts with it."
    origin = option("--origin", metavar="URL", default="http://127.0.0.1:8000", help=words)
    return added((store_option, origin, as_option), command)


@click.group(name="account", short_help="Create accounts of the web application from outside it.")
def command() -> None:
    """Create accounts of the web application from outside it, independently of its custodians.

    What one custodian requests, another approves; a custodian whose account was made by the first one does not count.
    Give custodians who are to approve each other's work their accounts here, each in person. A link works once, for a
    day.

    \b
    Examples:
      discreet account add ann.lee                         a second custodian, invited by no other custodian
      discreet account link bob                            bob keeps the account and sets a new password
    """


@command.command(name="add")
@click.argument("name")
@option("--role", type=click.Choice(list(ROLES)), default="custodian", help="Their role.")
@account_options
def add(name: str, role: str, address: str | None, origin: str, actor: str | None) -> None:
    """Create an account, and print the link that opens it."""
    _print_link("add_by_operator", name, address, origin, actor, role=role)


@command.command(name="link")
@click.argument("name")
@account_options
def link(name: str, address: str | None, origin: str, actor: str | None) -> None:
    """Print a link to set the password of an account. Once used, it ends all sessions and tokens of the account.

    From then on the account counts as independent of every custodian, even if one created it.
    """
    _print_link("link_by_operator", name, address, origin, actor)


def _print_link(operation: str, name: str, address: str | None, origin: str, actor: str | None, **more: str) -> None:
    from discreet.web import require_extra

    require_extra()
    from discreet.ledger import Ledger
    from discreet.web import Settings
    from discreet.web.accounts import one_time_links

    settings = Settings(store=address, origin=origin)
    with Ledger.open(address, create=False) as ledger:
        link = getattr(one_time_links, operation)(ledger, settings, name=name, actor=acting(actor), **more)
    say(f"Give this link to {name} in person; it works once, for a day:")
    click.echo(link)
