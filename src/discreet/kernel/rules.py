"""Rules from which a hierarchy is made once the values of a column are known.

Whatever the rule, a missing value stays a value of its own and joins the others only where the rule has a single
value for all at a level.
"""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Protocol

from discreet.errors import HierarchyError
from discreet.kernel.arrays import Label
from discreet.kernel.hierarchy import Hierarchy

TOP = "*"
MOST_DIGITS = 40
DAY = re.compile(r"(\d{4}-\d{2}-\d{2})([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([+-]\d{2}:?\d{2}|Z)?)?")
Path = tuple[Label, ...]


class Rule(Protocol):
    """Says how one value generalises."""

    @property
    def height(self) -> int:
        """Number of levels, the values themselves included."""

    @property
    def expects(self) -> str:
        """What a value must look like, in words."""

    def path(self, value: str) -> Path | None:
        """The value at each level; None if the rule does not know it."""

    @property
    def missing(self) -> Path:
        """What a missing value becomes at each level."""

    @property
    def leaves(self) -> Sequence[Path] | None:
        """Every path that the rule lists, or None without a list."""


def bind(rule: Rule, values: Sequence[Label]) -> tuple[Hierarchy | None, list[int]]:
    """Hierarchy over these values, or the positions of those outside the rule."""
    paths = [rule.missing if value is None else rule.path(value) for value in values]
    strangers = [place for place, path in enumerate(paths) if path is None]
    if strangers:
        return None, strangers
    known = [path for path in paths if path is not None]
    missing = [rule.missing] if None in values else []
    every = known if rule.leaves is None else [*rule.leaves, *missing]
    return Hierarchy.of(known, every=every, height=rule.height), []


@dataclass(frozen=True)
class Flat:
    """No generalisation: values stay as they are."""

    height = 1
    expects = "any value"
    missing: ClassVar[Path] = (None,)
    leaves = None

    def path(self, value: str) -> Path:
        return (value,)


@dataclass(frozen=True)
class Mask:
    """Hide one more character from the right per level: `12345`, `1234*`, ... `*****`.

    >>> Mask(3).path("907")
    ('907', '90*', '9**', '***')
    """

    length: int
    leaves = None

    def __post_init__(self) -> None:
        if self.length < 1:
            raise HierarchyError("mask must be at least 1.", remedy="Give the number of characters of the values.")

    @property
    def height(self) -> int:
        return self.length + 1

    @property
    def missing(self) -> Path:
        return (*[None] * self.length, "*" * self.length)

    @property
    def expects(self) -> str:
        return f"values of exactly {self.length} characters (keep leading zeros: store such codes as text)"

    def path(self, value: str) -> Path | None:
        if len(value) != self.length:
            return None
        return tuple(value[: self.length - hidden] + "*" * hidden for hidden in range(self.length + 1))


@dataclass(frozen=True)
class Widths:
    """Aligned half-open intervals of growing width, then one value for all.

    >>> Widths((2, 4)).path("1965")
    ('1965', '[1964, 1966)', '[1964, 1968)', '*')
    """

    widths: tuple[int, ...]
    leaves = None
    expects = "numbers"

    def __post_init__(self) -> None:
        if not self.widths or min(self.widths) < 1:
            raise HierarchyError("widths must be whole numbers from 1 up.", remedy="For example: widths = [2, 4, 8]")
        if any(wide % narrow or wide == narrow for narrow, wide in pairwise(self.widths)):
            raise HierarchyError(
                f"widths {list(self.widths)} do not nest.",
                remedy="Each width must be a multiple of the one before, for example [5, 10, 20].",
            )

    @property
    def height(self) -> int:
        return len(self.widths) + 2

    @property
    def missing(self) -> Path:
        return (*[None] * (self.height - 1), TOP)

    def path(self, value: str) -> Path | None:
        try:
            number = Decimal(value)
        except InvalidOperation:
            return None
        if not number.is_finite() or number.adjusted() > MOST_DIGITS:
            return None
        starts = [math.floor(number) // width * width for width in self.widths]
        return (value, *(f"[{start}, {start + width})" for start, width in zip(starts, self.widths, strict=True)), TOP)


@dataclass(frozen=True)
class AnyValue:
    """The value, then one value for all."""

    label: str = TOP
    height = 2
    expects = "any value"
    leaves = None

    @property
    def missing(self) -> Path:
        return (None, self.label)

    def path(self, value: str) -> Path:
        return (value, self.label)


UNITS: dict[str, Callable[[datetime.date], str]] = {
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04}",
    "decade": lambda day: f"{day.year // 10 * 10:04}s",
    "century": lambda day: f"{day.year // 100 * 100:04}s",
}


@dataclass(frozen=True)
class Dates:
    """A day, then coarser and coarser periods, then one value for all.

    >>> Dates(("month", "year", "decade")).path("1964-08-09")
    ('1964-08-09', '1964-08', '1964', '1960s', '*')
    """

    units: tuple[str, ...]
    format: str | None = None
    leaves = None

    def __post_init__(self) -> None:
        order = list(UNITS)
        unknown = [unit for unit in self.units if unit not in UNITS]
        if unknown or not self.units:
            raise HierarchyError(f"dates knows {', '.join(order)}; got {', '.join(unknown) or 'none'}.")
        places = [order.index(unit) for unit in self.units]
        if any(after <= before for before, after in pairwise(places)):
            raise HierarchyError(
                f"dates {list(self.units)} do not go from fine to coarse.", remedy=f"The order is: {', '.join(order)}."
            )

    @property
    def height(self) -> int:
        return len(self.units) + 2

    @property
    def missing(self) -> Path:
        return (*[None] * (self.height - 1), TOP)

    @property
    def expects(self) -> str:
        return f"dates written as {self.format or 'YYYY-MM-DD'}"

    def path(self, value: str) -> Path | None:
        written = None if self.format else DAY.fullmatch(value)
        try:
            if self.format is not None:
                day = datetime.datetime.strptime(value, self.format).date()
            elif written is not None:
                day = datetime.date.fromisoformat(written[1])
            else:
                return None
        except ValueError:
            return None
        return (value, *(UNITS[unit](day) for unit in self.units), TOP)


@dataclass(frozen=True)
class Tree:
    """Hierarchy written down: one row per value, from fine to coarse.

    >>> Tree((("Bachelors", "Higher", "*"), ("11th", "Secondary", "*"))).path("11th")
    ('11th', 'Secondary', '*')
    """

    rows: tuple[tuple[str, ...], ...]
    name: str = "the hierarchy"
    expects = "values listed in its hierarchy"

    def __post_init__(self) -> None:
        if not self.rows:
            raise HierarchyError(f"{self.name} is empty.", remedy="Write one row per value: value;level 1;level 2;...")
        for number, row in enumerate(self.rows, start=1):
            if len(row) != self.height:
                raise HierarchyError(
                    f"row {number} of {self.name} has {len(row)} entries, the first row has {self.height}.",
                    remedy="Give every value the same number of levels.",
                )
        if doubled := [value for value, times in Counter(row[0] for row in self.rows).items() if times > 1]:
            raise HierarchyError(
                f"{self.name} lists {len(doubled)} values more than once.", remedy="Keep one row per value."
            )
        for level in range(1, self.height - 1):
            above: dict[str, str] = {}
            for number, row in enumerate(self.rows, start=1):
                if above.setdefault(row[level], row[level + 1]) != row[level + 1]:
                    raise HierarchyError(
                        f"row {number} of {self.name}: a value of level {level} belongs to two values of level {level + 1}.",
                        remedy="Values that are one at a level must stay one at all coarser levels.",
                    )

    @property
    def height(self) -> int:
        return len(self.rows[0])

    @cached_property
    def missing(self) -> Path:
        levels = [set(labels) for labels in zip(*self.rows, strict=True)]
        return (None, *(labels.pop() if len(labels) == 1 else None for labels in levels[1:]))

    @property
    def leaves(self) -> Sequence[Path]:
        return self.rows

    def path(self, value: str) -> Path | None:
        return self._index.get(value)

    @cached_property
    def _index(self) -> dict[str, Path]:
        return {row[0]: row for row in self.rows}
