"""Leak suite: copies leaked in ways that could hide whose they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from discreet.kernel import Coded, Histogram
from discreet.kernel.arrays import Flags, Ints, Label
from discreet.kernel.serialise import json_of
from discreet.releases.decoys.donors import number_of, rows_of_classes
from discreet.releases.marks.codebook import Codebook, Law
from discreet.releases.marks.pairing import ambiguous, labels_of
from discreet.releases.marks.row_marks import RowCodebook
from discreet.releases.marks.selection import Marking, spelling
from discreet.releases.power import MEASURED_FOR, STRATEGIES, shown_by
from discreet.releases.tracing.case import SuspectTable, Traceable
from discreet.releases.tracing.trace import trace_claims, trace_leak
from discreet.sources.table import Table
from discreet.wording import percent

Random = np.random.Generator
Leaked = Mapping[str, Coded]
"""The columns of a leaked file."""

COLLUDING = (2, 3, 4, 5, 6, 8, 10)
"""Sizes of coalitions that are played."""
PARTS = (1.0, 0.1)
"""Shares of the rows that coalitions leak."""
CHANGED = 0.1
"""The share of cells that are exchanged, and by how much numbers are changed."""
CLAIMS = 100
"""Claims of somebody who has no copy."""
FAKES = 6
"""Rows that are put into a class that a leaker fills."""


@dataclass(frozen=True, eq=False)
class LeakStage:
    """A release made in memory: rows of all copies, and what a trace needs."""

    marking: Marking
    traceable: Traceable
    columns: Mapping[str, Coded]
    """Released rows as they are published, then those of decoys."""
    mark_of: Ints
    """The mark of each row, those of classes and then those of rows; -1 where every copy has it."""
    doubtful: Flags
    """Rows of classes of which a list of the population does not say whether they are released."""

    @classmethod
    def of(cls, marking: Marking, table: Table, law: Law, *, key: bytes, release: str) -> LeakStage:
        """Fetch the rows and decide who has which."""
        linked, marks = marking.linked, marking.marks
        names = tuple(f"recipient {number}" for number in range(1, MEASURED_FOR + 1))
        book = Codebook.of(marks, law, names, release=release, key=key)
        single = RowCodebook.of(marking.rows, marking.row_probabilities, names, release=release, key=key)
        policy, quasi = table.policy, linked.released.names
        traceable = Traceable.of(
            linked,
            book,
            release=release,
            rules={name: policy.rule(name) for name in quasi} if policy else {},
            decoys=marking.decoys,
            rows=single,
        )
        everybody = np.ones(len(linked.released), dtype=bool)
        cells, owners = rows_of_classes(table, linked.released, everybody, drop=policy.unpublished if policy else ())
        of_decoys = [marks.labels[place] for place in marking.decoys.places.tolist()]
        spelt = {
            name: [
                *column,
                *([label[quasi.index(name)] for label in of_decoys] if name in quasi else marking.decoys.columns[name]),
            ]
            for name, column in cells.items()
        }
        columns = {name: Coded.of([spelling(cell) for cell in column]) for name, column in spelt.items()}
        # Which mark each row belongs to: its class, the decoy that holds it, or itself.
        place_of = {label: place for place, label in enumerate(linked.released.tuples())}
        mark_of_class = np.full(len(linked.released), -1, dtype=np.int64)
        for mark in np.flatnonzero(~marks.decoy).tolist():
            mark_of_class[place_of[marks.labels[mark]]] = mark
        mark_of = np.concatenate([mark_of_class[owners], marking.decoys.places])
        others = [name for name in columns if name not in quasi]
        free: dict[tuple[Label, ...], list[int]] = {}
        whole = zip(
            *(
                [columns[name].values[code] for code in columns[name].codes[: len(owners)].tolist()]
                for name in [*quasi, *others]
            ),
            strict=True,
        )
        for row, own in enumerate(whole):
            free.setdefault(own, []).append(row)
        for number in range(len(marking.rows)):
            own = (*marking.rows.labels[number], *(marking.rows.cells[name][number] for name in others))
            mark_of[free[own].pop()] = len(marks) + number
        in_doubt = ambiguous(linked.links, sampling=linked.sampling, k=linked.k)[owners]
        return cls(
            marking, traceable, columns, mark_of, np.concatenate([in_doubt, np.ones(len(of_decoys), dtype=bool)])
        )

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return self.marking.linked.released.names

    @property
    def others(self) -> tuple[str, ...]:
        """All other columns."""
        return tuple(name for name in self.columns if name not in self.quasi)

    def rows(self, shown: Flags) -> Ints:
        """The rows of a file that shows these marks."""
        return np.flatnonzero(np.append(shown, True)[self.mark_of])

    def file(self, rows: Ints) -> Leaked:
        """These rows with all columns."""
        return {name: Coded(column.values, column.codes[rows]) for name, column in self.columns.items()}

    @cached_property
    def in_doubt(self) -> list[tuple[Label, ...]]:
        """Classes of the population whose link count does not say whether they are released."""
        linked = self.marking.linked
        doubtful = ambiguous(linked.population.sizes, sampling=linked.sampling, k=linked.k)
        return labels_of(linked.population, np.flatnonzero(doubtful))

    def accused(self, leaked: Leaked) -> frozenset[int]:
        """The recipients that a trace of this file names."""
        return self._places(trace_leak(self.traceable, suspect(leaked)).accused)

    def accused_by_claims(self, claims: Sequence[tuple[Label, ...]]) -> frozenset[int]:
        """The recipients that claims about these classes name."""
        if not claims:
            return frozenset()
        rows = [dict(zip(self.quasi, label, strict=True)) for label in claims]
        return self._places(trace_claims(self.traceable, rows).accused)

    def _places(self, names: Sequence[str]) -> frozenset[int]:
        return frozenset(self.traceable.recipients.index(name) for name in names)


def suspect(leaked: Leaked) -> SuspectTable:
    """A leaked file as a trace reads it."""
    rows = len(next(iter(leaked.values())).codes)

    def counted(by: Sequence[str]) -> Histogram:
        return Histogram({name: leaked[name] for name in by}, np.ones(rows, dtype=np.int64))

    return SuspectTable("leak", tuple(leaked), counted)


# What one leaker may do to a copy. Each way takes the rows of the copy.
def as_it_is(stage: LeakStage, rows: Ints, random: Random) -> Leaked:
    """The whole copy."""
    return stage.file(rows)


def share(part: float) -> LeakWay:
    """Some of the rows, drawn."""
    return lambda stage, rows, random: stage.file(rows[random.random(len(rows)) < part])


def without_doubtful(part: float) -> LeakWay:
    """Classes of doubtful size, where class marks are, and some rows are left out."""

    def way(stage: LeakStage, rows: Ints, random: Random) -> Leaked:
        plain = rows[~stage.doubtful[rows]]
        return stage.file(plain[random.random(len(plain)) < part])

    return way


def filled(stage: LeakStage, rows: Ints, random: Random) -> Leaked:
    """Classes of doubtful size that the copy lacks are filled with others' rows."""
    whole = stage.file(rows)
    held = set(_labels(stage, whole))
    lacking = [label for label in stage.in_doubt if label not in held]
    givers = rows[random.integers(0, len(rows), FAKES * len(lacking))]
    made = dict(stage.file(givers))
    for place, name in enumerate(stage.quasi):
        made[name] = Coded.of([label[place] for label in lacking for _ in range(FAKES)])
    return {name: _joined(whole[name], made[name]) for name in whole}


def relabelled(stage: LeakStage, rows: Ints, random: Random) -> Leaked:
    """Classes of doubtful size are moved to other classes of doubtful size."""
    whole = stage.file(rows)
    moved = np.flatnonzero(stage.doubtful[rows])
    classes = _labels(stage, {name: Coded(column.values, column.codes[moved]) for name, column in whole.items()})
    held = list(dict.fromkeys(classes))
    chosen = random.permutation(len(stage.in_doubt))[: len(held)].tolist()
    becomes = {label: stage.in_doubt[place] for label, place in zip(held, chosen, strict=False)}
    found = dict(whole)
    for place, name in enumerate(stage.quasi):
        cells = [whole[name].values[code] for code in whole[name].codes.tolist()]
        for row, label in zip(moved.tolist(), classes, strict=True):
            cells[row] = becomes.get(label, label)[place]
        found[name] = Coded.of(cells)
    return found


def cells_exchanged(stage: LeakStage, rows: Ints, random: Random) -> Leaked:
    """In every other column a tenth of the cells are exchanged."""
    found = dict(stage.file(rows))
    for name in stage.others:
        codes = found[name].codes.copy()
        places = np.flatnonzero(random.random(len(codes)) < CHANGED)
        codes[places] = codes[random.permutation(places)]
        found[name] = Coded(found[name].values, codes)
    return found


def numbers_changed(stage: LeakStage, rows: Ints, random: Random) -> Leaked:
    """Every number of the other columns is changed by up to a tenth."""
    found = dict(stage.file(rows))
    for name in stage.others:
        column = found[name]
        numbers = np.array([number_of(value) for value in column.values])[column.codes]
        if np.isnan(numbers).all():
            continue
        factors = random.uniform(1 - CHANGED, 1 + CHANGED, len(numbers))
        cells = [
            column.values[code] if np.isnan(number) else str(round(number * factor))
            for code, number, factor in zip(column.codes.tolist(), numbers.tolist(), factors.tolist(), strict=True)
        ]
        found[name] = Coded.of(cells)
    return found


def shuffled(stage: LeakStage, rows: Ints, random: Random) -> Leaked:
    """Every other column is shuffled within its class."""
    found = dict(stage.file(rows))
    index: dict[tuple[Label, ...], int] = {}
    owners = np.array([index.setdefault(label, len(index)) for label in _labels(stage, found)], dtype=np.int64)
    order = np.argsort(owners, kind="stable")
    for name in stage.others:
        codes = found[name].codes.copy()
        codes[order] = codes[np.lexsort([random.random(len(owners)), owners])]
        found[name] = Coded(found[name].values, codes)
    return found


def without_most_telling(stage: LeakStage, rows: Ints, random: Random) -> Leaked:
    """The other column with most values is left out."""
    dropped = max(stage.others, key=lambda name: len(stage.columns[name].values))
    return {name: column for name, column in stage.file(rows).items() if name != dropped}


def one_quasi(stage: LeakStage, rows: Ints, random: Random) -> Leaked:
    """Of the quasi-identifiers only the first is left."""
    return {name: column for name, column in stage.file(rows).items() if name not in stage.quasi[1:]}


def counts(stage: LeakStage, rows: Ints, random: Random) -> Leaked:
    """A table of counts: the quasi-identifiers alone."""
    return {name: column for name, column in stage.file(rows).items() if name in stage.quasi}


def coarser(stage: LeakStage, rows: Ints, random: Random) -> Leaked:
    """Quasi-identifiers are published one level more coarsely, where that leaves more than one value."""
    found = dict(stage.file(rows))
    for column in stage.marking.linked.population.columns:
        hierarchy, level = column.hierarchy, column.level
        if level + 1 >= hierarchy.height or len(hierarchy.labels[level + 1]) < 2:
            continue
        above = hierarchy.labels[level + 1]
        up = dict(zip(column.labels, (above[code] for code in hierarchy.map(level, level + 1).tolist()), strict=False))
        own = found[column.name]
        found[column.name] = Coded.of([up.get(own.values[code], own.values[code]) for code in own.codes.tolist()])
    return found


def _labels(stage: LeakStage, leaked: Leaked) -> list[tuple[Label, ...]]:
    cells = [[leaked[name].values[code] for code in leaked[name].codes.tolist()] for name in stage.quasi]
    return list(zip(*cells, strict=True))


def _joined(one: Coded, other: Coded) -> Coded:
    cells = [column.values[code] for column in (one, other) for code in column.codes.tolist()]
    return Coded.of(cells)


LeakWay = Callable[[LeakStage, Ints, Random], Leaked]
WAYS: Mapping[str, LeakWay] = {
    "the whole copy": as_it_is,
    "half of the rows": share(0.5),
    "a tenth of the rows": share(0.1),
    "a twentieth of the rows": share(0.05),
    "without the classes in doubt": without_doubtful(1.0),
    "without these, a tenth of the rows": without_doubtful(0.1),
    "without these, a twentieth of the rows": without_doubtful(0.05),
    "all classes in doubt filled": filled,
    "the classes in doubt relabelled": relabelled,
    "a tenth of the cells exchanged": cells_exchanged,
    "numbers changed by up to a tenth": numbers_changed,
    "columns shuffled within classes": shuffled,
    "without the most telling column": without_most_telling,
    "one quasi-identifier left": one_quasi,
    "a table of counts": counts,
    "coarser levels": coarser,
}
"""What a single leaker may do."""


@dataclass(frozen=True)
class LeakOutcome:
    """Who was named after leaks of one kind."""

    leak: str
    colluding: int
    """How many put their copies together; 0 where no copy was used."""
    part: float
    """The share of the rows that a coalition leaked; what a single leaker leaks is in the name."""
    runs: int
    named: int
    """Runs in which one of those who leaked was named."""
    innocents: int
    """Recipients named who had no part, over all runs."""

    to_dict = json_of()


def leak(stage: LeakStage, random: Random, *, runs: int, sizes: Sequence[int] = COLLUDING) -> list[LeakOutcome]:
    """Play single leakers, coalitions of some sizes, and people without a copy."""

    def played(name: str, colluding: int, accused: Callable[[Flags], frozenset[int]], part: float = 1.0) -> LeakOutcome:
        named = innocents = 0
        for _ in range(runs):
            guilty = random.permutation(len(stage.traceable.recipients))[:colluding].tolist()
            found = accused(stage.traceable.present[guilty])
            named += bool(found & set(guilty))
            innocents += len(found - set(guilty))
        return LeakOutcome(name, colluding, part, runs, named, innocents)

    outcomes = []
    for name, way in WAYS.items():

        def alone(copies: Flags, way: LeakWay = way) -> frozenset[int]:
            return stage.accused(way(stage, stage.rows(copies[0]), random))

        outcomes.append(played(name, 1, alone))
    for colluding, strategy, part in product(sizes, STRATEGIES, PARTS):

        def together(copies: Flags, strategy: str = strategy, part: float = part) -> frozenset[int]:
            return stage.accused(share(part)(stage, stage.rows(shown_by(copies, strategy, random)), random))

        outcomes.append(played(strategy, colluding, together, part))
    everything = stage.file(np.flatnonzero((stage.mark_of < 0) | (stage.mark_of >= 0)))
    outcomes.append(played("the table itself", 0, lambda _: stage.accused(everything)))
    for name, claims in FALSE_CLAIMS.items():

        def claimed(_: Flags, claims: FalseClaims = claims) -> frozenset[int]:
            return stage.accused_by_claims(claims(stage, random))

        outcomes.append(played(name, 0, claimed))
    return outcomes


def leak_words(outcomes: Sequence[LeakOutcome], *, stated: int) -> list[str]:
    """What was found, in sentences; `stated` is the coalition of the plan."""

    def missed(some: Sequence[LeakOutcome]) -> str:
        return ", ".join(f"{one.leak} ({one.named} of {one.runs})" for one in some if one.named < one.runs)

    alone = [one for one in outcomes if one.colluding == 1]
    escaped = missed(alone)
    found = f"A single leaker is named {f'except after: {escaped}' if escaped else f'in each of {len(alone)} ways to leak a copy'}."
    whole, part = ([one for one in outcomes if one.colluding > 1 and one.part == share] for share in PARTS)
    sentences = [found]
    for title, some in (("From whole files", whole), (f"From {percent(PARTS[1])} of the rows", part)):
        by_size = {
            size: [one for one in some if one.colluding == size]
            for size in dict.fromkeys(one.colluding for one in some)
        }
        cells = [
            f"{size}: {sum(one.named for one in those)} of {sum(one.runs for one in those)}"
            for size, those in by_size.items()
        ]
        sentences.append(
            f"{title} one of those who collude is named, by number of colluders, over all {len(STRATEGIES)} strategies: {'; '.join(cells)}."
        )
    promised = [one for one in whole if one.colluding <= stated]
    if stated:
        of_stated = f"{sum(one.named for one in promised)} of {sum(one.runs for one in promised)} were named here"
        reached = f"one of up to {stated} who collude; of up to so many {of_stated}" if promised else "a single leaker"
        sentences.append(f"The plan states that a trace of a whole file names {reached}.")
    else:
        sentences.append("The plan states that nobody can be named surely.")
    innocents, runs = sum(one.innocents for one in outcomes), sum(one.runs for one in outcomes)
    wrong = "No recipient without a part was" if not innocents else f"{innocents:,} recipients without a part were"
    sentences.append(
        f"{wrong} accused in {runs:,} leaks, files that are no copies, and claims of people without a copy."
    )
    return sentences


# Claims of somebody who has no copy: nobody may be accused of them.
def random_people(stage: LeakStage, random: Random) -> list[tuple[Label, ...]]:
    """Claims about people of the population at random."""
    people = stage.marking.linked.population
    return labels_of(people, random.choice(len(people), CLAIMS, p=people.sizes / people.records))


def riskiest_people(stage: LeakStage, random: Random) -> list[tuple[Label, ...]]:
    """Claims about classes of doubtful size, which are the riskiest."""
    chosen = random.permutation(len(stage.in_doubt))[:CLAIMS].tolist()
    return [stage.in_doubt[place] for place in chosen]


def every_decoy(stage: LeakStage, random: Random) -> list[tuple[Label, ...]]:
    """Claims about all decoys, by an insider who knows them and wants others accused."""
    marks = stage.marking.marks
    return [marks.labels[place] for place in np.flatnonzero(marks.decoy).tolist()]


FalseClaims = Callable[[LeakStage, Random], list[tuple[Label, ...]]]
FALSE_CLAIMS: Mapping[str, FalseClaims] = {
    "claims about random people": random_people,
    "claims about classes in doubt": riskiest_people,
    "claims about every decoy": every_decoy,
}
