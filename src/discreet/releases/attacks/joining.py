"""Attacks by joining classes on what their rows hold: copied rows meet the rows they were taken from."""

from __future__ import annotations

import numpy as np

from discreet.kernel.hierarchy import Ints
from discreet.kernel.keys import pack
from discreet.releases.attacks.held import Adversary
from discreet.releases.keyed import Floats


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
    """How like the rows of a class are to the row of another class that is most like them."""
    own = adversary.own
    return np.array([float(own.likeness.degrees(own.rows_of(place)).mean()) for place in asked.tolist()])
