"""Random class sizes, crowds and sensitive columns, and a table in memory that can be counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from discreet.kernel import Classes, Histogram, Tally, Tree
from discreet.kernel.arrays import Ints, Label
from discreet.kernel.members import Spread
from discreet.policy import Policy
from tests.kernel.strategies import Listing, climb, few, listings, some, trees

__all__ = ["Counted", "Listing", "Rows", "climb", "counted", "crowds", "few", "listings", "sizes", "some", "trees"]

sizes = st.lists(st.integers(1, 60), min_size=1, max_size=20).map(lambda numbers: np.array(numbers, dtype=np.int64))


@st.composite
def crowds(draw: st.DrawFn) -> tuple[Ints, Ints]:
    """Class sizes in a sample, and in a population that holds it."""
    sample = draw(sizes)
    more = draw(st.lists(st.integers(0, 40), min_size=len(sample), max_size=len(sample)))
    return sample, sample + np.array(more, dtype=np.int64)


@dataclass(frozen=True)
class Counted:
    """Sensitive values per class as a plain table: the oracle of what can be inferred."""

    tree: Tree
    values: tuple[Label, ...]
    table: tuple[tuple[int, ...], ...]
    """A row per class, people per value."""

    @property
    def spread(self) -> Spread:
        return self.classes.spreads["illness"]

    @property
    def classes(self) -> Classes:
        """The same through the kernel; classes in the order of the table."""
        cells = [
            (f"{number:03}", value, people)
            for number, row in enumerate(self.table)
            for value, people in zip(self.values, row, strict=True)
            if people
        ]
        classes = Classes.of(["class"], [(cell[0],) for cell in cells], [cell[2] for cell in cells])
        return classes.with_spread(Histogram.from_rows(["class", "illness"], cells), "illness", rule=self.tree)

    @property
    def within(self) -> list[list[float]]:
        """p: the share of each value in each class."""
        return [[people / sum(row) for people in row] for row in self.table]

    @property
    def overall(self) -> list[float]:
        """q: the share of each value in the whole table."""
        sums = [sum(column) for column in zip(*self.table, strict=True)]
        return [people / sum(sums) for people in sums]

    def merged(self, first: int, second: int) -> Counted:
        """The same people with two classes made one."""
        joined = tuple(a + b for a, b in zip(self.table[first], self.table[second], strict=True))
        others = [row for place, row in enumerate(self.table) if place not in (first, second)]
        return Counted(self.tree, self.values, (joined, *others))


@st.composite
def counted(draw: st.DrawFn, *, classes: int = 4, missing: bool = True) -> Counted:
    """A few classes over the values of a small hierarchy, each class with somebody in it, every value of the tree met."""
    tree = draw(trees(most=5))
    values: list[Label] = [row[0] for row in tree.rows]
    if missing and draw(st.booleans()):
        values.append(None)
    row = st.lists(st.integers(0, 6), min_size=len(values), max_size=len(values)).filter(any).map(tuple)
    table = draw(st.lists(row, min_size=1, max_size=classes - 1))
    return Counted(tree, tuple(values), (*table, tuple([draw(st.integers(1, 3))] * len(values))))


@dataclass
class Rows:
    """A table in memory: the least that `assess` and `profile` need."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    policy: Policy | None = None
    name: str = "some rows"
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def classes(self, by: Sequence[str] | None = None, *, sensitive: Sequence[str] = ()) -> Classes:
        names = tuple(by) if by is not None else self.policy.quasi if self.policy else self.columns
        self.asked.append(names)
        rules = {} if self.policy is None else {name: self.policy.rule(name) for name in names}
        classes = Classes.from_histogram(self._histogram(names), rules=rules)
        for name in sensitive:
            rule = self.policy.rule(name) if self.policy else None
            classes = classes.with_spread(self._histogram((*names, name)), name, rule=rule)
        return classes

    def tallies(self, names: Sequence[str]) -> Iterator[Tally]:
        return (Tally.of(self._histogram((name,))) for name in names)

    def _histogram(self, names: Sequence[str]) -> Histogram:
        places = [self.columns.index(name) for name in names]
        return Histogram.from_rows(names, [(*(row[place] for place in places), 1) for row in self.rows])
