"""Trace case: the release's codebook, the claims or leaked file, label levels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Protocol

import numpy as np

from discreet.errors import ColumnError, UsageError
from discreet.kernel import Classes, Coded, Flat, Hierarchy, Histogram, Rule
from discreet.kernel.arrays import Ints, Label
from discreet.releases.marks.codebook import Codebook, canonical
from discreet.releases.population_link import Linked
from discreet.sources import Table, read


# What somebody hands in to be traced: claims or a leaked file, from wherever, counted by the columns that matter.
@dataclass(frozen=True, eq=False)
class Given:
    """A table that was handed in."""

    name: str
    columns: tuple[str, ...]
    counted: Callable[[Sequence[str]], Histogram]
    """Rows per tuple of some columns; equal tuples may come several times."""

    @classmethod
    def of(cls, source: Any) -> Given:
        """From a path, a frame, a table that was read, or rows as dictionaries."""
        if isinstance(source, Given):
            return source
        if isinstance(source, (list, tuple)):
            return cls._of_rows(source)
        table = source if isinstance(source, Table) else read(source)
        return cls(table.name, table.columns, table.engine.count)

    @classmethod
    def _of_rows(cls, rows: Sequence[Any]) -> Given:
        if not all(isinstance(row, Mapping) for row in rows):
            raise UsageError(
                "Rows in memory are dictionaries by column.", remedy='For example: [{"zip": "43001", "sex": "F"}]'
            )
        names = tuple(dict.fromkeys(str(name) for row in rows for name in row))

        def counted(by: Sequence[str]) -> Histogram:
            columns = {name: Coded.of([row.get(name) for row in rows]) for name in by}
            return Histogram(columns, np.ones(len(rows), dtype=np.int64))

        return cls("the rows", names, counted)

    def renamed(self, names: Mapping[str, str]) -> Given:
        """The same table with columns called by our names; `names` maps theirs to ours."""
        for theirs in names:
            if theirs not in self.columns:
                raise UsageError(
                    f"{self.name} has no column '{theirs}' that could be called otherwise.",
                    remedy="Map the names that the file has to those of the release, such as --column plz=zip.",
                )
        ours = tuple(names.get(name, name) for name in self.columns)
        if len(set(ours)) < len(ours):
            raise UsageError("Two columns would have the same name.", remedy="Map each name to another one.")
        theirs_of = dict(zip(ours, self.columns, strict=True))

        def counted(by: Sequence[str]) -> Histogram:
            found = self.counted([theirs_of[name] for name in by])
            return Histogram({name: found.columns[theirs_of[name]] for name in by}, found.counts)

        return Given(self.name, ours, counted)


# One quasi-identifier from its published labels upwards: where a claimed value or a leaked label stands on it.
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
class PublishedLevel:
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


class DecoyTuples(Protocol):
    """The other columns of decoys: cells by column, and per row the place of its mark."""

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Cells by column, one per row."""
        ...

    @property
    def places(self) -> Sequence[int] | Ints:
        """The place of each row's mark."""
        ...


@dataclass(frozen=True, eq=False)
class Traceable:
    """An opened release, as a trace is held against it.

    `codebook` knows every recipient there ever was, also those whose copies were called back.
    """

    release: str
    codebook: Codebook
    released: Classes
    """Everybody who is published, by class, as labels of the published levels; real marks are among them."""
    links: Ints
    """People of the population in each of these classes (G)."""
    population_links: tuple[Ints, Ints]
    """Link counts, and how many classes of the population have each."""
    levels: Mapping[str, int]
    chains: Mapping[str, tuple[Chain, ...]]
    """Per quasi-identifier, every label of the published level with what it becomes at coarser ones."""
    rules: Mapping[str, Rule] = field(default_factory=dict)
    """Per quasi-identifier, how raw values become labels."""
    decoys: DecoyTuples | None = None
    """The other columns of decoys, for leaks that lost their quasi-identifiers."""

    def __post_init__(self) -> None:
        if tuple(self.released.names) != tuple(self.columns) or len(self.links) != len(self.released):
            raise UsageError(
                "The released classes are not counted by the columns of the marks, or their link counts are missing.",
                remedy="Build it from one release: Traceable.of(linked, codebook, release=...).",
            )

    @classmethod
    def of(
        cls,
        linked: Linked,
        codebook: Codebook,
        *,
        release: str,
        rules: Mapping[str, Rule] | None = None,
        decoys: DecoyTuples | None = None,
    ) -> Traceable:
        """From the table beside its population, as it was when the release was made."""
        chains = {name: chains_of(name, linked.data, linked.population) for name in linked.data.names}
        met, classes = np.unique(linked.population.sizes, return_counts=True)
        return cls(
            release=release,
            codebook=codebook,
            released=linked.released,
            links=linked.links,
            population_links=(met, classes),
            levels=linked.levels,
            chains=chains,
            rules=rules or {},
            decoys=decoys,
        )

    def __repr__(self) -> str:
        return f"Traceable({self.release}, {len(self.codebook.marks)} marks, {len(self.recipients)} recipients)"

    @property
    def columns(self) -> tuple[str, ...]:
        """The quasi-identifiers, in the order of a mark's labels."""
        return self.codebook.marks.columns

    @property
    def recipients(self) -> tuple[str, ...]:
        """Everybody who ever had a copy."""
        return self.codebook.recipients

    @cached_property
    def fingerprint(self) -> str:
        """Tells this list of marks from another one, say of another version; nothing can be read from it."""
        parts = [canonical([self.release]), *self.codebook.marks.messages, self.codebook.probabilities.tobytes()]
        return sha256(b"".join(parts)).hexdigest()

    @cached_property
    def ladders(self) -> tuple[PublishedLevel, ...]:
        """Each quasi-identifier from its published labels upwards."""
        return tuple(
            PublishedLevel(name, self.rules.get(name, Flat()), self.levels[name], self.chains[name])
            for name in self.columns
        )

    @cached_property
    def mark_codes(self) -> tuple[Ints, ...]:
        """Per quasi-identifier, the published label of each mark as a code of its ladder."""
        ladders = self.ladders
        columns = list(zip(*self.codebook.marks.labels, strict=True))
        if not columns:
            return tuple(np.zeros(0, dtype=np.int64) for _ in ladders)
        coded = [Coded.of(cells) for cells in columns]
        return tuple(_places(ladder, one.values)[one.codes] for ladder, one in zip(ladders, coded, strict=True))

    @cached_property
    def released_codes(self) -> tuple[Ints, ...]:
        """The same for the released classes."""
        found = []
        for ladder, column, codes in zip(self.ladders, self.released.columns, self.released.codes, strict=True):
            found.append(_places(ladder, column.labels)[codes])
        return tuple(found)

    @cached_property
    def base(self) -> Ints:
        """Rows of each released class that every copy has: none where it is a mark."""
        real = {
            labels
            for labels, decoy in zip(self.codebook.marks.labels, self.codebook.marks.decoy, strict=True)
            if not decoy
        }
        marked = np.array([labels in real for labels in self.released.tuples()], dtype=bool)
        return np.where(marked, 0, self.released.sizes)


def _places(ladder: PublishedLevel, labels: Sequence[Label]) -> Ints:
    index = ladder.hierarchy.index[0]
    if any(label not in index for label in labels):
        raise UsageError(
            f"Column '{ladder.name}': a published label is missing from its chains.",
            remedy="Build them from the data and the population: chains_of(name, data, population).",
        )
    return np.array([index[label] for label in labels], dtype=np.int64)


# Claims that people were re-identified, brought to the classes of the release: one claim per class.
Key = tuple[int, ...]
"""A class, as the codes of its published labels."""


@dataclass(frozen=True)
class Claimed:
    """The classes that were claimed, and what became of the other rows. Holds no value of anybody."""

    rows: int
    unusable: int
    """Rows with a value that fits no hierarchy."""
    outside: int
    """Rows of people who are neither in a copy nor in the population."""
    classes: frozenset[Key]

    @classmethod
    def of(cls, traceable: Traceable, claims: Any) -> Claimed:
        """From rows with the quasi-identifiers, raw or as they were published."""
        given = Given.of(claims)
        names = [ladder.name for ladder in traceable.ladders if ladder.name in given.columns]
        missing = [ladder.name for ladder in traceable.ladders if ladder.open and ladder.name not in given.columns]
        if missing:
            raise ColumnError(
                f"{given.name} has no column '{missing[0]}', and a claim is brought to its class by every quasi-identifier.",
                remedy=f"Give the columns {', '.join(traceable.columns)} under these names.",
            )
        found = given.counted(names)
        codes = _codes(traceable, found.columns, len(found.counts))
        strange, outside = (codes == STRANGER).any(axis=1), (codes == NOWHERE).any(axis=1)
        good = ~strange & ~outside
        return cls(
            rows=int(found.counts.sum()),
            unusable=int(found.counts[strange].sum()),
            outside=int(found.counts[outside & ~strange].sum()),
            classes=frozenset(map(tuple, codes[good].tolist())),
        )


def _codes(traceable: Traceable, columns: Any, rows: int) -> Ints:
    codes = [
        ladder.published(columns[ladder.name].values)[columns[ladder.name].codes]
        if ladder.name in columns
        else np.zeros(rows, dtype=np.int64)
        for ladder in traceable.ladders
    ]
    return np.stack(codes, axis=1) if codes else np.zeros((rows, 0), dtype=np.int64)


@dataclass(frozen=True)
class Sorted:
    """Claimed classes by where they stand."""

    marks: tuple[int, ...]
    """Places of the marks that were hit, in order."""
    everywhere: tuple[int, ...]
    """Released classes that every copy holds, as places among the released ones."""
    nowhere: int
    """Classes that no copy holds."""

    @classmethod
    def of(cls, traceable: Traceable, classes: frozenset[Key]) -> Sorted:
        """Each class is a mark, in every copy, or in none."""
        marks = _claimed_places(traceable.mark_codes)
        hit = sorted(marks[key] for key in classes if key in marks)
        released = _claimed_places(traceable.released_codes)
        held = sorted(released[key] for key in classes if key in released and key not in marks)
        return cls(tuple(hit), tuple(held), len(classes) - len(hit) - len(held))


def _claimed_places(codes: Sequence[Ints]) -> dict[Key, int]:
    rows = zip(*(column.tolist() for column in codes), strict=True)
    return {key: place for place, key in enumerate(rows)}
