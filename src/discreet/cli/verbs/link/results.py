"""`discreet link status`, `evaluate` and `export`: progress, quality and results of a project."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.options import PATH, acting, as_option, option, store_option, target_option
from discreet.cli.output import CommandResult, heading, on_store, output, plain, table, working
from discreet.cli.verbs.link.group import ledger_for, opened_ledger, project_named, project_to_export
from discreet.errors import UsageError
from discreet.wording import brief_percent

if TYPE_CHECKING:
    from discreet.linkage.evaluation import AnswerAccuracy

MOST_PRICED = 2_000
"""Pairs of a project that are priced in every display."""


@click.command(name="status", short_help="Show the progress of projects, without any value.")
@click.argument("project", metavar="[PROJECT]", required=False)
@option("--budget", is_flag=True, help="Also what each way of showing these pairs would cost.")
@store_option
@output("Print as JSON.")
def status(project: str | None, budget: bool, address: str | None) -> CommandResult:
    """List projects, or show the progress, budgets and agreement of one. No value of a person is shown.

    \b
    Examples:
      discreet link status
      discreet link status project --budget
    """
    from discreet.linkage.progress import progress
    from discreet.linkage.project import list_projects
    from discreet.linkage.review.decisions import answers_of
    from discreet.linkage.review.reveal import display_costs
    from discreet.linkage.review.views import REPORTED

    if budget and project is None:
        raise UsageError("--budget is about the pairs of one project.", remedy="Name the project.")
    costs: dict[Any, Any] | None = None

    with opened_ledger(address) as ledger:
        if project is None:
            projects = [progress(ledger, each) for each in list_projects(ledger.store)]
        else:
            shown = progress(ledger, project_named(ledger, project))
            if budget:
                answers = answers_of(ledger.store, shown.project)[:MOST_PRICED]
                with working("Pricing the ways to show these pairs"):
                    costs = display_costs(shown.project, [answered.records for answered in answers])
    if project is None:
        counts = [(f"{each.pairs:,}", f"{each.verdicts['open']:,}", f"{each.to_adjudicate:,}") for each in projects]
        rows = [(each.project.name, each.project.state, *row) for each, row in zip(projects, counts, strict=True)]
        return CommandResult(
            lambda: [each.to_dict() for each in projects],
            [table(["project", "state", "pairs", "open", "to adjudicate"], rows, numeric=(2, 3, 4))],
        )
    reviewers = []
    for worker in shown.workers:
        gauges = [
            "" if share is None else brief_percent(float(share))
            for gauge in (worker.characters, worker.risk)
            for share in (gauge.used, gauge.limit)
        ]
        minutes = f"{worker.seconds / 60:.0f}"
        reviewers.append((worker.worker, f"{worker.pairs:,}", f"{worker.decided:,}", *gauges, minutes))
    headers = ["reviewer", "pairs", "decided", "characters", "limit", "privacy risk", "limit", "minutes"]
    words = [
        heading(f"{shown.project.name}: {shown.pairs:,} pairs for reviewers"),
        table(["verdict", "pairs"], [(name, f"{n:,}") for name, n in shown.verdicts.items()], numeric=(1,)),
        "",
        table(headers, reviewers, numeric=(1, 2, 3, 4, 5, 6, 7)),
    ]
    if shown.agreement is not None:
        agreement = f"Agreement beyond chance (Fleiss' kappa) on {shown.compared:,} pairs: {_kappa(shown.agreement)}"
        words += ["", agreement]
    for first, second, pairs, kappa in shown.between:
        words.append(plain(f"  {first} and {second} (Cohen's kappa, {pairs:,} pairs): {_kappa(kappa)}"))
    if costs is not None:
        priced = [
            (way, brief_percent(float(cost.risk)), brief_percent(float(cost.characters)), REPORTED[way])
            for way, cost in costs.items()
        ]
        words += [
            "",
            heading(f"What showing {min(shown.pairs, MOST_PRICED):,} pairs would cost"),
            table(
                ["display", "privacy risk (KAPR)", "characters", "right in the authors' study"],
                priced,
                numeric=(1, 2, 3),
            ),
            "Reviewers who open cells on demand usually need less than moderate: start masked, with a limit between the two.",
        ]
    step = ""
    if shown.to_adjudicate:
        step = on_store("link", "assign", shown.project.name, "--adjudicator", "NAME", store=address)
        step += f"   ({shown.to_adjudicate:,} disputed)"
    elif shown.pairs and not shown.verdicts["open"]:
        step = on_store("link", "export", shown.project.name, "--out", "FOLDER", store=address)
    return CommandResult(
        lambda: {**shown.to_dict(), "budget": {way: cost.to_dict() for way, cost in costs.items()} if costs else None},
        words,
        next_step=step,
    )


def _kappa(kappa: Fraction | None) -> str:
    return "undefined" if kappa is None else f"{float(kappa):.2f}"


@click.command(name="export", short_help="Write the linked, de-identified table and the disclosure log.")
@click.argument("project", metavar="PROJECT")
@target_option("--out", type=PATH, required=True, metavar="FOLDER", help="Folder to create; must be new.")
@option("--unfinished", is_flag=True, help="Export although pairs are undecided; they count as different.")
@option("--everybody", is_flag=True, help="Of two tables, include people who are in only one of them.")
@option(
    "--keys",
    is_flag=True,
    help="Also write crosswalk.csv: the ids of all tables, person by person. It identifies people.",
)
@option(
    "--format", "form", type=click.Choice(["parquet", "csv"]), default="parquet", help="Format of the linked table."
)
@as_option
@store_option
@output("Print what was written as JSON.")
def export(
    project: str, out: Path, unfinished: bool, everybody: bool, keys: bool, form: Any, actor: str | None,
    address: str | None,
) -> CommandResult:  # fmt: skip
    """Write a FOLDER with the decisions of reviewers and machine about PROJECT.

    \b
    Examples:
      discreet link export project --out linked
      discreet link export project --out linked --format csv --everybody
      discreet link export project --out linked --keys

    The linked table has sensitive columns under new random pseudonyms, no identifying value and no id. Ends with exit
    code 1 if decisions contradict each other. Of a study its participants, decisions and log are written instead.
    """
    from discreet.linkage.export import export as export_project
    from discreet.linkage.study import export_study

    with ledger_for(project, address) as ledger:
        exported_project = project_to_export(ledger, project, acting(actor))
        if exported_project.study is not None:
            written = export_study(ledger, exported_project, out, actor=acting(actor))
            rows = [(f"{name}.csv", f"{count:,}") for name, count in written.items()]
            return CommandResult(lambda: written, [table(["file", "rows"], rows, numeric=(1,))])
        with working("Linking"):
            exported = export_project(
                ledger,
                exported_project,
                out,
                actor=acting(actor),
                unfinished=unfinished,
                everybody=everybody,
                form=form,
                keys=keys,
            )
    linked = exported.linked
    words = [
        f"{linked.rows:,} rows of {linked.people:,} people, columns: {plain(', '.join(linked.columns))}",
        f"{exported.pairs:,} pairs for reviewers, {exported.undecided:,} of them undecided; {exported.clusters:,} people in all.",
    ]
    if exported.keys is not None:
        words.append(
            f"crosswalk.csv: {exported.keys:,} pairs of ids of one person each. It joins the tables: keep it apart from them."
        )
        if exported.changes:
            words.append(f"changes.csv: {exported.changes:,} lines on people merged or split since the last crosswalk.")
    conflicting = exported.contradictions or exported.crowded
    if conflicting:
        words.append(
            f"{exported.contradictions:,} decisions contradict others (contradictions.csv); {exported.crowded:,} people "
            "occur twice in a table that contains everybody once."
        )
    return CommandResult(
        exported.to_dict,
        words,
        notes=[f"Wrote {out}; entry {exported.entry} of the ledger."],
        exit_code=int(bool(conflicting)),
    )


@click.command(name="evaluate", short_help="Hold reviewers' answers against a known truth.")
@click.argument("project", metavar="PROJECT")
@option(
    "--truth", metavar="FILE", required=True, help="Pairs of the same person: a table whose first two columns are ids."
)
@option("--same", metavar="COLUMN", help="Column of FILE that says whether a pair is the same person [all are].")
@store_option
@output("Print as JSON.", report="--out")
def evaluate(project: str, truth: str, same: str | None, address: str | None) -> CommandResult:
    """Hold the answers of PROJECT's reviewers against a known truth: accuracy, precision, recall, confidence, time, KAPR.

    Without --same, pairs that FILE does not list are different people; with it, nothing is known about them.

    \b
    Examples:
      discreet link evaluate project --truth same.csv
      discreet link evaluate project --truth labels.csv --same same --out evaluation.html
    """
    from discreet.linkage.evaluation import evaluate as against
    from discreet.linkage.folder import ProjectFolder
    from discreet.linkage.matching.pairs import read_labels
    from discreet.report.linkage import evaluation_page

    with opened_ledger(address) as ledger:
        reviewed = project_named(ledger, project)
        labels = read_labels(ProjectFolder.open(reviewed.folder), truth, same=same)
        found = against(ledger, reviewed, labels, complete=same is None)

    def shares(of: AnswerAccuracy) -> list[str]:
        every = (of.accuracy, of.precision, of.recall)
        return ["none" if one is None else brief_percent(float(one)) for one in every]

    rows = [
        (one.worker, f"{one.accuracy.answered:,}", *shares(one.accuracy),
         "none" if one.seconds is None else f"{one.seconds:.0f}", brief_percent(float(one.risk)))
        for one in found.reviewers
    ]  # fmt: skip
    sure = [
        (
            one.worker,
            *(
                "none" if level.accuracy is None else f"{brief_percent(float(level.accuracy))} of {level.answered}"
                for level in one.by_confidence.values()
            ),
        )
        for one in found.reviewers
    ]
    interfaces = [
        (name, f"{one.reviewers}", f"{one.accuracy.answered:,}", *shares(one.accuracy),
         "none" if one.seconds is None else f"{one.seconds:.0f}", brief_percent(float(one.risk)))
        for name, one in found.conditions.items()
    ]  # fmt: skip
    by_interface = [
        "interface",
        "reviewers",
        "answers",
        "accuracy",
        "precision",
        "recall",
        "seconds a pair",
        "privacy risk (KAPR)",
    ]
    fast = [one.worker for one in found.reviewers if one.too_fast]
    accuracy, precision, recall = shares(found.final)
    return CommandResult(
        found.to_dict,
        [
            heading(f"{found.project}: {found.pairs:,} pairs with a known truth, {found.condition} at the start"),
            f"In the end: accuracy {accuracy}, precision {precision}, recall {recall}.",
            "",
            *([table(by_interface, interfaces, numeric=range(1, 8)), ""] if len(interfaces) > 1 else []),
            table(
                ["reviewer", "answers", "accuracy", "precision", "recall", "seconds a pair", "privacy risk (KAPR)"],
                rows,
                numeric=range(1, 7),
            ),
            "",
            table(["right when sure:", "high", "medium", "low"], sure, numeric=(1, 2, 3)),
        ],
        notes=[f"{name} decides faster than people read: look at these decisions." for name in fast],
        page=partial(evaluation_page, found),
    )
