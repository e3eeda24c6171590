"""`discreet hierarchy`: draft a hierarchy file, preview the levels of a column, export them."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import discreet
from discreet.cli.options import draft_option, option, policy_option
from discreet.cli.output import CommandResult, heading, output, print_json, say, table, working, write_text
from discreet.errors import EmptySource, PolicyError, UsageError
from discreet.policy.hierarchy_files import write_tree
from discreet.risk.hierarchy_preview import BoundRows, LevelPreview, example, preview

if TYPE_CHECKING:
    from discreet.kernel import Classes
    from discreet.policy import Policy

MOST_SHOWN = 12
"""Values of a level on a terminal; --json has all of them."""


@click.group(name="hierarchy", short_help="Draft, preview and export hierarchies.")
def command() -> None:
    """Draft, preview and export hierarchies: how the values of a column are generalised.

    \b
    Examples:
      discreet hierarchy init people.csv occupation --out occupation.csv
      discreet hierarchy show policy.toml age --data people.csv
      discreet hierarchy export policy.toml zip --data people.csv --out zip.csv
    """


@command.command(name="init")
@click.argument("source", metavar="DATA")
@click.argument("column")
@policy_option("Policy that says how the data are written.", required=False)
@option("--all-values", is_flag=True, help="Also list values that fewer than five people hold.")
@draft_option()
@option("--json", "as_json", is_flag=True, help="Print the rows and what was left out as JSON.")
def init(source: str, column: str, policy_file: str | None, all_values: bool, out: Path | None, as_json: bool) -> None:
    """Draft a hierarchy file with the distinct values of COLUMN in DATA, one row per value, to fill in.

    \b
    Examples:
      discreet hierarchy init people.csv occupation --out occupation.csv
      discreet hierarchy init people.csv occupation --all-values --out occupation.csv

    Every row is `value;*`. Write the groups between: `Farmer;Agriculture;*`, with the same number of levels in every row.
    """
    policy = discreet.Policy.load(policy_file) if policy_file else None
    if policy is not None:
        _refuse_unpublished(policy, column)
    data = discreet.read(source, policy=policy)
    with working(f"Counting the values of {column}"):
        data.require([column])
        person = None if policy is not None else discreet.profile(data, largest=1).person
        if person is not None:
            data = discreet.read(data, policy=replace(discreet.Policy(), person=(person,)))
        drafted = BoundRows.of(_values(data, column), bare=True, every=all_values)
    left_out = 0 if all_values else drafted.few
    if left_out and not drafted.rows:
        raise EmptySource(
            f"No value of column '{column}' is held by five people or more, so there is nothing to list.",
            remedy="--all-values lists the others. Where nearly everybody has a value of their own, the column rather names "
            'people: role = "identifier".',
        )
    text = write_tree(drafted.rows)
    if out is not None:
        write_text(out, text)
    if as_json:
        print_json(
            {
                "column": column,
                "rows": [list(row) for row in drafted.rows],
                "left_out": left_out,
                "left_out_people": drafted.few_people if left_out else 0,
                "unwritable": drafted.unwritable,
                "written": None if out is None else str(out),
            }
        )
    elif out is None:
        click.echo(text, nl=False)
    if person is not None:
        say(
            f"Note: {person} seems to say whose row it is, so people are counted by it; with --policy as the policy says."
        )
    if left_out:
        say(
            f"Note: values that fewer than five people hold are left out: {left_out:,}, held by {drafted.few_people:,} people. "
            "--all-values lists them, too."
        )
    _say_unwritable(drafted)
    if out is not None:
        say(
            f"Wrote {len(drafted.rows):,} values to {out}. Write the groups between value and *, then name the file in the policy."
        )


@command.command(name="show")
@click.argument("policy_file", metavar="POLICY")
@click.argument("column")
@option("--data", "source", metavar="DATA", help="Count the people who hold each value in DATA.")
@output("Print the levels as JSON.")
def show(policy_file: str, column: str, source: str | None) -> CommandResult:
    """Preview every level of the hierarchy of COLUMN, with --data by the number of people who hold each value.

    \b
    Examples:
      discreet hierarchy show policy.toml age
      discreet hierarchy show policy.toml age --data people.csv

    Values that fewer than five people hold are counted, not shown.
    """
    policy = _policy(policy_file, column)
    rule = policy.rule(column)
    found: list[LevelPreview] = []
    if source is not None:
        with working(f"Counting the values of {column}"):
            found = list(preview(_values(discreet.read(source, policy=policy), column)))
    shown = example(rule)
    words = [heading(f"Hierarchy of {column}: {len(found) or rule.height} levels, for {rule.expects}")]
    if found:
        rows = [(str(level.level), f"{level.values:,}", _held(level)) for level in found]
        words.append(table(["level", "values", "people"], rows, numeric=(0, 1)))
    elif shown is not None:
        words.append(
            table(["level", "example"], [(str(level), label or "") for level, label in enumerate(shown)], numeric=(0,))
        )
    limits = {"at_least": policy.at_least.get(column), "at_most": policy.at_most.get(column)}
    words += [f"The policy says {key} = {level}." for key, level in limits.items() if level is not None]

    def facts() -> dict[str, Any]:
        return {
            "column": column,
            "role": policy.roles[column],
            "height": len(found) or rule.height,
            "expects": rule.expects,
            "example": None if shown is None else list(shown),
            **limits,
            "levels": [level.to_dict() for level in found] if found else None,
        }

    step = "" if found else f"discreet hierarchy show {policy_file} {column} --data DATA"
    return CommandResult(facts, words, next_step=step)


@command.command(name="export")
@click.argument("policy_file", metavar="POLICY")
@click.argument("column")
@option("--data", "source", metavar="DATA", required=True, help="The table whose values are listed.")
@draft_option("Write to FILE; never overwrites.")
@option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def export(policy_file: str, column: str, source: str, out: Path | None, as_json: bool) -> None:
    """Write the hierarchy of COLUMN for every value in DATA as a file that ARX and a policy read.

    \b
    Examples:
      discreet hierarchy export policy.toml zip --data people.csv --out zip.csv

    The file lists every value of the column, so it needs the care that the data need.
    """
    policy = _policy(policy_file, column)
    with working(f"Counting the values of {column}"):
        bound = BoundRows.of(_values(discreet.read(source, policy=policy), column))
    text = write_tree(bound.rows)
    if out is not None:
        write_text(out, text)
    if as_json:
        print_json(
            {
                "column": column,
                "rows": [list(row) for row in bound.rows],
                "few": bound.few,
                "unwritable": bound.unwritable,
                "written": None if out is None else str(out),
            }
        )
    elif out is None:
        click.echo(text, nl=False)
    _say_unwritable(bound)
    if bound.few:
        say(f"Note: values that fewer than five people hold: {bound.few:,}. Treat the list like the data.")
    if out is not None:
        say(f"Wrote {len(bound.rows):,} values to {out}.")


def _policy(policy_file: str, column: str) -> Policy:
    """The policy, which must know the column."""
    policy = discreet.Policy.load(policy_file)
    if column not in policy.roles:
        close = difflib.get_close_matches(column, list(policy.roles), n=1)
        raise UsageError(
            f"The policy has no column '{column}'.",
            remedy=f"Did you mean '{close[0]}'?" if close else f"Add [columns.{column}] to it.",
        )
    _refuse_unpublished(policy, column)
    return policy


def _refuse_unpublished(policy: Policy, column: str) -> None:
    """Stop if a column is never published: a list of its values would name people."""
    if policy.roles.get(column) in ("identifier", "drop"):
        raise PolicyError(
            f"The column '{column}' has the role {policy.spelled_role(column)} and is never published, so its values are "
            "not listed and it needs no hierarchy.",
            remedy='If the role is wrong, correct it in the policy, for example to role = "quasi".',
            file=policy.file,
        )


def _values(data: discreet.Table, column: str) -> Classes:
    """The people who hold each value of a column."""
    data.hierarchies([column])  # says in words which values are outside
    classes = next(data.each([column]), None)
    if classes is None:
        raise EmptySource(f"There is nobody in {data.name}.", remedy="Give a table with at least one row.")
    return classes


def _held(level: LevelPreview) -> str:
    """The values of a level with the people who hold them, as far as they may be shown."""
    parts = [f"{value} {people:,}" for value, people in level.shown[:MOST_SHOWN]]
    if (more := len(level.shown) - MOST_SHOWN) > 0:
        parts.append(f"{more:,} more values")
    if level.few:
        parts.append(f"({level.few:,} values of fewer than five people: {level.few_people:,})")
    if level.missing:
        parts.append(f"(missing: {level.missing:,})")
    return "; ".join(parts)


def _say_unwritable(rows: BoundRows) -> None:
    if rows.unwritable:
        say(f"Note: values with line breaks do not fit into a hierarchy file; left out: {rows.unwritable:,}.")
