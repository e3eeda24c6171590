"""Rules for columns of numbers: intervals of growing width, cut points, top and bottom codes.

A number is written with a decimal point, or with the mark that `decimal` names; a value with any other mark is outside
the hierarchy, since 1.234 may mean a little more than one or a thousand.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import pairwise

from discreet.errors import HierarchyError
from discreet.kernel.hierarchy import text
from discreet.kernel.rules import TOP, AnyValue, Flat, Path, Rule, Tree

MOST_DIGITS = 40


def number(value: str, decimal: str = ".") -> Decimal | None:
    """The number that a text says, or None.

    >>> number("12.5"), number("12,5"), number("12,5", ","), number("1.250,5", ",")
    (Decimal('12.5'), None, Decimal('12.5'), None)
    """
    if decimal != ".":
        if "." in value:
            return None
        value = value.replace(decimal, ".")
    try:
        found = Decimal(value)
    except InvalidOperation:
        return None
    return found if found.is_finite() and found.adjusted() <= MOST_DIGITS else None


def _expects(decimal: str) -> str:
    return "numbers" if decimal == "." else f"numbers, decimals after '{decimal}'"


def _interval(low: int | float, high: int | float, decimal: str) -> str:
    """A half-open interval; where a comma is in the numbers, a semicolon is between them.

    >>> _interval(0, 18, "."), _interval(0.5, 1.5, ",")
    ('[0, 18)', '[0,5; 1,5)')
    """
    ends = [_spelt(low, decimal), _spelt(high, decimal)]
    return f"[{('; ' if any(',' in end for end in ends) else ', ').join(ends)})"


def _spelt(end: int | float, decimal: str) -> str:
    return (text(end) or "").replace(".", decimal)


def _refuse_unnested(widths: Sequence[int]) -> None:
    if not widths or min(widths) < 1:
        raise HierarchyError("widths must be whole numbers from 1 up.", remedy="For example: widths = [2, 4, 8]")
    if any(wide % narrow or wide == narrow for narrow, wide in pairwise(widths)):
        raise HierarchyError(
            f"widths {list(widths)} do not nest.",
            remedy="Each width must be a multiple of the one before, for example [5, 10, 20].",
        )


@dataclass(frozen=True)
class Widths:
    """Aligned half-open intervals of growing width, then one value for all.

    >>> Widths((2, 4)).path("1965")
    ('1965', '[1964, 1966)', '[1964, 1968)', '*')
    """

    widths: tuple[int, ...]
    decimal: str = "."
    leaves = None

    def __post_init__(self) -> None:
        _refuse_unnested(self.widths)

    @property
    def expects(self) -> str:
        return _expects(self.decimal)

    @property
    def height(self) -> int:
        return len(self.widths) + 2

    @property
    def missing(self) -> Path:
        return (*[None] * (self.height - 1), TOP)

    def path(self, value: str) -> Path | None:
        found = number(value, self.decimal)
        if found is None:
            return None
        starts = [math.floor(found) // width * width for width in self.widths]
        return (value, *(f"[{start}, {start + width})" for start, width in zip(starts, self.widths, strict=True)), TOP)


@dataclass(frozen=True)
class Cuts:
    """Half-open intervals between cut points, open below and above, then one value for all.

    >>> [Cuts((0, 18, 65)).path(age)[1] for age in ("-1", "0", "17.5", "18", "90")]
    ['<0', '[0, 18)', '[0, 18)', '[18, 65)', '65+']
    """

    cuts: tuple[int | float, ...]
    decimal: str = "."
    leaves = None
    height = 3

    def __post_init__(self) -> None:
        if not self.cuts or not all(map(math.isfinite, self.cuts)):
            raise HierarchyError("cuts needs at least one number.", remedy="For example: cuts = [0, 18, 30, 65]")
        if any(low >= high for low, high in pairwise(self.cuts)):
            raise HierarchyError(
                f"cuts {list(self.cuts)} do not grow.",
                remedy="Write them from small to large, each once, for example [0, 18, 30, 65].",
            )

    @property
    def expects(self) -> str:
        return _expects(self.decimal)

    @property
    def missing(self) -> Path:
        return (None, None, TOP)

    def path(self, value: str) -> Path | None:
        found = number(value, self.decimal)
        if found is None:
            return None
        # A cut as it is written, not as the nearest binary fraction: 0.1 belongs to what starts at 0.1.
        place = bisect_right([Decimal(str(cut)) for cut in self.cuts], found)
        if place == 0:
            label = f"<{_spelt(self.cuts[0], self.decimal)}"
        elif place == len(self.cuts):
            label = f"{_spelt(self.cuts[-1], self.decimal)}+"
        else:
            label = _interval(self.cuts[place - 1], self.cuts[place], self.decimal)
        return (value, label, TOP)


@dataclass(frozen=True)
class TopBottomCode:
    """One value for the top and one for the bottom, intervals of growing width between, then one for all.

    Without widths, numbers in between stay as they are.

    >>> code = TopBottomCode(top=90, bottom=15, widths=(5, 10))
    >>> [code.path(age) for age in ("14", "37", "90")]
    [('14', '<15', '<15', '*'), ('37', '[35, 40)', '[30, 40)', '*'), ('90', '90+', '90+', '*')]
    """

    top: int | float | None = None
    bottom: int | float | None = None
    widths: tuple[int, ...] = ()
    decimal: str = "."
    leaves = None

    def __post_init__(self) -> None:
        ends = [end for end in (self.bottom, self.top) if end is not None]
        if not ends or not all(map(math.isfinite, ends)):
            raise HierarchyError(
                "top and bottom must be numbers.", remedy="For example: { top = 90, widths = [5, 10] }"
            )
        if len(ends) == 2 and ends[0] >= ends[1]:
            raise HierarchyError(
                f"bottom {ends[0]} is not below top {ends[1]}.", remedy="For example: { bottom = 15, top = 90 }"
            )
        if self.widths:
            _refuse_unnested(self.widths)

    @property
    def expects(self) -> str:
        return _expects(self.decimal)

    @property
    def height(self) -> int:
        return max(len(self.widths), 1) + 2

    @property
    def missing(self) -> Path:
        return (*[None] * (self.height - 1), TOP)

    def path(self, value: str) -> Path | None:
        found = number(value, self.decimal)
        if found is None:
            return None
        bands = self.height - 2
        if self.bottom is not None and found < Decimal(str(self.bottom)):
            return (value, *[f"<{_spelt(self.bottom, self.decimal)}"] * bands, TOP)
        if self.top is not None and found >= Decimal(str(self.top)):
            return (value, *[f"{_spelt(self.top, self.decimal)}+"] * bands, TOP)
        return (value, *([self._band(found, width) for width in self.widths] or [value]), TOP)

    def _band(self, found: Decimal, width: int) -> str:
        """The interval around a number, cut off where the top or the bottom begins."""
        low: int | float = math.floor(found) // width * width
        high: int | float = low + width
        low = low if self.bottom is None else max(low, self.bottom)
        return _interval(low, high if self.top is None else min(high, self.top), self.decimal)


def with_decimal(rule: Rule, decimal: str) -> Rule:
    """The rule for values of which numbers are written in another way; rules that read no number stay as they are.

    >>> with_decimal(Widths((5,)), ",").path("12,5")
    ('12,5', '[10, 15)', '*')
    """
    if isinstance(rule, Widths | Cuts | TopBottomCode | Flat | AnyValue | Tree) and rule.decimal != decimal:
        return replace(rule, decimal=decimal)
    return rule
