"""`discreet policy`: draft, check and describe policy files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import discreet
from discreet.cli import console
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet import Policy, Table


@click.group(name="policy", short_help="Draft, check and describe policy files.")
def command() -> None:
    """Draft, check and describe policy files.

    \b
    Examples:
      discreet policy init people.csv --out policy.toml
      discreet policy check policy.toml --data people.csv
      discreet policy schema > policy.schema.json
    """


@command.command(name="init")
@click.argument("source", metavar="DATA")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write to FILE instead of stdout; never overwrites.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the guesses as JSON.")
def init(source: str, out: Path | None, as_json: bool) -> None:
    """Draft a policy for DATA with guessed roles, for a person to confirm."""
    if out is not None and out.exists():
        raise UsageError(f"{out} exists already.", remedy="Give another name; a confirmed policy is not overwritten.")
    table = discreet.read(source)
    with console.working(f"Looking at {table.name}"):
        found = discreet.profile(table, largest=1)
    if as_json:
        console.data({"columns": [column.to_dict() for column in found.columns]})
        return
    from discreet.policy import write_draft

    text = write_draft(found.drafts())
    if out is None:
        click.echo(text, nl=False)
        return
    console.write_text(out, text)
    console.say(f"Drafted {out}. Read it, correct the roles, then: discreet policy check {out} --data {source}")


@command.command(name="check")
@click.argument("file", metavar="POLICY")
@click.option("--data", "source", metavar="DATA", help="Also check that the data fit: columns, counts, hierarchies.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def check(file: str, source: str | None, as_json: bool) -> None:
    """Check a policy file, its hierarchies, and with --data that the data fit it."""
    policy = discreet.Policy.load(file)
    checked = _check_data(source, policy) if source else None
    if as_json:
        console.data(_summary(policy, checked))
        return
    click.echo(f"{file} is a valid policy.")
    rows = [(name, role, str(policy.rule(name).height)) for name, role in policy.roles.items()]
    console.table(["column", "role", "levels"], rows, numeric=(2,))
    if checked is not None:
        click.echo(f"{checked.name} fits it: {checked.records:,} people.")
        if checked.undeclared:
            console.say(
                f"Note: the policy gives no role to {', '.join(checked.undeclared)}. Nothing is published before it does; "
                'role = "drop" leaves a column out.'
            )
    if not policy.quasi:
        console.say('Note: no column has the role "quasi", so no risk can be measured.')


def _check_data(source: str, policy: Policy) -> Table:
    table = discreet.read(source, policy=policy)
    table.require(list(policy.roles))
    for _ in table.each([*policy.quasi, *policy.sensitive]):
        pass  # counting is the check: what does not fit is refused
    table.refuse_several_rows_a_person()
    return table


def _summary(policy: Policy, table: Table | None) -> dict[str, object]:
    columns = {name: {"role": role, "levels": policy.rule(name).height} for name, role in policy.roles.items()}
    fits = None if table is None else {"records": table.records, "undeclared": list(table.undeclared)}
    return {"valid": True, "digest": policy.digest, "columns": columns, "data": fits}


@command.command(name="schema")
@click.option("--json", "as_json", is_flag=True, help="Accepted for symmetry: the schema is JSON.")
def schema(as_json: bool) -> None:
    """Print the JSON Schema of the policy file."""
    del as_json
    from discreet.policy import json_schema

    console.data(json_schema())
