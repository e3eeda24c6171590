"""The engine in memory: counting with `Counter`, everything else by its folder."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.kernel import Coded, Histogram, Recoding, Tally
from discreet.kernel.hierarchy import text
from discreet.kernel.members import people_of
from discreet.sources.duckdb_scratch import DuckDBDesk
from discreet.sources.engine import (
    Cells,
    Field,
    Target,
    counted_tallies,
    one_by_one,
    refuse_bad_survey,
    refuse_bad_weights,
)
from discreet.sources.export.copies import LocalOutput
from discreet.sources.export.targets import guarded
from discreet.sources.numbering import DATE, DIGIT, WORDS, Numbering
from tests.contract.memory import rows
from tests.contract.memory.rows import MemoryRows

DIGITS = str.maketrans("", "", "0123456789")


@dataclass(frozen=True, eq=False)
class MemoryEngine(LocalOutput):
    """Rows that are Python lists."""

    _rows: MemoryRows
    name: str = "the lists"

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        return tuple(Field(name, kind) for name, kind in self._rows.kinds.items())

    @property
    def ordered(self) -> bool:
        """Lists keep their order."""
        return True

    def count(self, by: Sequence[str], *, weight: str | None = None, survey: str | None = None) -> Histogram:
        """People per distinct tuple."""
        columns = self._rows.columns
        height = len(next(iter(columns.values()))) if columns else 0
        weights = [1] * height if weight is None else columns[weight]
        refuse_bad_weights(sum(not _whole(people) for people in weights), weight or "")
        tuples: Counter[tuple[Any, ...]] = Counter()
        sums: Counter[tuple[Any, ...]] = Counter()
        for row, people in enumerate(weights):
            key = tuple(columns[name][row] for name in by)
            tuples[key] += int(people)
            sums[key] += 0 if survey is None else _number(columns[survey][row]) or 0
        if survey is not None:
            refuse_bad_survey(sum(_number(cell) is None for cell in columns[survey]), survey)
        people = Histogram.from_rows(by, [(*cells, people) for cells, people in tuples.items()])
        return people if survey is None else replace(people, weights=np.array([float(sums[key]) for key in tuples]))

    def count_each(
        self, names: Sequence[str], *, weight: str | None = None, beside: Sequence[str] = ()
    ) -> Iterator[Histogram]:
        """People per distinct value of each column alone."""
        return one_by_one(self, names, weight, beside)

    def tallies(self, names: Sequence[str], *, weight: str | None = None) -> Iterator[Tally]:
        """People per value of each column alone."""
        return counted_tallies(self, names, weight)

    def numbering(self, column: str) -> Numbering:
        """What the SQL of the other engines says, in Python."""
        numbers: dict[str, list[str]] = {}
        cells = [label for label in map(text, self._rows.columns[column]) if label is not None]
        for label, number in zip(cells, people_of(cells), strict=True):
            numbers.setdefault(number or "", []).append(label.strip(" ").upper())
        numbers.pop("", None)
        values = [(min(spellings), len(spellings)) for spellings in numbers.values()]
        digits = [(value, times) for value, times in values if re.search(DIGIT, value)]
        worded = [value for value, _ in digits if re.search(WORDS, value)]
        shared = [times for _, times in digits if times > 1]
        return Numbering(
            values=len(values),
            numbers=len(digits),
            dates=sum(bool(re.search(DATE, value)) for value, _ in digits),
            worded=len(worded),
            stems=len({value.translate(DIGITS) for value in worded}),
            repeated=len(shared),
            sharing=sum(shared),
        )

    def fetch(self, names: Sequence[str], *, most: int | None = None) -> dict[str, Coded]:
        """The cells of some columns."""
        cells = rows.fetch(self._rows, names)
        height = len(next(iter(cells.values())).codes) if cells else 0
        if most is None or height <= most:
            return cells
        luck = random.sample(range(height), most)
        return {name: Coded(coded.values, coded.codes[luck]) for name, coded in cells.items()}

    def formula_cells(self, recoding: Recoding, *, drop: Sequence[str]) -> int:
        """Cells of the published rows that a spreadsheet would run."""
        cells = rows.chosen(self._rows, recoding, drop=drop)
        kinds = {**self._rows.kinds, **dict.fromkeys(recoding.names, "text")}
        texts = [label for name, column in cells.items() if kinds[name] == "text" for label in column if label]
        return sum(guarded(label) != label for label in texts)

    def chosen(self, recoding: Recoding, *, drop: Sequence[str]) -> Cells:
        """The rows that a recoding publishes."""
        return rows.chosen(self._rows, recoding, drop=drop)

    def desk(self, names: Sequence[str]) -> AbstractContextManager[DuckDBDesk]:
        """These columns on a DuckDB connection."""
        return rows.desk(self._rows, names, name=self.name)

    def export(self, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool = True) -> int:
        """Write the rows as the recoding publishes them."""
        return rows.export(self._rows, recoding, target, drop=drop, shuffled=shuffled)


def _number(weight: Any) -> float | None:
    """A survey weight, if it is one."""
    return float(weight) if weight is not None and 0 < float(weight) < float("inf") else None


def _whole(people: Any) -> bool:
    return people is not None and people >= 0 and people == int(people)
