"""`discreet gateway`: a governed proxy between PostgreSQL clients and their server."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.options import address_of, option
from discreet.cli.output import say
from discreet.errors import DiscreetError, PolicyError, Refused, UsageError

if TYPE_CHECKING:
    from discreet.gateway import Settings
    from discreet.gateway.enforcement.databases import GovernedDatabase, GovernedDatabases
    from discreet.gateway.net.metrics import GatewayEvents

MEBIBYTE = 1 << 20
STORE_SECONDS = 2.0
"""How long /readyz waits for the store."""
MOST_SAID = 5
"""Ways past the gateway that are named at its start."""
EXISTING = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.group(
    name="gateway",
    short_help="Govern queries between PostgreSQL clients and their server.",
    invoke_without_command=True,
    subcommand_metavar="[COMMAND [ARGS]...]",
)
@click.pass_context
@option("--upstream", metavar="URL", help="The server: postgresql://HOST:PORT, or ?host=/FOLDER.")
@option("--listen", default="127.0.0.1:6432", metavar="HOST:PORT", help="Where clients connect.")
@option(
    "--policy",
    "policies",
    multiple=True,
    type=EXISTING,
    metavar="FILE",
    help="Policy with a section [gateway], one per governed database; without it, nobody is governed.",
)
@option(
    "--mode",
    type=click.Choice(["open", "shadow", "enforce"]),
    help="open: everything passes; shadow: decide and record only; enforce: act [as the policy says].",
)
@option(
    "--own",
    "owns",
    multiple=True,
    metavar="URL",
    help="The gateway's own login, one per policy: postgresql://USER@HOST/DATABASE [$DISCREET_GATEWAY_OWN or --upstream].",
)
@option("--own-file", type=EXISTING, metavar="FILE", help="A file with these logins instead, one per line.")
@option("--own-command", metavar="COMMAND", help="A command that prints them instead, such as one that asks a vault.")
@option("--store", metavar="ADDRESS", help="The store with exposures and the ledger [$DISCREET_STORE].")
@option("--tls-cert", "certificate", type=EXISTING, metavar="FILE", help="Certificate for TLS to clients (PEM).")
@option("--tls-key", "key", type=EXISTING, metavar="FILE", help="Its key, if not in the same file.")
@option("--tls-only", is_flag=True, help="Turn away clients that do not speak TLS.")
@option(
    "--client-ca", type=EXISTING, metavar="FILE", help="Clients must show a certificate of these authorities (PEM)."
)
@option("--client-name", is_flag=True, help="The name in that certificate must be the user.")
@option(
    "--upstream-tls",
    type=click.Choice(["disable", "require", "verify-full"]),
    default="disable",
    help="TLS to the server: none, encrypted, or encrypted with its certificate verified.",
)
@option("--upstream-ca", type=EXISTING, metavar="FILE", help="Certificate authorities to trust (PEM) [the machine's].")
@option(
    "--scram-secrets",
    type=EXISTING,
    metavar="FILE",
    help="Users and their SCRAM secrets, in the format of connection poolers.",
)
@option(
    "--proxy-from",
    multiple=True,
    metavar="NETWORK",
    help="Proxies that speak the PROXY protocol, as 10.0.0.0/8; repeatable.",
)
@option("--share-port", is_flag=True, help="Let other gateways on this machine listen on the same port.")
@option(
    "--logins-per-minute", type=click.IntRange(0), default=0, help="Most logins from one address; 0 for any number."
)
@option("--sessions", type=click.IntRange(1), default=500, help="Most connections at a time.")
@option(
    "--held",
    type=click.IntRange(1),
    default=64,
    metavar="MIB",
    help="Most memory that one answer may take; larger ones are refused.",
)
@option("--held-in-all", type=click.IntRange(1), default=512, metavar="MIB", help="The same of all answers at a time.")
@option("--monitoring", metavar="HOST:PORT", help="Where /metrics, /healthz and /readyz are answered.")
@option("--log", metavar="FILE", help="Log connections and decisions as lines of JSON to this file; - for stderr.")
@option(
    "--console", multiple=True, metavar="ROLE", help="A user who may use the console (database discreet); repeatable."
)
@option("--grace", type=click.FloatRange(0), default=10.0, metavar="SECONDS", help="Time to finish at shutdown.")
def command(
    ctx: click.Context,
    upstream: str | None,
    listen: str,
    policies: tuple[Path, ...],
    mode: str | None,
    owns: tuple[str, ...],
    own_file: Path | None,
    own_command: str | None,
    store: str | None,
    certificate: Path | None,
    key: Path | None,
    tls_only: bool,
    client_ca: Path | None,
    client_name: bool,
    upstream_tls: str,
    upstream_ca: Path | None,
    scram_secrets: Path | None,
    proxy_from: tuple[str, ...],
    share_port: bool,
    logins_per_minute: int,
    sessions: int,
    held: int,
    held_in_all: int,
    monitoring: str | None,
    log: str | None,
    console: tuple[str, ...],
    grace: float,
) -> None:
    """Govern queries between PostgreSQL clients and their server. Clients connect as usual, to another port.
    A result is given out if the user's exposure stays within a limit (dynamic misuseability-based access control, DMBAC).
    It is not a barrier against an attacker who goes to its limits (docs/explain/limitations.md).

    \b
    Examples:
      discreet gateway --upstream postgresql://db.example:5432
      discreet gateway --upstream postgresql://discreet@db.example/clinic --policy clinic.toml
      discreet gateway --upstream postgresql://db.example --policy clinic.toml --own postgresql://discreet@db.example/clinic
      discreet gateway --upstream 'postgresql:///?host=/run/postgresql' --listen 0.0.0.0:6432 --tls-cert cert.pem --tls-key key.pem
      discreet gateway --upstream postgresql://db.example --upstream-tls verify-full
      discreet gateway grants --policy clinic.toml --users analysts --own-role discreet > grants.sql

    What governed users may not read by themselves, the gateway asks for with its own role: `grants` prints the statements
    that make it so, and `discreet doctor --gateway` looks whether it is so.
    """
    if ctx.invoked_subcommand is not None:
        return
    if upstream is None:
        raise click.UsageError("Missing option '--upstream'.")
    from discreet.gateway import Settings, parse_upstream
    from discreet.gateway.net.metrics import GatewayEvents
    from discreet.gateway.net.server import run
    from discreet.gateway.protocol.login import read_secrets

    if key is not None and certificate is None:
        raise UsageError("There is a key but no certificate.", remedy="Give --tls-cert as well.")
    if (tls_only or client_ca is not None) and certificate is None:
        raise UsageError("Clients cannot speak TLS without a certificate here.", remedy="Give --tls-cert as well.")
    if client_name and client_ca is None:
        raise UsageError("Clients show no certificates.", remedy="Give --client-ca as well.")
    logins = OwnLogins(owns, own_file, own_command, upstream)
    if not policies and (mode in ("shadow", "enforce") or logins.given):
        raise UsageError(
            "There is no policy that says what is governed.", remedy="Give --policy; see docs/reference/policy-file.md."
        )
    if policies and mode == "open":
        raise UsageError("There is a policy, but the mode is open.", remedy="Leave out --policy, or --mode.")
    host, port = address_of(listen, "--listen")
    events = GatewayEvents(sys.stderr if log == "-" else Path(log) if log else None)
    settings = Settings(
        parse_upstream(upstream, tls=upstream_tls, ca=upstream_ca),
        host=host,
        port=port,
        certificate=certificate,
        key=key,
        secrets=read_secrets(scram_secrets) if scram_secrets else {},
        sessions=sessions,
        grace=grace,
        encrypted_only=tls_only or client_ca is not None,
        authorities=client_ca,
        named=client_name,
        proxies=tuple(map(_network, proxy_from)),
        shared=share_port,
        logins=logins_per_minute,
        console=frozenset(console),
        observe=events.observe,
    )
    place = address_of(monitoring, "--monitoring") if monitoring else None
    if not policies:
        run(serve(Service(settings, "open", events, place, scram_secrets)))
        return
    from discreet.gateway.enforcement.databases import GovernedDatabases
    from discreet.gateway.own_connection import ResultRoom
    from discreet.ledger import Ledger

    chosen = _chosen(policies, logins)
    with Ledger.open(store) as ledger:
        room = ResultRoom(held * MEBIBYTE, held_in_all * MEBIBYTE)
        databases = GovernedDatabases(chosen, ledger=ledger, mode=mode, observe=events.observe, room=room)
        for policy in (one.policy for one in chosen if one.policy.unconfirmed):
            say(
                f"Note: roles that are not confirmed hold as the policy has them: {policy.spelled(policy.unconfirmed)}. "
                "The gateway does not enforce a policy before they are confirmed: discreet policy confirm POLICY --all"
            )
        work = Service(settings, databases.mode, events, place, scram_secrets, databases)
        run(serve(replace(work, again=lambda: _chosen(policies, logins))))


@dataclass(frozen=True)
class OwnLogins:
    """The gateway's own logins: as options, from a file, a command or the environment; read again at each reload."""

    options: tuple[str, ...]
    file: Path | None
    command: str | None
    upstream: str | None

    def __post_init__(self) -> None:
        if sum(map(bool, (self.options, self.file, self.command))) > 1:
            raise UsageError(
                "The gateway's own login is given twice.", remedy="Give one of --own, --own-file, --own-command."
            )

    @property
    def given(self) -> bool:
        """Whether there are any but the address of the server."""
        return bool(self.options or self.file or self.command)

    def read(self) -> list[str]:
        """The URLs, in the order of the policies."""
        if self.file is not None:
            text = self.file.read_text(encoding="utf-8")
        elif self.command is not None:
            done = subprocess.run(  # noqa: S602 - the operator's own command, as they typed it
                self.command, shell=True, capture_output=True, text=True, timeout=30, check=False
            )
            if done.returncode or not done.stdout.strip():
                raise UsageError(
                    "The command for the gateway's own login failed.",
                    remedy="Check --own-command: it must print a URL.",
                )
            text = done.stdout
        else:
            text = os.environ.get("DISCREET_GATEWAY_OWN") or self.upstream or ""
        return list(self.options) or [line.strip() for line in text.splitlines() if line.strip()]


def _chosen(policies: tuple[Path, ...], logins: OwnLogins) -> list[GovernedDatabase]:
    from discreet.gateway.enforcement.databases import GovernedDatabase
    from discreet.policy import Policy

    urls = logins.read()
    if len(urls) != len(policies):
        raise UsageError(
            f"There are {len(policies)} policies and {len(urls)} logins of the gateway's own.",
            remedy="Give one --own for each --policy, in the same order.",
        )
    return [GovernedDatabase(Policy.load(file), url) for file, url in zip(policies, urls, strict=True)]


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise UsageError(
            "--proxy-from is not understood.", remedy="Write an address or a network: 10.0.0.0/8."
        ) from None


@command.command(name="grants")
@option("--policy", "policy_file", type=EXISTING, required=True, metavar="FILE", help="Policy with [gateway.tables].")
@option("--users", multiple=True, required=True, metavar="ROLE", help="A user or group that is governed; repeatable.")
@option("--own-role", required=True, metavar="ROLE", help="The role that the gateway itself logs in as.")
def grants(policy_file: Path, users: tuple[str, ...], own_role: str) -> None:
    """Print the SQL that takes governed tables from users and gives them to the gateway's own role.

    An administrator runs it in the governed database. The roles must be there; no connection is made.

    \b
    Example:
      discreet gateway grants --policy clinic.toml --users analysts --own-role discreet > grants.sql
      psql --single-transaction --set ON_ERROR_STOP=1 --file grants.sql clinic
    """
    from discreet.gateway.grants import grants
    from discreet.policy import Policy

    policy = Policy.load(policy_file)
    if policy.gateway is None or not policy.gateway.tables:
        raise PolicyError(
            "It does not name the tables that are governed.",
            remedy='Add a section [gateway.tables."SCHEMA.TABLE"] for each of them.',
            file=policy.file,
        )
    section = policy.gateway
    click.echo(grants(section.tables, users, own_role, trusted=section.functions, exempt=section.exempt))


@command.command(name="explain", short_help="Say what the gateway would make of a statement.")
@click.argument("statement")
@option(
    "--policy", "policy_file", type=EXISTING, required=True, metavar="FILE", help="Policy with a section [gateway]."
)
@option("--own", metavar="URL", help="Look into this database for types and views; nothing is run there.")
def explain(statement: str, policy_file: Path, own: str | None) -> None:
    """Say what the gateway would make of a statement, and what it would cost. Nothing is run."""
    from discreet.gateway.explanation import explained
    from discreet.policy import Policy

    found = explained(statement, Policy.load(policy_file), own=own)
    for line in found.lines:
        say(line)
    if found.refused:
        raise Refused(found.refused, remedy=found.instead or "See docs/explain/gateway.md for what can be asked.")


@dataclass(frozen=True)
class Service:
    """What one process of the gateway serves."""

    settings: Settings
    mode: str
    events: GatewayEvents
    monitoring: tuple[str, int] | None = None
    secrets: Path | None = None
    databases: GovernedDatabases | None = None
    again: Callable[[], list[GovernedDatabase]] = list
    """Reads policies and logins again."""


async def serve(work: Service) -> None:
    """Serve until SIGTERM; SIGHUP reads policies, certificates, secrets and logins again."""
    from discreet.gateway import Gateway
    from discreet.gateway.net.transport import Unreachable
    from discreet.gateway.protocol.login import read_secrets
    from discreet.operations.monitoring_port import MonitoringPort

    stop, loop, databases, settings = asyncio.Event(), asyncio.get_running_loop(), work.databases, work.settings
    for stopping in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(stopping, stop.set)
    if databases is not None:
        await databases.start()
        settings = replace(settings, judge=databases, console_database=databases.governors[0].database)

    async def reload() -> None:
        work.events.log.reopen()
        gateway.reload(read_secrets(work.secrets) if work.secrets else None)
        if databases is not None:
            await databases.reload(await asyncio.to_thread(work.again))

    async def reload_or_say() -> None:
        try:
            await reload()
            say("The gateway has read its policies, certificates and secrets again.")
        except DiscreetError as error:
            say(f"Not reloaded: {error.problem} {error.remedy} What held before goes on.")

    async def show_accounts() -> Any:
        return await databases.accounts() if databases is not None else (("user",), [])

    async def show_holes() -> Any:
        return ("hole",), [(words,) for words in (databases.lacks() if databases is not None else [])]

    async def show_events() -> Any:
        return ("event", "times"), work.events.by_event()

    async def do_reload() -> Any:
        await reload()
        return (), ()

    async def lacks() -> list[str]:
        found = ["draining"] if gateway.draining else []
        found += databases.lacks() if databases is not None else []
        try:
            (await settings.upstream.connect(asyncio.Protocol())).abort()
        except Unreachable:
            found.append("the database server cannot be reached")
        if databases is not None:
            try:
                async with asyncio.timeout(STORE_SECONDS):
                    await asyncio.to_thread(databases.height)
            except (DiscreetError, TimeoutError):
                found.append("the store cannot be read")
        return found

    def gauges() -> dict[str, float]:
        found: dict[str, float] = {"sessions": gateway.sessions}
        if databases is not None:
            found["held_bytes"] = databases.room.taken
            found["holes"] = len(databases.lacks())
            with suppress(DiscreetError):
                found["ledger_entries"] = databases.height()
        return found

    commands = {
        "SHOW ACCOUNTS": show_accounts,
        "SHOW HOLES": show_holes,
        "SHOW EVENTS": show_events,
        "RELOAD": do_reload,
    }
    gateway = Gateway(replace(settings, commands=commands))
    loop.add_signal_handler(signal.SIGHUP, lambda: gateway.keep(reload_or_say()))
    await gateway.start()
    port = None
    if work.monitoring is not None:
        port = MonitoringPort(work.monitoring, text=lambda: work.events.text(gauges()), lacks=lacks)
        await port.start()
        say(f"Monitoring answers on {port.address}")
    say(f"The gateway listens on {settings.host}:{gateway.port}  (mode {work.mode}; stop with Ctrl-C)")
    if databases is not None:
        gateway.keep(say_what_enforcing_lacks(databases))
    await stop.wait()
    say("The gateway is stopping; sessions may finish their work.")
    await gateway.close()
    if port is not None:
        await port.close()
    if databases is not None:
        await databases.close()


async def say_what_enforcing_lacks(databases: GovernedDatabases) -> None:
    """In shadow mode: how users could read governed tables past a gateway that enforced."""
    try:
        found = await asyncio.to_thread(databases.undermined)
    except DiscreetError as error:
        say(f"The rights in the database could not be looked at: {error.problem}")
        return
    for hole in found[:MOST_SAID]:
        say(f"Enforcing would be refused: {hole.problem}")
        say(f"  -> {hole.remedy}")
    if len(found) > MOST_SAID:
        say(f"  and {len(found) - MOST_SAID} more; discreet doctor --gateway names them all.")
