"""Row marks: single rows of large classes that some copies lack.

Class marks are few and lie where it is doubtful whether a class is released; who leaves those classes out escapes them.
Row marks lie in all other classes. A copy lacks each of them by an independent, keyed decision, never so many of a class
that fewer than k rows would be left, and never more than a small share of the people of any value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.kernel.arrays import Flags, Floats, Ints, Label, pack
from discreet.kernel.serialise import json_of
from discreet.releases.decoys.donors import DonorColumn, Donors
from discreet.releases.marks.codebook import Law, canonical, derive, uniforms
from discreet.releases.population_link import Linked
from discreet.wording import fine_percent

ROW_LAW = Law.parse("0.1/0.3/0.5/0.7/0.9")
"""How often a row mark is in a copy: even, so that those who put copies together gain nothing by always showing or hiding."""
SMALLEST_CLASS = 8
"""Rows from which on a class may lack some."""
MOST_ROW_MARKS = 3_000
"""More would hardly name more of those who collude, and cost rows."""
ROWS_LOST = 0.02
"""The share of released rows that a copy may lack by row marks, on average."""
VALUE_LOST, VALUE_WORST = 0.03, 0.05
"""The share of the people of any value that a copy may lack by all marks on average, and in hardly any case."""
RARELY = 4.0
"""Standard deviations that make such a case."""
FEW_PEOPLE = 200
"""Values of fewer people are counted together."""
MOST_NUMBERS = 200
"""Different numbers from which on they are put together in tenths."""
CONTROLS = 1_000
"""Rows of the same classes, in every copy, by which a trace learns what is found and what is not."""


@dataclass(frozen=True, eq=False)
class RowMarks:
    """Rows as published: the marks, then rows that no copy holds, then control rows, which every copy holds."""

    columns: tuple[str, ...]
    """The quasi-identifiers, in the order of the labels."""
    labels: tuple[tuple[Label, ...], ...]
    cells: Mapping[str, Sequence[Label]]
    """Every other column, as text."""
    marks: int
    withheld: int = 0
    """Rows of people whose values decoys hold, and who would be released by now."""

    def __len__(self) -> int:
        return self.marks

    def __repr__(self) -> str:
        return f"RowMarks({self.marks} rows, {len(self.labels) - self.single} controls)"

    to_dict = json_of("labels cells marks withheld")

    @property
    def single(self) -> int:
        """Rows that copies may lack: the marks and those that no copy holds."""
        return self.marks + self.withheld

    @classmethod
    def from_dict(cls, written: Mapping[str, Any], columns: tuple[str, ...]) -> RowMarks:
        """What was written."""
        labels = tuple(tuple(row) for row in written["labels"])
        return cls(columns, labels, dict(written["cells"]), written["marks"], written.get("withheld", 0))

    @property
    def published(self) -> dict[str, list[Label]]:
        """The rows that copies may lack, column by column."""
        quasi = {name: [row[place] for row in self.labels] for place, name in enumerate(self.columns)}
        return {name: list(cells[: self.single]) for name, cells in {**quasi, **self.cells}.items()}

    @cached_property
    def messages(self) -> tuple[bytes, ...]:
        """Each mark as bytes: its row, and how many equal ones come before it."""
        seen: dict[tuple[Label, ...], int] = {}
        found = []
        for row in range(self.marks):
            whole = (*self.labels[row], *(self.cells[name][row] for name in sorted(self.cells)))
            seen[whole] = seen.get(whole, -1) + 1
            found.append(canonical([*whole, seen[whole]]))
        return tuple(found)

    def probabilities(self, *, release: str, key: bytes) -> Floats:
        """With which probability each mark is in a copy."""
        head = canonical([release, "row"])
        return ROW_LAW.probabilities(uniforms(derive(key, "law"), (head + message for message in self.messages)))

    def only(self, kept: Ints) -> RowMarks:
        """Some of the marks, and all controls."""
        rows = [*kept.tolist(), *range(self.single, len(self.labels))]
        return RowMarks(
            self.columns,
            tuple(self.labels[row] for row in rows),
            {name: [cells[row] for row in rows] for name, cells in self.cells.items()},
            len(kept),
        )


@dataclass(frozen=True, eq=False)
class RowCodebook:
    """The row marks, their secret probabilities, and who has which."""

    rows: RowMarks
    probabilities: Floats
    present: Flags
    """One row per recipient, one column per mark."""

    @classmethod
    def of(
        cls, rows: RowMarks, probabilities: Floats, recipients: Sequence[str], *, release: str, key: bytes
    ) -> RowCodebook:
        """Decide by keyed hashes, as class marks are decided."""
        secret, head = derive(key, "presence"), canonical([release, "row"])
        bits = [
            uniforms(secret, (head + message + canonical([name]) for message in rows.messages)) < probabilities
            for name in recipients
        ]
        return cls(rows, probabilities, np.array(bits, dtype=bool).reshape(len(recipients), len(rows)))

    def with_recipients(self, names: Sequence[str], *, release: str, key: bytes) -> RowCodebook:
        """The same with further recipients; nobody's rows change."""
        added = RowCodebook.of(self.rows, self.probabilities, names, release=release, key=key)
        return replace(self, present=np.concatenate([self.present, added.present]))

    def __repr__(self) -> str:
        return f"RowCodebook({len(self.rows)} row marks)"


@dataclass(frozen=True, eq=False)
class ValueLosses:
    """What copies lack of the values of a column, as a mean and a variance."""

    name: str
    groups: Ints
    """Per row at hand, the group of its value."""
    values: tuple[Label, ...]
    """What each group is called."""
    people: Floats
    """Released people per group."""
    mean: Floats
    variance: Floats

    @classmethod
    def of(cls, name: str, column: DonorColumn, labels: Sequence[Label], scale: float) -> ValueLosses:
        """Of rows at hand, each of which stands for `scale` released people."""
        many = column.numbers is not None and column.distinct > MOST_NUMBERS
        codes = column.codes
        if many:
            numbers = np.asarray(column.numbers)
            edges = np.unique(np.nanquantile(numbers, np.arange(1, 10) / 10))
            codes = np.where(np.isfinite(numbers), np.searchsorted(edges, numbers, side="right"), len(edges) + 1)
        people: Floats = np.bincount(codes).astype(np.float64) * scale
        spelt: list[Label] = [None] * len(people)
        for code, label in zip(codes.tolist(), labels, strict=True):
            spelt[code] = label
        if many:
            spelt = [f"tenth {place + 1}" for place in range(len(people))]
        rare = people < FEW_PEOPLE
        number = np.where(rare, 0, np.cumsum(~rare))
        names = ("rare values", *(label for label, few in zip(spelt, rare.tolist(), strict=True) if not few))
        sums: Floats = np.bincount(number, weights=people, minlength=len(names)).astype(np.float64)
        return cls(name, number[codes], names, sums, np.zeros(len(names)), np.zeros(len(names)))

    def lose_classes(self, rows: Ints, owners: Ints, chances: Mapping[int, float]) -> None:
        """Count the rows of class marks: rows of one class are lacking together."""
        width = len(self.people)
        keys, counts = np.unique(owners[rows] * width + self.groups[rows], return_counts=True)
        for key, number in zip(keys.tolist(), counts.tolist(), strict=True):
            group, chance = key % width, chances[key // width]
            self.mean[group] += number * (1 - chance)
            self.variance[group] += number**2 * chance * (1 - chance)

    def affords(self, group: int, absent: float, spread: float) -> bool:
        """Whether a group can lose one more row, on average and with bad luck."""
        mean, people = float(self.mean[group]) + absent, float(self.people[group])
        if mean > VALUE_LOST * people:
            return False
        return people < FEW_PEOPLE or mean + RARELY * (self.variance[group] + spread) ** 0.5 <= VALUE_WORST * people

    @property
    def shares(self) -> Floats:
        """The share of each group's people that a copy lacks on average."""
        return np.asarray(self.mean / np.maximum(self.people, 1.0))

    @property
    def worst(self) -> Floats:
        """The share that hardly any copy exceeds."""
        return np.asarray((self.mean + RARELY * np.sqrt(self.variance)) / np.maximum(self.people, 1.0))


@dataclass(frozen=True)
class WorstValue:
    """A value that loses many of its people by marks."""

    column: str
    value: Label
    people: int
    average: float
    """The share that a copy lacks of them on average."""
    most: float
    """The share that hardly any copy exceeds."""

    @classmethod
    def of(cls, losses: ValueLosses) -> list[WorstValue]:
        """Every value of a column beyond the limit, the worst first, or the worst; values of few people count together."""
        counted = np.where(losses.people >= FEW_PEOPLE, losses.worst, -1.0)
        order = np.argsort(-counted, kind="stable")[: max(1, int((counted > VALUE_WORST).sum()))]
        return [
            cls(
                losses.name,
                losses.values[place],
                int(losses.people[place]),
                round(float(losses.shares[place]), 4),
                round(min(1.0, float(losses.worst[place])), 4),
            )
            for place in order.tolist()
        ]

    def words(self) -> str:
        """What it loses."""
        value = "without a value" if self.value is None else self.value
        return f"{value} {fine_percent(self.average)} on average, up to {fine_percent(self.most)}"

    to_dict = json_of()


def losses_of(linked: Linked, donors: Donors, real: Ints, chance: Floats) -> list[ValueLosses]:
    """What class marks at some released classes cost the values of each column."""
    scale = linked.released.records / max(len(donors), 1)
    chances = dict(zip(real.tolist(), chance.tolist(), strict=True))
    rows = np.flatnonzero(np.isin(donors.owners, real))
    found = []
    released = linked.released
    quasi = [
        (column.name, [column.labels[code] for code in codes[donors.owners].tolist()])
        for column, codes in zip(released.columns, released.codes, strict=True)
    ]
    for name, cells in quasi:
        found.append(ValueLosses.of(name, DonorColumn.of(name, cells), cells, scale))
    for column in donors.columns:
        spelt = [None if cell is None else str(cell) for cell in column.cells]
        found.append(ValueLosses.of(column.name, column, spelt, scale))
    for losses in found:
        losses.lose_classes(rows, donors.owners, chances)
    return found


def choose_rows(
    linked: Linked,
    donors: Donors,
    losses: Sequence[ValueLosses],
    doubtful: Flags,
    generator: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Rows at hand that become marks, and control rows.

    `doubtful` are the released classes that must not lack single rows: those in the ambiguity band and class marks. Each
    mark counts with the average of the law in `losses`, which are changed.
    """
    sizes = linked.released.sizes
    fit = np.flatnonzero((sizes >= SMALLEST_CLASS)[donors.owners] & ~doubtful[donors.owners])
    # Rows that no other row of their class equals can be found again; where these are few, any will do.
    codes = [donors.owners, *(column.codes for column in donors.columns)]
    keys, _ = pack(codes, [int(one.max(initial=0)) + 1 for one in codes], len(donors))
    _, member, counts = np.unique(keys, return_inverse=True, return_counts=True)
    alone = counts[member.reshape(-1)][fit] == 1
    fit = fit[alone] if 2 * alone.sum() >= len(fit) else fit
    order = generator.permutation(fit)
    controls, order = np.split(order, [min(CONTROLS, len(order) // 4)])
    absent, chances = 1 - ROW_LAW.mean, np.asarray(ROW_LAW.values)
    spread = float(np.dot(ROW_LAW.shares, chances * (1 - chances)))
    room = (sizes - linked.k).tolist()
    left = min(MOST_ROW_MARKS, int(ROWS_LOST * linked.released.records / absent))
    groups = [one.groups[order].tolist() for one in losses]
    taken: list[int] = []
    for place, (row, owner) in enumerate(zip(order.tolist(), donors.owners[order].tolist(), strict=True)):
        own = [(one, group[place]) for one, group in zip(losses, groups, strict=True)]
        if len(taken) == left:
            break
        if room[owner] <= 0 or not all(one.affords(group, absent, spread) for one, group in own):
            continue
        room[owner] -= 1
        for one, group in own:
            one.mean[group] += absent
            one.variance[group] += spread
        taken.append(row)
    return np.array(taken, dtype=np.int64), controls
