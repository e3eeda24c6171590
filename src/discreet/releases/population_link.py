"""Population link: an anonymised table joined to the population it comes from.

Both are counted by the same columns at the same levels. The people of the population in a class of the data are its
link count G: among so many an adversary with a list of everybody has to choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity import Anonymised
from discreet.errors import EmptySource, PolicyError, PopulationError, UsageError
from discreet.kernel import Classes, Recoding
from discreet.kernel.arrays import Floats, Ints
from discreet.kernel.classes import Levels
from discreet.kernel.hierarchy import read_only
from discreet.wording import percent

MOST_UNCOVERED = 100
"""More than one in so many released people whom the population does not show: it is the wrong one."""


@dataclass(frozen=True, eq=False)
class DecoyCandidates:
    """Unreleased classes of at least k people but fewer than the least link count (AnonTokens, Algorithm 1)."""

    classes: Classes
    """With the people of the population as sizes: the link count of a decoy put there."""
    subjects: Ints
    """Per class, the people of the data who are in it and were left out."""
    min_link: int

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def links(self) -> Ints:
        """People of the population per class."""
        return self.classes.sizes

    @cached_property
    def factors(self) -> Floats:
        """How many times riskier than the riskiest real class each one is: the risk multiplication factor minLink/G."""
        return self.min_link / self.links

    def keep(self, kept: NDArray[np.bool_]) -> DecoyCandidates:
        """Only the classes marked true."""
        return DecoyCandidates(self.classes.keep(kept), self.subjects[kept], self.min_link)

    def __repr__(self) -> str:
        return f"Candidates({len(self)} classes, {int((self.subjects == 0).sum())} without people of the data)"


@dataclass(frozen=True, eq=False)
class Linked:
    """The classes of the data at one node, which of them are released, and the population at the same node.

    >>> people = Classes.of(["zip"], [("1",), ("2",), ("3",)], [6, 5, 1])
    >>> everybody = Classes.of(["zip"], [("1",), ("2",), ("3",), ("4",)], [60, 40, 9, 3])
    >>> linked = Linked.at_node(people, everybody, {"zip": 0}, k=3)
    >>> linked.min_link, linked.candidates
    (40, Candidates(2 classes, 1 without people of the data))
    """

    data: Classes
    """Everybody in the data at the node."""
    kept: NDArray[np.bool_]
    """Which of these classes are released."""
    population: Classes
    """Everybody in the population, by the same columns at the same levels."""
    k: int
    """The least size of a released class."""

    @classmethod
    def of(cls, anonymised: Anonymised, population: Classes) -> Linked:
        """From an anonymised table."""
        if not anonymised.levels:
            raise UsageError(
                f'A release needs one level per column, and search="{anonymised.search}" recodes class by class.',
                remedy='Use search="optimal".',
            )
        data = anonymised.recoding.classes.at(anonymised.levels)
        kept = anonymised.published.holds(data)
        return cls.beside(data, kept, population, k=anonymised.limits.k)

    @classmethod
    def at_node(cls, classes: Classes, population: Classes, levels: Levels, *, k: int) -> Linked:
        """From classes at given levels, where size is all that is required."""
        data = classes.at(levels)
        return cls.beside(data, np.asarray(data.sizes >= k), population, k=k)

    @classmethod
    def beside(cls, data: Classes, kept: NDArray[np.bool_], population: Classes, *, k: int) -> Linked:
        """From classes of the data that are at their levels already."""
        return cls(data, kept, population_at(population, data), k).checked()

    def checked(self) -> Linked:
        """The same, refused if the population does not show more than 1 % of the released people.

        Marks and decoys are rows, and the rows of a person would have to be in a copy together: such tables are
        refused too.
        """
        if self.data.members is not None or self.population.members is not None:
            raise PolicyError(
                "A release has one row per person, and here a person has several.",
                remedy="Give a table with one row per person, or hand out one anonymised table: discreet anonymise.",
            )
        if self.uncovered_records * MOST_UNCOVERED > self.released.records:
            share = self.uncovered_records / self.released.records
            raise PopulationError(
                f"{self.uncovered_records:,} of {self.released.records:,} released people ({percent(share)}) are in classes where "
                "the population has nobody; more than 1 % means that it is the wrong population.",
                remedy="Give the population from which the data were drawn, written in the same way and read by the same policy.",
            )
        return self

    @property
    def levels(self) -> dict[str, int]:
        """The level of each column."""
        return self.data.levels

    @property
    def records(self) -> int:
        """People in the data."""
        return self.data.records

    @property
    def sampling(self) -> float:
        """The share of the population that is in the data: |D|/|P|."""
        return self.records / self.population.records

    @cached_property
    def released(self) -> Classes:
        """The classes that are released."""
        return self.data.keep(self.kept)

    @cached_property
    def suppressed(self) -> Classes:
        """The classes that are left out."""
        return self.data.keep(~self.kept)

    @cached_property
    def links(self) -> Ints:
        """Per released class, the people of the population in it: G."""
        return read_only(self.released.link(self.population))

    @property
    def uncovered(self) -> NDArray[np.bool_]:
        """Released classes that the population does not show; nothing can be said about their risk."""
        return np.asarray(self.links == 0)

    @property
    def uncovered_records(self) -> int:
        """Released people in such classes."""
        return int(self.released.sizes[self.uncovered].sum())

    @cached_property
    def min_link(self) -> int:
        """The least link count of a released class that the population shows; 0 where there is none."""
        met = self.links[self.links > 0]
        return int(met.min()) if len(met) else 0

    @property
    def close_to_k(self) -> int:
        """Released classes hardly larger than they must be: k to 1.1 k people, both included."""
        return int((10 * self.released.sizes <= 11 * self.k).sum())

    @cached_property
    def candidates(self) -> DecoyCandidates:
        """Classes for decoys; none is released, since released ones have at least `min_link` people."""
        everybody = self.population.sizes
        few = self.population.keep((everybody >= self.k) & (everybody < self.min_link))
        return DecoyCandidates(few, read_only(few.link(self.suppressed)), self.min_link)

    def __repr__(self) -> str:
        return (
            f"Linked({self.released.records} of {self.records} people in {len(self.released)} classes beside "
            f"{self.population.records} people, least link count {self.min_link})"
        )


UNLIKE = 0.2
"""The share of people who would have to change a value for data and population to agree, from which on it is said."""


def doubts(linked: Linked) -> tuple[str, ...]:
    """Why the population may not be the one that the data came from."""
    said = []
    more = (linked.links > 0) & (linked.links < linked.released.sizes)
    if more.any():
        people = int(linked.released.sizes[more].sum())
        said.append(
            f"{int(more.sum()):,} released classes with {people:,} people have more people than the population has there: it cannot be the "
            "one that the data came from, or is older or coarser. Link counts of other classes may be too low as well."
        )
    if linked.records > linked.population.records:
        said.append("There are more people in the data than in the population.")
    for name in linked.data.names:
        mine, theirs = linked.data.project([name]), linked.population.project([name])
        own, every = (
            dict(zip(mine.tuples(), mine.sizes, strict=True)),
            dict(zip(theirs.tuples(), theirs.sizes, strict=True)),
        )
        apart = sum(
            abs(own.get(value, 0) / linked.records - every.get(value, 0) / linked.population.records)
            for value in {*own, *every}
        )
        if apart / 2 > UNLIKE:
            said.append(
                f"By {name} the data are unlike the population: {percent(apart / 2)} of the people would need another value. Where a group is "
                "collected more often than others, its unreleased classes stand out; decoys there are easier to find."
            )
    if linked.sampling >= 1 and not said:
        said.append(
            "The data are the whole population: everybody knows which classes are there, so decoys can be nowhere, and claims that people "
            "were re-identified cannot be traced. Row marks still trace a leaked file."
        )
    return tuple(said)


def population_at(population: Classes, data: Classes) -> Classes:
    """The population by the columns of the data, at their levels."""
    if not population.records:
        raise EmptySource("There is nobody in the population.", remedy="Give one with at least one row.")
    if missing := [name for name in data.names if name not in population.names]:
        raise PopulationError(
            f"The population has no column '{missing[0]}', by which the data are counted.",
            remedy="Give a population with every quasi-identifier of the policy.",
        )
    theirs = {column.name: column for column in population.columns}
    for column in data.columns:
        name, level = column.name, theirs[column.name].like(column)
        if not theirs[name].level <= level < theirs[name].hierarchy.height:
            raise PopulationError(
                f"Column '{name}' is needed at level {level}, and the population has levels {theirs[name].level} to "
                f"{theirs[name].hierarchy.height - 1}.",
                remedy="Read both by one policy: discreet.read(population, policy=policy.for_population()).",
            )
    return population.beside(data)


@dataclass(frozen=True, eq=False)
class BoxLinked:
    """A table that was recoded class by class (Mondrian), joined to the population box by box.

    As Algorithm 1 of AnonTokens says for such tables: people of the population in any box are taken away, and candidates are
    classes of those who are left, by the values as they came.
    """

    recoding: Recoding
    population: Classes
    """By the columns of the data, at the levels of the data as they came."""
    k: int

    @classmethod
    def of(cls, anonymised: Anonymised, population: Classes) -> BoxLinked:
        """From an anonymised table without one level per column."""
        recoding = anonymised.recoding
        return cls(recoding, population_at(population, recoding.classes), anonymised.limits.k)

    levels: ClassVar[dict[str, int]] = {}
    """There is none for a whole column."""

    @property
    def records(self) -> int:
        """People in the data."""
        return self.recoding.classes.records

    @cached_property
    def suppressed(self) -> Classes:
        """People who are left out, as they came."""
        return self.recoding.classes.keep(~self.recoding.kept)

    @cached_property
    def _boxes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Per box a released class of the data in it, and per released class its box."""
        codes = np.stack([codes[self.recoding.kept] for codes in self.recoding.codes], axis=1)
        _, first, member = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        return np.flatnonzero(self.recoding.kept)[first], member.reshape(-1)

    @cached_property
    def released(self) -> Ints:
        """People per box."""
        _, member = self._boxes
        return np.bincount(member, weights=self.recoding.classes.sizes[self.recoding.kept]).astype(np.int64)

    @property
    def close_to_k(self) -> int:
        """Boxes of k to 1.1 k people."""
        return int((10 * self.released <= 11 * self.k).sum())

    @cached_property
    def _linked(self) -> tuple[Ints, NDArray[np.bool_]]:
        """People of the population per box, and which of its classes are in any box."""
        first, member = self._boxes
        fits = [self._fits(place, first, member) for place in range(len(self.population.columns))]
        inside, links = np.zeros(len(self.population), dtype=bool), []
        for box in range(len(first)):
            held = np.ones(len(self.population), dtype=bool)
            for (masks, which), codes in zip(fits, self.population.codes, strict=True):
                held &= masks[which[box]][codes]
            links.append(int(self.population.sizes[held].sum()))
            inside |= held
        return np.array(links, dtype=np.int64), inside

    def _fits(
        self, place: int, first: NDArray[np.int64], member: NDArray[np.int64]
    ) -> tuple[list[NDArray[np.bool_]], NDArray[np.int64]]:
        """Which values of the population a published value holds, and the published value of each box."""
        own, theirs = self.recoding.classes.columns[place], self.population.columns[place]
        numbers, among = (one.hierarchy.numbers(one.level) for one in (own, theirs))
        if numbers is None or among is None:
            paths = [
                {theirs.hierarchy.labels[level][code] for level, code in enumerate(path, start=theirs.level)}
                for path in zip(
                    *(
                        theirs.hierarchy.map(theirs.level, level)
                        for level in range(theirs.level, theirs.hierarchy.height)
                    ),
                    strict=True,
                )
            ]
            masks = [np.array([label in path for path in paths], dtype=bool) for label in self.recoding.labels[place]]
            return masks, self.recoding.codes[place][first]
        values = numbers[self.recoding.classes.codes[place][self.recoding.kept]]
        low, high = np.full(len(first), np.inf), np.full(len(first), -np.inf)
        np.minimum.at(low, member, values)
        np.maximum.at(high, member, values)
        return [(among >= least) & (among <= most) for least, most in zip(low, high, strict=True)], np.arange(
            len(first)
        )

    @property
    def links(self) -> Ints:
        """People of the population per box."""
        return self._linked[0]

    @property
    def uncovered(self) -> NDArray[np.bool_]:
        """Boxes that the population does not show."""
        return np.asarray(self.links == 0)

    @property
    def uncovered_records(self) -> int:
        """Released people in such boxes."""
        return int(self.released[self.uncovered].sum())

    @property
    def min_link(self) -> int:
        """The least link count of a box that the population shows."""
        met = self.links[self.links > 0]
        return int(met.min()) if len(met) else 0

    @cached_property
    def candidates(self) -> DecoyCandidates:
        """Classes of people in no box, of at least k and fewer than the least link count."""
        sizes = self.population.sizes
        few = self.population.keep(~self._linked[1] & (sizes >= self.k) & (sizes < self.min_link))
        return DecoyCandidates(few, read_only(few.link(self.suppressed)), self.min_link)

    def __repr__(self) -> str:
        return f"BoxLinked({len(self.released)} boxes, least link count {self.min_link})"
