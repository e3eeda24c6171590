"""`discreet account`: accounts of the web application that none of its custodians is behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from discreet.cli import console
from discreet.cli.ledger import store_option
from discreet.cli.link.lookup import actor_of, actor_option
from discreet.web.framework.permissions import ROLES

if TYPE_CHECKING:
    from discreet.ledger import Ledger
    from discreet.web import Settings

Command = TypeVar("Command", bound=Callable[..., Any])


def origin_option(command: Command) -> Command:
    """The option that says under which address people come in."""
    words = "What people type, as given to `discreet serve`; it is the beginning of the link."
    return click.option("--origin", metavar="URL", default="http://127.0.0.1:8000", show_default=True, help=words)(
        command
    )


@click.group(name="account", short_help="Let people into the web application, beside its custodians.")
def command() -> None:
    """Let people into the web application, beside its custodians.

    What one custodian asks for, another approves; one whose account the first has made does not count as another. So give
    custodians who shall approve each other's work their accounts here, each in person. A link works once, for a day.

    \b
    Examples:
      discreet account add ann.lee                         a second custodian, whom nobody invited
      discreet account link bob                            bob keeps the account, and alone knows its new password
    """


@command.command(name="add")
@click.argument("name")
@click.option(
    "--role", type=click.Choice(list(ROLES)), default="custodian", show_default=True, help="What they may do."
)
@store_option
@origin_option
@actor_option
def add(name: str, role: str, address: str | None, origin: str, actor: str | None) -> None:
    """Make an account, and print the link that opens it."""
    with _opened(address, origin) as (ledger, settings):
        from discreet.web import operating

        made = operating.add(ledger, settings, name=name, role=role, actor=actor_of(actor))
    _hand_out(name, made)


@command.command(name="link")
@click.argument("name")
@store_option
@origin_option
@actor_option
def link(name: str, address: str | None, origin: str, actor: str | None) -> None:
    """Print a link to set the password of an account. Once used, it ends all its sessions and tokens.

    From then on the account counts as one that no custodian has made or taken over, also if one did.
    """
    with _opened(address, origin) as (ledger, settings):
        from discreet.web import operating

        made = operating.new_link(ledger, settings, name=name, actor=actor_of(actor))
    _hand_out(name, made)


@contextmanager
def _opened(address: str | None, origin: str) -> Iterator[tuple[Ledger, Settings]]:
    from discreet.web import require_extra

    require_extra()
    from discreet.ledger import Ledger
    from discreet.web import Settings

    settings = Settings(store=address, origin=origin)
    with Ledger.open(address, create=False) as ledger:
        yield ledger, settings


def _hand_out(name: str, link: str) -> None:
    console.say(f"Hand this link to {name} in person; it works once, for a day:")
    click.echo(link)
