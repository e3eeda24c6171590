"""What a statement on governed tables asks for, as found by looking into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.sql.catalog import Leaf
from discreet.sql.projection import Projection


class NotUnderstood(Exception):
    """The statement is not one that can be looked into; caught inside the room."""


@dataclass(frozen=True)
class Reading:
    """What a statement reads of governed tables, and what its conditions give away."""

    tables: frozenset[str]
    text: str
    simple: bool = False
    """Whether each row is about one row of each governed table, which belong together."""
    asked: frozenset[Leaf] = frozenset()
    """Sensitive columns that stand elsewhere than in the list of what is given out."""
    questions: int = 1
    """How many people these may be about where they are not about the person of a row."""
    packed: int = 1
    """How many rows of a governed table may stand together in one cell."""
    placed: frozenset[Leaf] = frozenset()
    """Keys, identifiers and quasi-identifiers that do."""
    bare: bool = False
    """Whether it reads one table and nothing that could make its rows more than there are people."""
    viewed: bool = False
    """Whether it reads views, which may leave people out."""
    once: bool = False
    """Whether it names one relation, once, so that its conditions are about the rows that it gives."""
    mixed: bool = False
    """Whether its conditions may be about many rows at once: HAVING, windows, the least or largest of some."""
    cut: bool = False
    """Whether an inner query takes some rows by their place: LIMIT, OFFSET, a sample."""
    ordered: bool = False
    """Whether the order of the rows tells whom they are about."""
    aggregated: bool = False
    whole: bool = False
    """Whether the one group is the whole table."""
    unconditional: bool = False
    """Whether each group is everybody who looks like that."""
    counted: bool = False
    """Whether a count beside an average says how many people are in it."""
    projections: tuple[Projection, ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    """All relations that are named: schema, empty if not given, and name."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Names that views give to governed columns, and the names they have in their tables."""
    misnamed: frozenset[str] = frozenset()
    """Names of columns of views that say nothing about the governed column of that name."""
    outside: bool = False
    """Whether it reads relations that are not governed, which may hold something else next time."""
    rekeys: bool = False
    """Whether it gives rows another key."""
    writes: bool = False
    moves: bool = False
    """Whether governed values are put somewhere else, or decide about what is written."""
    digest: bytes = b""
    tree: Any = field(default=None, repr=False, compare=False)
    """The statement as sqlglot has parsed it."""

    def leaves(self) -> frozenset[Leaf]:
        """Everything that it may give out."""
        return frozenset().union(*(one.leaves for one in self.projections))

    def projection(self, place: int, columns: int) -> Projection:
        """The projection behind a column of the result; if stars hide which one it is, everything at its worst."""
        stars = [number for number, one in enumerate(self.projections) if one.kind == "star"]
        if not stars and len(self.projections) == columns:
            return self.projections[place]
        if len(stars) == 1:
            if place < stars[0]:
                return self.projections[place]
            behind = len(self.projections) - 1 - stars[0]
            if place >= columns - behind:
                return self.projections[place - columns]
        return Projection("collect", self.leaves())
