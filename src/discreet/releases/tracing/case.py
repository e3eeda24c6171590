"""What a trace needs of an opened release: the codebook, what was published, and how the population looks beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Protocol

import numpy as np

from discreet.errors import UsageError
from discreet.kernel import Classes, Coded, Flat, Rule
from discreet.kernel.arrays import Ints, Label
from discreet.releases.ladders import Chain, Ladder, chains_of
from discreet.releases.marks.codebook import Codebook
from discreet.releases.marks.prf import canonical
from discreet.releases.population_link import Linked


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
    def ladders(self) -> tuple[Ladder, ...]:
        """Each quasi-identifier from its published labels upwards."""
        return tuple(
            Ladder(name, self.rules.get(name, Flat()), self.levels[name], self.chains[name]) for name in self.columns
        )

    @cached_property
    def mark_codes(self) -> tuple[Ints, ...]:
        """Per quasi-identifier, the published label of each mark as a code of its ladder."""
        return _coded(self.ladders, list(zip(*self.codebook.marks.labels, strict=True)))

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


def _coded(ladders: Sequence[Ladder], columns: Sequence[Sequence[Label]]) -> tuple[Ints, ...]:
    if not columns:
        return tuple(np.zeros(0, dtype=np.int64) for _ in ladders)
    coded = [Coded.of(cells) for cells in columns]
    return tuple(_places(ladder, one.values)[one.codes] for ladder, one in zip(ladders, coded, strict=True))


def _places(ladder: Ladder, labels: Sequence[Label]) -> Ints:
    index = ladder.hierarchy.index[0]
    if any(label not in index for label in labels):
        raise UsageError(
            f"Column '{ladder.name}': a published label is missing from its chains.",
            remedy="Build them from the data and the population: chains_of(name, data, population).",
        )
    return np.array([index[label] for label in labels], dtype=np.int64)
