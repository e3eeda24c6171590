"""`discreet attack DATA`: what the adversary would do to a table."""

from __future__ import annotations

import csv
import datetime
import io
from pathlib import Path
from typing import cast

import click

from discreet import __version__
from discreet.attacker import Attacked
from discreet.cli import console
from discreet.cli.attack.adversary import adversary, options
from discreet.errors import UsageError
from discreet.policy import Policy
from discreet.risk import Assessment, assess
from discreet.sources import Table, read


@click.command(name="table", short_help="See what he would do to a table (the default).")
@click.argument("source", metavar="DATA")
@click.option(
    "--policy", "policy_file", metavar="FILE", required=True, help="Policy that gives the columns their roles."
)
@click.option("--external", metavar="POP", help="The list of named people he can buy [the people in DATA].")
@options
@click.option(
    "--population",
    metavar="POP",
    help="Everybody, if the list holds only some of them: how frequent he expects each kind of person to be.",
)
@click.option(
    "--loss",
    metavar="NUMBER|COLUMN",
    default="1",
    show_default=True,
    help="What a re-identification costs you, or the column that says so.",
)
@click.option(
    "--threshold", type=float, metavar="T", help="Risk above which a person counts as at risk [policy, or 0.2]."
)
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a report (HTML).")
@click.option(
    "--classes",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the risk of every class of people who look alike (CSV); it holds their values.",
)
def command(
    source: str,
    policy_file: str,
    external: str | None,
    attack_file: Path | None,
    changes: tuple[str, ...],
    population: str | None,
    loss: str,
    threshold: float | None,
    as_json: bool,
    out: Path | None,
    classes: Path | None,
) -> int:
    """See whom a planning adversary would attack in DATA, how far he would go, and whom he would find.

    \b
    Examples:
      discreet attack people.csv --policy policy.toml --external voters.parquet
      discreet attack people.csv --policy policy.toml --external voters.parquet --attack attack.toml --out report.html

    Ends with exit code 1 when more people are re-identified with a probability above the threshold than the
    policy's [limits] at_risk allows, by an adversary who knows how many people look like his target.
    """
    if out is not None:
        console.refuse_other_than_html(out)
    if classes is not None and classes.suffix.lower() != ".csv":
        raise UsageError(f"{classes.name} should end in .csv.", remedy="Use a name such as risks.csv.")
    attack = adversary(attack_file, changes)
    policy = Policy.load(policy_file)
    table = read(source, policy=policy)
    with console.working(f"Planning the attack on {table.name}"):
        assessment = assess(
            table,
            population=_listed(population, policy),
            threshold=threshold,
            attack=attack,
            external=_listed(external, policy),
            loss=_loss(loss),
        )
    struck = cast(Attacked, assessment.attack)
    if as_json:
        console.data(_as_json(assessment, struck))
    else:
        _tell(struck, table, assessment.threshold)
    console.note_repeated(table)
    if classes is not None:
        _write_classes(classes, struck)
    if out is not None:
        _write_report(out, assessment, struck, table)
    return int(_exceeded(assessment, struck))


def _listed(given: str | None, policy: Policy) -> Table | None:
    if given is not None and given.replace(",", "").replace("_", "").isdigit():
        raise UsageError(
            "How frequent each kind of person is cannot be told from a number of people.",
            remedy="Give a table: a CSV or Parquet file, or a PostgreSQL URL.",
        )
    return None if given is None else read(given, policy=policy.for_population())


def _loss(given: str) -> float | str:
    try:
        return float(given)
    except ValueError:
        return given


def _exceeded(assessment: Assessment, struck: Attacked) -> bool:
    return struck.exceeds(assessment.threshold, assessment.allowed_at_risk)


def _as_json(assessment: Assessment, struck: Attacked) -> dict[str, object]:
    return {
        "records": assessment.records,
        "classes": assessment.classes,
        "columns": list(assessment.columns),
        "threshold": assessment.threshold,
        **struck.to_dict(assessment.threshold),
        "limit": {"at_risk": assessment.allowed_at_risk, "exceeded": _exceeded(assessment, struck)},
    }


def _tell(struck: Attacked, table: Table, threshold: float) -> None:
    from discreet.report import attack_findings

    console.heading(
        f"An adversary looks at {table.name}: {int(struck.people.sum()):,} people by {', '.join(struck.sample.names)}"
    )
    console.findings(attack_findings(struck, source=table.name, threshold=threshold))
    click.echo()
    rows = [
        (words, *(f"{getattr(outcome, name):,.{digits}f}" for outcome in (struck.known, struck.unknown)))
        for words, name, digits in (
            ("attacked to the last candidate", "in_full", 0),
            ("attacked in part", "in_part", 0),
            ("left alone", "not_at_all", 0),
            ("re-identified (expected)", "reidentified", 1),
            ("innocent people exploited (expected)", "harmed", 1),
            ("loss to you (expected)", "expected_loss", 1),
        )
    ]
    console.table(["people", "he knows the groups", "he does not"], rows, numeric=(1, 2))


def _write_classes(path: Path, struck: Attacked) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, (values, risks) in enumerate(struck.by_class()):
        if number == 0:
            writer.writerow([*struck.sample.names, *risks])
        writer.writerow([*values, *risks.values()])
    console.write_text(path, text.getvalue())
    console.say(f"\nRisk per class: {path}. It holds people's values: keep it where the data are.")


def _write_report(out: Path, assessment: Assessment, struck: Attacked, table: Table) -> None:
    from discreet.report import attack_page

    page = attack_page(
        struck,
        title=f"What an adversary would do to {table.name}",
        source=table.name,
        threshold=assessment.threshold,
        exceeded=_exceeded(assessment, struck),
        created=datetime.datetime.now(datetime.UTC),
        command=console.command_line(),
        version=__version__,
        policy=table.policy,
    )
    console.write_text(out, page)
    console.say(f"\nReport: {out}")
