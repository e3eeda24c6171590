"""Which recipient has which mark: the secret that a trace is held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Flags, Floats, Ints, Label
from discreet.releases.laws import Law
from discreet.releases.marks.prf import canonical, derive, uniforms


@dataclass(frozen=True, eq=False)
class Marks:
    """Classes that some copies hold and others do not, as arrays with one place per mark.

    Real marks are people of the data whom a copy leaves out; decoys are people who were never in the data. Each has a
    partner of the other kind with about the same link count.
    """

    columns: tuple[str, ...]
    """The quasi-identifiers, in the order of the labels."""
    labels: tuple[tuple[Label, ...], ...]
    """The class of each mark, as it is published."""
    decoy: Flags
    sizes: Ints
    """Rows that a copy gains by the mark."""
    links: Ints
    """People of the population in the class (G)."""
    partners: Ints
    """The place of the mark of the other kind with which it was paired."""

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels):
            raise UsageError("Two marks have the same class.", remedy="Give every class at most one mark.")

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Marks({len(self)} classes, {int(self.decoy.sum())} of them decoys)"

    @cached_property
    def messages(self) -> tuple[bytes, ...]:
        """Each class as bytes: what the keyed decisions are about, whatever the version of the data."""
        return tuple(canonical(label) for label in self.labels)


def secret_probabilities(marks: Marks, law: Law, *, release: str, key: bytes) -> Floats:
    """With which probability each mark is present in a copy."""
    head = canonical([release])
    return law.probabilities(uniforms(derive(key, "law"), (head + message for message in marks.messages)))


@dataclass(frozen=True, eq=False)
class Codebook:
    """The marks, the secret probability of each, and who has which."""

    marks: Marks
    probabilities: Floats
    recipients: tuple[str, ...]
    present: Flags
    """One row per recipient, one column per mark."""

    @classmethod
    def of(cls, marks: Marks, law: Law, recipients: Sequence[str], *, release: str, key: bytes) -> Codebook:
        """Decide by keyed hashes; the same key, release, class and recipient always give the same answer."""
        names = tuple(recipients)
        if len(set(names)) != len(names):
            raise UsageError("Two recipients have the same name.", remedy="Give each recipient a name of its own.")
        presence_key, head = derive(key, "presence"), canonical([release])
        probabilities = secret_probabilities(marks, law, release=release, key=key)
        rows = [
            uniforms(presence_key, (head + message + canonical([name]) for message in marks.messages)) < probabilities
            for name in names
        ]
        return cls(marks, probabilities, names, np.array(rows, dtype=bool).reshape(len(names), len(marks)))

    def __repr__(self) -> str:
        return f"Codebook({len(self.marks)} marks, {len(self.recipients)} recipients)"

    def row(self, recipient: str) -> Flags:
        """The marks of one recipient."""
        if recipient not in self.recipients:
            raise UsageError("There is no such recipient in this release.", remedy="List them: discreet release show.")
        present: Flags = self.present[self.recipients.index(recipient)]
        return present

    def drawn(self, count: int, generator: np.random.Generator) -> Flags:
        """Marks of as many recipients as never were, drawn as those of the real ones."""
        return generator.random((count, len(self.marks))) < self.probabilities

    def only(self, chosen: Flags | Ints) -> Codebook:
        """The same for some of the marks; partners are then places among all of them and mean nothing."""
        places = np.arange(len(self.marks))[chosen]
        marks = replace(
            self.marks,
            labels=tuple(self.marks.labels[place] for place in places),
            decoy=self.marks.decoy[places],
            sizes=self.marks.sizes[places],
            links=self.marks.links[places],
            partners=self.marks.partners[places],
        )
        return Codebook(marks, self.probabilities[places], self.recipients, self.present[:, places])
