"""`discreet link pairs`: find, score and divide candidate pairs."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet import __version__
from discreet.cli import console
from discreet.errors import UsageError
from discreet.wording import brief_percent

if TYPE_CHECKING:
    from discreet.linkage import Candidates, Labels, ProjectFolder

LABEL_COLUMNS = ("same", "weight")


@click.command(name="pairs", short_help="Find candidate pairs, and say who decides which.")
@click.argument("project", metavar="PROJECT", type=click.Path(path_type=Path))
@click.option("--most-pairs", type=click.IntRange(1), metavar="N", help="Score at most N pairs [20 per record].")
@click.option(
    "--rule", "rules", multiple=True, metavar="A,B", help="Look at pairs that agree on A and B; instead of suggestions."
)
@click.option("--pairs-file", metavar="FILE", help="Take pairs from FILE: two columns of ids first.")
@click.option("--score", metavar="COLUMN", help="Column of the pairs file with a probability or a weight in bits.")
@click.option("--labels", "labels_file", metavar="FILE", help="Pairs whose answer is known: two ids, same, [weight].")
@click.option("--review", type=click.IntRange(0), metavar="N", help="People can look at N pairs.")
@click.option(
    "--false-same", type=click.FloatRange(0, 1), default=0.005, show_default=True, metavar="SHARE",
    help="Wrong ones among the pairs that the machine calls the same, by the model's own probabilities.",
)  # fmt: skip
@click.option(
    "--missed", type=click.FloatRange(0, 1), default=0.01, show_default=True, metavar="SHARE",
    help="True candidate pairs that the machine may call different, by the same.",
)  # fmt: skip
@click.option("--one-to-one", "once", is_flag=True, help="Each table has every person once at most.")
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="The same seed gives the same model."
)
@click.option("--chart", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a report (HTML).")
@click.option("--json", "as_json", is_flag=True, help="Print counts, thresholds and the data of the chart as JSON.")
def command(project: Path, chart: Path | None, as_json: bool, **asked: Any) -> None:
    """Find candidate pairs of a project, score them, and divide them between the machine and people.

    \b
    Examples:
      discreet link pairs project --chart pairs.html
      discreet link pairs project --review 500 --one-to-one
      discreet link pairs project --labels labels.csv       learn from pairs whose answer is known
      discreet link pairs project --pairs-file ready.csv --score p

    Pairs, model and zones are kept in PROJECT/pairs and replace earlier ones.
    """
    from discreet.linkage import ProjectFolder

    if chart is not None:
        console.refuse_other_than_html(chart)
    folder = ProjectFolder.open(project)
    with console.working("Finding candidate pairs"):
        found = _found(folder, **asked)
        found.save(folder)
    if as_json:
        console.data(_as_json(found))
    else:
        _tell(found, folder)
    if chart is not None:
        _write(chart, found, folder)
    console.say(f"\nKept in {folder.pairs_folder}\nNext: discreet link assign {project} --worker NAME")


def _found(
    folder: ProjectFolder,
    *,
    rules: tuple[str, ...],
    pairs_file: str | None,
    score: str | None,
    labels_file: str | None,
    most_pairs: int | None,
    seed: int,
    **cutting: Any,
) -> Candidates:
    from discreet.linkage import adopt_pairs, find_pairs, read_pairs

    labels = _labels(folder, labels_file)
    if pairs_file is None:
        if score is not None:
            raise UsageError("--score names a column of the pairs file.", remedy="Give --pairs-file as well.")
        named = [[name.strip() for name in rule.split(",")] for rule in rules] or None
        return find_pairs(folder, most_pairs=most_pairs, rules=named, seed=seed, labels=labels, **cutting)
    return adopt_pairs(folder, read_pairs(folder, pairs_file, score=score), labels=labels, **cutting)


def _labels(folder: ProjectFolder, file: str | None) -> Labels | None:
    if file is None:
        return None
    from discreet.linkage import read_labels
    from discreet.sources import read

    table = read(file)
    same, weight = (name if name in table.columns else None for name in LABEL_COLUMNS)
    return read_labels(folder, table, same=same, weight=weight)


def _as_json(found: Candidates) -> dict[str, Any]:
    from discreet.linkage import distribution

    drawn = distribution(found.pairs, found.zones).to_dict() if found.zones and len(found.pairs) else None
    return {**found.to_dict(), "distribution": drawn}


def _tell(found: Candidates, folder: ProjectFolder) -> None:
    from discreet.report import pairs_findings

    console.heading(f"Candidate pairs of {folder.path.name}")
    console.findings(pairs_findings(found))
    if found.model is not None:
        click.echo()
        rows = [
            (
                " and ".join(rule.attributes) + (" swapped" if rule.crossed else ""),
                f"{rule.pairs:,}",
                "" if rule.recall is None else brief_percent(rule.recall),
            )
            for rule in found.model.blocking.rules
        ]
        console.table(["rule: same", "pairs", "true pairs found"], rows, numeric=(1, 2))


def _write(chart: Path, found: Candidates, folder: ProjectFolder) -> None:
    from discreet.report import pairs_page

    page = pairs_page(
        found,
        source=folder.path.name,
        created=datetime.datetime.now(datetime.UTC),
        command=console.command_line(),
        version=__version__,
    )
    console.write_text(chart, page)
    console.say(f"\nReport: {chart}")
