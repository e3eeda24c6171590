"""Codebook: which recipient has which mark, by a keyed function and a bias distribution."""

from __future__ import annotations

import hmac
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.polynomial import legendre

from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Flags, Floats, Ints, Label

MOST_COLLUDING = 32


@dataclass(frozen=True)
class Law:
    """The secret probabilities with which marks are present in a copy, and the share of marks that take each."""

    name: str
    values: tuple[float, ...]
    shares: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> Law:
        """A law from its name: `0.2/0.5` (both equally often), `0.5` (constant) or `nuida:3` (for three who collude).

        >>> Law.parse("0.2/0.5").values
        (0.2, 0.5)
        >>> [round(value, 5) for value in Law.parse("nuida:3").values]
        [0.21132, 0.78868]
        """
        wanted = re.fullmatch(r"nuida:(\d{1,3})", text)
        if wanted:
            return cls.nuida(int(wanted[1]))
        try:
            values = tuple(float(part) for part in text.split("/"))
        except ValueError:
            values = ()
        if not values or not all(0 < value < 1 for value in values) or len(set(values)) != len(values):
            raise UsageError(
                "A law of presence is one or more different probabilities between 0 and 1, or nuida with a number of recipients who collude.",
                remedy="For example 0.2/0.5 (the default), 0.5, or nuida:3.",
            )
        return cls(text, values, (1 / len(values),) * len(values))

    @classmethod
    def nuida(cls, colluding: int) -> Law:
        """The law of Nuida and others: the best finite one against so many who put their copies together.

        Its probabilities are the zeros of a Legendre polynomial, moved to [0, 1].

        >>> [round(share, 4) for share in Law.nuida(5).shares]
        [0.332, 0.336, 0.332]
        """
        if not 1 <= colluding <= MOST_COLLUDING:
            raise UsageError(
                f"Between 1 and {MOST_COLLUDING} recipients may collude; {colluding} were given.",
                remedy="Choose the largest coalition you fear, often 3.",
            )
        degree = math.ceil(colluding / 2)
        coefficients = [0.0] * degree + [1.0]
        zeros = np.sort(legendre.legroots(coefficients)).real
        values = (1 + zeros) / 2
        slopes = legendre.legval(zeros, legendre.legder(coefficients))
        weights = (values * (1 - values)) ** -1.5 / slopes**2
        return cls(f"nuida:{colluding}", tuple(values.tolist()), tuple((weights / weights.sum()).tolist()))

    @cached_property
    def mean(self) -> float:
        """The share of marks that a copy holds in the long run."""
        return float(np.dot(self.values, self.shares))

    def probabilities(self, uniforms: Floats) -> Floats:
        """The probability of each mark, given one number in [0, 1) per mark."""
        chosen: Floats = np.asarray(self.values)[self.kinds(uniforms)]
        return chosen

    def kinds(self, uniforms: Floats) -> Ints:
        """Which of the values each mark has."""
        return np.asarray(np.searchsorted(np.cumsum(self.shares)[:-1], uniforms, side="right"))


DEFAULT = Law.parse("0.2/0.5")


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


def real_marks(marks: Marks, released: Classes) -> Flags:
    """Which of the released classes are real marks."""
    real = {labels for labels, decoy in zip(marks.labels, marks.decoy.tolist(), strict=True) if not decoy}
    return np.array([labels in real for labels in released.tuples()], dtype=bool)


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


# Keyed pseudorandom function (HMAC) for secret decisions that need no memory.
KEY_BYTES = 32
_SCALE = float(1 << 53)


def derive(key: bytes, purpose: str) -> bytes:
    """A key of its own for each purpose, so that what one reveals says nothing of another.

    >>> derive(bytes(32), "order") == derive(bytes(32), "seal")
    False
    """
    if len(key) < KEY_BYTES:
        raise UsageError(
            f"The key of a release has {KEY_BYTES} bytes; this one has {len(key)}.",
            remedy="Leave the key out: the keys of the ledger give one.",
        )
    return hmac.digest(key, b"discreet/releases/" + purpose.encode(), sha256)


def canonical(parts: Sequence[object]) -> bytes:
    """Parts as bytes that no other parts give: a plain separator could be imitated by a value that holds it."""
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()


def uniforms(key: bytes, messages: Iterable[bytes]) -> Floats:
    """One number in [0, 1) per message, which only the holder of the key can foresee."""
    digest = hmac.digest
    words = b"".join(digest(key, message, sha256)[:8] for message in messages)
    return (np.frombuffer(words, dtype=">u8") >> np.uint64(11)).astype(np.float64) / _SCALE
