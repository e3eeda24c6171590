"""Manifests made by hand for tests of what happens to them: any classes can be marks here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.releases.decoys.donors import Donors
from discreet.releases.manifest import DecoyCells, Manifest, PopulationSummary, ReleaseSettings, fingerprint
from discreet.releases.marks.codebook import DEFAULT, Codebook, Marks
from discreet.releases.marks.pairing import labels_of
from discreet.releases.marks.row_marks import RowCodebook, RowMarks
from discreet.releases.marks.selection import spelling
from discreet.releases.population_link import Linked
from discreet.releases.tracing.case import chains_of
from tests.releases.world import GATES, POLICY, World

KEY = bytes(range(32))
LEVELS = {"zip": 0, "year": 0, "sex": 0}
OTHERS = ("illness", "amount", "day", "note")


def draft(
    world: World,
    recipients: Sequence[str],
    *,
    name: str = "spring",
    k: int = 3,
    seed: int = 5,
    pairs: int = 6,
    key: bytes = KEY,
    row_ids: str | None = "row",
    rows: int = 9,
) -> Manifest:
    """A manifest with so many real marks and decoys, and so many row marks, chosen by luck."""
    rng = np.random.default_rng(seed)
    classes = world.table.classes()
    linked = Linked.at_node(classes, world.population, LEVELS, k=k)
    marks = _marks(linked, rng, pairs)
    decoys = _cells(marks, rng)
    single = _rows(world, linked, marks, rng, rows)
    chances = single.probabilities(release=name, key=key)
    return Manifest(
        release=name,
        version=1,
        revision=0,
        settings=ReleaseSettings(
            k=k, suppression=0.9, loss="dm_star", law=DEFAULT.name, row_ids=row_ids, requirements=("k",)
        ),
        policy=POLICY.digest,
        rules={column: POLICY.rule(column) for column in POLICY.quasi},
        fingerprint=fingerprint(classes),
        released=linked.released,
        links=linked.links,
        chains={column: chains_of(column, linked.data, linked.population) for column in linked.data.names},
        crowd=PopulationSummary.of(linked.population, sampling=linked.sampling),
        codebook=Codebook.of(marks, DEFAULT, recipients, release=name, key=key),
        decoys=decoys,
        gates=GATES,
        preflight={"marks": len(marks)},
        rows=RowCodebook.of(single, chances, recipients, release=name, key=key),
    )


def _rows(world: World, linked: Linked, marks: Marks, rng: np.random.Generator, number: int) -> RowMarks:
    """At most one row of each class that has one to spare and is no mark."""
    taken = set(marks.labels)
    free = [labels not in taken for labels in linked.released.tuples()]
    spare = np.array(free, dtype=bool) & (linked.released.sizes > linked.k)
    donors = Donors.fetch(world.table, linked.released, spare, drop=POLICY.unpublished)
    chosen = [int(rng.choice(donors.rows[place])) for place in np.flatnonzero(spare).tolist()][:number]
    cells = {column.name: [spelling(column.cells[row]) for row in chosen] for column in donors.columns}
    return RowMarks(linked.released.names, tuple(labels_of(linked.released, donors.owners[chosen])), cells, len(chosen))


def _marks(linked: Linked, rng: np.random.Generator, pairs: int) -> Marks:
    released = list(linked.released.tuples())
    free = [labels for labels in linked.population.tuples() if labels not in set(released)]
    half = min(pairs, len(released), len(free))
    real = [released[place] for place in rng.choice(len(released), half, replace=False)]
    made_up = [free[place] for place in rng.choice(len(free), half, replace=False)]
    sizes = linked.released.lookup(real)
    return Marks(
        columns=linked.released.names,
        labels=(*real, *made_up),
        decoy=np.repeat([False, True], half),
        sizes=np.concatenate([sizes, sizes]),
        links=linked.population.lookup([*real, *made_up]),
        partners=np.concatenate([np.arange(half) + half, np.arange(half)]),
    )


def _cells(marks: Marks, rng: np.random.Generator) -> DecoyCells:
    places = np.repeat(np.flatnonzero(marks.decoy), marks.sizes[marks.decoy])
    choices: dict[str, list[Any]] = {
        "illness": ["flu", None, "=cmd()"],
        "amount": ["12.5", "100", None],
        "day": ["2020-02-29", "2020-12-31"],
        "note": ["note 1", "a note of its own"],
    }
    cells = {
        name: [choices[name][int(number)] for number in rng.integers(0, len(choices[name]), len(places))]
        for name in OTHERS
    }
    return DecoyCells(cells, places)
