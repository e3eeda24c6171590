"""Attacks by joining classes on what their rows hold: copied rows meet the rows they were taken from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.kernel.arrays import Floats, Ints, pack
from discreet.releases.attacks.held import Adversary, Holding


def duplicates(adversary: Adversary, asked: Ints) -> Floats:
    """The share of a class's rows that equal exactly one row of the rest of the copy in all other columns."""
    own = adversary.own
    if not own.others:
        return np.zeros(len(asked))
    keys, _ = pack([column.codes for column in own.others], [column.distinct for column in own.others], len(own.owners))
    _, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    pair = counts[places.reshape(-1)] == 2
    return np.array([float(pair[own.rows_of(place)].mean()) for place in asked.tolist()])


def tuple_join(adversary: Adversary, asked: Ints) -> Floats:
    """How much the rows of a class have in common with the row of another class that is most like them.

    Rare values count more than common ones: who shares them shares an origin.
    """
    own = adversary.own
    if not own.others:
        return np.zeros(len(asked))
    cells = np.stack([column.codes for column in own.others], axis=1)
    shared = [own.likeness.surprises(cells[rows], but=np.full(len(rows), place)) for place, rows in _rows(own, asked)]
    return np.array([float(one.mean()) for one in shared])


def _rows(own: Holding, asked: Ints) -> Iterator[tuple[int, Ints]]:
    for place in asked.tolist():
        yield place, own.rows_of(place)
