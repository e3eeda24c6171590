"""The attack by classifier: an adversary who knows how decoys are made makes some himself, and learns to tell them.

He takes classes that are surely real, since they are too large to be in doubt, makes up a decoy for each from its
neighbours, trains on both, and rates the classes in doubt.
"""

from __future__ import annotations

import numpy as np

from discreet.kernel import Classes
from discreet.kernel.arrays import Floats, Ints
from discreet.releases.attacks.held import Adversary, Holding
from discreet.releases.band import chances
from discreet.releases.closeness import Space
from discreet.releases.decoys.detectability import Exhibit, rated
from discreet.releases.decoys.donors import Column, Donors, neighbours
from discreet.releases.decoys.synthesis import Splicer
from discreet.releases.filling import weights
from discreet.releases.marks.pairing import some

TAUGHT = 100
"""Surely real classes that he learns from, at most."""
SURE = 0.95
"""The chance of being released from which on he takes a class to be real."""
_SEED = 20_211  # any: the adversary's dice are his own


def classifier(adversary: Adversary, asked: Ints) -> Floats:
    """How like self-made decoys each class in doubt is."""
    own = adversary.own
    chance = chances(adversary.links, sampling=adversary.sampling, k=adversary.k)
    sure = np.flatnonzero(chance > SURE)
    if not own.others or len(sure) < 20:
        return np.zeros(len(asked))
    generator = np.random.default_rng(_SEED)
    lessons = sure[np.argsort(adversary.links[sure], kind="stable")][:TAUGHT]
    made = _made_up(own, lessons, np.setdiff1d(sure, lessons), generator)
    exhibit = _exhibit(own, asked, lessons, made)
    return rated(exhibit, learn=np.arange(len(exhibit.decoy)) >= len(asked))[: len(asked)]


def _classes(own: Holding) -> Classes:
    """The classes of a copy, as anybody can count them."""
    counted = Classes.of(own.quasi, own.labels, own.sizes.tolist())
    place = {label: number for number, label in enumerate(counted.tuples())}
    return some(counted, np.array([place[label] for label in own.labels], dtype=np.int64))


def _made_up(own: Holding, lessons: Ints, givers: Ints, generator: np.random.Generator) -> list[list[object]]:
    """Decoys in the place of real classes, of rows from other classes: cells by column."""
    classes = _classes(own)
    donors = Donors(own.others, own.owners[own.grouped_rows])
    givers = givers if len(givers) else lessons
    given = some(classes, givers)
    space, splicer = Space(given, weights(classes, donors)), Splicer.of(donors)
    near = neighbours(space, some(classes, lessons), own.sizes[lessons], generator)
    none = np.zeros((int(own.sizes.max()), len(own.others)), dtype=bool)
    rows = [np.zeros((0, len(own.others)), dtype=np.int64)]
    for lesson, places in zip(lessons.tolist(), near, strict=True):
        pool = np.concatenate([own.rows_of(place) for place in givers[places].tolist()])
        size = int(own.sizes[lesson])
        rows.append(splicer.rows(pool, size, none[:size], generator))
    made = np.concatenate(rows)
    return [[column.cells[row] for row in made[:, place].tolist()] for place, column in enumerate(own.others)]


def _exhibit(own: Holding, asked: Ints, lessons: Ints, made: list[list[object]]) -> Exhibit:
    """The classes in doubt, the real ones he learns from, and the decoys he made of them, in this order."""
    shown = np.concatenate([asked, lessons])
    rows = np.concatenate([own.rows_of(place) for place in shown.tolist()])
    sizes = np.concatenate([own.sizes[shown], own.sizes[lessons]])
    owners = np.repeat(np.arange(len(sizes)), sizes)
    labels = [own.labels[place] for place in [*shown.tolist(), *lessons.tolist()]]
    quasi = [
        Column.of(name, [labels[owner][place] for owner in owners.tolist()]) for place, name in enumerate(own.quasi)
    ]
    others = [
        Column.of(column.name, [*(column.cells[row] for row in rows.tolist()), *cells])
        for column, cells in zip(own.others, made, strict=True)
    ]
    decoy = np.arange(len(sizes)) >= len(shown)
    return Exhibit([*quasi, *others], owners, decoy)
