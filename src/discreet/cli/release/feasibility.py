"""`discreet release feasibility`: can decoys be put into a table?"""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from discreet import __version__
from discreet.cli import console
from discreet.cli.release.options import search_options
from discreet.policy import Policy
from discreet.releases import Cell, Feasibility, FeasibilityGrid, feasibility, feasibility_grid
from discreet.sources import Table, read


@click.command(name="feasibility", short_help="See whether decoys can be put into a table.")
@click.argument("source", metavar="DATA")
@search_options(smallest_k=1)
@click.option("--grid", is_flag=True, help="Also for k = 2, 5, 10, 20, 50 and 0, 2, 5, 10, 15 % left out.")
@click.option(
    "--report", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a report (HTML)."
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(
    source: str,
    population: str,
    policy_file: str,
    k: int,
    suppression: float,
    loss: str,
    grid: bool,
    report: Path | None,
    as_json: bool,
) -> int:
    """See whether decoys can be put into DATA: classes of the population riskier than every released person.

    \b
    Examples:
      discreet release feasibility people.csv --policy policy.toml --population register.parquet
      discreet release feasibility people.csv --policy policy.toml --population register.parquet --k 10 --suppression 0.05
      discreet release feasibility people.csv --policy policy.toml --population census.csv --grid --report room.html
    """
    if report is not None:
        console.refuse_other_than_html(report)
    policy = Policy.load(policy_file)
    table, everybody = read(source, policy=policy), read(population, policy=policy.for_population())
    with console.working(f"Counting people who look alike in {table.name} and {everybody.name}"):
        found = feasibility(table, everybody, k=k, suppression=suppression, loss=loss)
        cells = feasibility_grid(table, everybody, loss=loss) if grid else None
    if as_json:
        console.data({**found.to_dict(), "grid": cells.to_dict() if cells else None})
    else:
        _tell(found, cells, table)
    if report is not None:
        _write_report(report, found, cells, table, everybody)
    return 0


def _tell(found: Feasibility, grid: FeasibilityGrid | None, table: Table) -> None:
    from discreet.report import feasibility_findings

    console.heading(f"Room for decoys in {table.name} at k = {found.k}, at most {found.suppression:.4g} left out")
    console.findings(feasibility_findings(found))
    if grid is None:
        return
    click.echo()
    head = ["k", "left out", "levels", "suppressed", "classes", "close to k", "least link", "candidates"]
    head += ["without subjects", "largest factor"]
    console.table(head, [_row(cell) for cell in grid.cells], numeric=(0, 1, 3, 4, 5, 6, 7, 8, 9))


def _row(cell: Cell) -> list[str]:
    start, found = [str(cell.k), f"{cell.suppression:.4g}"], cell.found
    if found is None:
        return [*start, "not possible", *[""] * 7]
    numbers = (
        *(found.suppressed, found.classes, found.close_to_k, found.min_link),
        *(found.candidate_classes, found.candidates_without_subjects),
    )
    levels = " ".join(map(str, found.levels.values()))
    return [*start, levels, *(f"{number:,}" for number in numbers), f"{found.max_factor:.4g}"]


def _write_report(
    report: Path, found: Feasibility, grid: FeasibilityGrid | None, table: Table, everybody: Table
) -> None:
    from discreet.report import feasibility_page

    page = feasibility_page(
        found,
        grid=grid,
        title=f"Room for decoys in {table.name}",
        source=table.name,
        population=everybody.name,
        created=datetime.datetime.now(datetime.UTC),
        command=console.command_line(),
        version=__version__,
        policy=table.policy,
    )
    console.write_text(report, page)
    console.say(f"\nReport: {report}")
