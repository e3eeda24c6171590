"""Grids of sensitive numbers and dates, and constants beside them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.gateway.analysis.block_parts import Leaf, Resolved
from discreet.gateway.analysis.relations import DATES, NUMERIC
from discreet.sql.fragment import Cast, ColumnName, Literal, NotCovered, Operator, walk

LONGEST = 1_000
"""Characters of a constant that stands beside a sensitive column."""


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

    def spelt(self, leaf: Leaf) -> str:
        """What noise calls it: another occurrence of the table is another quantity, and so is a month in another time zone."""
        zone = f"@{self.resolved.zone}" if self.type_of(leaf) in DATES else ""
        return self.name(leaf) + self.resolved.occurrence(leaf[0]) + zone

    def only(self, node: Any) -> Leaf | None:
        """The sensitive column that a node is about, with constants beside it; NotCovered where it is about more."""
        columns = {(one.table, one.name) for one in walk(node) if isinstance(one, ColumnName)}
        columns = {one for one in columns if one[0] not in self.resolved.lookups}
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

    def counts(self, leaf: Leaf) -> bool:
        """Whether its grid has every whole number, and it no others."""
        return self.type_of(leaf).startswith("int") and self.step_of(self.name(leaf)) == 1

    def bins(self, leaf: Leaf) -> NotCovered:
        """The groups of a number or date that there are instead of its values."""
        name, step = leaf[1], self.step_of(self.name(leaf))
        if self.type_of(leaf) in DATES:
            return NotCovered(f"a group by the date `{name}`", f"group by date_trunc('month', {name})")
        if step is None:
            return NotCovered(
                f"a group by the number `{name}`, for which the policy has no step",
                f"the policy needs `step = ...` for {name} in [gateway.aggregates]",
            )
        return NotCovered(f"a group by the number `{name}`", f"group by floor({name} / {step:g}) * {step:g}")

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
        number = exact_number(value)
        if number % Fraction(str(step)):
            raise NotCovered(f"a condition on `{leaf[1]}` between two points of its grid", f"use multiples of {step:g}")
        return number

    @staticmethod
    def _date(leaf: Leaf, value: Any) -> datetime.datetime:
        found = re.fullmatch(r"\s*(\d{4})-(\d\d)-(\d\d)(?:[ T]00:00(?::00)?)?\s*", value)
        try:
            moment = datetime.datetime(int(found[1]), int(found[2]), int(found[3])) if found else None
        except ValueError:
            moment = None
        if moment is None:
            raise NotCovered(f"a comparison of `{leaf[1]}` with what is no date as 2026-01-31")
        if moment.day != 1:
            raise NotCovered(f"a condition on `{leaf[1]}` within a month", "use the first days of months")
        return moment


def exact_number(text: str) -> Fraction:
    """The number that a constant spells; NotCovered where it is none, or has more digits than any column."""
    if not re.fullmatch(r"\s*[-+]?(?:\d{1,300}\.?\d{0,300}|\.\d{1,300})(?:[eE][-+]?\d{1,2})?\s*", text):
        raise NotCovered("a comparison or sum with something that is no plain number", "write it with its digits")
    return Fraction(text.strip())


def constant_of(node: Any) -> str:
    """The text of a constant; NotCovered for anything else."""
    found = settled(node)
    literal = found.inner if isinstance(found, Cast) else found
    if literal.kind == "null":
        raise NotCovered("a sensitive column compared with NULL", "use IS NULL")
    return str(literal.text)


def settled(node: Any) -> Any:
    """A constant as one literal, in one cast at most, of which the server knows before it looks at any row if it fails.

    Arithmetic on constants, and casts of casts, may be worked out for the rows that get there only.
    """
    sign, kind = "", ""
    while True:
        if isinstance(node, Operator) and node.sign in "+-" and len(node.args) == 1:
            sign = "-" if (node.sign == "-") != (sign == "-") else ""
            node = node.args[0]
        elif isinstance(node, Cast):
            if "(" in node.type:  # as long as it says, whatever is in it
                raise NotCovered(f"a constant as {node.type} beside a sensitive column", "write the value itself")
            if kind and not (node.type in ("text", "varchar", kind) or {node.type, kind} <= NUMERIC):
                raise NotCovered("a constant in several casts beside a sensitive column", "write the value itself")
            kind, node = kind or node.type, node.inner
        elif isinstance(node, Literal):
            if len(node.text) > LONGEST:
                raise NotCovered(f"a constant of more than {LONGEST:,} characters beside a sensitive column")
            literal = Literal(node.kind, sign + node.text) if sign else node
            return Cast(literal, kind) if kind else literal
        else:
            raise NotCovered("a sensitive column beside something that is no constant", "write the value itself")


def is_constant(node: Any) -> bool:
    """Whether nothing in it is a column."""
    return not any(isinstance(one, ColumnName) for one in walk(node))
