"""`discreet link pairs` and `labels`: candidate pairs, and what is learned from answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from discreet import report
from discreet.cli.options import PATH, option, seed_option, store_option, target_option
from discreet.cli.output import CommandResult, finding_lines, heading, output, table, working
from discreet.cli.verbs.link.group import opened_ledger, project_named
from discreet.errors import UsageError
from discreet.wording import brief_percent


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
    if folder.spec.encoded:
        step = f"discreet link export {project} --out FOLDER --keys"
    elif labels is None and not sample and candidates.zones is not None:
        step = f"discreet link pairs {project} --sample 200"
    return CommandResult(
        figures,
        words,
        page=lambda **stamp: report.pairs_page(candidates, source=folder.path.name, **stamp),
        notes=[f"Stored in {folder.pairs_folder}"],
        next_step=step,
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
    from discreet.linkage.folder import ProjectFolder
    from discreet.linkage.matching.candidate_pairs import load_candidates

    with opened_ledger(address) as ledger:
        labelled = project_named(ledger, project)
        count = write_labels(ledger.store, labelled, out)
    once = " --one-to-one" if load_candidates(ProjectFolder.open(labelled.folder)).once else ""
    return CommandResult(
        lambda: {"labels": count, "file": str(out)},
        [f"{count:,} labels."],
        notes=[f"Wrote {out}. It names pairs of people by their ids: keep it as you keep the tables."],
        next_step=f"discreet link pairs {project}{once} --labels {out}",
    )
