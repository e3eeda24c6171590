"""Conditions and groups that touch a sensitive column, in the forms that a statistic allows.

A condition is about one sensitive column and constants. Text and truth values may be equal to constants, or like them;
numbers and dates are compared with points of the policy's grid only, so that nobody is picked by a value that is known.

How long an expression takes, and how much room, is bounded by its text and the length of the value, so that time tells of
nobody: comparisons, patterns and lists of constants; spellings and parts of the column itself; parts of dates; bins of
numbers; constants beside one of these; CASE between constants and the column itself. Nothing works on what these give.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.gateway.analysis.block_parts import Leaf
from discreet.gateway.analysis.condition_grid import ConditionGrid, constant_of, exact_number, is_constant, settled
from discreet.gateway.analysis.relations import DATES, NUMERIC
from discreet.sql.fragment import (
    AnyOf,
    Case,
    Cast,
    ColumnName,
    Elements,
    FunctionCall,
    Literal,
    Membership,
    Nested,
    NotCovered,
    Operator,
    Test,
    When,
    transformed,
    walk,
)
from discreet.sql.printer import printed

_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>"}
_REGULAR = frozenset(("~", "~*", "!~", "!~*"))
_PATTERNS = _REGULAR | {"like", "ilike", "not like", "not ilike"}
_REGEX = re.compile(r"[\w .,:/^$|-]{0,200}")
"""Regular expressions that are always valid and quickly matched."""
_TRUTH = {
    **dict.fromkeys(("t", "true", "1", "yes", "on", "y"), "true"),
    **dict.fromkeys(("f", "false", "0", "no", "off", "n"), "false"),
}
_WHOLE = frozenset(("floor", "ceil", "ceiling", "trunc"))
_SPELLINGS = frozenset(("lower", "upper", "initcap", "btrim", "ltrim", "rtrim"))
_LARGEST = 10**9
STEPS, BYTES, HEAVY, REGULAR = 500, 2_000, 10, 50
"""Most steps of an expression, and bytes of the texts of a statement; what a pattern or a function counts, and how much more a regular expression.

The server forgets regular expressions beyond 32, and reading one again takes three hundred steps.
"""
WILDCARDS = 3
"""So many a pattern may have: the time of matching grows with each."""


def canonical(condition: Any, grid: ConditionGrid) -> str:
    """The name of a sensitive condition or group, on which noise depends; NotCovered for other forms.

    It is the SQL that is run, so that two questions of one name are one question. Spellings become one by changing that
    SQL, and never by changing the name alone.
    """
    leaf = grid.only(condition)
    if leaf is None:
        raise NotCovered("a condition or group without a sensitive column")
    run = transformed(
        total(condition, grid), lambda one: ColumnName("", one.name) if isinstance(one, ColumnName) else one
    )
    text = printed(run)
    salt = grid.resolved.salt
    return f"{grid.spelt(leaf)}:{text.replace(salt, '') if salt else text}"


def total(node: Any, grid: ConditionGrid) -> Any:
    """A condition or group as the server is asked for it: an expression that fails for no value, in its one spelling.

    An error tells of the value that it happened at, also where nothing is shown. Numbers are therefore wide, constants
    are single literals, and nothing but the forms below is allowed.
    """
    leaf = grid.only(node)
    if leaf is None:
        return settled(node)
    _quick(node)
    return _Total(leaf, grid).of(node)


def _quick(node: Any) -> None:
    """What takes long may take long for some values only, and its time would tell whose."""
    brief(node)
    if steps_of(node) > STEPS:
        raise NotCovered(
            f"a condition or group that is more than {STEPS} steps of work",
            "use IN, or a table of codes that is joined",
        )


def brief(nodes: Any) -> None:
    """Refuses long texts in conditions and groups: where they are worked on, they take time."""
    texts = (one.text for one in walk(nodes) if isinstance(one, Literal))
    if sum(len(one.encode("utf-8", "surrogatepass")) for one in texts) > BYTES:
        raise NotCovered(f"texts of more than {BYTES:,} bytes in all beside sensitive columns", "use fewer")


def steps_of(node: Any) -> int:
    """Work on one value, in steps of some twenty nanoseconds."""
    cheap = (Test, Membership, When)
    found = [one for one in walk(node) if isinstance(one, (Operator, FunctionCall, Nested, *cheap))]
    plain = {*_FLIPPED, "and", "or", "not"}
    regular = sum(getattr(one, "sign", "") in _REGULAR for one in found)
    return regular * REGULAR + sum(
        1 if isinstance(one, cheap) or getattr(one, "sign", "") in plain else HEAVY for one in found
    )


def _readable(pattern: str, sign: str) -> None:
    """A pattern that never fails and is quickly matched: whether it is may depend on the value."""
    if pattern.count("%") > WILDCARDS or pattern.count("*") + pattern.count("+") > WILDCARDS:
        raise NotCovered(f"a pattern with more than {WILDCARDS} wildcards", "use several conditions")
    if "like" in sign:
        if re.fullmatch(r"(?:[^\\]|\\.)*", pattern, flags=re.DOTALL) is None:
            raise NotCovered("a pattern that ends with a backslash")
    elif _REGEX.fullmatch(pattern) is None:
        raise NotCovered("a regular expression of this form", "use words, ., ^, $ and |, or LIKE")


class _Total:
    """Forms of one sensitive column that are defined for each of its values."""

    def __init__(self, leaf: Leaf, grid: ConditionGrid) -> None:
        self._leaf, self._grid, self._type = leaf, grid, grid.type_of(leaf)
        self._products = 0

    def of(self, node: Any) -> Any:
        """A group, or a condition."""
        if is_constant(node):
            return settled(node)
        if isinstance(node, ColumnName):
            if self._grid.needs_grid(self._leaf) and not self._grid.counts(self._leaf):
                raise self._grid.bins(self._leaf)
            return node
        if isinstance(node, Nested) and getattr(node.query.source, "alias", "") in self._grid.resolved.lookups:
            return node
        if isinstance(node, Case):
            whens = tuple(When(self._condition(one.condition), self._branch(one.value)) for one in node.whens)
            return Case(whens, None if node.otherwise is None else self._branch(node.otherwise))
        truth = isinstance(node, Operator) and node.sign in {"and", "or", "not", *_PATTERNS, *_FLIPPED}
        if truth or isinstance(node, Test | Membership | AnyOf):
            return self._condition(node)
        if isinstance(node, Operator) and node.sign == "||":
            return Operator("||", tuple(map(self.of, node.args)))
        if isinstance(node, FunctionCall) and node.name == "concat":
            return FunctionCall("concat", tuple(map(self.of, node.args)))
        if isinstance(node, FunctionCall) and node.name == "coalesce":
            return FunctionCall("coalesce", (self.of(node.args[0]), *map(self._branch, node.args[1:])))
        if isinstance(node, Cast):
            return self._cast(node)
        if self._type in NUMERIC:
            return self._number(node)
        return self._date(node) if self._type in DATES else self._text(node)

    def _branch(self, node: Any) -> Any:
        """What is worked out for some values only: no work at all."""
        if not is_constant(node) and not isinstance(node, ColumnName | Nested):
            column = self._leaf[1]
            raise NotCovered(
                f"work on `{column}` in a branch of CASE or COALESCE", f"use constants there, or `{column}` itself"
            )
        return self.of(node)

    # Conditions -------------------------------------------------------------------------------------------------------

    def _condition(self, node: Any) -> Any:
        if is_constant(node):
            return settled(node)
        if isinstance(node, ColumnName) and self._type == "bool":
            return Membership(node, (Literal("boolean", "true"),), False)
        if isinstance(node, Test) and isinstance(node.inner, ColumnName | Nested):
            if isinstance(node.inner, Nested):
                self.of(node.inner)
            return replace(node, what=node.what.replace("unknown", "null"))
        if isinstance(node, Operator) and node.sign in ("and", "or"):
            return self._joined(node)
        if isinstance(node, Operator) and node.sign == "not":
            inner = self._condition(node.args[0])
            if isinstance(inner, Membership):
                return replace(inner, negated=not inner.negated)
            return inner.args[0] if isinstance(inner, Operator) and inner.sign == "not" else Operator("not", (inner,))
        if isinstance(node, Membership) and isinstance(node.inner, Nested):
            return replace(node, inner=self.of(node.inner), values=tuple(map(settled, node.values)))
        if isinstance(node, Membership) and isinstance(node.inner, ColumnName):
            return self._among(node.inner, node.values, negated=node.negated)
        if isinstance(node, AnyOf) and isinstance(node.inner, ColumnName) and isinstance(node.array, Elements):
            return self._among(node.inner, node.array.values)
        if isinstance(node, Operator) and len(node.args) == 2:
            return self._compared(node)
        column, forms = self._leaf[1], "use =, <>, IN, LIKE, <, >= and IS NULL with constants"
        raise NotCovered(f"a condition on `{column}` of this form", forms)

    def _joined(self, node: Operator) -> Any:
        parts: dict[str, Any] = {}
        waiting = list(node.args)
        while waiting:
            one = waiting.pop(0)
            if isinstance(one, Operator) and one.sign == node.sign:
                waiting = [*one.args, *waiting]
                continue
            part = self._condition(one)
            parts[printed(part)] = part
        found = [parts[text] for text in sorted(parts)]
        if node.sign == "or" and all(isinstance(one, Membership) and not one.negated for one in found):
            return _listed(found[0].inner, tuple(value for one in found for value in one.values))
        return found[0] if len(found) == 1 else Operator(node.sign, tuple(found))

    def _among(self, column: ColumnName, values: tuple[Any, ...], *, negated: bool = False) -> Membership:
        if self._grid.counts(self._leaf):  # each whole number is a cell of the grid
            for one in values:
                self._grid.fits(self._leaf, one)
            whole = tuple(Literal("number", str(int(_fraction(one)))) for one in values)
            return _listed(column, whole, negated=negated)
        if self._grid.needs_grid(self._leaf):
            raise NotCovered(f"an equation with the number or date `{self._leaf[1]}`", "ask for a range of its grid")
        return _listed(column, tuple(map(self._constant, values)), negated=negated)

    def _constant(self, node: Any) -> Any:
        """What the column is compared with."""
        value = constant_of(node)
        if self._type != "bool":
            found = settled(node)
            plain = isinstance(found, Cast) and found.type in ("text", "varchar") and self._type in ("text", "varchar")
            return found.inner if plain else found
        if value.strip().casefold() not in _TRUTH:
            raise NotCovered(f"a comparison of `{self._leaf[1]}` with this word", "use true or false")
        return Literal("boolean", _TRUTH[value.strip().casefold()])

    def _compared(self, node: Operator) -> Any:
        left, right, sign = node.args[0], node.args[1], node.sign
        if not is_constant(right) and sign in _FLIPPED:
            left, right, sign = right, left, _FLIPPED[sign]
        value = constant_of(right)
        if sign in _PATTERNS:
            _readable(value, sign)
        elif sign not in _FLIPPED:
            raise NotCovered(f"a condition on `{self._leaf[1]}` with {sign.upper()}", "use =, <>, IN or LIKE")
        if sign in _PATTERNS and not _is_spelling(left):
            raise NotCovered(f"a pattern for an expression of `{self._leaf[1]}`", "compare the column itself with it")
        if not isinstance(left, ColumnName):
            # A function of the column, such as lower(diagnosis) = 'x' or extract(year from day) >= 2020.
            return Operator(sign, (self.of(left), settled(right)))
        if sign in ("=", "<>"):
            return self._among(left, (right,), negated=sign == "<>")
        if self._grid.needs_grid(self._leaf):
            if sign in _PATTERNS:
                raise NotCovered(f"a pattern for the number or date `{self._leaf[1]}`", "ask for a range of its grid")
            point = self._grid.fits(self._leaf, right)  # in one spelling
            if not isinstance(point, Fraction):
                return Operator(sign, (left, Cast(Literal("string", point.date().isoformat()), self._type)))
            text = str(int(point)) if point.denominator == 1 else value.strip()
            return Operator(sign, (left, Cast(Literal("string", text), "numeric")))
        return Operator(sign, (left, self._constant(right)))

    # Groups -----------------------------------------------------------------------------------------------------------

    def _cast(self, node: Cast) -> Any:
        inner, kind = self.of(node.inner), node.type
        if kind in ("text", "varchar", "bpchar"):
            return Cast(inner, node.type)
        if self._type in NUMERIC and kind in NUMERIC and _is_number(node.inner):  # the cell is cast when it is shown
            return (
                FunctionCall("round", (Cast(inner, "numeric"),)) if kind.startswith("int") else Cast(inner, "numeric")
            )
        if self._type == "bool" and kind == "int4" and isinstance(node.inner, ColumnName):
            return Cast(inner, kind)
        if self._type in DATES and kind in DATES and getattr(node.inner, "name", "") == "date_trunc":
            return Cast(inner, node.type)
        if self._type in DATES and kind in NUMERIC and _is_part(node.inner):
            return (
                FunctionCall("round", (Cast(inner, "numeric"),)) if kind.startswith("int") else Cast(inner, "numeric")
            )
        raise self._refused()

    def _refused(self) -> NotCovered:
        if self._grid.needs_grid(self._leaf):
            return self._grid.bins(self._leaf)
        hint = "group by the column itself, or by lower(), left(), substring() of it"
        return NotCovered(f"a group or condition by this expression of `{self._leaf[1]}`", hint)

    # Numbers ----------------------------------------------------------------------------------------------------------

    def _number(self, node: Any) -> Any:
        if isinstance(node, FunctionCall) and node.name == "width_bucket" and isinstance(node.args[0], ColumnName):
            nothing = Cast(Literal("string", "NaN"), "numeric")
            value = FunctionCall("nullif", (Cast(node.args[0], "numeric"), nothing))
            if len(node.args) == 2 and isinstance(node.args[1], Elements):
                points = [self._grid.fits(self._leaf, one) for one in node.args[1].values]
                if points != sorted(set(points)):
                    raise NotCovered("width_bucket() with bounds that do not grow", "list them in order")
                bounds = tuple(Cast(Literal("string", constant_of(one)), "numeric") for one in node.args[1].values)
                return FunctionCall("width_bucket", (value, Elements(bounds)))
            if len(node.args) != 4:
                raise NotCovered("width_bucket() of this form", "use width_bucket(x, low, high, number)")
            low, high, number = (exact_number(constant_of(one)) for one in node.args[1:])
            if number <= 0 or number > 1000 or number.denominator != 1 or high == low:
                raise NotCovered("width_bucket() of this form")
            self._grid.fits(self._leaf, Literal("number", str(low)))
            self._grid.fits(self._leaf, Literal("number", str(float((high - low) / number))))
            ends = (Cast(Literal("string", str(float(one))), "numeric") for one in (low, high))
            return FunctionCall("width_bucket", (value, *ends, Literal("number", str(int(number)))))
        if isinstance(node, FunctionCall) and node.name in _WHOLE and len(node.args) == 1:
            quotient = self._quotient(node.args[0])
            if quotient is not None:
                return FunctionCall(node.name, (quotient,))
        bare = isinstance(node, Operator) and isinstance(node.args[0], ColumnName)
        if bare and self._type.startswith("int") and is_constant(node.args[1]) and _whole(node.args[1]):
            quotient = self._quotient(node)
            if quotient is not None:
                return quotient
        return self._shifted(node)

    def _quotient(self, node: Any) -> Any:
        """The column, perhaps less the beginning of bins, divided by a constant of the grid, without overflow."""
        if not (isinstance(node, Operator) and node.sign == "/" and len(node.args) == 2 and is_constant(node.args[1])):
            return None
        inner, shift = node.args[0], None
        whole = self._type.startswith("int") and _whole(node.args[1])  # divided to a whole number
        if isinstance(inner, Operator) and inner.sign in "+-" and len(inner.args) == 2 and is_constant(inner.args[1]):
            shift, inner = inner, inner.args[0]
            self._grid.fits(self._leaf, shift.args[1])
            whole = whole and _whole(shift.args[1])
            if abs(_fraction(shift.args[1])) > _LARGEST:
                return None
        if isinstance(inner, Cast) and inner.type in ("numeric", "float8", "float4"):
            inner, whole = inner.inner, False
        if not isinstance(inner, ColumnName):
            return None
        width = Literal("number", constant_of(node.args[1]))
        if not self._grid.fits(self._leaf, width):
            raise NotCovered("a division by zero")
        wide = "int8" if whole and self._type != "int8" else "numeric"
        value: Any = Cast(inner, wide)
        if shift is not None:
            value = Operator(shift.sign, (value, Cast(Literal("string", constant_of(shift.args[1])), wide)))
        args = (value, Cast(Literal("string", width.text), wide))
        return FunctionCall("div", args) if whole and wide == "numeric" else Operator("/", args)

    def _shifted(self, node: Any) -> Any:
        """Bins moved and scaled by constants."""
        if not (isinstance(node, Operator) and node.sign in "+-*" and len(node.args) == 2):
            raise self._refused()
        constant = next((one for one in node.args if is_constant(one)), None)
        self._products += node.sign == "*"
        if constant is None or self._products > 1 or abs(_fraction(constant)) > _LARGEST:
            raise self._refused()
        value = Cast(Literal("string", constant_of(constant)), "numeric")
        if not all(one is constant or _is_number(one) for one in node.args):
            raise self._refused()
        args = tuple(value if one is constant else Cast(self.of(one), "numeric") for one in node.args)
        return Operator(node.sign, args)

    # Text and dates ---------------------------------------------------------------------------------------------------

    def _text(self, node: Any) -> Any:
        if isinstance(node, FunctionCall) and node.args and all(is_constant(one) for one in node.args[1:]):
            numbers = [constant_of(one) for one in node.args[1:]]
            counted = node.name in ("left", "right", "substr", "substring")
            trimmed = node.name in _SPELLINGS and all(len(one) <= WILDCARDS for one in numbers)
            numbered = counted and all(re.fullmatch(r"\d{1,9}", one) for one in numbers)
            if (trimmed or numbered) and _is_spelling(node.args[0]):
                return FunctionCall(node.name, (self.of(node.args[0]), *map(settled, node.args[1:])))
        raise self._refused()

    def _date(self, node: Any) -> Any:
        if isinstance(node, FunctionCall) and len(node.args) == 2 and _is_coarse_date(node):
            return node
        if isinstance(node, Operator) and len(node.args) == 2 and node.sign in "+-*/":
            left, right = node.args
            if is_constant(right) and 0 < abs(_fraction(right)) <= _LARGEST and _is_part(left):
                return Operator(node.sign, (Cast(self.of(left), "numeric"), Cast(settled(right), "numeric")))
        if isinstance(node, FunctionCall) and node.name in _WHOLE and len(node.args) == 1 and _is_part(node.args[0]):
            return FunctionCall(node.name, (Cast(self.of(node.args[0]), "numeric"),))
        raise self._refused()


def _listed(column: ColumnName, values: tuple[Any, ...], *, negated: bool = False) -> Membership:
    """Values in one order, each once."""
    every = {printed(one): one for one in values}
    return Membership(column, tuple(every[text] for text in sorted(every)), negated)


def _is_spelling(node: Any) -> bool:
    """A text that is not longer than the column's."""
    while isinstance(node, FunctionCall | Cast) and getattr(node, "name", "lower") in (*_SPELLINGS, "left", "right"):
        node = node.args[0] if isinstance(node, FunctionCall) else node.inner
    return isinstance(node, ColumnName | Nested)


def _fraction(node: Any) -> Fraction:
    return exact_number(constant_of(node))


def _whole(node: Any) -> bool:
    return bool(re.fullmatch(r"-?\d+", constant_of(node))) and not (
        isinstance(node, Cast) and node.type not in ("int2", "int4", "int8")
    )


def _is_coarse_date(node: FunctionCall) -> bool:
    first = node.args[0]
    coarse = isinstance(first, Literal) and first.text.casefold() in ("month", "quarter", "year", "decade", "isoyear")
    if node.name in ("date_trunc", "extract", "date_part") and coarse:
        return _bare_date(node.args[1])
    return (
        node.name == "to_char"
        and isinstance(node.args[1], Literal)
        and bool(re.fullmatch(r"(YYYY|MM|Q|[-/. ])+", node.args[1].text))
        and _bare_date(node.args[0])
    )


def _is_number(node: Any) -> bool:
    """A form that is a number, and not the text of one."""
    if isinstance(node, Cast):
        return node.type in NUMERIC and _is_number(node.inner)
    if isinstance(node, Case):
        values = (*(one.value for one in node.whens), node.otherwise)
        return all(one is None or (isinstance(one, Literal) and one.kind in ("number", "null")) for one in values)
    if isinstance(node, Operator):
        return node.sign in "+-*/" and all(map(_is_number, node.args))
    if isinstance(node, FunctionCall):
        return node.name == "width_bucket" or (node.name in _WHOLE and _is_number(node.args[0]))
    return isinstance(node, ColumnName) or (isinstance(node, Literal) and node.kind == "number")


def _is_part(node: Any) -> bool:
    """A number that is part of a date, perhaps worked on."""
    while isinstance(node, Operator | Cast) or (isinstance(node, FunctionCall) and node.name in _WHOLE):
        node = node.inner if isinstance(node, Cast) else node.args[0]
    return isinstance(node, FunctionCall) and node.name in ("extract", "date_part")


def _bare_date(node: Any) -> bool:
    """The column itself, or as another kind of date."""
    return isinstance(node, ColumnName) or (
        isinstance(node, Cast) and node.type in DATES and isinstance(node.inner, ColumnName)
    )
