"""Claims that people were re-identified, brought to the classes of the release: one claim per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import ColumnError
from discreet.kernel.arrays import Ints
from discreet.releases.given import Given
from discreet.releases.ladders import NOWHERE, STRANGER
from discreet.releases.tracing.case import Traceable

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
        marks = _places(traceable.mark_codes)
        hit = sorted(marks[key] for key in classes if key in marks)
        released = _places(traceable.released_codes)
        held = sorted(released[key] for key in classes if key in released and key not in marks)
        return cls(tuple(hit), tuple(held), len(classes) - len(hit) - len(held))


def _places(codes: Sequence[Ints]) -> dict[Key, int]:
    rows = zip(*(column.tolist() for column in codes), strict=True)
    return {key: place for place, key in enumerate(rows)}
