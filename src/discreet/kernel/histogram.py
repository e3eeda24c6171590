"""What an engine hands over after counting: coded columns and counts, nothing more."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from discreet.kernel.hierarchy import Ints, Label


@dataclass(frozen=True)
class Coded:
    """One column as codes into its distinct values."""

    values: tuple[Label, ...]
    codes: Ints

    @classmethod
    def of(cls, cells: Sequence[Any]) -> Coded:
        """Code a sequence of engine values.

        >>> Coded.of([39, None, 39.0]).values
        ('39', None)
        """
        index: dict[Label, int] = {}
        seen: dict[Any, int] = {}
        codes = np.empty(len(cells), dtype=np.int64)
        for row, cell in enumerate(cells):
            code = seen.get((type(cell), cell))
            if code is None:
                code = seen[type(cell), cell] = index.setdefault(text(cell), len(index))
            codes[row] = code
        return cls(tuple(index), codes)

    def ordered(self) -> Coded:
        """The same column with the values that occur in order, missing ones last, so that no engine's order shows."""
        met = np.flatnonzero(np.bincount(self.codes, minlength=len(self.values))).tolist()
        order = sorted(met, key=lambda code: (self.values[code] is None, self.values[code] or ""))
        rank = np.zeros(len(self.values), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return Coded(tuple(self.values[code] for code in order), rank[self.codes])

    @classmethod
    def merged(cls, raw: Sequence[Any], codes: Ints) -> Coded:
        """Code from engine values whose texts may coincide (39 and 39.0)."""
        dictionary = cls.of(raw)
        return cls(dictionary.values, dictionary.codes[codes])


@dataclass(frozen=True)
class Histogram:
    """Distinct tuples with the number of people in each; `columns` in the order asked for."""

    columns: dict[str, Coded]
    counts: Ints

    @classmethod
    def from_rows(cls, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Histogram:
        """From rows (value, ..., value, count) as a database cursor gives them.

        >>> Histogram.from_rows(["sex"], [("F", 2), ("M", 1)]).counts.tolist()
        [2, 1]
        """
        columns = list(zip(*rows, strict=True)) or [()] * (len(names) + 1)
        counts = np.array([int(count) for count in columns[-1]], dtype=np.int64)
        return cls({name: Coded.of(cells) for name, cells in zip(names, columns[:-1], strict=True)}, counts)


def text(value: Any) -> Label:
    """One spelling of a value whatever the engine it comes from; missing values are None.

    >>> text(39), text(39.0), text(True), text(float("nan")), text(datetime.date(1964, 8, 9))
    ('39', '39', 'true', None, '1964-08-09')
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return _number(float(value))
    if isinstance(value, Decimal):
        return format(value.normalize(), "f") if value.is_finite() else None
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else text(value.item())
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(sep=" ")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    return str(value)


def _number(value: float) -> Label:
    if value != value:
        return None
    return str(int(value)) if value.is_integer() else repr(value)
