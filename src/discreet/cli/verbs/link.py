"""`discreet link`: find records of the same person in one table or two."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet import report
from discreet.cli.main import Verbs
from discreet.cli.options import PATH, acting, as_option, option, seed_option, store_option, target_option
from discreet.cli.output import CommandResult, finding_lines, heading, on_store, output, plain, table, working
from discreet.errors import NotThere, UsageError
from discreet.wording import brief_percent

if TYPE_CHECKING:
    from discreet.ledger import Ledger
    from discreet.linkage.project import Project


@click.group(
    name="link",
    cls=Verbs,
    verbs={
        "init": ("link", "init", "Import tables into a linkage project."),
        "pairs": ("link", "pairs", "Find candidate pairs and divide them between machine and reviewers."),
        "assign": ("link_review", "assign", "Assign pairs to reviewers, within limits."),
        "review": ("link_review", "review", "Review pairs in the terminal."),
        "status": ("link", "status", "Show the progress of projects, without any value."),
        "evaluate": ("link_review", "evaluate", "Hold reviewers' answers against a known truth."),
        "add": ("link_review", "add", "Add a table of further records to a linkage project."),
        "labels": ("link", "labels", "Write what reviewers decided as labels that travel."),
        "export": ("link", "export", "Write the linked, de-identified table and the disclosure log."),
    },
    short_help="Find records of the same person; reviewers decide unclear pairs.",
)
def command() -> None:
    """Find records of the same person in two tables, or duplicates in one.

    \b
    Examples:
      discreet link init clinic.csv registry.csv --spec link.toml --out project
      discreet link pairs project --chart pairs.html
      discreet link assign project --worker ann --worker ben --overlap 2 --risk 0.12
      discreet link review project --worker ann
      discreet link status project
      discreet link export project --out linked

    Sensitive columns are split off at import; clear pairs are decided by machine, unclear ones by reviewers.
    """


MOST_PRICED = 2_000
"""Pairs of a project that are priced in every display."""


def opened_ledger(address: str | None, *, create: bool = False) -> Ledger:
    """The ledger of a store."""
    from discreet.ledger import Ledger

    return Ledger.open(address, create=create)


def project_named(ledger: Ledger, name: str) -> Project:
    """A project by its name in the store, or by its folder."""
    from discreet.linkage.project import list_projects

    for project in list_projects(ledger.store):
        if project.name == name or project.folder == str(Path(name).resolve()):
            return project
    raise NotThere(
        f"The store knows no project '{name}'.",
        remedy="Assign its pairs first: discreet link assign PROJECT --worker NAME",
    )


@click.command(name="init", short_help="Import tables into a linkage project.")
@click.argument("first", metavar="DATA")
@click.argument("second", metavar="[DATA2]", required=False)
@option("--spec", "spec_file", metavar="FILE", required=True, help="Link file that declares identifying columns.")
@target_option("--out", type=PATH, required=True, metavar="PROJECT", help="Folder to create; must be new.")
@option("--register", is_flag=True, help="Register the project in the store, too; otherwise `assign` does.")
@option("--name", metavar="NAME", help="Name of the project in the store [the folder's name].")
@as_option
@store_option
@output("Print what was imported as JSON.")
def init(
    first: str,
    second: str | None,
    spec_file: str,
    out: Path,
    register: bool,
    name: str | None,
    actor: str | None,
    address: str | None,
) -> CommandResult:
    """Import one table to search for duplicates, or two tables to link.

    \b
    Examples:
      discreet link init clinic.csv registry.csv --spec link.toml --out project
      discreet link init "postgresql://host/db?table=people" --spec link.toml --out project

    Identifying and sensitive columns go into separate files in different orders; only a random pseudonym joins them.
    """
    from discreet.linkage import LinkageSpec, start_project

    spec = LinkageSpec.load(spec_file)
    with working("Importing"):
        folder = start_project(out, first, second, spec=spec)
    if register:
        from discreet.linkage.project import register_project

        with opened_ledger(address, create=True) as ledger:
            register_project(ledger, out, actor=acting(actor), name=name)
    tables: list[dict[str, Any]] = folder.about["tables"]
    words = []
    for imported in tables:
        unread = imported["unread_dates"]
        rows = [
            (attribute, f"{count:,}", f"{unread[attribute]:,}" if attribute in unread else "")
            for attribute, count in imported["missing"].items()
        ]
        words += [
            heading(f"{imported['name']}: {imported['records']:,} records"),
            table(["attribute", "missing", "not read as dates"], rows, numeric=(1, 2)),
        ]
        for key, what in (("sensitive", "split off"), ("left_out", "not imported")):
            if imported[key]:
                words.append(f"{what}: {plain(', '.join(imported[key]))}")
    return CommandResult(lambda: {"project": str(out), "tables": tables}, words, next_step=f"discreet link pairs {out}")


@click.command(name="pairs", short_help="Find candidate pairs and divide them between machine and reviewers.")
@click.argument("project", metavar="PROJECT", type=PATH)
@option("--most-pairs", type=click.IntRange(1), metavar="N", help="Score at most N pairs [20 per record].")
@option(
    "--rule", "rules", multiple=True, metavar="A,B", help="Compare pairs that agree on A and B; replaces suggestions."
)
@option("--pairs-file", metavar="FILE", help="Take pairs from FILE, whose first two columns are ids.")
@option("--score", metavar="COLUMN", help="Column of the pairs file with a probability or a weight in bits.")
@option("--labels", "labels_file", metavar="FILE", help="Pairs whose answer is known: two ids, same, [weight].")
@option(
    "--sample",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Draw about N pairs at random for people to label first.",
)
@option("--review", type=click.IntRange(0), metavar="N", help="Number of pairs that reviewers can decide.")
@option(
    "--false-same",
    type=click.FloatRange(0, 1),
    default=0.005,
    metavar="SHARE",
    help="Largest share of wrong pairs among those decided as the same by machine, estimated by the model.",
)
@option(
    "--missed",
    type=click.FloatRange(0, 1),
    default=0.01,
    metavar="SHARE",
    help="Largest share of true pairs decided as different by machine, estimated by the model.",
)
@option("--one-to-one", "once", is_flag=True, help="Each table contains every person at most once.")
@seed_option("model")
@output("Print counts, thresholds and the data of the chart as JSON.", report="--chart")
def pairs(
    project: Path,
    rules: tuple[str, ...],
    pairs_file: str | None,
    score: str | None,
    labels_file: str | None,
    most_pairs: int | None,
    sample: int,
    seed: int,
    **thresholds: Any,
) -> CommandResult:
    """Find candidate pairs of a project, score them, and divide them between machine and reviewers.

    \b
    Examples:
      discreet link pairs project --chart pairs.html
      discreet link pairs project --sample 200              label these first: they say how large errors are
      discreet link pairs project --review 500 --one-to-one
      discreet link pairs project --labels labels.csv       learn from pairs whose answer is known
      discreet link pairs project --pairs-file ready.csv --score p

    Pairs, model and thresholds are stored in PROJECT/pairs and replace earlier ones.
    """
    from discreet.linkage import ProjectFolder, adopt_pairs, distribution, find_pairs, read_labels, read_pairs
    from discreet.linkage.matching.candidate_pairs import changes, load_candidates, sampled
    from discreet.sources import read

    folder = ProjectFolder.open(project)
    before = load_candidates(folder) if (folder.pairs_folder / "zones.json").is_file() else None
    with working("Finding candidate pairs"):
        labels = None
        if labels_file is not None:
            labelled = read(labels_file)
            same, weight = (name if name in labelled.columns else None for name in ("same", "weight"))
            labels = read_labels(folder, labelled, same=same, weight=weight)
        if pairs_file is not None:
            given = read_pairs(folder, pairs_file, score=score)
            candidates = adopt_pairs(folder, given, labels=labels, **thresholds)
            candidates = sampled(candidates, sample, seed=seed) if sample else candidates
        elif score is not None:
            raise UsageError("--score names a column of the pairs file.", remedy="Give --pairs-file as well.")
        else:
            named = [[name.strip() for name in rule.split(",")] for rule in rules] or None
            chosen: dict[str, Any] = {"most_pairs": most_pairs, "rules": named, "seed": seed, "sample": sample}
            candidates = find_pairs(folder, labels=labels, **chosen, **thresholds)
        candidates.save(folder)

    def figures() -> dict[str, Any]:
        scored, zones = candidates.pairs, candidates.zones
        chart = distribution(scored, zones).to_dict() if zones and len(scored) else None
        return {**candidates.to_dict(), "distribution": chart, "changes": [list(row) for row in moved]}

    moved = [] if before is None else changes(folder, before, candidates)

    words: list[str | Iterator[str]] = [
        heading(f"Candidate pairs of {folder.path.name}"),
        finding_lines(lambda: report.pairs_findings(candidates)),
    ]
    if candidates.model is not None:
        rows = [
            (rule.name, f"{rule.pairs:,}", "" if rule.recall is None else brief_percent(rule.recall))
            for rule in candidates.model.blocking.rules
        ]
        words += ["", table(["rule", "pairs", "true pairs found"], rows, numeric=(1, 2))]
    if moved:
        rows = [(earlier, now, f"{count:,}") for earlier, now, count in moved]
        words += ["", table(["was", "is now", "pairs"], rows, numeric=(2,))]
    step = f"discreet link assign {project} --worker NAME"
    if labels is None and not sample and candidates.zones is not None:
        step = f"discreet link pairs {project} --sample 200"
    return CommandResult(
        figures,
        words,
        page=lambda **stamp: report.pairs_page(candidates, source=folder.path.name, **stamp),
        notes=[f"Stored in {folder.pairs_folder}"],
        next_step=step,
    )


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

    with opened_ledger(address) as ledger:
        exported_project = project_named(ledger, project)
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


@click.command(name="labels", short_help="Write what reviewers decided as labels that travel.")
@click.argument("project", metavar="PROJECT")
@target_option("--out", type=PATH, required=True, metavar="FILE", help="CSV file to create; must be new.")
@store_option
@output("Print as JSON.")
def labels(project: str, out: Path, address: str | None) -> CommandResult:
    """Write the pairs that reviewers of PROJECT decided, by the ids of the tables.

    \b
    Examples:
      discreet link labels project --out labels.csv
      discreet link pairs project --labels labels.csv       learn from them, here or in another project of these tables

    Columns: two ids, same (1 or 0), and how many pairs each label counts for. Of a project with a label sample the pairs
    of the sample are written.
    """
    from discreet.linkage.export import write_labels

    with opened_ledger(address) as ledger:
        count = write_labels(ledger.store, project_named(ledger, project), out)
    return CommandResult(
        lambda: {"labels": count, "file": str(out)},
        [f"{count:,} labels."],
        notes=[f"Wrote {out}. It names pairs of people by their ids: keep it as you keep the tables."],
        next_step=f"discreet link pairs {project} --labels {out}",
    )
