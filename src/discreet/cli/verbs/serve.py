"""`discreet serve`: the web application."""

from __future__ import annotations

import os
import tempfile
from datetime import time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.main import in_good_order
from discreet.cli.options import FOLDER, acting, address_of, as_option, option, options, store_option
from discreet.cli.output import say
from discreet.errors import UsageError
from discreet.web.framework.permissions import ROLES

if TYPE_CHECKING:
    import socket

    from discreet.web import Settings
    from discreet.web.framework.settings import Provider
    from discreet.web.framework.shared_state import Site

LOOPBACK = "127.0.0.1"
SECRET = "DISCREET_CLIENT_SECRET"  # noqa: S105 - the name of the variable
"""The environment variable with what the provider of single sign-on knows this application by."""


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
@option(
    "--second-factor",
    "second_factor",
    type=click.Choice(list(ROLES)),
    multiple=True,
    metavar="ROLE",
    help="Role that needs a second factor to sign in; can be repeated.",
)
@option(
    "--provider", metavar="URL", help="Issuer of single sign-on (OpenID Connect), such as https://id.example/realms/x."
)
@option(
    "--client", metavar="ID", help="What the provider calls this application; its secret is in DISCREET_CLIENT_SECRET."
)
@option(
    "--group",
    "groups",
    multiple=True,
    metavar="GROUP=ROLE",
    help="Group of the provider and its role; the first that fits counts.",
)
@option("--groups-claim", metavar="NAME", default="groups", help="Claim in which the provider names groups.")
@option("--monitoring", metavar="HOST:PORT", help="Where /metrics, /healthz and /readyz are answered.")
@option("--log", metavar="FILE", help="Log requests and faults as lines of JSON to this file; - for stderr.")
@option(
    "--notify",
    multiple=True,
    metavar="PLACE",
    help="Who is notified of what waits or went wrong: mailto:ADDRESS, https://HOST/PATH or a folder; can be repeated.",
)
@option("--digest", metavar="HH:MM", help="Also send them a summary once a day, at this time (UTC).")
@option("--heads", multiple=True, metavar="PLACE", help="Where the signed head of the ledger goes; as for --notify.")
@option("--heads-every", type=click.IntRange(1, 44_640), default=60, metavar="MINUTES", help="How often at most.")
@option("--smtp", metavar="URL", help="Mail server, as smtp://USER@HOST:587; password in DISCREET_SMTP_PASSWORD.")
@option("--sender", metavar="ADDRESS", help="Sender of e-mail [the address that it goes to].")
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
    second_factor: tuple[str, ...],
    provider: str | None,
    client: str | None,
    groups: tuple[str, ...],
    groups_claim: str,
    monitoring: str | None,
    log: str | None,
    notify: tuple[str, ...],
    digest: str | None,
    heads: tuple[str, ...],
    heads_every: int,
    smtp: str | None,
    sender: str | None,
    demo: bool,
) -> None:
    """Run the web application. The first start prints links that make the first custodian and the first administrator.

    \b
    Examples:
      discreet serve                                        on this machine, with a SQLite file
      discreet serve --demo                                 explore with generated people
      discreet serve --folder /srv/extracts                 let custodians register files of a folder
      discreet serve --store postgresql://db/discreet --origin https://discreet.example --proxy 127.0.0.1
    """
    from discreet.web import Settings, require_extra

    require_extra()
    from discreet.operations.channels import channel_of
    from discreet.web.framework.app import listen
    from discreet.web.framework.settings import Operations

    try:
        daily = time.fromisoformat(digest) if digest else None
    except ValueError:
        raise UsageError("--digest is not understood.", remedy="Write it as HH:MM, such as 07:30.") from None
    operations = Operations(
        monitoring=address_of(monitoring, "--monitoring") if monitoring else None,
        log="-" if log == "-" else Path(log).absolute() if log else None,
        notify=tuple(channel_of(place, smtp=smtp, sender=sender) for place in notify),
        digest=daily,
        heads=tuple(channel_of(place, smtp=smtp, sender=sender) for place in heads),
        heads_every=timedelta(minutes=heads_every),
    )
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
            "second_factor": frozenset(second_factor),
            "provider": _provider(provider, client, groups, groups_claim),
            "operations": operations,
        }
        if data is not None:
            settings["data"] = data.absolute()
        if not demo:
            _run(Settings(store=address, **settings), listener, proxy)
            return
        with in_good_order(), tempfile.TemporaryDirectory(prefix="discreet-demo-") as folder:
            temporary = {"data": Path(folder) / "data", **settings}
            _run(Settings(store=f"{folder}/store.db", demo=True, **temporary), listener, proxy)


def _provider(issuer: str | None, client: str | None, groups: tuple[str, ...], claim: str) -> Provider | None:
    from discreet.web.framework.settings import Provider

    secret = os.environ.get(SECRET, "")
    if issuer is None and client is None and not groups:
        return None
    roles = dict(group.rpartition("=")[::2] for group in groups)
    if wrong := sorted({*roles.values()} - {*ROLES}):
        raise UsageError(
            f"There is no role '{wrong[0]}'.", remedy=f"Give --group GROUP=ROLE with one of: {', '.join(ROLES)}."
        )
    if not issuer or not client or not secret:
        remedy = f"Give --provider, --client, and the secret in the environment variable {SECRET}."
        raise UsageError("Single sign-on needs a provider, a client and its secret.", remedy=remedy)
    return Provider(issuer.rstrip("/"), client, secret, roles, claim)


def _run(settings: Settings, listener: socket.socket, proxy: str | None) -> None:
    from discreet.demo import web_data as web
    from discreet.sources.duckdb_scratch import confine
    from discreet.web import create_app
    from discreet.web.framework.app import serve

    confine([settings.data, *settings.folders])
    if settings.demo:
        web.begin(settings)
    app = create_app(settings)
    site: Site = app.state.site
    serve(app, listener, proxy=proxy, ready=lambda: _announce(site))


def _announce(site: Site) -> None:
    from discreet.demo import web_data as web
    from discreet.web.accounts import credentials

    say(f"Discreet runs at {site.settings.origin}  (store {site.store.address}; stop with Ctrl-C)")
    if site.monitoring is not None:
        say(f"Monitoring answers on {site.monitoring.address}")
    if site.settings.demo:
        say("Preparing generated data; the accounts follow in a moment.")
        for visitor in web.furnish(site):
            say(f"  sign in as {visitor.name:<10} password {visitor.password}")
        return
    links = {role: credentials.first_link(site, role) for role in credentials.FIRST}
    for role, link in links.items():
        if link is not None:
            say(
                f"There is no {role} yet, {credentials.FIRST[role]}. This link makes the first one; it works once, for a day:"
            )
            say(f"  {link}")
    if all(links.values()):
        say("Give the two links to two people. The administrator can then invite a second custodian.")


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
    """Create accounts of the web application from outside it, independently of its administrators.

    What one custodian requests, another approves; two custodians whom one administrator invited cannot. Give custodians
    who are to approve each other's work their accounts here, each in person. A link works once, for a day.

    \b
    Examples:
      discreet account add ann.lee                         a custodian whom no administrator invited
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

    From then on the account counts as independent of every administrator, even if one created it.
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
