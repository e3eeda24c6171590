"""`discreet serve`: the web application."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.main import in_good_order
from discreet.cli.options import FOLDER, acting, as_option, option, options, store_option
from discreet.cli.output import say
from discreet.errors import UsageError
from discreet.web.framework.permissions import ROLES

if TYPE_CHECKING:
    import socket

    from discreet.web import Settings
    from discreet.web.framework.shared_state import Site

LOOPBACK = "127.0.0.1"


@click.command(name="serve", short_help="Run the web application.")
@option("--store", "address", metavar="URL", help="The store: a path, or postgresql://... [$DISCREET_STORE].")
@option("--data", type=FOLDER, metavar="DIR", help="Folder for uploads and results.")
@option(
    "--folder",
    "folders",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    multiple=True,
    metavar="DIR",
    help="Folder whose files custodians may register in place; can be repeated.",
)
@option(
    "--server",
    "servers",
    multiple=True,
    metavar="HOST[:PORT]",
    help="PostgreSQL server whose tables custodians may register; can be repeated.",
)
@option("--jobs", type=click.IntRange(1, 64), default=2, help="Most jobs at a time.")
@option("--host", default=LOOPBACK, metavar="ADDRESS", help="Address to listen on.")
@option("--port", type=click.IntRange(0, 65_535), default=8000, help="Port; 0 for any free one.")
@option("--origin", metavar="URL", help="Public address, such as https://discreet.example; required beyond loopback.")
@option("--proxy", metavar="ADDRESS", help="The proxy whose X-Forwarded-For is trusted.")
@option("--demo", is_flag=True, help="Generated data and accounts in a temporary store; on loopback only.")
def command(
    address: str | None,
    data: Path | None,
    folders: tuple[Path, ...],
    servers: tuple[str, ...],
    jobs: int,
    host: str,
    port: int,
    origin: str | None,
    proxy: str | None,
    demo: bool,
) -> None:
    """Run the web application. The first start prints a link that creates the first account; it works once, for a day.

    \b
    Examples:
      discreet serve                                        on this machine, with a SQLite file
      discreet serve --demo                                 explore with generated people
      discreet serve --folder /srv/extracts                 let custodians register files of a folder
      discreet serve --store postgresql://db/discreet --origin https://discreet.example --proxy 127.0.0.1
    """
    from discreet.web import Settings, require_extra

    require_extra()
    from discreet.web.framework.app import listen

    if demo:
        from discreet.web.framework.settings import is_loopback

        if address is not None:
            raise UsageError("The demonstration has its own store.", remedy="Leave out --store, or --demo.")
        if not is_loopback(host) or origin is not None:
            raise UsageError(
                "The demonstration prints its passwords, so it stays on this machine.",
                remedy="Leave out --host and --origin.",
            )
    with listen(host, port) as listener:
        name = f"[{host}]" if ":" in host else host
        settings: dict[str, Any] = {
            "origin": origin or f"http://{name}:{listener.getsockname()[1]}",
            "folders": tuple(folder.absolute() for folder in folders),
            "servers": servers,
            "jobs_at_once": jobs,
        }
        if data is not None:
            settings["data"] = data.absolute()
        if not demo:
            _run(Settings(store=address, **settings), listener, proxy)
            return
        with in_good_order(), tempfile.TemporaryDirectory(prefix="discreet-demo-") as folder:
            temporary = {"data": Path(folder) / "data", **settings}
            _run(Settings(store=f"{folder}/store.db", demo=True, **temporary), listener, proxy)


def _run(settings: Settings, listener: socket.socket, proxy: str | None) -> None:
    from discreet.demo import web_data as web
    from discreet.web import create_app
    from discreet.web.framework.app import serve

    if settings.demo:
        web.begin(settings)
    app = create_app(settings)
    site: Site = app.state.site
    serve(app, listener, proxy=proxy, ready=lambda: _announce(site))


def _announce(site: Site) -> None:
    from discreet.demo import web_data as web
    from discreet.web.accounts import credentials

    say(f"Discreet runs at {site.settings.origin}  (store {site.store.address}; stop with Ctrl-C)")
    if site.settings.demo:
        say("Preparing generated data; the accounts follow in a moment.")
        for visitor in web.furnish(site):
            say(f"  sign in as {visitor.name:<10} password {visitor.password}")
    elif link := credentials.first_link(site):
        say("There is no account yet. This link creates the first one, a custodian's; it works once, for a day:")
        say(f"  {link}")
        say("For a second custodian, who can approve the first one's plans: discreet account add NAME")


# `discreet account`: accounts of the web application, created from outside it.
account_options = options(
    store_option,
    option(
        "--origin",
        metavar="URL",
        default="http://127.0.0.1:8000",
        help="Address of the web application, as given to `discreet serve`; the link starts with it.",
    ),
    as_option,
)


@click.group(name="account", short_help="Create accounts of the web application from outside it.")
def account() -> None:
    """Create accounts of the web application from outside it, independently of its custodians.

    What one custodian requests, another approves; a custodian whose account was made by the first one does not count.
    Give custodians who are to approve each other's work their accounts here, each in person. A link works once, for a
    day.

    \b
    Examples:
      discreet account add ann.lee                         a second custodian, invited by no other custodian
      discreet account link bob                            bob keeps the account and sets a new password
    """


@account.command(name="add")
@click.argument("name")
@option("--role", type=click.Choice(list(ROLES)), default="custodian", help="Their role.")
@account_options
def add(name: str, role: str, address: str | None, origin: str, actor: str | None) -> None:
    """Create an account, and print the link that opens it."""
    _print_link("add_by_operator", name, address, origin, actor, role=role)


@account.command(name="link")
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
    from discreet.web.accounts import credentials

    settings = Settings(store=address, origin=origin)
    with Ledger.open(address, create=False) as ledger:
        link = getattr(credentials, operation)(ledger, settings, name=name, actor=acting(actor), **more)
    say(f"Give this link to {name} in person; it works once, for a day:")
    click.echo(link)
