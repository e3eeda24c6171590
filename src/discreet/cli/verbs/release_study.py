"""`discreet release feasibility`, `attack` and `fingerprints`: studies of traceable copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from discreet import report
from discreet.anonymity import LOSSES, anonymise
from discreet.cli.options import (
    ALIKE,
    FORCE,
    HIERARCHIES,
    LOSS,
    SUPPRESSION,
    Decorator,
    data_and_population,
    folder_option,
    option,
    options,
    policy_option,
    population_option,
    seed_option,
)
from discreet.cli.output import CommandResult, bullet, finding_lines, heading, output, paragraph, table, working
from discreet.errors import UsageError
from discreet.policy import Policy
from discreet.releases import feasibility as measure_feasibility
from discreet.releases import feasibility_grid, plan_fingerprints
from discreet.releases.plan import columns_by_role
from discreet.sources import read
from discreet.wording import brief_percent, reason

if TYPE_CHECKING:
    from discreet.releases.leak_suite import LeakOutcome

GRID_COLUMNS = {
    "suppressed": "suppressed",
    "classes": "classes",
    "close_to_k": "close to k",
    "min_link": "least link",
    "candidate_classes": "candidates",
    "candidates_without_subjects": "without subjects",
}
"""Numbers of a pair of limits, with their headings."""


def search_options(*, smallest_k: int, suppression: float, loss: str) -> Decorator:
    """The options of a search for levels."""
    return options(
        policy_option(HIERARCHIES),
        option("--k", type=click.IntRange(smallest_k), default=5, metavar="K", help=ALIKE),
        option("--suppression", type=float, default=suppression, metavar="S", help=SUPPRESSION),
        option("--loss", type=click.Choice(list(LOSSES)), default=loss, help=LOSS),
    )


@click.command(name="feasibility", short_help="Check whether decoys can be put into a table.")
@click.argument("source", metavar="DATA")
@population_option
@search_options(smallest_k=1, suppression=0.1, loss="dm_star")
@option(
    "--search",
    type=click.Choice(["optimal", "mondrian", "mondrian-relaxed"]),
    default="optimal",
    help="How the table is made: one level per column, or boxes class by class.",
)
@option("--grid", is_flag=True, help="Also for k = 2, 5, 10, 20, 50 and 0, 2, 5, 10, 15 % suppressed.")
@option(
    "--samples", type=click.IntRange(2), metavar="N", help="Also over N uniform samples of POP: mean and deviation."
)
@option("--fraction", type=float, default=0.01, metavar="F", help="The share of POP in each sample.")
@seed_option("samples")
@output("Print the figures as JSON.", report="--report")
def feasibility(
    source: str,
    population: str,
    policy_file: str,
    k: int,
    suppression: float,
    loss: str,
    search: str,
    grid: bool,
    samples: int | None,
    fraction: float,
    seed: int,
) -> CommandResult:
    """Check whether decoys can be put into DATA: classes of the population riskier than every released person.

    \b
    Examples:
      discreet release feasibility people.csv --policy policy.toml --population register.parquet
      discreet release feasibility people.csv --policy policy.toml --population register.parquet --k 10 --suppression 0.05
      discreet release feasibility people.csv --policy policy.toml --population census.csv --grid --report grid.html
      discreet release feasibility people.csv --policy policy.toml --population census.csv --samples 50 --fraction 0.01
    """
    from discreet.releases.feasibility_samples import feasibility_samples

    data, people = data_and_population(source, population, policy_file)
    with working(f"Counting people who look alike in {data.name} and {people.name}"):
        measured = measure_feasibility(data, people, k=k, suppression=suppression, loss=loss, search=search)
        cells = feasibility_grid(data, people, loss=loss, search=search) if grid else None
        sampled = None
        if samples is not None:
            limits: dict[str, Any] = {"search": search, "loss": loss}
            limits |= {} if grid else {"ks": [k], "suppressions": [suppression]}
            everybody = people.classes(data.classes().names)
            dice = np.random.default_rng(seed)
            sampled = feasibility_samples(everybody, samples=samples, fraction=fraction, rng=dice, **limits)

    about: dict[str, Any] = {"title": f"Room for decoys in {data.name}", "source": data.name, "policy": data.policy}
    words: list[str | Iterator[str]] = [
        heading(f"Room for decoys in {data.name} at k = {measured.k}, at most {measured.suppression:.4g} suppressed"),
        finding_lines(lambda: report.feasibility_findings(measured)),
    ]
    if cells is not None:
        rows = []
        for cell in cells.cells:
            start, found = [str(cell.k), f"{cell.suppression:.4g}"], cell.found
            if found is None:
                rows.append([*start, "not possible", *[""] * 7])
                continue
            levels = " ".join(map(str, found.levels.values())) or "boxes"
            numbers = (f"{getattr(found, name):,}" for name in GRID_COLUMNS)
            rows.append([*start, levels, *numbers, f"{found.max_factor:.4g}"])
        headers = ["k", "share", "levels", *GRID_COLUMNS.values(), "largest factor"]
        words += ["", table(headers, rows, numeric=(0, 1, 3, 4, 5, 6, 7, 8, 9))]
    if sampled is not None:
        rows = [
            [
                str(cell.k),
                f"{cell.suppression:.4g}",
                str(cell.feasible),
                *(
                    f"{figure.mean:,.0f} ({figure.sd:,.0f})"
                    for name, figure in cell.figures.items()
                    if name in GRID_COLUMNS
                ),
            ]
            for cell in sampled.cells
        ]
        headers = ["k", "share", "feasible", *GRID_COLUMNS.values()]
        words += ["", heading(f"{sampled.samples} samples of {brief_percent(sampled.fraction)}: mean (standard deviation)"),
                  table(headers, [row + [""] * (len(headers) - len(row)) for row in rows], numeric=range(9))]  # fmt: skip
    return CommandResult(
        lambda: {
            **measured.to_dict(),
            "grid": cells.to_dict() if cells else None,
            "samples": sampled.to_dict() if sampled else None,
        },
        words,
        page=lambda **stamp: report.feasibility_page(measured, grid=cells, population=people.name, **about, **stamp),
    )


@click.command(name="attack", short_help="Simulate recipients who try to find the decoys.")
@click.argument("source", metavar="DATA")
@population_option
@search_options(smallest_k=2, suppression=0.1, loss="dm_star")
@option("--law", default="0.2/0.5", metavar="LAW", help="How often a mark is in a copy.")
@option(
    "--mode",
    type=click.Choice(["marks", "bait", "both"]),
    default="both",
    help="Decoys among classes of doubtful size, decoys riskier than everybody, or both in turn.",
)
@option("--recipients", type=click.IntRange(1), default=4, help="Number of attackers.")
@option("--decoys", type=click.IntRange(1), default=10, help="Decoys per copy in bait mode.")
@option(
    "--leaks",
    type=click.IntRange(0),
    default=2,
    metavar="N",
    help="Also leak copies of 20 recipients in every known way, N times each, and trace them; 0: not.",
)
@option("--seed", type=click.IntRange(0), default=1, help="The same seed gives the same copies.")
@option("--force", is_flag=True, help=FORCE)
@output("Print the figures as JSON.")
def attack(
    source: str,
    population: str,
    policy_file: str,
    k: int,
    suppression: float,
    loss: str,
    law: str,
    mode: str,
    recipients: int,
    **settings: Any,
) -> CommandResult:
    """Simulate recipients of DATA who look for decoys, or leak their copies.

    The copies are made in memory and discarded. Attackers have a list of the population. Leakers leave rows out, fill or
    relabel classes, change and shuffle columns, publish counts, and put up to ten copies together; each leak is traced. Ends
    with exit code 1 if decoys of the marks mode are distinguished from real classes with an AUC above 0.60, by more than
    chance explains. Other attacks than these can do better.

    \b
    Examples:
      discreet release attack people.csv --policy policy.toml --population register.parquet
      discreet release attack people.csv --policy policy.toml --population register.parquet --mode marks --json
    """
    from discreet.releases.attacks import play
    from discreet.releases.marks.codebook import Law
    from discreet.releases.population_link import Linked

    chosen = Law.parse(law)
    data, people = data_and_population(source, population, policy_file)
    with working(f"Releasing {data.name} to {recipients} recipients and attacking their copies"):
        safe = anonymise(data, k=k, suppression=suppression, loss=loss)
        linked = Linked.of(safe, people.classes(safe.recoding.names))
        modes = ("marks", "bait") if mode == "both" else (mode,)
        played = play(linked, data, recipients=recipients, modes=modes, law=chosen, **settings)
    words = [heading(f"{recipients} recipients of {data.name} look for decoys")]
    headers = ["attack", "AUC", "chance", "decoys among those named", "by guessing"]
    for played_mode, outcomes in played.outcomes.items():
        rows = [
            (
                outcome.attack,
                f"{outcome.auc:.2f}",
                f"{outcome.floor:.2f}",
                brief_percent(outcome.precision),
                brief_percent(outcome.guessing),
            )
            for outcome in outcomes
        ]
        words += [f"\nMode: {played_mode}", table(headers, rows, numeric=(1, 2, 3, 4))]
    if played.leaks:
        words += leak_tables(played.leaks)
    words += ["", *map(bullet, played.words())]
    return CommandResult(played.to_dict, words, exit_code=0 if played.holds else 1)


def leak_tables(leaks: Sequence[LeakOutcome]) -> Iterator[str]:
    """Who was named, way by way, and by strategy and size of coalition."""
    named = {(one.leak, one.colluding, one.part): f"{one.named} of {one.runs}" for one in leaks}
    yield "\nOne of 20 recipients leaks a copy"
    yield table(["leak", "named"], [(one.leak, f"{one.named} of {one.runs}") for one in leaks if one.colluding == 1])
    sizes = list(dict.fromkeys(one.colluding for one in leaks if one.colluding > 1))
    for part in dict.fromkeys(one.part for one in leaks if one.colluding > 1):
        strategies = dict.fromkeys(one.leak for one in leaks if one.colluding > 1)
        rows = [(strategy, *(named[strategy, size, part] for size in sizes)) for strategy in strategies]
        yield f"\nSeveral put copies together and leak {'all' if part == 1 else brief_percent(part)} of the rows: one of them is named"
        yield table(["what the file shows", *map(str, sizes)], rows)
    yield "\nNobody leaks a copy"
    yield table(["file or claims", "accused"], [(one.leak, str(one.innocents)) for one in leaks if not one.colluding])


@click.command(name="fingerprints", short_help="Give each recipient different levels, where that is safe.")
@click.argument("source", metavar="DATA")
@option("--recipients", type=click.IntRange(1), required=True, metavar="N", help="Number of recipients.")
@search_options(smallest_k=1, suppression=0.0, loss="loss")
@folder_option("Write the copies there.")
@option("--leaked", metavar="COPY", help="A leaked copy: say whose it is.")
@output("Print the levels as JSON.")
def fingerprints(
    source: str,
    policy_file: str,
    recipients: int,
    out: Path | None,
    leaked: str | None,
    **settings: Any,
) -> CommandResult:
    """Give each recipient of DATA different levels, so that a copy shows whose it is.

    \b
    Examples:
      discreet release fingerprints people.csv --policy policy.toml --recipients 3 --k 5
      discreet release fingerprints people.csv --policy policy.toml --recipients 3 --suppression 0.05 --out copies
      discreet release fingerprints people.csv --policy policy.toml --recipients 3 --suppression 0.05 --leaked found.csv

    Copies of different levels can be joined. Levels are handed out only if nobody is then among fewer than K people who
    look alike, whichever copies are joined; otherwise the command is refused (exit code 5) and says why. The same data
    and options give the same levels, so that a leaked copy can be traced later.
    """
    data = read(source, policy=Policy.load(policy_file))
    if out is not None:
        data.refuse_undeclared()
        data.refuse_unconfirmed()
    names = [f"{number:0{len(str(recipients))}}" for number in range(1, recipients + 1)]
    with working(f"Comparing the combinations of levels of {data.name}"):
        planned = plan_fingerprints(data, names, **settings)
    levels = planned.classes.names
    rows = [
        (fingerprint.recipient, *(str(fingerprint.levels[name]) for name in levels), brief_percent(fingerprint.loss))
        for fingerprint in planned.recipients
    ]
    words = [
        heading(f"Fingerprints of {data.name}: {len(planned.recipients):,} recipients, k = {planned.k:,}"),
        paragraph(planned.words()),
        "",
        table(["recipient", *levels, "lost"], rows, numeric=range(1, len(levels) + 2)),
        paragraph(f"Every copy has {columns_by_role(data.published)}."),
    ]
    owners = written = None
    if leaked is not None:
        copy = read(leaked)
        present = [name for name in levels if name in copy.columns]
        if not present:
            raise UsageError("The copy has none of the columns that have levels.", remedy="Is this the right file?")
        values = {name: [label for (label,) in copy.classes([name]).tuples()] for name in present}
        owners = list(planned.trace(values))
        if len(owners) == 1:
            whose = f"The copy has the levels of recipient {owners[0]}. A third party may have taken it from there."
        elif owners:
            whose = f"The copy fits the levels of recipients {', '.join(owners)}: too little is left to identify one."
        else:
            whose = "The copy has the levels of no recipient: it was generalised further, or is not one of these."
        words += ["", whose]
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problem = f"{out} cannot be created ({reason(error)})."
            raise UsageError(problem, remedy="Give another folder.") from None
        written = []
        for fingerprint in planned.recipients:
            target = out / f"copy-{fingerprint.recipient}.csv"
            data.export(planned.recoding(fingerprint.recipient), target)
            written.append(str(target))
    return CommandResult(
        lambda: {
            **planned.to_dict(),
            "published": {name: {"role": role} for name, role in data.published.items()},
            "owners": owners,
            "written": written,
        },
        words,
        notes=[f"Wrote {len(written):,} copies to {out}, each verified class by class."] if written else [],
    )
