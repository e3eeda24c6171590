"""Linkage chapter of the demo: a clerk opens what differs, and decides."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.demo.chapters import open_ledger
from discreet.demo.contrast import Contrast, Side
from discreet.errors import MissingExtra, Refused
from discreet.people import write_extracts
from discreet.wording import brief_percent

if TYPE_CHECKING:
    from discreet.ledger import Ledger
    from discreet.linkage import ProjectFolder
    from discreet.linkage.project import Project
    from discreet.linkage.review.views import PairView

PEOPLE, REVIEWED = 400, 36
CLERK = "clerk"
NAME = "clinic and registry"
LIMIT = "0.12"


def play(folder: Path, store: Path, *, seed: int) -> tuple[Contrast, ...]:
    """Import, give out, review, count. The store and its keys are in the folder of the demo, never the user's own."""
    from discreet.linkage import LinkageSpec, start_project

    place = folder / "linkage"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    files = write_extracts(place / "data", people=PEOPLE, seed=seed)
    try:
        home = start_project(place / "project", files.first, files.second, spec=LinkageSpec.load(files.link))
        with open_ledger(store) as ledger:
            return (_play(place, home, ledger, files.truth),)
    except MissingExtra as error:
        click.echo(f"{error.problem} {error.remedy}")
        return ()


def _play(place: Path, home: ProjectFolder, ledger: Ledger, truth: Path) -> Contrast:
    from discreet.linkage.export import export
    from discreet.linkage.matching.candidate_pairs import likely_pairs
    from discreet.linkage.progress import summary
    from discreet.linkage.project import register_project
    from discreet.linkage.review.assignments import Limits, assign, bring_pairs

    found = likely_pairs(home, review=REVIEWED)
    found.save(home)
    project = register_project(ledger, home.path, actor="manager", name=NAME)
    bring_pairs(ledger, project)
    assign(ledger, project, [CLERK], actor="manager", limits=Limits.of(LIMIT))
    looks = _review(ledger, project)
    seen = summary(ledger, project, CLERK)
    taken = export(ledger, project, place / "result", actor="manager", unfinished=True)
    click.echo(
        f"A clinic ({home.sizes[0]}) and a registry ({home.sizes[1]}) list partly the same people. A quick rule is sure of "
        f"{found.counts['same']} pairs; {seen.pairs} look alike and go to a clerk."
    )
    click.echo(
        f"She decides them all after {looks} looks into cells: {brief_percent(float(seen.characters.used))} of the characters shown, "
        f"a privacy risk of {brief_percent(float(seen.risk.used))}; her limit is {brief_percent(float(LIMIT))}."
    )
    click.echo(
        f"The linked table has {taken.linked.rows} rows and no name; who saw which cell stands in the ledger "
        f"({_right(ledger, project, home, truth)} of {seen.pairs} decisions are right)."
    )
    click.secho(f"  wrote    {taken.folder}", dim=True)
    shown = float(seen.characters.used)
    label = f"Characters that a clerk reads to decide on {seen.pairs} pairs of records"
    return Contrast(label, Side(1.0, "all"), Side(shown, brief_percent(shown)), by="discreet link")


def _review(ledger: Ledger, project: Project) -> int:
    """Open what differs, cheapest first and two steps at most, then decide by what is seen; gives the looks."""
    from discreet.linkage.review.decisions import decide, next_pair
    from discreet.linkage.review.reveal import reveal, view

    looks = 0
    while (number := next_pair(ledger.store, project, CLERK)) is not None:
        shown = view(ledger, project, CLERK, number)
        for _ in range(2):
            cell = _cheapest(shown)
            if cell is None:
                break
            try:
                shown = reveal(ledger, project, CLERK, number, cell, key=f"{number}-{shown.version}")
                looks += 1
            except Refused:
                break
        decide(ledger.store, project, CLERK, number, 5 if _same(shown) else 2)
    return looks


def _cheapest(shown: PairView) -> str | None:
    priced = [
        (cell.next.risk, cell.attribute)
        for cell in shown.cells
        if cell.next is not None and cell.next.refused is None and cell.next.mode == "partial"
    ]
    return min(priced)[1] if priced else None


def _same(shown: PairView) -> bool:
    """By the marks: two that differ as a whole, or an ID that differs, speak against one person."""
    marks = {cell.attribute: {mark.name for mark in cell.marks} for cell in shown.cells}
    different = [name for name, found in marks.items() if "different" in found]
    of_id = marks.get("national_id", set())
    return len(different) < 2 and not of_id & {"different", "replace"}


def _right(ledger: Ledger, project: Project, home: ProjectFolder, truth: Path) -> int:
    from discreet.linkage import read_labels
    from discreet.linkage.review.decisions import answers_of

    known = read_labels(home, truth, ids=("id_1", "id_2"), same="same")
    listed = zip(known.pairs.first.tolist(), known.pairs.second.tolist(), known.same.tolist(), strict=True)
    same = {(first, second) for first, second, yes in listed if yes}
    return sum((one.verdict == "same") == (one.records in same) for one in answers_of(ledger.store, project))
