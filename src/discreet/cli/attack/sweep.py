"""`discreet attack sweep`: how the adversary's decisions move with one of his parameters."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from discreet.attacker import Attack
from discreet.cli import console
from discreet.cli.attack.adversary import adversary, options, parsed
from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.policy import Policy
from discreet.sources import Table, read

MOST = 10_000


@dataclass(frozen=True)
class Range:
    """Evenly spaced values of one parameter."""

    name: str
    values: tuple[float, ...]

    @classmethod
    def of(cls, text: str) -> Range:
        """From NAME=FROM:TO:STEPS."""
        name, _, rest = text.partition("=")
        parts = rest.split(":")
        if name not in {field.name for field in fields(Attack)} or len(parts) != 3:
            raise UsageError(
                "--vary takes a parameter and a range: NAME=FROM:TO:STEPS.", remedy="For example penalty=1000:50000:50."
            )
        low, high, steps = (parsed(part, name) for part in parts)
        if isinstance(low, str) or isinstance(high, str) or not (math.isfinite(low) and math.isfinite(high)):
            raise UsageError("FROM and TO are finite numbers.", remedy="For example penalty=1000:50000:50.")
        if not isinstance(steps, int) or not 1 <= steps <= MOST:
            raise UsageError(
                f"STEPS is a whole number from 1 to {MOST:,}.", remedy="For example penalty=1000:50000:50."
            )
        whole = name == "max_penalties"
        spaced = np.linspace(low, high, steps)
        return cls(name, tuple(sorted({int(value) for value in spaced}) if whole else spaced.tolist()))


@click.command(name="sweep", short_help="See how his decisions move with one parameter.")
@click.argument("source", metavar="[DATA]", required=False)
@click.option(
    "--vary",
    metavar="NAME=FROM:TO:STEPS",
    required=True,
    help="The parameter and its values, such as penalty=1000:50000:50.",
)
@options
@click.option("--policy", "policy_file", metavar="FILE", help="Policy that gives the columns of DATA their roles.")
@click.option("--external", metavar="POP", help="The list of named people he can buy [the people in DATA].")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def command(
    source: str | None,
    vary: str,
    attack_file: Path | None,
    changes: tuple[str, ...],
    policy_file: str | None,
    external: str | None,
    as_json: bool,
) -> None:
    """See how thresholds, and with DATA the people attacked, move with one parameter of the adversary.

    \b
    Examples:
      discreet attack sweep --vary penalty=1000:50000:50
      discreet attack sweep people.csv --policy policy.toml --external voters.parquet --vary access_cost=0:2000:21
    """
    attack, wanted = adversary(attack_file, changes), Range.of(vary)
    if source is None and (policy_file is not None or external is not None):
        raise UsageError("--policy and --external are about DATA.", remedy="Name the table to be attacked as well.")
    about = None if source is None else target(source, policy_file, external)
    rows = [_row(_varied(attack, wanted.name, value), wanted.name, value, about) for value in wanted.values]
    if as_json:
        console.data({"vary": wanted.name, "parameters": asdict(attack), "steps": rows})
        return
    _tell(rows)


def _varied(attack: Attack, name: str, value: float) -> Attack:
    changed: dict[str, Any] = {name: value}
    return replace(attack, **changed)


def _row(attack: Attack, name: str, value: float, about: Target | None) -> dict[str, Any]:
    row: dict[str, Any] = {name: value, **asdict(attack.thresholds())}
    if about is not None:
        struck = attack.on(about.sample, about.external)
        known, unknown = struck.known, struck.unknown
        row |= {
            "attacked_known": known.attacked,
            "reidentified_known": known.reidentified,
            "attacked_unknown": unknown.attacked,
            "reidentified_unknown": unknown.reidentified,
        }
    return row


HEADINGS = {
    "stops_early": "stops early from",
    "no_access": "does not buy from",
    "no_exploit": "does not start from",
    "attacked_known": "attacked",
    "reidentified_known": "re-identified",
    "attacked_unknown": "attacked unseen",
    "reidentified_unknown": "re-identified unseen",
}


def _tell(rows: list[dict[str, Any]]) -> None:
    names = list(rows[0])
    cells = [["beyond" if cell is None else f"{cell:,.6g}" for cell in row.values()] for row in rows]
    console.table([HEADINGS.get(name, name) for name in names], cells, numeric=range(len(names)))
    click.echo(
        "\nThe first columns are numbers of people who look alike; beyond: not in any group that was looked at.",
        nl=False,
    )
    click.echo(" Unseen: he buys the list before he knows how many there are." if len(names) > 4 else "")


# What is attacked: a table and the list of named people, both counted.
@dataclass(frozen=True, eq=False)
class Target:
    """A table, who looks alike in it, and who looks alike in the list he can buy."""

    table: Table
    sample: Classes
    external: Classes
    listed: Table | None
    """The list, where it is another table."""


def target(source: str, policy_file: str | None, external: str | None) -> Target:
    """Count both tables."""
    if policy_file is None:
        raise UsageError("DATA needs a policy.", remedy="Give --policy FILE; discreet policy init DATA drafts one.")
    policy = Policy.load(policy_file)
    table = read(source, policy=policy)
    with console.working(f"Counting people who look alike in {table.name}"):
        sample = table.classes()
        listed = None if external is None else read(external, policy=policy.for_population())
        return Target(table, sample, sample if listed is None else listed.classes(sample.names), listed)
