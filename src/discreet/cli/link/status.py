"""`discreet link status`: how far projects are, who has seen how much, and how far people agree."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import click

from discreet.cli import console
from discreet.cli.ledger import store_option
from discreet.cli.link.lookup import opened, project_called
from discreet.wording import brief_percent

if TYPE_CHECKING:
    from discreet.linkage.progress import Progress, WorkerProgress
    from discreet.linkage.review.views import Gauge


@click.command(name="status", short_help="See how far projects are, without any value.")
@click.argument("project", metavar="[PROJECT]", required=False)
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(project: str | None, address: str | None, as_json: bool) -> None:
    """List the projects of the store, or show one: progress, meters and agreement. No value of a person.

    \b
    Examples:
      discreet link status
      discreet link status project --json
    """
    from discreet.linkage.progress import progress
    from discreet.linkage.project import list_projects

    with opened(address) as ledger:
        if project is not None:
            found = progress(ledger, project_called(ledger, project))
            console.data(found.to_dict()) if as_json else _tell(found, address)
            return
        listed = list_projects(ledger.store)
        rows = [progress(ledger, one) for one in listed]
    if as_json:
        console.data([one.to_dict() for one in rows])
        return
    console.table(
        ["project", "state", "pairs", "open", "to adjudicate"],
        [
            (one.project.name, one.project.state, f"{one.pairs:,}", f"{one.verdicts['open']:,}", f"{one.to_adjudicate:,}")
            for one in rows
        ],
        numeric=(2, 3, 4),
    )  # fmt: skip


def _tell(found: Progress, address: str | None) -> None:
    console.heading(f"{found.project.name}: {found.pairs:,} pairs for people")
    console.table(["verdict", "pairs"], [(name, f"{n:,}") for name, n in found.verdicts.items()], numeric=(1,))
    click.echo()
    headers = ["reviewer", "pairs", "decided", "characters", "limit", "privacy risk", "limit", "minutes"]
    console.table(headers, [_row(worker) for worker in found.workers], numeric=(1, 2, 3, 4, 5, 6, 7))
    click.echo()
    if found.agreement is not None:
        click.echo(f"Agreement beyond chance (Fleiss' kappa) on {found.compared:,} pairs: {_kappa(found.agreement)}")
    for one, other, pairs, kappa in found.between:
        click.echo(console.plain(f"  {one} and {other} (Cohen's kappa, {pairs:,} pairs): {_kappa(kappa)}"))
    if found.to_adjudicate:
        step = console.next_step("link", "assign", found.project.name, "--adjudicator", "NAME", store=address)
        console.say(f"Next: {step}   ({found.to_adjudicate:,} disputed)")
    elif found.pairs and not found.verdicts["open"]:
        step = console.next_step("link", "export", found.project.name, "--out", "FOLDER", store=address)
        console.say(f"Next: {step}")


def _row(worker: WorkerProgress) -> list[str]:
    return [
        worker.worker, f"{worker.pairs:,}", f"{worker.decided:,}", *_gauge(worker.characters), *_gauge(worker.risk),
        f"{worker.seconds / 60:.0f}",
    ]  # fmt: skip


def _gauge(gauge: Gauge) -> tuple[str, str]:
    return _percent(gauge.used), "" if gauge.limit is None else _percent(gauge.limit)


def _percent(share: Fraction) -> str:
    return brief_percent(float(share))


def _kappa(kappa: Fraction | None) -> str:
    return "cannot be said" if kappa is None else f"{float(kappa):.2f}"
