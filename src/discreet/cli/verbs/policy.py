"""`discreet policy`: draft, check and describe policy files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

import discreet
from discreet.cli.options import draft_option, option
from discreet.cli.output import CommandResult, hand_over, output, print_json, table, working

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
@draft_option()
@option("--json", "as_json", is_flag=True, help="Print the guesses as JSON.")
def init(source: str, out: Path | None, as_json: bool) -> None:
    """Draft a policy for DATA with guessed roles, for a person to confirm."""
    data = discreet.read(source)
    with working(f"Examining {data.name}"):
        profiled = discreet.profile(data, largest=1)
    if as_json:
        print_json({"columns": [column.to_dict() for column in profiled.columns]})
        return
    from discreet.policy import write_draft

    step = f"Read it, correct the roles, then: discreet policy check {out} --data {source}"
    hand_over(write_draft(profiled.drafts()), out, next_step=step)


@command.command(name="check")
@click.argument("file", metavar="POLICY")
@option("--data", "source", metavar="DATA", help="Also check that the data fit: columns, counts, hierarchies.")
@output("Print the result as JSON.")
def check(file: str, source: str | None) -> CommandResult:
    """Check a policy file, its hierarchies, and with --data that the data fit it."""
    policy = discreet.Policy.load(file)
    data = _checked_data(source, policy) if source else None
    notes = []
    if data is not None and data.undeclared:
        notes.append(
            f"Note: the policy gives no role to {', '.join(data.undeclared)}. Nothing is published before it does; "
            'role = "drop" leaves a column out.'
        )
    if not policy.quasi:
        notes.append('Note: no column has the role "quasi", so no risk can be measured.')
    columns = {name: {"role": role, "levels": policy.rule(name).height} for name, role in policy.roles.items()}
    fits = None if data is None else {"records": data.records, "undeclared": list(data.undeclared)}
    return CommandResult(
        lambda: {"valid": True, "digest": policy.digest, "columns": columns, "data": fits},
        _policy_words(file, policy, data),
        notes=notes,
    )


def _checked_data(source: str, policy: Policy) -> Table:
    data = discreet.read(source, policy=policy)
    data.require(list(policy.roles))
    for _ in data.each([*policy.quasi, *policy.sensitive]):
        pass  # counting is the check: what does not fit is refused
    data.refuse_several_rows_a_person()
    return data


def _policy_words(file: str, policy: Policy, data: Table | None) -> Iterator[str]:
    yield f"{file} is a valid policy."
    rows = [(name, role, str(policy.rule(name).height)) for name, role in policy.roles.items()]
    yield table(["column", "role", "levels"], rows, numeric=(2,))
    if data is not None:
        yield f"{data.name} fits it: {data.records:,} people."


@command.command(name="schema")
@option("--json", "as_json", is_flag=True, help="Accepted for symmetry: the schema is JSON.")
def schema(as_json: bool) -> None:
    """Print the JSON Schema of the policy file."""
    del as_json
    from discreet.policy import json_schema

    print_json(json_schema())
