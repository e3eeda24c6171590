"""One quasi-identifier from its published labels upwards: where a claimed value or a leaked label stands on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.kernel import Classes, Hierarchy, Rule
from discreet.kernel.arrays import Ints, Label

NOWHERE, STRANGER = -1, -2
"""Codes of a value that fits the hierarchy but stands in no copy, and of one that fits no value of it."""

Chain = tuple[Label, ...]
"""A published label and what it becomes at each coarser level."""


def chains_of(name: str, *tables: Classes) -> tuple[Chain, ...]:
    """Every label of a column at the levels of the tables, with what it becomes at coarser ones.

    >>> from discreet.kernel import Mask
    >>> chains_of("zip", Classes.of(["zip"], [("12",), ("13",)], rules={"zip": Mask(2)}).at({"zip": 1}))
    (('1*', '**'),)
    """
    found = {chain: None for table in tables for chain in _chains(table, name)}
    return tuple(sorted(found, key=lambda chain: [(label is None, label or "") for label in chain]))


def _chains(table: Classes, name: str) -> Iterable[Chain]:
    column = table.columns[table.names.index(name)]
    hierarchy, levels = column.hierarchy, range(column.level, column.hierarchy.height)
    steps = [np.asarray(hierarchy.labels[level], dtype=object)[hierarchy.map(column.level, level)] for level in levels]
    return (tuple(chain) for chain in zip(*(step.tolist() for step in steps), strict=True))


@dataclass(frozen=True, eq=False)
class Ladder:
    """A quasi-identifier at the level that was published."""

    name: str
    rule: Rule
    level: int
    chains: tuple[Chain, ...]

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The published labels and what they become; its level 0 is the published one."""
        return Hierarchy.of(self.chains)

    @property
    def open(self) -> bool:
        """Whether more than one label was published, so that the column tells people apart."""
        return len(self.hierarchy.labels[0]) > 1

    def published(self, values: Sequence[Label]) -> Ints:
        """The published label of each value, as a code: values may be raw, or as they were published.

        A value that could be both is raw if others of the column can only be raw.
        """
        known = self.hierarchy.index[0]
        plain = np.array([known.get(value, STRANGER) for value in values], dtype=np.int64)
        raised = np.array([self._raised(value) for value in values], dtype=np.int64)
        raw = bool(((raised != STRANGER) & (plain == STRANGER)).any())
        first, second = (raised, plain) if raw else (plain, raised)
        return np.where(first == STRANGER, second, first)

    def _raised(self, value: Label) -> int:
        path = self.rule.missing if value is None else self.rule.path(value)
        return STRANGER if path is None else self.hierarchy.index[0].get(path[self.level], NOWHERE)

    def steps(self, values: Sequence[Label]) -> Ints:
        """How many levels above the published one each label stands, the finest where it stands on several; -1: on none."""
        found = np.full(len(values), -1, dtype=np.int64)
        for step in reversed(range(self.hierarchy.height)):
            index = self.hierarchy.index[step]
            found[[place for place, value in enumerate(values) if value in index]] = step
        return found

    def lifted(self, values: Sequence[Label], steps: Ints, target: int) -> Ints:
        """The code at step `target` of each label that stands on `steps`; -1 where it stands on none, or above."""
        codes = np.full(len(values), -1, dtype=np.int64)
        for step in range(target + 1):
            upwards, index = self.hierarchy.map(step, target), self.hierarchy.index[step]
            for place in np.flatnonzero(steps == step).tolist():
                codes[place] = upwards[index[values[place]]]
        return codes
