"""Whom the adversary of the lab looks at: people counted by the size of their group, and by how frequent it is.

A data set gives them when an attack on it was planned: that job counts, and keeps `Targets` with its result. The lab
only ever sees these counts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from discreet.attacker.population import Targets
from discreet.store.tables.datasets import DATASET, JOB, RESULT

EXAMPLE = "the example"
PEOPLE, LISTED, TYPICAL, SPREAD = 10_000, 100_000, 25.0, 1.6
THRESHOLD = 0.2
"""The risk above which a person counts as at risk, where no policy says another."""


@dataclass(frozen=True)
class Groups:
    """Who is looked at."""

    targets: Targets
    source: str
    """What it is called in a sentence."""
    threshold: float = THRESHOLD


def of_dataset(connection: Connection, number: int) -> tuple[str, Groups | None] | None:
    """The name of a data set, with the counts of its newest attack if there is one; None if there is no data set."""
    name = connection.execute(select(DATASET.c.name).where(DATASET.c.id == number)).scalar_one_or_none()
    if name is None:
        return None
    mine = (JOB.c.dataset == number, JOB.c.kind == "attack", JOB.c.state == "done")
    newest = select(RESULT.c.numbers).join(JOB, JOB.c.id == RESULT.c.job).where(*mine).order_by(JOB.c.id.desc())
    numbers = connection.execute(newest.limit(1)).scalar_one_or_none()
    found = None if numbers is None else _read(numbers)
    return name, None if found is None else Groups(found[0], name, found[1])


def datasets(connection: Connection) -> list[tuple[str, str]]:
    """The data sets that can be looked at here: number and name."""
    planned = select(JOB.c.dataset).where(JOB.c.kind == "attack", JOB.c.state == "done")
    found = select(DATASET.c.id, DATASET.c.name).where(DATASET.c.id.in_(planned)).order_by(DATASET.c.name)
    return [(str(row.id), row.name) for row in connection.execute(found)]


@lru_cache(maxsize=8)
def _read(numbers: str) -> tuple[Targets, float] | None:
    """What a job counted; kept, since a slider asks for the same many times."""
    content: dict[str, Any] = json.loads(numbers)
    if "targets" not in content:
        return None
    return Targets.from_dict(content["targets"]), float(content["threshold"])


@cache
def example() -> Groups:
    """Made-up people: some stand out, most are in groups of a dozen to a hundred."""
    sizes = np.unique(np.round(np.geomspace(1, 3_000, 160)).astype(np.int64))
    weights = np.exp(-0.5 * ((np.log(sizes) - np.log(TYPICAL)) / SPREAD) ** 2)
    counts = np.floor(weights / weights.sum() * PEOPLE).astype(np.int64)
    counts[np.argmax(counts)] += PEOPLE - counts.sum()
    return Groups(Targets.grouped(counts, sizes, sizes / LISTED, LISTED), EXAMPLE)
