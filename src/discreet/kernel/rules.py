"""Rules from which a hierarchy is made once the values of a column are known.

Whatever the rule, a missing value stays a value of its own and joins the others only where the rule has a single
value for all at a level.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Protocol

from discreet.errors import HierarchyError, OutsideHierarchy
from discreet.kernel.arrays import Label, total
from discreet.kernel.hierarchy import Hierarchy, Histogram

TOP = "*"
LONGEST = 64
"""Characters of a value that can be masked."""
DAY = re.compile(r"(\d{4}-\d{2}-\d{2})([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([+-]\d{2}:?\d{2}|Z)?)?")
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
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
    rule = fitted(rule, values)
    paths = [rule.missing if value is None else rule.path(value) for value in values]
    strangers = [place for place, path in enumerate(paths) if path is None]
    if strangers:
        return None, strangers
    known = [path for path in paths if path is not None]
    missing = [rule.missing] if None in values else []
    every = known if rule.leaves is None else [*rule.leaves, *missing]
    return Hierarchy.of(known, every=every, height=rule.height, decimal=getattr(rule, "decimal", ".")), []


FEW = 5
"""A value that fewer people hold is not named."""
MOST_NAMED = 50
"""Values of a column that an error names; beyond, their number says more."""


@dataclass(frozen=True)
class OutsideValues:
    """Values of a column that its hierarchy does not know."""

    column: str
    values: int
    distinct: int
    """Distinct values of the column, of which these are a part."""
    people: int
    expects: str
    named: tuple[tuple[str, int], ...] = ()
    """Those that may be named, with the number of people who hold each; the commonest first."""
    commas: bool = False
    """Whether they look like numbers with a decimal comma, where numbers with a point are expected."""
    style: str | None = None
    """How they are written, if they are dates in another way than is expected; empty for YYYY-MM-DD."""

    def words(self) -> str:
        """How many there are, and which of them many people hold."""
        head = (
            f"Column '{self.column}': {self.values:,} of {self.distinct:,} distinct values (in {self.people:,} records) are "
            f"outside the hierarchy of that column, which expects {self.expects}"
        )
        if not self.named:
            return f"{head}."
        listed = ", ".join(f"'{value}' ({people:,})" for value, people in self.named[:MOST_NAMED])
        more = len(self.named) - MOST_NAMED
        listed += f" and {more:,} more that five or more people hold" if more > 0 else ""
        hidden = self.values - len(self.named)
        people = self.people - sum(people for _, people in self.named)
        rest = f"; {hidden:,} in {people:,} records, each held by fewer than five people" if hidden else ""
        return f"{head}: {listed}{rest}."


def outside_error(columns: Sequence[OutsideValues]) -> OutsideHierarchy:
    """One error for all columns with values that their hierarchies do not know."""
    hints = ['If the comma separates decimals, say so in the policy: [data] decimal = ",". '] * any(
        column.commas for column in columns
    )
    for column in columns:
        if column.style is not None:
            said = f'format = "{column.style}"' if column.style else "no format"
            hints.append(f"These dates are written otherwise: give the hierarchy of column '{column.column}' {said}. ")
    return OutsideHierarchy(
        "\n".join(column.words() for column in columns),
        remedy=f"{''.join(hints)}Correct those values in the data, add them to the hierarchy, or name them in [data] missing if they are codes "
        "for a missing value; nothing is generalised by guesswork. "
        "A table that was anonymised already is measured by `discreet report`, as `published` beside its data.",
    )


def bound_columns(
    histogram: Histogram, rules: Mapping[str, Rule], *, named: bool = False
) -> tuple[dict[str, Hierarchy], list[OutsideValues]]:
    """The hierarchy of each column over its ordered values, and the values outside.

    Values may be `named` only where the histogram counts a column by itself: elsewhere sums of its counts may be more
    than the people who hold a value.
    """
    hierarchies, outside = {}, []
    for name, coded in histogram.columns.items():
        rule = rules.get(name, Flat())
        hierarchy, strangers = bind(rule, coded.values)
        if hierarchy is not None:
            hierarchies[name] = hierarchy
            continue
        held = total(coded.codes, histogram.counts, len(coded.values))[strangers]
        common = sorted(zip(held.tolist(), strangers, strict=True), key=lambda pair: (-pair[0], pair[1]))
        shown = tuple((coded.values[code] or "", people) for people, code in common if people >= FEW) if named else ()
        numbers = len(strangers), len(coded.values), int(held.sum())
        commas = rule.expects == "numbers" and all(
            DECIMAL_COMMA.fullmatch(coded.values[code] or "") for code in strangers
        )
        style = date_style([value for value in coded.values if value is not None]) if isinstance(rule, Dates) else None
        outside.append(OutsideValues(name, *numbers, rule.expects, shown, commas, style))
    return hierarchies, outside


def fitted(rule: Rule, values: Sequence[Label]) -> Rule:
    """The rule with as many levels as these values need, where that depends on them."""
    return rule.fitted(values) if isinstance(rule, AutoMask) else rule


@dataclass(frozen=True)
class Flat:
    """No generalisation: values stay as they are."""

    decimal: str = "."
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
class AutoMask:
    """Hide one more character per level, whatever the length of a value, then one value for all.

    A masked value keeps its length, so that values of different lengths never become one before the last level. Bound to
    data, the number of levels is that of their longest value.

    >>> AutoMask(4).path("90"), AutoMask(4).path("SW1A")
    (('90', '9*', '**', '**', '*'), ('SW1A', 'SW1*', 'SW**', 'S***', '*'))
    """

    longest: int = LONGEST
    leaves = None

    @property
    def height(self) -> int:
        return self.longest + 1

    @property
    def missing(self) -> Path:
        return (*[None] * self.longest, TOP)

    @property
    def expects(self) -> str:
        return f"values of at most {LONGEST} characters"

    def path(self, value: str) -> Path | None:
        if len(value) > self.longest:
            return None
        hidden = [min(level, len(value)) for level in range(self.longest)]
        return (*(value[: len(value) - stars] + "*" * stars for stars in hidden), TOP)

    def fitted(self, values: Sequence[Label]) -> AutoMask:
        """The same with no more levels than these values need."""
        longest = max((len(value) for value in values if value is not None), default=1)
        return replace(self, longest=min(max(longest, 1), self.longest))


@dataclass(frozen=True)
class Prefix:
    """The first characters of a code, fewer and fewer, then one value for all.

    A value that is shorter stays whole.

    >>> Prefix((3, 1)).path("E11.9"), Prefix((3, 1)).path("E1")
    (('E11.9', 'E11', 'E', '*'), ('E1', 'E1', 'E', '*'))
    """

    lengths: tuple[int, ...]
    leaves = None
    expects = "any value"

    def __post_init__(self) -> None:
        if not self.lengths or min(self.lengths) < 1:
            raise HierarchyError(
                "prefix must be numbers of characters from 1 up.", remedy="For example: prefix = [3, 1]"
            )
        if any(short >= long for long, short in pairwise(self.lengths)):
            raise HierarchyError(
                f"prefix {list(self.lengths)} does not get shorter.",
                remedy="Write the longest first, for example [3, 1]: E11.9, E11, E, *.",
            )

    @property
    def height(self) -> int:
        return len(self.lengths) + 2

    @property
    def missing(self) -> Path:
        return (*[None] * (self.height - 1), TOP)

    def path(self, value: str) -> Path:
        return (value, *(value[:length] for length in self.lengths), TOP)


@dataclass(frozen=True)
class AnyValue:
    """The value, then one value for all."""

    label: str = TOP
    decimal: str = "."
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


STYLES = {
    "%Y%m%d": r"(18|19|20)\d{6}",
    "%d.%m.%Y": r"\d{1,2}\.\d{1,2}\.\d{4}",
    "%d/%m/%Y": r"\d{1,2}/\d{1,2}/\d{4}",
    "%m/%d/%Y": r"\d{1,2}/\d{1,2}/\d{4}",
    "%d-%m-%Y": r"\d{1,2}-\d{1,2}-\d{4}",
    "%m-%d-%Y": r"\d{1,2}-\d{1,2}-\d{4}",
    "%Y/%m/%d": r"\d{4}/\d{1,2}/\d{1,2}",
    "%Y.%m.%d": r"\d{4}\.\d{1,2}\.\d{1,2}",
    "%d.%m.%y": r"\d{1,2}\.\d{1,2}\.\d{2}",
}
"""How dates are written, beside YYYY-MM-DD; of two that fit all values the first is taken."""


def date_style(values: Sequence[Label]) -> str | None:
    """How all values are written as dates: empty for YYYY-MM-DD, None if they are no dates.

    >>> date_style(["1964-08-09"]), date_style(["09.08.1964", "31.12.1999"]), date_style(["99.99.9999"])
    ('', '%d.%m.%Y', None)
    """
    texts = [value or "" for value in values]
    if not texts:
        return None
    with suppress(ValueError):
        if all(DAY.fullmatch(text) and datetime.date.fromisoformat(text[:10]) for text in texts):
            return ""
    for style, pattern in STYLES.items():
        fits = re.compile(pattern)
        with suppress(ValueError):
            if all(fits.fullmatch(text) and datetime.datetime.strptime(text, style) for text in texts):
                return style
    return None


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
    decimal: str = "."
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
