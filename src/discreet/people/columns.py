"""A column of people: plain numbers and dates, or small codes with the words they stand for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.people.draws import Array

__all__ = ["Coded", "Column", "decoded", "frozen", "rows_of", "trimmed"]


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Words kept as one small code per person: millions of people share a few labels.

    >>> decoded(Coded(np.array([1, 0, 1]), np.array(["F", "M"]))).tolist()
    ['M', 'F', 'M']
    """

    codes: Array
    labels: Array

    def __len__(self) -> int:
        return len(self.codes)


Column = Coded | Array


def decoded(column: Column) -> Array:
    """The values of a column, one per person."""
    return np.asarray(column.labels[column.codes]) if isinstance(column, Coded) else column


def rows_of(column: Column, rows: Array) -> Column:
    """The column of some of the people, in the order of `rows`."""
    return Coded(column.codes[rows], column.labels) if isinstance(column, Coded) else column[rows]


def trimmed(column: Column) -> Column:
    """The same values, without the labels that a few people of many leave unused.

    >>> trimmed(Coded(np.array([2, 2]), np.array(["A", "B", "C"]))).labels.tolist()
    ['C']
    """
    if not isinstance(column, Coded) or len(column) > len(column.labels):
        return column
    used, codes = np.unique(column.codes, return_inverse=True)
    return Coded(codes, column.labels[used])


def frozen(column: Column) -> Column:
    """The same column, which nobody can change any more by accident."""
    for array in (column.codes, column.labels) if isinstance(column, Coded) else (column,):
        array.setflags(write=False)
    return column
