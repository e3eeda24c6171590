"""The core: people, profile, risk, attacker, anonymisation, reports; every manual; and what it says of what it lacks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
from calling import call, people

import discreet
from discreet.cli.main import cli

MAKE = (
    "release make {data} --population {everybody} --policy {policy} --name s --recipient a --out c --population-source x "
    "--population-licence y --counts-only --sign-off 1"
)
LACKING = {
    "store": [
        "ledger show", "ledger head", "ledger export", "ledger verify", "release list", "release show spring",
        MAKE,
        "release add-recipient spring {data} --policy {policy} --recipient a --out c", "release retire spring --recipient a",
        "trace leak {data} --release spring", "trace claims {data} --release spring", "report stored.toml",
    ],
    "linkage": ["link status", "link review project --worker ann", "link export project --out linked", "link pairs project"],
    "web": ["serve", "serve --demo"],
    "gateway": ["gateway --upstream postgresql://127.0.0.1:1 --policy {policy}"],
    "postgres": ["assess postgresql://127.0.0.1/nowhere?table=people --policy {policy}"],
    "misuse": ["misuse incidents misuse/log.jsonl", "misuse score {data} --source {data} --policy {policy} --request SELECT"],
}  # fmt: skip


def commands(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Every command and group."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for verb in command.list_commands(context):
            found = command.get_command(context, verb)
            assert found is not None
            yield from commands(found, (*words, verb))


def works(place: Path) -> None:
    """The main job, by command and from Python."""
    data, policy, everybody = (str(place / name) for name in ("hospital.csv", "policy.toml", "population.parquet"))
    call("profile", data)
    call("assess", data, "--policy", policy, "--population", everybody, "--out", "risk.html", code=1)
    call("anonymise", data, "--policy", policy, "--k", "5", "--suppression", "0.05", "--out", "safe.csv")
    call("attack", data, "--policy", policy, "--external", everybody, "--out", "attack.html", code=1)
    call("release", "feasibility", data, "--policy", policy, "--population", everybody)
    call("misuse", "score", data, "--source", data, "--policy", policy, code=1)
    call("misuse", "generate", "--out", "misuse")
    call("link", "init", *links(), "--out", "project")
    table = discreet.read(data, policy=discreet.Policy.load(policy))
    assert discreet.assess(table).records == 1_000
    assert all(Path(name).stat().st_size > 10_000 for name in ("risk.html", "attack.html"))


def tells_the_story() -> None:
    """The demo, as far as the core goes: its reports are there, and a chapter that needs more names the extra."""
    told = call("demo", "--people", "100000", "--out", "demo").stdout
    assert all(Path("demo", name).stat().st_size > 20_000 for name in ("report.html", "attack.html", "project.html"))
    for extra in ("store", "demo"):
        assert f"pip install 'discreet[{extra}]'" in told, told


def links() -> list[str]:
    """Two tables about the same made-up people."""
    call("demo-data", "--linkage", "--people", "1000", "--out", "links")
    return ["links/first.csv", "links/second.csv", "--spec", "links/link.toml"]


def says_what_it_lacks(place: Path) -> None:
    """Each command that needs more names the extra in one sentence, with exit code 2; so does the doctor."""
    names = {"data": place / "hospital.csv", "policy": place / "policy.toml", "everybody": place / "population.parquet"}
    call(
        "report",
        "init",
        *map(str, (names["data"], "--policy", names["policy"], "--store", "x.db", "--out", "stored.toml")),
    )
    checks = {one["about"]: one for one in json.loads(call("doctor", "--json").stdout)["checks"]}
    for extra, lines in LACKING.items():
        assert checks[f"extra {extra}"]["state"] == "missing"
        assert checks[f"extra {extra}"]["remedy"] == f"pip install 'discreet[{extra}]'"
        for line in lines:
            said = call(*line.format(**names).split(), code=2, timeout=60).stderr.splitlines()
            assert said[0].startswith("Error: "), line
            assert said[0].endswith(f"needs the extra '{extra}', which is not installed."), (line, said)
            assert said[1] == f"Next:  Install it with: pip install 'discreet[{extra}]'", line


def main() -> None:
    """All of it."""
    assert call("--version").stdout == f"discreet, version {discreet.__version__}\n"
    place = people()
    works(place)
    tells_the_story()
    says_what_it_lacks(place)
    for words in commands(cli, ()):
        call(*words, "--help")
        assert "EXIT STATUS" in call("help", *words).stdout


main()
