"""A small world in which releases can be traced: a state, a sample of it, marks by the rules of the room, and copies.

Only classes are simulated: what a trace looks at. Decoys are paired with real marks as a release pairs them, within 10 %
of the link count, in the ambiguity band 0.02 to 0.85; their other columns do not matter here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from discreet.anonymity import anonymise
from discreet.kernel import AnyValue, Classes, Coded, Histogram, Mask, Rule, Widths
from discreet.kernel.arrays import Flags, Ints, Label
from discreet.people import State, counted, generate
from discreet.releases.marks.codebook import DEFAULT, Codebook, Law, Marks, derive
from discreet.releases.population_link import Linked
from discreet.releases.tracing.case import SuspectTable, Traceable
from discreet.releases.tracing.evidence import binomial

RULES: dict[str, Rule] = {"zip": Mask(5), "sex": AnyValue("Person"), "birth_year": Widths((2, 4, 8))}
BAND = (0.02, 0.85)
NEAR = 0.1
Rows = list[dict[str, Label]]


@dataclass(frozen=True, eq=False)
class World:
    """A release to some recipients, and the classes that copies consist of: first those in every copy, then the marks."""

    linked: Linked
    codebook: Codebook
    release: str = "spring"

    @cached_property
    def traceable(self) -> Traceable:
        """What a trace is held against."""
        return Traceable.of(self.linked, self.codebook, release=self.release, rules=RULES)

    @cached_property
    def base(self) -> Flags:
        """Which released classes are in every copy."""
        marked = set(self.codebook.marks.labels)
        return np.array([labels not in marked for labels in self.linked.released.tuples()], dtype=bool)

    @cached_property
    def labels(self) -> list[tuple[Label, ...]]:
        """The classes of all copies."""
        kept = self.linked.released.keep(self.base)
        return [*kept.tuples(), *self.codebook.marks.labels]

    @cached_property
    def sizes(self) -> Ints:
        """Their rows in a copy that holds them."""
        return np.concatenate([self.linked.released.sizes[self.base], self.codebook.marks.sizes])

    @cached_property
    def links(self) -> Ints:
        """Their people in the population."""
        return np.concatenate([self.linked.links[self.base], self.codebook.marks.links])

    @property
    def recipients(self) -> tuple[str, ...]:
        """Who has a copy."""
        return self.codebook.recipients

    def copy(self, recipient: int) -> Flags:
        """Which classes a recipient's copy holds."""
        return self.held(self.codebook.present[recipient])

    def held(self, marks: Flags) -> Flags:
        """Which classes a copy with these marks holds."""
        return np.concatenate([np.ones(int(self.base.sum()), dtype=bool), marks])

    def rows(self, numbers: Ints) -> Rows:
        """So many rows of each class."""
        names = self.codebook.marks.columns
        return [
            dict(zip(names, labels, strict=True))
            for labels, number in zip(self.labels, numbers.tolist(), strict=True)
            for _ in range(number)
        ]

    def file(self, numbers: Ints) -> SuspectTable:
        """A leaked file with so many rows of each class, without writing it."""
        met = numbers > 0
        columns = {
            name: Coded.of([labels[place] for labels in self.labels])
            for place, name in enumerate(self.codebook.marks.columns)
        }

        def counted(by: Sequence[str]) -> Histogram:
            return Histogram({name: Coded(columns[name].values, columns[name].codes[met]) for name in by}, numbers[met])

        return SuspectTable("leak.csv", self.codebook.marks.columns, counted)

    def riskiest_first(self, held: Flags, generator: np.random.Generator) -> Ints:
        """The classes of a copy in the order in which an adversary with a population list would attack them."""
        places = generator.permutation(np.flatnonzero(held))
        return np.asarray(places[np.argsort(self.links[places], kind="stable")])


@cache
def state(people: int, share: float, seed: int = 1) -> tuple[Classes, Classes]:
    """A sample of a state as dense as State 3, and the state."""
    everybody = generate(State.three(people), seed=seed, columns=tuple(RULES))
    return counted(everybody.sample(share, seed=seed + 1), rules=RULES), counted(everybody, rules=RULES)


@cache
def linked_state(people: int, share: float, k: int, seed: int = 1) -> Linked:
    """The sample, anonymised with the least loss, beside its state."""
    data, population = state(people, share, seed)
    return Linked.of(anonymise(data, k=k, suppression=0.1, loss="dm_star"), population)


def marks_of(linked: Linked, generator: np.random.Generator) -> Marks:
    """Pairs of a released and an unreleased class of the band with about the same link count."""
    released, links = linked.released, linked.links
    real = np.flatnonzero(in_band(links, linked))
    known = set(released.tuples())
    population = list(linked.population.tuples())
    free = np.array([labels not in known for labels in population], dtype=bool)
    open_ = np.flatnonzero(free & in_band(linked.population.sizes, linked))
    pairs = paired(generator.permutation(real), links, generator.permutation(open_), linked.population.sizes)
    ours = list(released.tuples())
    count = len(pairs)
    first, second = np.array([one for one, _ in pairs]), np.array([two for _, two in pairs])
    sizes = released.sizes[first]
    return Marks(
        columns=released.names,
        labels=tuple([ours[place] for place in first] + [population[place] for place in second]),
        decoy=np.repeat([False, True], count),
        sizes=np.concatenate([sizes, sizes]),
        links=np.concatenate([links[first], linked.population.sizes[second]]),
        partners=np.concatenate([np.arange(count) + count, np.arange(count)]),
    )


def in_band(links: Ints, linked: Linked) -> Flags:
    """Classes that may or may not have been released, for all that their link count tells."""
    met = {int(link): float(binomial(int(link), linked.sampling)[linked.k :].sum()) for link in np.unique(links)}
    chances = np.array([met[link] for link in links.tolist()])
    return (chances >= BAND[0]) & (chances <= BAND[1])


def paired(real: Ints, links: Ints, open_: Ints, others: Ints) -> list[tuple[int, int]]:
    """One for one in the order of the link counts, as long as they are near."""
    left = sorted(real.tolist(), key=lambda place: links[place])
    right = sorted(open_.tolist(), key=lambda place: others[place])
    pairs, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        away = np.log(links[left[i]] / others[right[j]])
        if abs(away) <= NEAR:
            pairs.append((left[i], right[j]))
            i, j = i + 1, j + 1
        elif away > 0:
            j += 1
        else:
            i += 1
    return pairs


@cache
def world(
    people: int = 3_500_000, share: float = 0.01, k: int = 5, recipients: int = 20, law: str = DEFAULT.name
) -> World:
    """The world of the tests and the benchmark; the key is fixed, so that it is always the same one."""
    linked = linked_state(people, share, k)
    marks = marks_of(linked, np.random.default_rng(3))
    names = [f"Partner {number:02}" for number in range(1, recipients + 1)]
    key = derive(bytes(range(32)), "release/spring")
    return World(linked, Codebook.of(marks, Law.parse(law), names, release="spring", key=key))
