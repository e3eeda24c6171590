"""`prepare`: count a source once, so that many results can be scored against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import ColumnError, OutsideHierarchy, UsageError
from discreet.kernel import Classes, Countable
from discreet.kernel.arrays import Floats, group, pack, total
from discreet.misuse.crowds import Crowds
from discreet.misuse.sensitivity import Sensitivity, Weights
from discreet.risk.assessment import Governed

KEPT_CROWDS = 16
KEPT = 1024


@dataclass(frozen=True, eq=False)
class Plan:
    """How results with some columns are scored."""

    names: tuple[str, ...]
    """The columns of the result."""
    quasi: tuple[str, ...]
    """The quasi-identifiers among them."""
    weighing: tuple[tuple[str, Weights], ...]
    """The sensitive columns among them and what their values weigh, in the order in which weights are added up."""
    source: Prepared

    @property
    def crowds(self) -> Crowds | None:
        """Where to look up D; None without quasi-identifiers, when D is the size of the result."""
        return self.source.crowds(self.quasi) if self.quasi else None

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns."""
        return tuple(name for name, _ in self.weighing)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A source counted by its quasi-identifiers."""

    quasi: tuple[str, ...]
    counted: Classes
    """The classes of the source by all its quasi-identifiers."""
    source: Countable | Classes
    entity: str | None = None
    """The column that says whom a row is about, where an entity may have several rows."""
    scorers: dict[Any, Any] = field(default_factory=dict, repr=False)
    """What scores results against this source, by how it was asked to."""
    _crowds: dict[tuple[str, ...], Crowds] = field(default_factory=dict, repr=False)
    _whole: dict[tuple[Any, ...], tuple[int, float] | None] = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        """People in the source."""
        return self.counted.records

    def crowds(self, quasi: tuple[str, ...]) -> Crowds:
        """The look-up of D by some of the quasi-identifiers; the oldest goes when there are too many."""
        found = self._crowds.get(quasi)
        if found is None:
            found = Crowds.of(self.counted.project(quasi))
            make_room(self._crowds, KEPT_CROWDS)
            self._crowds[quasi] = found
        return found

    def plan(self, names: tuple[str, ...], sensitivity: Sensitivity, quasi: Sequence[str]) -> Plan:
        """How to score a result with these columns."""
        for name in quasi:
            if name not in self.quasi:
                raise UsageError(
                    f"The source was not prepared for the quasi-identifier '{name}'.",
                    remedy="Name it when the source is prepared: prepare(source, quasi=[...])",
                )
        both = [name for name in quasi if name in sensitivity.weights]
        if both:
            raise UsageError(
                f"Column '{both[0]}' is a quasi-identifier and has weights.",
                remedy="A column either helps to find a person or is what would be learned; choose one.",
            )
        present = tuple(name for name in self.quasi if name in names and name in quasi)
        weighing = tuple((name, weights) for name, weights in sensitivity.weights.items() if name in names)
        return Plan(names, present, weighing, self)

    def whole(self, plan: Plan, sensitivity: Sensitivity) -> tuple[int, float] | None:
        """Rows and largest record score of the same columns of the whole source; None where they were not counted."""
        key = (plan.quasi, plan.sensitive, sensitivity)
        if key not in self._whole:
            largest = self._largest(plan)
            make_room(self._whole, KEPT)
            self._whole[key] = None if largest is None else (self.rows, largest)
        return self._whole[key]

    def _largest(self, plan: Plan) -> float | None:
        by = [*plan.quasi, *plan.sensitive]
        try:
            joint = _counted(self.source, by)
        except (ColumnError, OutsideHierarchy):
            return None
        heaviest = np.minimum(_added(joint, plan), 1.0)
        if not plan.quasi:
            return float(heaviest.max() / joint.records)
        places = range(len(plan.quasi))
        sizes = [len(joint.columns[place].labels) for place in places]
        _, member, groups = group(*pack([joint.codes[place] for place in places], sizes, len(joint)))
        return float((heaviest / total(member, joint.sizes, groups)[member]).max())

    @cached_property
    def _described(self) -> str:
        return f"{self.rows} people in {len(self.counted)} classes by {', '.join(self.quasi) or 'nothing'}"

    def __repr__(self) -> str:
        return f"Prepared({self._described})"


def make_room(kept: dict[Any, Any], most: int) -> None:
    """Forget the oldest: whoever asks for ever new columns must not fill the memory."""
    while len(kept) >= most:
        del kept[next(iter(kept))]


def _added(joint: Classes, plan: Plan) -> Floats:
    """The weight of each distinct tuple, added up in the order of the plan."""
    sums = np.zeros(len(joint))
    for place, (_, weights) in enumerate(plan.weighing, start=len(plan.quasi)):
        table = np.array([weights(label) for label in joint.columns[place].labels])
        sums += table[joint.codes[place]]
    return sums


def prepare(source: Any, quasi: Sequence[str] | None = None, *, entity: str | None = None) -> Prepared:
    """Count a source by its quasi-identifiers (the policy's unless given), to score many results against it.

    With `entity`, the column that says whom a row is about, people are counted rather than rows.

    >>> prepare([{"job": "Lawyer", "city": "NY"}, {"job": "Lawyer", "city": "LA"}], ["job"])
    Prepared(2 people in 1 classes by job)
    """
    from discreet.misuse.source.reading import countable

    if isinstance(source, Prepared):
        return source
    table = countable(source)
    if quasi is None:
        policy = table.policy if isinstance(table, Governed) else None
        if policy is None and not isinstance(table, Classes):
            raise UsageError("Say which columns are quasi-identifiers.", remedy="quasi=[...], or read with a policy.")
        quasi = policy.quasi if policy else table.names if isinstance(table, Classes) else ()
    names = tuple(dict.fromkeys(quasi))
    if entity is None or entity not in columns_of_source(table):
        return Prepared(names, _counted(table, names), table)
    return Prepared(names, _heads(_counted(table, (*names, entity))).project(names), table, entity)


def columns_of_source(table: Any) -> tuple[str, ...]:
    """The names of the columns of a source, as far as it tells them."""
    return tuple(table.names if isinstance(table, Classes) else getattr(table, "columns", getattr(table, "names", ())))


def _counted(table: Countable | Classes, names: Sequence[str]) -> Classes:
    return table.project(names) if isinstance(table, Classes) else table.classes(names)


def _heads(classes: Classes) -> Classes:
    """The same classes, each counted once: with the entity among the columns, people instead of rows."""
    return Classes(classes.columns, classes.codes, np.ones(len(classes), dtype=np.int64))
