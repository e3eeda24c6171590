"""Which quasi-identifiers a leaked file shows, and at which level of its hierarchy each of them stands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.kernel import Coded
from discreet.kernel.arrays import Flags, Ints
from discreet.releases.ladders import STRANGER, Ladder

KNOWN = 0.5
"""Share of rows whose label must stand on the ladder for a column to be what its name says."""
COVERED = 0.95
"""Share of rows that stand at the level of a column or below; the few above it are left out."""


@dataclass(frozen=True, eq=False)
class Recognised:
    """A column of a leaked file on its ladder."""

    ladder: Ladder
    step: int
    """Levels above the published one."""
    codes: Ints
    """Per tuple of the file, its label at that level; -1 where it stands on no level, or above."""
    coarser: Flags
    """Per tuple, whether its label stands above."""
    mixed: bool
    """Whether labels stand on several levels."""
    finer: bool
    """Whether some labels are finer than anything that was published."""

    @property
    def telling(self) -> bool:
        """Whether it tells people apart at that level."""
        return len(self.ladder.hierarchy.labels[self.step]) > 1


def recognise(ladder: Ladder, column: Coded, counts: Ints) -> Recognised | None:
    """A column by its labels; None where most of them are strangers to its hierarchy."""
    rows = np.bincount(column.codes, weights=counts, minlength=len(column.values))
    steps = ladder.steps(column.values)
    raised = ladder.published(column.values)
    finer = (steps < 0) & (raised != STRANGER)
    known = (steps >= 0) | finer
    if rows[known].sum() < KNOWN * rows.sum() or not rows.sum():
        return None
    heights = np.where(finer, 0, steps)
    step = _covering(heights[known], rows[known])
    codes = np.where(finer, _upwards(ladder, raised, step), ladder.lifted(column.values, steps, step))
    # A cell that was emptied says as little as the top of the hierarchy.
    empty = np.array([value is None for value in column.values], dtype=bool) & ~known
    return Recognised(
        ladder=ladder,
        step=step,
        codes=codes[column.codes],
        coarser=((heights > step) | empty)[column.codes],
        mixed=len(set(heights[known & (rows > 0)].tolist())) > 1,
        finer=bool(rows[finer].sum()),
    )


def _covering(heights: Ints, rows: Ints) -> int:
    """The lowest step that nearly all rows can be brought to."""
    by_step = np.bincount(heights, weights=rows)
    return int(np.searchsorted(np.cumsum(by_step), COVERED * by_step.sum()))


def _upwards(ladder: Ladder, codes: Ints, step: int) -> Ints:
    lifted = ladder.hierarchy.map(0, step)
    return np.where(codes >= 0, lifted[np.maximum(codes, 0)], -1)
