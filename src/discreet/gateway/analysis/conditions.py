"""Conditions and groups that touch a sensitive column, in the forms that a statistic allows.

A condition is about one sensitive column and constants. Text and truth values may be equal to constants, or like them;
numbers and dates are compared with points of the policy's grid only, so that nobody is picked by a value that is known.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.gateway.analysis.relations import DATES, NUMERIC
from discreet.gateway.analysis.resolve import Leaf, Resolved
from discreet.sql.fragment import (
    AnyOf,
    Case,
    Cast,
    ColumnName,
    Elements,
    FunctionCall,
    Literal,
    Membership,
    NotCovered,
    Operator,
    Test,
    transformed,
    walk,
)
from discreet.sql.printer import printed

_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>"}
_PURE = frozenset(
    ("floor", "ceil", "ceiling", "round", "trunc", "coalesce", "lower", "upper", "initcap", "btrim", "left")
)


@dataclass(frozen=True)
class ConditionGrid:
    """The grids of numeric sensitive columns, by leaf; None where the policy has none."""

    resolved: Resolved
    step_of: Callable[[str], float | None]
    """By the full name of a column."""

    def type_of(self, leaf: Leaf) -> str:
        """The type of a sensitive column."""
        return self.resolved.sources[leaf[0]].columns[leaf[1]]

    def name(self, leaf: Leaf) -> str:
        """What accounts call it."""
        table = self.resolved.sources[leaf[0]].table
        return f"{table.name if table else ''}.{leaf[1]}"

    def only(self, node: Any) -> Leaf | None:
        """The sensitive column that a node is about, with constants beside it; NotCovered where it is about more."""
        columns = {(one.table, one.name) for one in walk(node) if isinstance(one, ColumnName)}
        leaves = self.resolved.sensitive(node)
        if not leaves:
            return None
        if len(columns) > 1 or columns != leaves:
            raise NotCovered(
                f"a condition or group that mixes `{sorted(leaves)[0][1]}` with another column",
                "state it as AND of conditions of one column each",
            )
        return next(iter(leaves))

    def needs_grid(self, leaf: Leaf) -> bool:
        """Whether only points of the grid may be compared with."""
        kind = self.type_of(leaf)
        return kind in NUMERIC or kind in DATES

    def fits(self, leaf: Leaf, constant: Any) -> Fraction | datetime.datetime:
        """A constant as a point of the grid of a column."""
        value = constant_of(constant)
        if self.type_of(leaf) in DATES:
            return self._date(leaf, value)
        step = self.step_of(self.name(leaf))
        if step is None:
            raise NotCovered(
                f"a condition on the number `{leaf[1]}`, for which the policy has no step",
                f"the policy needs `step = ...` for {leaf[1]} in [gateway.aggregates]",
            )
        try:
            number = Fraction(str(value))
        except (ValueError, ZeroDivisionError):
            raise NotCovered(f"a comparison of `{leaf[1]}` with what is no number") from None
        if number % Fraction(str(step)):
            raise NotCovered(f"a condition on `{leaf[1]}` between two points of its grid", f"use multiples of {step:g}")
        return number

    @staticmethod
    def _date(leaf: Leaf, value: Any) -> datetime.datetime:
        try:
            moment = datetime.datetime.fromisoformat(str(value).strip())
        except ValueError:
            raise NotCovered(f"a comparison of `{leaf[1]}` with what is no date as 2026-01-31") from None
        if moment.day != 1 or moment.time() != datetime.time():
            raise NotCovered(f"a condition on `{leaf[1]}` within a month", "use the first days of months")
        return moment.replace(tzinfo=None)


def constant_of(node: Any) -> str:
    """The text of a constant; NotCovered for anything else."""
    sign = ""
    while True:
        if isinstance(node, Operator) and node.sign in "+-" and len(node.args) == 1:
            sign = "-" if (node.sign == "-") != (sign == "-") else ""
            node = node.args[0]
        elif isinstance(node, Cast):
            node = node.inner
        elif isinstance(node, Literal) and node.kind != "null":
            return sign + node.text
        else:
            raise NotCovered("a sensitive column compared with something that is no constant", "write the value itself")


def is_constant(node: Any) -> bool:
    """Whether nothing in it is a column."""
    return not any(isinstance(one, ColumnName) for one in walk(node))


def canonical(condition: Any, grid: ConditionGrid) -> str:
    """A sensitive condition in the one spelling that noise depends on; NotCovered for other forms."""
    leaf = grid.only(condition)
    if leaf is None:
        raise NotCovered("a condition without a sensitive column")
    return f"{grid.name(leaf)}:{_canonical(condition, leaf, grid)}"


def _canonical(node: Any, leaf: Leaf, grid: ConditionGrid) -> str:
    bare = isinstance(node, ColumnName)
    if bare or (isinstance(node, Test) and isinstance(node.inner, ColumnName)):
        if bare and grid.type_of(leaf) != "bool":
            raise NotCovered(f"`{leaf[1]}` as a condition of its own")
        what = "true" if bare else node.what
        if what in ("null", "unknown", "not null", "not unknown"):
            return "null" if what in ("null", "unknown") else "not null"
        return "in true" if what == "true" else ("in false" if what == "false" else what)
    if isinstance(node, Operator) and node.sign in ("and", "or"):
        parts = sorted({_canonical(one, leaf, grid) for one in node.args})
        if node.sign == "or" and all(one.startswith("in ") for one in parts):
            values = sorted({value for one in parts for value in one[3:].split("\x1f")})
            return "in " + "\x1f".join(values)
        return parts[0] if len(parts) == 1 else f"({f' {node.sign} '.join(parts)})"
    if isinstance(node, Operator) and node.sign == "not":
        inner = _canonical(node.args[0], leaf, grid)
        if inner.startswith("in "):
            return f"not {inner}"
        return inner[4:] if inner.startswith("not in ") else f"not ({inner})"
    if isinstance(node, Membership) and isinstance(node.inner, ColumnName):
        return ("not " if node.negated else "") + _values(leaf, node.values, grid)
    if isinstance(node, AnyOf) and isinstance(node.inner, ColumnName) and isinstance(node.array, Elements):
        return _values(leaf, node.array.values, grid)
    if isinstance(node, Operator) and len(node.args) == 2:
        return _compared(node, leaf, grid)
    raise NotCovered(
        f"a condition on `{leaf[1]}` of this form", "use =, <>, IN, LIKE, <, >= and IS NULL with constants"
    )


def _values(leaf: Leaf, values: tuple[Any, ...], grid: ConditionGrid) -> str:
    if grid.needs_grid(leaf):
        raise NotCovered(f"an equation with the number or date `{leaf[1]}`", "ask for a range of its grid")
    return "in " + "\x1f".join(sorted({_text(leaf, constant_of(one), grid) for one in values}))


def _text(leaf: Leaf, value: str, grid: ConditionGrid) -> str:
    if grid.type_of(leaf) != "bool":
        return value
    word = value.strip().casefold()
    return "true" if word in ("t", "true", "1", "yes", "on", "y") else "false"


def _compared(node: Operator, leaf: Leaf, grid: ConditionGrid) -> str:
    left, right, sign = node.args[0], node.args[1], node.sign
    if isinstance(right, ColumnName) and sign in _FLIPPED:
        left, right, sign = right, left, _FLIPPED[sign]
    if not isinstance(left, ColumnName):
        # A function of the column, such as lower(diagnosis) = 'x' or extract(year from day) >= 2020.
        gridded(left, grid)
        return f"{_unnamed(left)} {sign} {constant_of(right)}"
    if grid.needs_grid(leaf):
        if sign not in ("<", ">", "<=", ">="):
            raise NotCovered(f"an equation with the number or date `{leaf[1]}`", "ask for a range of its grid")
        point = grid.fits(leaf, right)
        below = sign in ("<", ">=")
        return f"{'not ' if sign[0] == '>' else ''}{'below' if below else 'up to'} {point}"
    if sign in ("=", "<>"):
        value = _text(leaf, constant_of(right), grid)
        return f"in {value}" if sign == "=" else f"not in {value}"
    if sign in ("like", "ilike", "not like", "not ilike", "~", "~*", "!~", "!~*", "<", ">", "<=", ">="):
        return f"{sign} {constant_of(right)}"
    raise NotCovered(f"a condition on `{leaf[1]}` with {sign.upper()}", "use =, <>, IN or LIKE")


def _unnamed(node: Any) -> str:
    """An expression without the name that the statement gave to the table."""
    return printed(transformed(node, lambda one: ColumnName("", one.name) if isinstance(one, ColumnName) else one))


def gridded(node: Any, grid: ConditionGrid) -> str:
    """A group of a sensitive column in its one spelling; NotCovered unless it keeps to the grid."""
    leaf = grid.only(node)
    if leaf is None:
        raise NotCovered("a group without a sensitive column")
    _keeps(node, leaf, grid)
    return f"{grid.name(leaf)}:{_unnamed(node)}"


def _keeps(node: Any, leaf: Leaf, grid: ConditionGrid) -> None:
    if is_constant(node):
        return
    if isinstance(node, ColumnName):
        if grid.needs_grid(leaf):
            raise _bins(leaf, grid)
        return
    if isinstance(node, Case):
        for one in node.whens:
            if not is_constant(one.condition):
                _canonical(one.condition, leaf, grid)
            _keeps(one.value, leaf, grid)
        if node.otherwise is not None:
            _keeps(node.otherwise, leaf, grid)
        return
    if isinstance(node, FunctionCall) and node.name == "width_bucket" and isinstance(node.args[0], ColumnName):
        low, high, number = (Fraction(constant_of(one)) for one in node.args[1:])
        if number <= 0 or number > 1000 or high == low:
            raise NotCovered("width_bucket() of this form")
        grid.fits(leaf, Literal("number", str(low)))
        grid.fits(leaf, Literal("number", str(float((high - low) / number))))
        return
    if isinstance(node, FunctionCall) and node.name in ("floor", "ceil", "ceiling", "trunc") and len(node.args) == 1:
        width = _divided(node.args[0])
        if width is not None and grid.type_of(leaf) in NUMERIC:
            grid.fits(leaf, Literal("number", width))
            return
    width = _divided(node)
    if width is not None and grid.type_of(leaf).startswith("int"):  # whole numbers are divided to whole numbers
        grid.fits(leaf, Literal("number", width))
        return
    if grid.type_of(leaf) in DATES and _is_coarse_date(node):
        return
    if isinstance(node, Cast):
        if grid.needs_grid(leaf) and isinstance(node.inner, ColumnName):
            raise _bins(leaf, grid)
        _keeps(node.inner, leaf, grid)
        return
    if (isinstance(node, FunctionCall) and node.name in (*_PURE, "to_char")) or isinstance(node, Operator):
        for one in node.args:
            _keeps(one, leaf, grid)
        return
    if isinstance(node, Test):
        return
    raise NotCovered(f"a group by this expression of `{leaf[1]}`", "group by the column itself, or by bins of its grid")


def _is_coarse_date(node: Any) -> bool:
    if not isinstance(node, FunctionCall) or len(node.args) < 2:
        return False
    first = node.args[0]
    coarse = isinstance(first, Literal) and first.text.casefold() in ("month", "quarter", "year", "decade", "isoyear")
    if node.name in ("date_trunc", "extract", "date_part") and coarse:
        return True
    return (
        node.name == "to_char"
        and isinstance(node.args[1], Literal)
        and bool(re.fullmatch(r"(YYYY|MM|Q|[-/. ])+", node.args[1].text))
    )


def _divided(node: Any) -> str | None:
    """The constant by which a bare column is divided."""
    if isinstance(node, Operator) and node.sign == "/" and len(node.args) == 2:
        inner = node.args[0].inner if isinstance(node.args[0], Cast) else node.args[0]
        if isinstance(inner, ColumnName) and is_constant(node.args[1]):
            return constant_of(node.args[1])
    return None


def _bins(leaf: Leaf, grid: ConditionGrid) -> NotCovered:
    if grid.type_of(leaf) in DATES:
        return NotCovered(f"a group by the date `{leaf[1]}`", f"group by date_trunc('month', {leaf[1]})")
    step = grid.step_of(grid.name(leaf))
    if step is None:
        return NotCovered(
            f"a group by the number `{leaf[1]}`, for which the policy has no step",
            f"the policy needs `step = ...` for {leaf[1]} in [gateway.aggregates]",
        )
    return NotCovered(f"a group by the number `{leaf[1]}`", f"group by floor({leaf[1]} / {step:g}) * {step:g}")
