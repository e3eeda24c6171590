"""`discreet assess`, `profile` and `policy`: what a table risks, what is in it, what its columns are."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import discreet
from discreet import report
from discreet.cli.options import (
    FILE,
    dialect_notes,
    dialect_options,
    draft_option,
    giveaway_notes,
    listed,
    number_of_people,
    option,
    policy_option,
    repeated_notes,
    target_option,
    unconfirmed_notes,
)
from discreet.cli.output import (
    OPENING,
    CommandResult,
    finding_lines,
    hand_over,
    heading,
    output,
    print_json,
    replace_text,
    say,
    table,
    working,
)
from discreet.errors import UsageError
from discreet.wording import brief_percent, people_in_rows

if TYPE_CHECKING:
    from discreet import Policy, Table
    from discreet.risk import Profile

PROFILED = 500_000
"""Larger tables are reported without a profile of every column; `discreet profile` makes it."""


@click.command(name="assess", short_help="Measure the risk of publishing a table.")
@click.argument("source", metavar="DATA")
@policy_option()
@option("--population", metavar="POP", help="The people an adversary may know of: a table, or their number.")
@option("--threshold", type=float, metavar="T", help="Risk above which a person counts as at risk [policy, or 0.2].")
@target_option(
    "--records", type=FILE, metavar="FILE", help="Write the risk of every row (CSV, Parquet); for the custodian only."
)
@option("--overwrite", is_flag=True, help="Replace the file of --records if it exists.")
@output("Print the figures as JSON.", report="--out")
def assess(
    source: str,
    policy_file: str,
    population: str | None,
    threshold: float | None,
    records: Path | None,
    overwrite: bool,
) -> CommandResult:
    """Measure the risk of publishing DATA: a file of any common format, - for stdin, or a PostgreSQL URL with ?table=.

    \b
    Examples:
      discreet assess people.csv --policy policy.toml
      discreet assess people.csv --policy policy.toml --population voters.parquet --out report.html
      discreet assess people.csv --policy policy.toml --population 3500000 --json
      discreet assess people.csv --policy policy.toml --records risks.csv
      discreet assess 'postgresql://host/db?table=people' --policy policy.toml

    Ends with exit code 1 when more people are at risk than the policy's [limits] at_risk allows (none, unless it
    says so), so that a pipeline can stop there.
    """
    from discreet.risk.giveaways import telling_columns, told_apart
    from discreet.sources.export.record_list import refuse_listing, write_listing

    policy = discreet.Policy.load(policy_file)
    with working(OPENING):
        data = discreet.read(source, policy=policy)
    if records is not None:
        refuse_listing(records, overwrite=overwrite)  # before anything is measured
    with working(f"Counting people who look alike in {data.name}", data):
        people: Table | int | None = None
        if population is not None:
            number = number_of_people(population)
            people = listed(population, policy) if number is None else number
        assessment = discreet.assess(data, population=people, threshold=threshold)
    notes = [*dialect_notes(data, chosen=True), *unconfirmed_notes(policy), *repeated_notes(data)]
    if data.undeclared:
        names, more = data.undeclared[:5], len(data.undeclared) - 5
        columns = ", ".join(names) + (f" and {more} more" if more > 0 else "")
        have = "columns {} have" if len(data.undeclared) > 1 else "column {} has"
        notes.insert(0, f"Note: {have.format(columns)} no role in the policy and did not count as quasi-identifiers.")

    away = telling_columns(data)
    notes += giveaway_notes(away)
    if records is not None:
        with working(f"Writing the risk of every row of {data.name}", data):
            listed_rows = assessment.records()
            write_listing(listed_rows.columns, records, overwrite=overwrite)
        notes.append(
            f"Wrote {records}: the risk of each of {len(listed_rows):,} rows, in the order of {data.name}. It is for the "
            "custodian only, like the data themselves."
        )

    def page(**stamp: Any) -> str:
        profiled = discreet.profile(data, largest=3) if assessment.records <= PROFILED else None
        about: dict[str, Any] = {
            "title": f"Risk of {data.name}",
            "source": data.name,
            "policy": data.policy,
            "away": away,
        }
        return report.assessment_page(assessment, profile=profiled, **about, **stamp)

    rows = [
        (f"{band.label}", f"{band.classes:,}", f"{band.records:,}", brief_percent(band.records / assessment.records))
        for band in assessment.bands
        if band.records
    ]
    return CommandResult(
        lambda: {
            **assessment.to_dict(),
            "undeclared": list(data.undeclared),
            "unconfirmed": list(policy.unconfirmed),
            **told_apart(away),
        },
        [
            heading(
                f"Risk of {data.name}: {people_in_rows(assessment.records, assessment.rows)} by {', '.join(assessment.columns)}"
            ),
            finding_lines(lambda: report.findings(assessment, source=data.name)),
            "",
            table(["people who look alike", "classes", "people", "share"], rows, numeric=(0, 1, 2, 3)),
        ],
        page=page,
        notes=notes,
        exit_code=int(assessment.exceeded),
    )


@click.command(name="profile", short_help="Describe a table's columns and what they may be.")
@click.argument("source", metavar="DATA")
@policy_option("Policy that says how the data are written.", required=False)
@option("--largest", type=click.IntRange(1, 8), help="Most columns in a combination [4; with over 500,000 people 1].")
@dialect_options
@output("Print the profile as JSON.")
def profile(source: str, policy_file: str | None, largest: int | None, **written: Any) -> CommandResult:
    """Describe DATA: types, distributions, uniqueness, and which few columns single people out.

    \b
    Examples:
      discreet profile people.csv
      discreet profile people.parquet --json

    Values held by fewer than five people are not shown.
    """
    data = _read(source, discreet.Policy.load(policy_file) if policy_file else None, written)
    with working(f"Examining {len(data.columns)} columns of {data.name}", data):
        profiled = discreet.profile(data, largest=largest)
    rows = []
    for column in profiled.columns:
        common = max(column.distribution, key=lambda share: share.records, default=None)
        numbers = f"{column.distinct:,}", f"{column.missing:,}", brief_percent(column.share_unique)
        commonest = "" if common is None else f"{common.label} ({common.records:,})"
        rows.append((column.name, column.looks, *numbers, column.role, column.reason, commonest))
    headers = ["column", "type", "distinct", "missing", "unique", "may be", "because", "commonest"]
    return CommandResult(
        lambda: {**profiled.to_dict(), "data": _written(data, profiled)},
        [
            heading(
                f"{profiled.source}: {people_in_rows(profiled.records, profiled.rows)}, {len(profiled.columns)} columns"
            ),
            "",
            table(headers, rows, numeric=(2, 3, 4)),
            finding_lines(lambda: report.profile_findings(profiled)),
        ],
        notes=[*dialect_notes(data), *_found_notes(profiled)],
        next_step=f"discreet policy init {source} --out policy.toml",
    )


def _read(source: str, policy: Policy | None, written: dict[str, Any]) -> Table:
    """The data as their policy says they are written, or as the options do."""
    given: dict[str, Any] = {name: value for name, value in written.items() if value}
    with working(OPENING):
        return discreet.read(source, policy=replace(policy or discreet.Policy(), **given) if given else policy)


def _written(data: Table, profiled: Profile) -> dict[str, Any]:
    """How the data are written, as far as that was found out."""
    found = {"decimal": profiled.decimal, "missing": list(profiled.missing)}
    return {**data.engine.dialect, **{key: value for key, value in found.items() if value}}


def _found_notes(profiled: Profile) -> list[str]:
    """What was found out about numbers, and about whose rows there are."""
    notes = ["Note: numbers have a comma before their decimals."] if profiled.decimal else []
    if profiled.missing:
        codes = ", ".join(map(json.dumps, profiled.missing))
        notes.append(f"Note: read as missing, because nearly all else in a column is numbers or dates: {codes}.")
    if profiled.person:
        notes.append(
            f"Note: {profiled.person} seems to say whose row it is, so people are counted by it. A policy says it for certain: "
            f'[data] person = {json.dumps(profiled.person, ensure_ascii=False)}, or "row" if each row is a person all the same.'
        )
    return notes


@click.group(name="policy", short_help="Draft, check and describe policy files.")
def policy() -> None:
    """Draft, check and describe policy files.

    \b
    Examples:
      discreet policy init people.csv --out policy.toml
      discreet policy check policy.toml --data people.csv
      discreet policy confirm policy.toml --all
      discreet policy schema > policy.schema.json
    """


@policy.command(name="init")
@click.argument("source", metavar="DATA")
@dialect_options
@draft_option()
@option("--json", "as_json", is_flag=True, help="Print the guesses as JSON.")
def init(source: str, out: Path | None, as_json: bool, **written: Any) -> None:
    """Draft a policy for DATA with guessed roles, for a person to confirm."""
    data = _read(source, None, written)
    with working(f"Examining {data.name}", data):
        profiled = discreet.profile(data, largest=1)
    if as_json:
        columns = [column.to_dict() for column in profiled.columns]
        print_json({"data": _written(data, profiled), "columns": columns})
        return
    from discreet.policy import write_draft

    confirm = shlex.join(["discreet", "policy", "confirm", str(out), "--all"])
    step = f"Read it and correct the roles; then confirm them: {confirm}"
    for note in [*dialect_notes(data), *_found_notes(profiled)]:
        say(note)
    found = data.engine.dialect
    one = {key: found[key] for key in ("encoding", "delimiter", "sheet") if key in found and ", " not in found[key]}
    hand_over(
        write_draft(
            profiled.drafts(),
            decimal=profiled.decimal,
            missing=written["missing"] or profiled.missing,
            **one,
        ),
        out,
        next_step=step,
    )


@policy.command(name="check")
@click.argument("file", metavar="POLICY")
@option("--data", "source", metavar="DATA", help="Also check that the data fit: columns, counts, hierarchies.")
@output("Print the result as JSON.")
def check(file: str, source: str | None) -> CommandResult:
    """Check a policy file, its hierarchies, and with --data that the data fit it."""
    checked = discreet.Policy.load(file)
    heights = {name: checked.rule(name).height for name in checked.roles}
    words, fits, notes = [f"{file} is a valid policy."], None, unconfirmed_notes(checked)
    notes += [f"Note: {note}" for note in checked.gateway.notes] if checked.gateway else []
    if source:
        with working(OPENING):
            data = discreet.read(source, policy=checked)
        with working(f"Comparing {data.name} with the policy", data):
            data.require(list(checked.roles))
            for name, hierarchy in data.hierarchies([*checked.quasi, *checked.sensitive]).items():
                heights[name] = hierarchy.height
            data.refuse_several_rows_a_person()
            if checked.quasi:
                data.surveyed(data.classes())  # weights that are no numbers are refused
            notes += repeated_notes(data)
        fits = {"records": data.records, "rows": data.rows, "undeclared": list(data.undeclared)}
        words.append(f"{data.name} fits it: {people_in_rows(data.records, data.rows)}.")
        if data.undeclared:
            notes.append(
                f"Note: the policy gives no role to {', '.join(data.undeclared)}. Nothing is published before it does; "
                'role = "drop" leaves a column out.'
            )
    rows = [(name, checked.spelled_role(name), str(height)) for name, height in heights.items()]
    words.insert(1, table(["column", "role", "levels"], rows, numeric=(2,)))
    if not checked.quasi:
        notes.append('Note: no column has the role "quasi", so no risk can be measured.')
    bare = [name for name, role in checked.roles.items() if role == "quasi" and name not in checked.rules]
    if bare:
        notes.append(
            f"Note: discreet anonymise refuses quasi-identifiers without a hierarchy: {', '.join(bare)}. Give each one, "
            'for example { any = "*" }.'
        )
    quasi = {*checked.quasi}
    found = {
        "columns": {name: {"role": role, "levels": heights[name]} for name, role in checked.roles.items()},
        "unconfirmed": list(checked.unconfirmed),
        "counted_as": {name: "quasi" if name in quasi else checked.roles[name] for name in checked.unconfirmed},
        "without_hierarchy": bare,
        "data": fits,
    }
    return CommandResult(lambda: {"valid": True, "digest": checked.digest, **found}, words, notes=notes)


@policy.command(name="confirm")
@click.argument("file", metavar="POLICY")
@click.argument("columns", metavar="[COLUMN]...", nargs=-1)
@option("--all", "every", is_flag=True, help="Confirm the roles of all columns.")
@output("Print the result as JSON.")
def confirm(file: str, columns: tuple[str, ...], every: bool) -> CommandResult:
    """Confirm guessed roles: remove the question marks of COLUMNs from POLICY, and change nothing else in it.

    \b
    Examples:
      discreet policy confirm policy.toml age sex
      discreet policy confirm policy.toml --all
    """
    from discreet.policy.draft import confirmed

    before = discreet.Policy.load(file)
    if every == bool(columns):
        raise UsageError(
            f"Say which roles to confirm. Not confirmed: {', '.join(before.unconfirmed) or 'none'}.",
            remedy=f"Name columns, or confirm all: {shlex.join(['discreet', 'policy', 'confirm', file, '--all'])}",
        )
    names = [name for name in before.unconfirmed if every or name in columns]
    after = before.confirm(*columns) if columns else before.confirm(*names) if names else before
    if names:
        path = Path(file).resolve()  # a link stays a link
        replace_text(path, confirmed(path.read_bytes().decode("utf-8"), names))
    words = [f"{name}: confirmed as {after.roles[name]}." for name in names]
    words += [f"{name}: was confirmed already as {after.roles[name]}." for name in columns if name not in names]
    words += [] if words else ["Nothing to do: every role is confirmed."]
    data = {"confirmed": {name: after.roles[name] for name in names}, "unconfirmed": list(after.unconfirmed)}
    return CommandResult(lambda: {**data, "digest": after.digest}, words, notes=unconfirmed_notes(after))


@policy.command(name="schema")
@option("--json", "as_json", is_flag=True, help="Accepted for symmetry: the schema is JSON.")
def schema(as_json: bool) -> None:
    """Print the JSON Schema of the policy file."""
    del as_json
    from discreet.policy import json_schema

    print_json(json_schema())
