"""Seeded draws of codes, and the columns they become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError

__all__ = ["Array", "CodedWords", "Column", "Odds", "decoded", "frozen", "rows_of", "stream", "trimmed"]

Array = NDArray[Any]

SLICE = 1 << 17  # people drawn at once: the scratch arrays stay within a processor's cache
LUCK = 1 << 32


def stream(seed: int, name: str) -> np.random.Generator:
    """A random stream that depends on the seed and its own name only, never on what was drawn before.

    >>> bool(stream(1, "zip").random() == stream(1, "zip").random())
    True
    >>> bool(stream(1, "zip").random() == stream(1, "sex").random())
    False
    """
    if seed < 0:
        raise UsageError(f"A seed is a whole number from 0 up; this one is {seed}.", remedy="Use seed=1.")
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(crc32(name.encode()),)))


@dataclass(frozen=True, slots=True, eq=False)
class Odds:
    """For each group, how likely each code is; kept as one rising staircase so that a draw is one look-up."""

    steps: Array
    width: int

    @classmethod
    def of(cls, weights: Array) -> Odds:
        """Odds from weights: one row per group, one column per code; rows need not add up to one.

        >>> Odds.of(np.array([[1.0, 3.0]])).steps
        array([0.25, 1.  ])
        """
        rows = np.atleast_2d(weights)
        rising = np.cumsum(rows, axis=1)
        # Group g owns the stretch from g to g + 1 of the staircase.
        steps = rising / rising[:, -1:] + np.arange(len(rows))[:, None]
        return cls(steps.ravel(), rows.shape[1])

    def draw(self, rng: np.random.Generator, groups: Array) -> Array:
        """One code per person, from the row of the person's group.

        >>> Odds.of(np.array([[1, 0], [0, 1]])).draw(stream(1, "x"), np.array([0, 1, 1]))
        array([0, 1, 1], dtype=uint8)
        """
        codes = np.empty(len(groups), dtype=np.min_scalar_type(self.width - 1))
        for start in range(0, len(groups), SLICE):
            part = groups[start : start + SLICE].astype(np.int64)
            codes[start : start + SLICE] = self._codes(part, rng.integers(LUCK, size=len(part), dtype=np.uint32))
        return codes

    def draw_alone(self, rng: np.random.Generator, people: int) -> Array:
        """One code per person, all from the first row."""
        return self.draw(rng, np.broadcast_to(np.uint8(0), people))

    def _codes(self, groups: Array, luck: Array) -> Array:
        # Exact, as 32 bits of luck beside at most 21 bits of group fit a double: nobody slips into the next
        # group's stretch, and no code of weight zero is ever drawn.
        heights = groups + luck / LUCK
        return np.asarray(np.searchsorted(self.steps, heights, side="right") - groups * self.width)


# A column of people: plain numbers and dates, or small codes with the words they stand for.
@dataclass(frozen=True, slots=True, eq=False)
class CodedWords:
    """Words kept as one small code per person: millions of people share a few labels.

    >>> decoded(Coded(np.array([1, 0, 1]), np.array(["F", "M"]))).tolist()
    ['M', 'F', 'M']
    """

    codes: Array
    labels: Array

    def __len__(self) -> int:
        return len(self.codes)


Column = CodedWords | Array


def decoded(column: Column) -> Array:
    """The values of a column, one per person."""
    return np.asarray(column.labels[column.codes]) if isinstance(column, CodedWords) else column


def rows_of(column: Column, rows: Array) -> Column:
    """The column of some of the people, in the order of `rows`."""
    return CodedWords(column.codes[rows], column.labels) if isinstance(column, CodedWords) else column[rows]


def trimmed(column: Column) -> Column:
    """The same values, without the labels that a few people of many leave unused.

    >>> trimmed(Coded(np.array([2, 2]), np.array(["A", "B", "C"]))).labels.tolist()
    ['C']
    """
    if not isinstance(column, CodedWords) or len(column) > len(column.labels):
        return column
    used, codes = np.unique(column.codes, return_inverse=True)
    return CodedWords(codes, column.labels[used])


def frozen(column: Column) -> Column:
    """The same column, which nobody can change any more by accident."""
    for array in (column.codes, column.labels) if isinstance(column, CodedWords) else (column,):
        array.setflags(write=False)
    return column
