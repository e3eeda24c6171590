"""`discreet release feasibility`, `attack` and `fingerprints`: studies of traceable copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from discreet.anonymity import LOSSES, anonymise
from discreet.cli.options import HIERARCHIES, DataAndPopulation, added, folder_option, option, policy_option
from discreet.cli.output import CommandResult, bullet, finding_lines, heading, output, paragraph, table, working
from discreet.cli.verbs.release import ALIKE, FORCE, LOSS, SUPPRESSION
from discreet.errors import UsageError
from discreet.policy import Policy
from discreet.releases import Cell, Feasibility, FeasibilityGrid, Fingerprints, feasibility_grid, plan_fingerprints
from discreet.releases import feasibility as measure_feasibility
from discreet.releases.plan import columns_by_role
from discreet.sources import Table, read
from discreet.wording import brief_percent

if TYPE_CHECKING:
    from discreet.releases.attacks import Played

Command = TypeVar("Command", bound=Callable[..., Any])


def search_options(*, smallest_k: int, suppression: float, loss: str) -> Callable[[Command], Command]:
    """The options of a search for levels."""
    options = (
        policy_option(HIERARCHIES),
        option("--k", type=click.IntRange(smallest_k), default=5, metavar="K", help=ALIKE),
        option("--suppression", type=float, default=suppression, metavar="S", help=SUPPRESSION),
        option("--loss", type=click.Choice(list(LOSSES)), default=loss, help=LOSS),
    )
    return lambda command: added(options, command)


population_option = option(
    "--population", metavar="POP", required=True, help="Table of the people the data were drawn from."
)


@click.command(name="feasibility", short_help="Check whether decoys can be put into a table.")
@click.argument("source", metavar="DATA")
@population_option
@search_options(smallest_k=1, suppression=0.1, loss="dm_star")
@option("--grid", is_flag=True, help="Also for k = 2, 5, 10, 20, 50 and 0, 2, 5, 10, 15 % suppressed.")
@output("Print the figures as JSON.", report="--report")
def feasibility(
    source: str, population: str, policy_file: str, k: int, suppression: float, loss: str, grid: bool
) -> CommandResult:
    """Check whether decoys can be put into DATA: classes of the population riskier than every released person.

    \b
    Examples:
      discreet release feasibility people.csv --policy policy.toml --population register.parquet
      discreet release feasibility people.csv --policy policy.toml --population register.parquet --k 10 --suppression 0.05
      discreet release feasibility people.csv --policy policy.toml --population census.csv --grid --report room.html
    """
    tables = DataAndPopulation.read(source, population, policy_file)
    with working(f"Counting people who look alike in {tables.data.name} and {tables.population.name}"):
        measured = measure_feasibility(*tables, k=k, suppression=suppression, loss=loss)
        cells = feasibility_grid(*tables, loss=loss) if grid else None

    def page(**stamp: Any) -> str:
        from discreet.report import feasibility_page

        data, people = tables
        about: dict[str, Any] = {"title": f"Room for decoys in {data.name}", "source": data.name}
        return feasibility_page(measured, grid=cells, population=people.name, policy=data.policy, **about, **stamp)

    return CommandResult(
        lambda: {**measured.to_dict(), "grid": cells.to_dict() if cells else None},
        _feasibility_words(measured, cells, tables.data),
        page=page,
    )


def _feasibility_words(measured: Feasibility, grid: FeasibilityGrid | None, data: Table) -> Iterator[str]:
    from discreet.report import feasibility_findings

    settings = f"k = {measured.k}, at most {measured.suppression:.4g} suppressed"
    yield heading(f"Room for decoys in {data.name} at {settings}")
    yield from finding_lines(feasibility_findings(measured))
    if grid is None:
        return
    yield ""
    headers = ["k", "share", "levels", "suppressed", "classes", "close to k", "least link", "candidates"]
    headers += ["without subjects", "largest factor"]
    yield table(headers, [_grid_row(cell) for cell in grid.cells], numeric=(0, 1, 3, 4, 5, 6, 7, 8, 9))


def _grid_row(cell: Cell) -> list[str]:
    start, measured = [str(cell.k), f"{cell.suppression:.4g}"], cell.found
    if measured is None:
        return [*start, "not possible", *[""] * 7]
    numbers = (
        measured.suppressed,
        measured.classes,
        measured.close_to_k,
        measured.min_link,
        measured.candidate_classes,
        measured.candidates_without_subjects,
    )
    levels = " ".join(map(str, measured.levels.values()))
    return [*start, levels, *(f"{number:,}" for number in numbers), f"{measured.max_factor:.4g}"]


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
    """Simulate recipients of DATA who have a list of the population and try to find the decoys in their copies.

    The copies are made in memory and discarded. Ends with exit code 1 if decoys of the marks mode are distinguished from
    real classes with an AUC above 0.60, by more than chance explains. Ten attacks are simulated; others can do better, above
    all where columns depend on each other or hold many decimals or round values.

    \b
    Examples:
      discreet release attack people.csv --policy policy.toml --population register.parquet
      discreet release attack people.csv --policy policy.toml --population register.parquet --mode marks --json
    """
    from discreet.releases.attacks import play
    from discreet.releases.marks.codebook import Law
    from discreet.releases.population_link import Linked

    chosen = Law.parse(law)
    tables = DataAndPopulation.read(source, population, policy_file)
    with working(f"Releasing {tables.data.name} to {recipients} recipients and attacking their copies"):
        safe = anonymise(tables.data, k=k, suppression=suppression, loss=loss)
        linked = Linked.of(safe, tables.population.classes(safe.recoding.names))
        modes = ("marks", "bait") if mode == "both" else (mode,)
        played = play(linked, tables.data, recipients=recipients, modes=modes, law=chosen, **settings)
    title = heading(f"{recipients} recipients of {tables.data.name} look for decoys")
    return CommandResult(played.to_dict, _played_words(title, played), exit_code=0 if played.holds else 1)


def _played_words(title: str, played: Played) -> Iterator[str]:
    yield title
    headers = ["attack", "AUC", "chance", "decoys among those named", "by guessing"]
    for mode, outcomes in played.outcomes.items():
        yield f"\nMode: {mode}"
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
        yield table(headers, rows, numeric=(1, 2, 3, 4))
    yield ""
    yield from map(bullet, played.words())


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
    names = [f"{number:0{len(str(recipients))}}" for number in range(1, recipients + 1)]
    with working(f"Comparing the combinations of levels of {data.name}"):
        planned = plan_fingerprints(data, names, **settings)
    owners = None if leaked is None else _owners(planned, leaked)
    written = None if out is None else _write_copies(planned, data, out)
    return CommandResult(
        lambda: {
            **planned.to_dict(),
            "published": {name: {"role": role} for name, role in data.published.items()},
            "owners": owners,
            "written": written,
        },
        _fingerprint_words(planned, data, owners),
        notes=[f"Wrote {len(written):,} copies to {out}, each verified class by class."] if written else [],
    )


def _owners(planned: Fingerprints, leaked: str) -> list[str]:
    copy = read(leaked)
    names = [name for name in planned.classes.names if name in copy.columns]
    if not names:
        raise UsageError("The copy has none of the columns that have levels.", remedy="Is this the right file?")
    values = {name: [label for (label,) in copy.classes([name]).tuples()] for name in names}
    return list(planned.trace(values))


def _write_copies(planned: Fingerprints, data: Table, out: Path) -> list[str]:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{out} cannot be created ({type(error).__name__}).", remedy="Give another folder.") from None
    targets = []
    for fingerprint in planned.recipients:
        targets.append(out / f"copy-{fingerprint.recipient}.csv")
        data.export(planned.recoding(fingerprint.recipient), targets[-1])
    return [str(target) for target in targets]


def _fingerprint_words(planned: Fingerprints, data: Table, owners: list[str] | None) -> Iterator[str]:
    yield heading(f"Fingerprints of {data.name}: {len(planned.recipients):,} recipients, k = {planned.k:,}")
    yield paragraph(planned.words())
    yield ""
    names = planned.classes.names
    rows = [
        (fingerprint.recipient, *(str(fingerprint.levels[name]) for name in names), brief_percent(fingerprint.loss))
        for fingerprint in planned.recipients
    ]
    headers = ["recipient", *names, "lost"]
    yield table(headers, rows, numeric=range(1, len(headers)))
    yield paragraph(f"Every copy has {columns_by_role(data.published)}.")
    if owners is None:
        return
    yield ""
    if len(owners) == 1:
        yield f"The copy has the levels of recipient {owners[0]}. A third party may have taken it from there."
    elif owners:
        yield f"The copy fits the levels of recipients {', '.join(owners)}: too little is left to identify one."
    else:
        yield "The copy has the levels of no recipient: it was generalised further, or is not one of these."
