"""Lattice page: any combination of levels of a made table, with its loss, risk and preview, by a click.

Classes are counted once per table and held in memory for a few tables, so that a click takes milliseconds.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.anonymity.anonymise import Exploration
from discreet.errors import DiscreetError, PolicyError
from discreet.report.anonymisation_charts import lattice_map
from discreet.web.datasets import dataset_page, policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.dataset_page import Finished
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here, by_number
from discreet.web.framework.problems import Problem, not_found
from discreet.web.jobs import store as jobs
from discreet.web.jobs.kinds import REQUIREMENTS
from discreet.web.jobs.kinds import chosen as limits_asked
from discreet.web.jobs.store import Job

HELD = 4
"""Tables that are held in memory at once."""
LIMITS = (*REQUIREMENTS, "suppression", "loss")
"""What the table was made under; the same here."""
LEVELS = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){0,99}", re.ASCII)


def counted(context: Context, dataset: Dataset, job: Job) -> Exploration:
    """The table of a job, counted now."""
    wished = (job.asked.get("population") or {}).get("dataset")
    with context.site.store.reading() as connection:
        hierarchies = datasets.hierarchies(connection, dataset.id)
        crowd = None if wished is None else datasets.find(connection, wished)
    try:
        policy = policies.parse(job.asked["policy"], hierarchies)
        places = context.site.places
        table = places.open(dataset, policy, lambda: None)
        population = None if crowd is None else places.open(crowd, policy.for_population(), lambda: None)
        return Exploration.of(table, population=population, **limits_asked(job.asked, LIMITS))
    except PolicyError:
        raise Problem(
            409, "The policy of this table names a hierarchy that was replaced.", remedy="Find the best table again."
        ) from None
    except DiscreetError as error:
        raise Problem(422, f"{dataset.name} cannot be counted now.", remedy=error.remedy) from None


class Explorations:
    """Tables that were looked at last, counted; those in use stay valid when they are pushed out."""

    def __init__(self) -> None:
        self.lock, self.held = threading.Lock(), OrderedDict[tuple[Any, ...], Exploration]()

    def of(self, context: Context, dataset: Dataset, job: Job) -> Exploration:
        """The table of a job, under its limits."""
        path = context.site.places.path(dataset)
        key = (dataset.id, job.id, None if path is None else path.stat().st_mtime_ns)
        with self.lock:
            found = self.held.get(key)
            if found is not None:
                self.held.move_to_end(key)
                return found
        made = counted(context, dataset, job)
        with self.lock:
            self.held[key] = made
            while len(self.held) > HELD:
                self.held.popitem(last=False)
        return made


EXPLORATIONS = Explorations()


def lattice_page(context: Here, number: str, levels: str = "") -> Response:
    """One combination of levels: what it would publish, and its neighbours. Reading is written down, once a day per reader."""
    made: Finished = context.loaded
    numbers = made.result.numbers
    with context.site.store.reading() as connection:
        dataset = datasets.find(connection, made.job.dataset)
        if dataset is None:
            raise not_found()
        around = dataset_page.frame(context, connection, "protect", of=dataset)
    exploration = EXPLORATIONS.of(context, dataset, made.job)
    names = exploration.classes.names
    chosen = numbers["levels"]
    if levels:
        if not LEVELS.fullmatch(levels) or levels.count(".") + 1 != len(names):
            raise Problem(422, "These are no levels of this table.", remedy="Follow a link of the page.")
        chosen = dict(zip(names, map(int, levels.split(".")), strict=True))
    try:
        seen = exploration.at(chosen)
    except DiscreetError as error:
        raise Problem(422, error.problem, remedy=error.remedy) from None
    subject, day = f"{dataset.subject}/job:{made.job.id}", context.site.stamp()[:10]
    key = f"lattice:{made.job.id}:{day}:{context.owner.name}"
    context.act("web.shown", subject, key=key, act="read", what="preview", kind="anonymise")

    def address(node: tuple[int, ...]) -> str:
        return f"?levels={'.'.join(map(str, node))}"

    node = tuple(seen.levels[name] for name in names)
    return context.page(
        "dataset_lattice.html",
        job=made.job,
        seen=seen,
        numbers=numbers,
        steps=[
            (
                name,
                [
                    (near, address((*node[:place], near.level, *node[place + 1 :])), near.level == node[place])
                    for near in seen.beside[name]
                ],
            )
            for place, name in enumerate(names)
        ],
        same=chosen == numbers["levels"],
        chart=str(lattice_map(exploration.nodes, node, address)),
        limits=exploration.limits.words,
        suppressible=exploration.limits.suppressible,
        **around,
    )


def made_table(connection: Connection, number: int) -> Finished | None:
    """A table that was made by levels, and is small enough to be looked at while a page waits."""
    job = jobs.find(connection, number)
    result = jobs.result(connection, number) if job is not None and job.kind == "anonymise" else None
    if job is None or result is None or not dataset_page.explorable(result.numbers):
        return None
    return Finished(job, result)


MADE_TABLE = by_number("made table", made_table)
"""Of the custodians of the store, as data sets are."""
