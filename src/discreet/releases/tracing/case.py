"""Trace case: the release's codebook, the claims or leaked file, label levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Protocol

import numpy as np

from discreet.errors import ColumnError, UsageError
from discreet.kernel import Classes, Coded, Flat, Hierarchy, Histogram, Rule
from discreet.kernel.arrays import Flags, Floats, Ints, Label
from discreet.releases.marks.codebook import Codebook, canonical, real_marks
from discreet.releases.marks.row_marks import RowCodebook
from discreet.releases.population_link import Linked
from discreet.sources import Table, read


@dataclass(frozen=True, eq=False)
class SuspectTable:
    """Claims or a leaked file, from wherever, counted by the columns that matter."""

    name: str
    columns: tuple[str, ...]
    counted: Callable[[Sequence[str]], Histogram]
    """Rows per tuple of some columns; equal tuples may come several times."""

    @classmethod
    def of(cls, source: Any) -> SuspectTable:
        """From a path, a frame, a table that was read, or rows as dictionaries."""
        if isinstance(source, SuspectTable):
            return source
        if not isinstance(source, (list, tuple)):
            table = source if isinstance(source, Table) else read(source)
            return cls(table.name, table.columns, table.engine.count)
        if not all(isinstance(row, Mapping) for row in source):
            raise UsageError(
                "Rows in memory are dictionaries by column.", remedy='For example: [{"zip": "43001", "sex": "F"}]'
            )

        def counted(by: Sequence[str]) -> Histogram:
            columns = {name: Coded.of([row.get(name) for row in source]) for name in by}
            return Histogram(columns, np.ones(len(source), dtype=np.int64))

        return cls("the rows", tuple(dict.fromkeys(str(name) for row in source for name in row)), counted)

    def weighted(self, count: str) -> SuspectTable:
        """The same where a column says for how many people each row stands, as in a table of counts."""
        if count not in self.columns:
            raise UsageError(
                f"{self.name} has no column '{count}' of counts.",
                remedy="Name the column that says how many people a row is.",
            )

        def counted(by: Sequence[str]) -> Histogram:
            histogram = self.counted([*by, count])
            numbers = histogram.columns[count]
            people = np.array([_people(value) for value in numbers.values], dtype=np.int64)[numbers.codes]
            return Histogram({name: histogram.columns[name] for name in by}, histogram.counts * people)

        return SuspectTable(self.name, tuple(name for name in self.columns if name != count), counted)

    def renamed(self, names: Mapping[str, str]) -> SuspectTable:
        """The table with columns under names of the release; `names` maps the file's names to these."""
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
            histogram = self.counted([theirs_of[name] for name in by])
            return Histogram({name: histogram.columns[theirs_of[name]] for name in by}, histogram.counts)

        return SuspectTable(self.name, ours, counted)


def _people(value: Label) -> int:
    """A count of people; what is none counts nobody, such as a cell that was suppressed."""
    try:
        return max(0, int(float(value or 0)))
    except (ValueError, OverflowError):
        return 0


NOWHERE, STRANGER = -1, -2
"""Codes of a value that fits the hierarchy but is in no copy, and of one that fits no value of it."""

Chain = tuple[Label, ...]
"""A published label and what it becomes at each coarser level."""


def chains_of(name: str, *tables: Classes) -> tuple[Chain, ...]:
    """Every label of a column at the levels of the tables, with what it becomes at coarser ones.

    >>> from discreet.kernel import Mask
    >>> chains_of("zip", Classes.of(["zip"], [("12",), ("13",)], rules={"zip": Mask(2)}).at({"zip": 1}))
    (('1*', '**'),)
    """
    chains: set[Chain] = set()
    for table in tables:
        column = table.columns[table.names.index(name)]
        hierarchy, levels = column.hierarchy, range(column.level, column.hierarchy.height)
        labels = (np.asarray(hierarchy.labels[level], dtype=object) for level in levels)
        steps = [each[hierarchy.map(column.level, level)].tolist() for each, level in zip(labels, levels, strict=True)]
        chains.update(zip(*steps, strict=True))
    return tuple(sorted(chains, key=lambda chain: [(label is None, label or "") for label in chain]))


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
        """The code of each value's published label; a value may be raw, and is if others can only be raw."""
        code_of = self.hierarchy.index[0]
        plain = np.array([code_of.get(value, STRANGER) for value in values], dtype=np.int64)
        paths = [self.rule.missing if value is None else self.rule.path(value) for value in values]
        codes = [STRANGER if path is None else code_of.get(path[self.level], NOWHERE) for path in paths]
        raised = np.array(codes, dtype=np.int64)
        raw = bool(((raised != STRANGER) & (plain == STRANGER)).any())
        first, second = (raised, plain) if raw else (plain, raised)
        return np.where(first == STRANGER, second, first)

    def steps(self, values: Sequence[Label]) -> Ints:
        """Levels above the published one of each label, the finest where it is on several; -1: on none."""
        steps = np.full(len(values), -1, dtype=np.int64)
        for step in reversed(range(self.hierarchy.height)):
            index = self.hierarchy.index[step]
            steps[[place for place, value in enumerate(values) if value in index]] = step
        return steps

    def lifted(self, values: Sequence[Label], steps: Ints, target: int) -> Ints:
        """The code at step `target` of each label that is on `steps`; -1 where it is on none, or above."""
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

    @property
    def places(self) -> Sequence[int] | Ints:
        """The place of each row's mark."""


@dataclass(frozen=True, eq=False)
class Traceable:
    """An opened release, as a trace is held against it, with every recipient there ever was."""

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
    rows: RowCodebook | None = None
    """Single rows that some copies lack, with control rows; None in releases of the first design."""

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
        rows: RowCodebook | None = None,
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
            rows=rows,
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
        codes = []
        for place, ladder in enumerate(self.ladders):
            column = Coded.of([labels[place] for labels in self.codebook.marks.labels])
            codes.append(_places(ladder, column.values)[column.codes])
        return tuple(codes)

    @cached_property
    def released_codes(self) -> tuple[Ints, ...]:
        """The same for the released classes."""
        columns = zip(self.ladders, self.released.columns, self.released.codes, strict=True)
        return tuple(_places(ladder, column.labels)[codes] for ladder, column, codes in columns)

    @cached_property
    def base(self) -> Ints:
        """Rows of each released class that every copy has: none where it is a mark, all but its row marks elsewhere."""
        lacking = np.zeros(len(self.released), dtype=np.int64)
        if self.row_marks:
            place_of = {key: place for place, key in enumerate(zip(*self.released_codes, strict=True))}
            for key in zip(*(codes[: self.row_marks] for codes in self.row_codes), strict=True):
                lacking[place_of[key]] += 1
        return np.where(real_marks(self.codebook.marks, self.released), 0, self.released.sizes - lacking)

    @property
    def row_marks(self) -> int:
        """How many single rows are marks."""
        return 0 if self.rows is None else len(self.rows.rows)

    @cached_property
    def row_codes(self) -> tuple[Ints, ...]:
        """Per quasi-identifier, the published label of each row mark, then of each control row."""
        labels = () if self.rows is None else self.rows.rows.labels
        return tuple(_places(ladder, [row[place] for row in labels]) for place, ladder in enumerate(self.ladders))

    @property
    def dealt(self) -> bool:
        """Whether marks are bait: dealt to one recipient each, and so not independent of each other."""
        partners = self.codebook.marks.partners
        return len(partners) > 0 and bool((partners == np.arange(len(partners))).all())

    @property
    def probabilities(self) -> Floats:
        """The secret probability of every mark: those of classes, then those of rows."""
        own = self.codebook.probabilities
        return own if self.rows is None else np.concatenate([own, self.rows.probabilities])

    @property
    def present(self) -> Flags:
        """Who has which mark: those of classes, then those of rows."""
        own = self.codebook.present
        return own if self.rows is None else np.concatenate([own, self.rows.present], axis=1)


def _places(ladder: PublishedLevel, labels: Sequence[Label]) -> Ints:
    index = ladder.hierarchy.index[0]
    if any(label not in index for label in labels):
        raise UsageError(
            f"Column '{ladder.name}': a published label is missing from its chains.",
            remedy="Build them from the data and the population: chains_of(name, data, population).",
        )
    return np.array([index[label] for label in labels], dtype=np.int64)


Key = tuple[int, ...]
"""A class, as the codes of its published labels."""


@dataclass(frozen=True)
class ClaimedClasses:
    """Classes in which people were claimed to be re-identified, and what became of the other rows; no person's values."""

    rows: int
    unusable: int
    """Rows with a value that fits no hierarchy."""
    outside: int
    """Rows of people who are neither in a copy nor in the population."""
    classes: frozenset[Key]

    @classmethod
    def of(cls, traceable: Traceable, claims: Any) -> ClaimedClasses:
        """From rows with the quasi-identifiers, raw or as they were published."""
        table = SuspectTable.of(claims)
        names = [ladder.name for ladder in traceable.ladders if ladder.name in table.columns]
        missing = [ladder.name for ladder in traceable.ladders if ladder.open and ladder.name not in table.columns]
        if missing:
            raise ColumnError(
                f"{table.name} has no column '{missing[0]}', and a claim is brought to its class by every quasi-identifier.",
                remedy=f"Give the columns {', '.join(traceable.columns)} under these names.",
            )
        histogram = table.counted(names)
        counts, columns = histogram.counts, histogram.columns
        codes = np.zeros((len(counts), len(traceable.ladders)), dtype=np.int64)
        for place, ladder in enumerate(traceable.ladders):
            if ladder.name in columns:
                codes[:, place] = ladder.published(columns[ladder.name].values)[columns[ladder.name].codes]
        strange, outside = (codes == STRANGER).any(axis=1), (codes == NOWHERE).any(axis=1)
        good = ~strange & ~outside
        return cls(
            rows=int(counts.sum()),
            unusable=int(counts[strange].sum()),
            outside=int(counts[outside & ~strange].sum()),
            classes=frozenset(map(tuple, codes[good].tolist())),
        )


@dataclass(frozen=True)
class ClaimsByPlace:
    """Claimed classes by where they are: marks, in every copy, or in none."""

    marks: tuple[int, ...]
    """Places of the marks that were hit, in order."""
    everywhere: tuple[int, ...]
    """Released classes that every copy holds, as places among the released ones."""
    nowhere: int
    """Classes that no copy holds."""

    @classmethod
    def of(cls, traceable: Traceable, classes: frozenset[Key]) -> ClaimsByPlace:
        """Look each class up among the marks and the released classes."""
        marks, released = (
            {key: place for place, key in enumerate(zip(*(column.tolist() for column in codes), strict=True))}
            for codes in (traceable.mark_codes, traceable.released_codes)
        )
        hit = sorted(marks[key] for key in classes if key in marks)
        held = sorted(released[key] for key in classes if key in released and key not in marks)
        return cls(tuple(hit), tuple(held), len(classes) - len(hit) - len(held))
