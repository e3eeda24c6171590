"""Views for reviewers: everything a page needs, nothing that was not paid for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.kernel.serialise import json_of
from discreet.linkage.masking.comparison import Kind, Mode, Piece
from discreet.linkage.masking.text import Icon

CHOICES: Mapping[int, tuple[str, str]] = {
    0: ("can't tell", ""),
    1: ("different", "high"),
    2: ("different", "medium"),
    3: ("different", "low"),
    4: ("same", "low"),
    5: ("same", "medium"),
    6: ("same", "high"),
}
"""What can be answered, by key: the answer, and how sure it is."""

REFUSALS = {
    "risk": "your limit of privacy risk would be passed",
    "characters": "your limit of characters would be passed",
    "project risk": "the project's limit of privacy risk would be passed",
    "project characters": "the project's limit of characters would be passed",
    "kappa": "fewer people than must remain would look like this",
    "closed": "the project is closed",
}
"""Why a cell stays shut, in words."""


def percent(value: Fraction) -> float:
    """A share as a percentage for people; amounts that count are the exact ones.

    >>> percent(Fraction(31, 432))
    7.176
    """
    return round(float(100 * value), 3)


@dataclass(frozen=True)
class Gauge:
    """One of the two meters: how much of it is used, and where its limit is."""

    used: Fraction
    limit: Fraction | None

    to_dict = json_of(
        "used",
        percent=lambda self: percent(self.used),
        limit=lambda self: self.limit,
        limit_percent=lambda self: None if self.limit is None else percent(self.limit),
    )


def gauge(used: Fraction, limit: str | None) -> Gauge:
    """A gauge whose limit is written as exact text."""
    return Gauge(used, None if limit is None else Fraction(limit))


@dataclass(frozen=True)
class Price:
    """What the next step would add to both meters, and why it would be refused, if it would."""

    mode: Mode
    risk: Fraction
    characters: Fraction
    refused: str | None = None
    """A key of REFUSALS."""

    to_dict = json_of(
        "mode risk",
        risk_percent=lambda self: percent(self.risk),
        characters=lambda self: self.characters,
        characters_percent=lambda self: percent(self.characters),
        refused=lambda self: self.refused,
    )


@dataclass(frozen=True)
class RowView:
    """One value as far as it is open."""

    text: str
    pieces: tuple[Piece, ...]
    words: str
    """The value for people who cannot see it."""
    frequency: Icon | None

    to_dict = json_of(
        "text words pieces", frequency=lambda self: None if self.frequency is None else self.frequency.name
    )


@dataclass(frozen=True)
class CellView:
    """The two values of one attribute."""

    attribute: str
    kind: Kind
    mode: Mode
    marks: tuple[Icon, ...]
    rows: tuple[RowView, RowView]
    together: str | None
    """The attribute that opens along with it: names that changed places."""
    next: Price | None
    """None where all is open."""

    to_dict = json_of("attribute kind mode rows together next", marks=lambda self: [mark.name for mark in self.marks])


@dataclass(frozen=True)
class PairView:
    """A pair as one reviewer sees it."""

    project: str
    pair: int
    role: str
    version: int
    """To be sent along with the next step: if it has grown meanwhile, nothing is opened and nothing is charged."""
    place: int
    """Which of the reviewer's pairs it is, from 1."""
    pairs: int
    decided: int
    choice: int | None
    """What was decided, a key of CHOICES."""
    previous: int | None
    following: int | None
    """The pairs before and after it, in the reviewer's order."""
    cells: tuple[CellView, ...]
    characters: Gauge
    risk: Gauge

    def cell(self, attribute: str) -> CellView:
        """The cell of an attribute."""
        return next(cell for cell in self.cells if cell.attribute == attribute)

    to_dict = json_of(
        "project pair role version place pairs decided choice previous following cells",
        meters=lambda self: {"characters": self.characters, "risk": self.risk},
    )

    def __repr__(self) -> str:
        return f"PairView({self.project}, pair {self.pair}, version {self.version})"
