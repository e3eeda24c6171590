"""The process of one piece of linkage work: `python -m discreet.web.linkage.process`, told by its standard input which.

Names and numbers in the store only. Killed at any moment it leaves a whole project with its entry in the ledger, or a
folder that is made anew by the next attempt.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import select

from discreet.errors import DiscreetError, StoreError
from discreet.ledger import Ledger
from discreet.linkage import LinkageSpec, ProjectFolder, adopt_pairs, find_pairs, read_pairs, start_project
from discreet.linkage.matching.candidate_pairs import Candidates
from discreet.linkage.project import Project, project_of, register_project
from discreet.linkage.review import reveal
from discreet.linkage.review.decisions import answers_of, labels_of
from discreet.sources import Table, read
from discreet.store.tables.linkage import PROJECT, WORK
from discreet.web.datasets import store as datasets
from discreet.web.datasets.files import Folder, Places
from discreet.web.datasets.inspection import renamed
from discreet.web.framework.middleware import place_of
from discreet.web.jobs import queue
from discreet.web.jobs.process import LOST, Pulse, main
from discreet.web.linkage import jobs as works
from discreet.web.linkage.jobs import Work

log = logging.getLogger("discreet.web")
Tell = Callable[[str, float | None], None]


def do(ledger: Ledger, order: dict[str, Any]) -> int:
    """Do one piece of work, and say in the store what became of it."""
    number, claim = order["job"], order["claim"]
    with ledger.store.reading() as connection:
        work = works.find(connection, number)
        if work is None or not queue.holds(connection, number, claim, of=WORK):
            return LOST
    pulse = Pulse(ledger, number, claim, order["lease"], of=WORK)
    pulse.start()
    folder = Folder.of(Path(order["data"]), ledger.head()["ledger"])
    places = Places(folder, tuple(map(Path, order["folders"])), ledger.keys)
    try:
        project = DOING[work.kind](ledger, work, places, pulse.tell)
    except StoreError:
        raise
    except DiscreetError as error:
        return _failed(ledger, work, claim, _in_words(error.problem, work, places), error.remedy)
    except Exception as error:
        log.error("linkage work %s: %s", number, place_of(error))
        return _failed(ledger, work, claim, "Something went wrong on our side.", f"Report this line: {place_of(error)}")
    with ledger.store.writing() as connection:
        done = works.finish(connection, number, claim, project)
    if done:
        places.folder.forget(work.uploads)
    return 0 if done else LOST


def make(ledger: Ledger, work: Work, places: Places, tell: Tell) -> int:
    """Import, find or take pairs, register; gives the number of the project."""
    home = places.folder.path / work.asked["folder"]
    known = _registered(ledger, home)
    if known is not None:
        return known.id  # an earlier attempt ended after that
    shutil.rmtree(home, ignore_errors=True)
    tell("Splitting off what is sensitive", 0.05)
    spec = LinkageSpec.from_dict(work.asked["link"])
    tables = [_table(ledger, one, spec.sides[place].policy, places) for place, one in enumerate(work.tables)]
    folder = start_project(home, *tables, spec=spec)
    tell("Looking for pairs that may be one person", 0.3)
    _candidates(work, folder, places).save(folder)
    tell("Writing down who looks like whom", 0.9)
    project = register_project(ledger, home, actor=work.asker, name=work.name, **work.asked["settings"])
    reveal.prepare(project)
    return project.id


def retrain(ledger: Ledger, work: Work, places: Places, tell: Tell) -> int:
    """Estimate the model anew from what people have decided, and score and divide the pairs by it."""
    with ledger.store.reading() as connection:
        row = connection.execute(select(PROJECT).where(PROJECT.c.id == work.project)).one()
    project = project_of(row)
    labels = labels_of(answers_of(ledger.store, project))
    tell("Learning from decisions", 0.2)
    folder = ProjectFolder.open(project.folder)
    found = find_pairs(folder, labels=labels, once=bool(work.asked.get("once")))
    found.save(folder)
    ledger.record(
        actor=work.asker,
        event="linkage.project",
        subject=project.subject,
        key=f"linkage-work:{work.id}",
        details={"labels": len(labels.same), "people": found.counts["people"], "calibrated": True},
    )
    return project.id


DOING: dict[str, Callable[[Ledger, Work, Places, Tell], int]] = {"make": make, "retrain": retrain}


def _table(ledger: Ledger, one: dict[str, Any], policy: Any, places: Places) -> Table:
    if "dataset" not in one:
        return read(_upload(places, one), policy)
    with ledger.store.reading() as connection:
        dataset = datasets.find(connection, one["dataset"])
    if dataset is None:
        raise queue.Lost("The data set was removed.", remedy="Choose another one.")
    return places.bare(dataset, policy)


def _upload(places: Places, one: dict[str, Any]) -> Path:
    path = places.folder.find(one["upload"])
    if path is None:
        raise queue.Lost("The uploaded file is not there any more.", remedy="Begin anew, and upload it again.")
    return path


def _candidates(work: Work, folder: ProjectFolder, places: Places) -> Candidates:
    wanted = work.asked["finding"]
    cutting = {"review": wanted["review"], "once": wanted["once"]}
    ready = work.asked.get("pairs")
    if ready is None:
        return find_pairs(folder, most_pairs=wanted["most_pairs"], **cutting)
    return adopt_pairs(folder, read_pairs(folder, _upload(places, ready), score=wanted["score"]), **cutting)


def _registered(ledger: Ledger, home: Path) -> Project | None:
    with ledger.store.reading() as connection:
        row = connection.execute(select(PROJECT).where(PROJECT.c.folder == str(home.resolve()))).one_or_none()
    return None if row is None else project_of(row)


def _in_words(problem: str, work: Work, places: Places) -> str:
    """Words about files with the names that people gave them."""
    for one in [*work.tables, *([work.asked["pairs"]] if work.asked.get("pairs") else [])]:
        if one.get("upload"):
            problem = renamed(problem, places.folder.path / one["upload"], one["name"])
    return problem


def _failed(ledger: Ledger, work: Work, claim: str, problem: str, remedy: str) -> int:
    with ledger.store.writing() as connection:
        done = queue.fail(connection, work.id, claim, problem=problem, remedy=remedy, of=WORK)
    return 0 if done else LOST


if __name__ == "__main__":
    code = main(do)
    sys.stderr.flush()
    os._exit(code)
