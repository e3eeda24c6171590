"""Moving packed tuples up the lattice, in numpy. `rollup_compiled` does the same with numba."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.kernel.arrays import Ints

Move = tuple[int, int, Ints]
"""Shift and mask of a column, and what to add to a key by the code it has there."""


class Roller:
    """Merges tuples that become equal."""

    def __init__(self, most: int) -> None:
        """`most` is the largest number of tuples that will ever be moved at once."""

    def up(self, keys: Ints, counts: Ints, moves: Sequence[Move]) -> tuple[Ints, Ints]:
        """Distinct keys after the moves, with their counts."""
        moved = keys.copy()
        for shift, mask, add in moves:
            moved += add[(keys >> shift) & mask]
        order = np.argsort(moved)
        moved = moved[order]
        first = np.flatnonzero(np.concatenate([[True], moved[1:] != moved[:-1]]))
        return moved[first], np.add.reduceat(counts[order], first)

    def hidden(self, keys: Ints, counts: Ints, shifts: Ints, masks: Ints) -> tuple[Ints, ...]:
        """Per column, people by the code of their value."""
        return tuple(
            np.bincount((keys >> shift) & mask, weights=counts, minlength=mask + 1).astype(np.int64)
            for shift, mask in zip(shifts.tolist(), masks.tolist(), strict=True)
        )
