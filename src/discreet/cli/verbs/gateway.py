"""`discreet gateway`: a governed proxy between PostgreSQL clients and their server."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.options import option
from discreet.cli.output import say
from discreet.errors import PolicyError, UsageError

if TYPE_CHECKING:
    from discreet.gateway import Settings
    from discreet.gateway.enforcement.governor import Governor

MEBIBYTE = 1 << 20
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
    "policy",
    type=EXISTING,
    metavar="FILE",
    help="Policy with a section [gateway]; without it, nobody is governed.",
)
@option(
    "--mode",
    type=click.Choice(["open", "shadow", "enforce"]),
    help="open: everything passes; shadow: decide and record only; enforce: act [as the policy says].",
)
@option(
    "--own",
    metavar="URL",
    help="The gateway's own login, for definitions and counts: postgresql://USER@HOST/DATABASE [--upstream].",
)
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
    help="Largest result held for a decision; larger ones are refused.",
)
@option("--held-in-all", type=click.IntRange(1), default=512, metavar="MIB", help="Largest size of all held results.")
@option("--grace", type=click.FloatRange(0), default=10.0, metavar="SECONDS", help="Time to finish at shutdown.")
def command(
    ctx: click.Context,
    upstream: str | None,
    listen: str,
    policy: Path | None,
    mode: str | None,
    own: str | None,
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
    grace: float,
) -> None:
    """Govern queries between PostgreSQL clients and their server. Clients connect as usual, to another port.

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
    from discreet.gateway import Limits, Settings, parse_upstream
    from discreet.gateway.net.server import run
    from discreet.gateway.protocol.login import read_secrets

    if key is not None and certificate is None:
        raise UsageError("There is a key but no certificate.", remedy="Give --tls-cert as well.")
    if (tls_only or client_ca is not None) and certificate is None:
        raise UsageError("Clients cannot speak TLS without a certificate here.", remedy="Give --tls-cert as well.")
    if client_name and client_ca is None:
        raise UsageError("Clients show no certificates.", remedy="Give --client-ca as well.")
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise UsageError("--listen is not understood.", remedy="Write it as HOST:PORT, such as 127.0.0.1:6432.")
    settings = Settings(
        parse_upstream(upstream, tls=upstream_tls, ca=upstream_ca),
        host=host.strip("[]"),
        port=int(port),
        certificate=certificate,
        key=key,
        secrets=read_secrets(scram_secrets) if scram_secrets else {},
        limits=Limits(held=held * MEBIBYTE),
        held=held_in_all * MEBIBYTE,
        sessions=sessions,
        grace=grace,
        encrypted_only=tls_only or client_ca is not None,
        authorities=client_ca,
        named=client_name,
        proxies=tuple(map(_network, proxy_from)),
        shared=share_port,
        logins=logins_per_minute,
    )
    if policy is None:
        if mode in ("shadow", "enforce") or own is not None:
            raise UsageError(
                "There is no policy that says what is governed.",
                remedy="Give --policy; see docs/reference/policy-file.md.",
            )
        run(_serve(settings, "open"))
        return
    if mode == "open":
        raise UsageError("There is a policy, but the mode is open.", remedy="Leave out --policy, or --mode.")
    from discreet.gateway.enforcement.governor import Governor
    from discreet.ledger import Ledger
    from discreet.policy import Policy

    governed = Policy.load(policy)
    with Ledger.open(store) as ledger:
        governor = Governor(governed, own=own or upstream, ledger=ledger, mode=mode)
        if governed.unconfirmed:
            say(
                f"Note: roles that are not confirmed hold as the policy has them: {governed.spelled(governed.unconfirmed)}. "
                "The gateway does not enforce a policy before they are confirmed: discreet policy confirm POLICY --all"
            )
        run(_serve(replace(settings, judge=governor), governor.mode, governor))


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
    click.echo(grants(policy.gateway.tables, users, own_role, trusted=policy.gateway.functions))


async def _serve(settings: Settings, mode: str, governor: Governor | None = None) -> None:
    from discreet.gateway import Gateway

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for stopping in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(stopping, stop.set)
    gateway = Gateway(settings)
    if governor is not None:
        await governor.start()
    await gateway.start()
    say(f"The gateway listens on {settings.host}:{gateway.port}  (mode {mode}; stop with Ctrl-C)")
    await stop.wait()
    say("The gateway is stopping; sessions may finish their work.")
    await gateway.close()
    if governor is not None:
        await governor.close()
