"""Roll-up compiled with numba (extra `fast`); same results as in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from discreet.anonymity.lattice.problem import Move
from discreet.kernel.arrays import Ints

# Unsigned arithmetic throughout: with signed indices numba checks for wrap-around at every access.


@njit(cache=True)
def _merge(keys, counts, shifts, masks, starts, adds, out_keys, out_counts, table, mask):  # type: ignore[no-untyped-def]
    """Move every key and add up equal ones in an open-addressing table, which is left empty again."""
    golden, spin, one = np.uint64(0x9E3779B97F4A7C15), np.uint64(22), np.uint64(1)
    found = 0
    for row in range(keys.shape[0]):
        key = keys[row]
        moved = key
        for column in range(shifts.shape[0]):
            moved += adds[starts[column] + ((key >> shifts[column]) & masks[column])]
        slot = ((np.uint64(moved) * golden) >> spin) & mask
        while True:
            place = table[slot]
            if place < 0:
                table[slot] = found
                out_keys[found] = moved
                out_counts[found] = counts[row]
                found += 1
                break
            if out_keys[place] == moved:
                out_counts[place] += counts[row]
                break
            slot = (slot + one) & mask
    for place in range(found):
        slot = ((np.uint64(out_keys[place]) * golden) >> spin) & mask
        while table[slot] >= 0:
            table[slot] = -1
            slot = (slot + one) & mask
    return found


@njit(cache=True)
def _spread(keys, counts, shifts, masks, starts, out):  # type: ignore[no-untyped-def]
    """People by the code of their value, all columns in one pass."""
    for row in range(keys.shape[0]):
        for column in range(shifts.shape[0]):
            out[starts[column] + ((keys[row] >> shifts[column]) & masks[column])] += counts[row]


def _slots(keys: int) -> int:
    """A power of two with room for twice as many keys."""
    return 1 << max(4, (2 * keys - 1).bit_length())


class NumbaRoller:
    """Merges tuples that become equal; its buffers are made once."""

    def __init__(self, most: int) -> None:
        self.table = np.full(_slots(most), -1, dtype=np.int32)
        self.keys = np.empty(most, dtype=np.int64)
        self.counts = np.empty(most, dtype=np.int64)

    def up(self, keys: Ints, counts: Ints, moves: Sequence[Move]) -> tuple[Ints, Ints]:
        """Distinct keys after the moves, with their counts."""
        lengths = [len(add) for _, _, add in moves]
        starts = np.cumsum([0, *lengths[:-1]])
        shifts, masks = np.array([move[0] for move in moves]), np.array([move[1] for move in moves])
        adds = np.concatenate([add for _, _, add in moves])
        # Only as much of the table as these keys need: a small part of it stays in the cache.
        mask = np.uint64(_slots(len(keys)) - 1)
        found = _merge(keys, counts, shifts, masks, starts, adds, self.keys, self.counts, self.table, mask)
        return self.keys[:found].copy(), self.counts[:found].copy()

    def hidden(self, keys: Ints, counts: Ints, shifts: Ints, masks: Ints) -> tuple[Ints, ...]:
        """Per column, people by the code of their value."""
        starts = np.cumsum([0, *(masks + 1)])
        out = np.zeros(int(starts[-1]), dtype=np.int64)
        _spread(keys, counts, shifts, masks, starts[:-1], out)
        return tuple(np.split(out, starts[1:-1]))
