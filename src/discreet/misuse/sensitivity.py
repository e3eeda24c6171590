"""Sensitivity of values: the data owner's function of context, column and value."""

from __future__ import annotations

import hashlib
import json
import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Floats, Label
from discreet.kernel.hierarchy import text
from discreet.misuse.result_formats import Cells, numbered
from discreet.policy import Policy

THOUSANDS = re.compile(r"[-+]?\d{1,3}[.]\d{3}")
KEYS = ("values", "bins", "otherwise", "decimal", "elicited", "contexts")


@dataclass(frozen=True)
class Weights:
    """Weights of the values of one column: listed ones, numbers by bounds, all others."""

    values: Mapping[Label, float]
    bounds: tuple[float, ...]
    """Inclusive upper bounds, growing."""
    weights: tuple[float, ...]
    """What numbers up to each bound weigh."""
    otherwise: float
    decimal: str = "."
    """What separates the decimals of numbers written as text."""

    @classmethod
    def of(cls, table: Mapping[str, Any], *, column: str) -> Weights:
        """From `values`, `bins` and `otherwise`, checked."""
        try:
            bins = [(float(bound), _weight(weight, column)) for bound, weight in table.get("bins") or ()]
        except (TypeError, ValueError):
            raise UsageError(
                f"The bins of column '{column}' are no pairs of a bound and a weight.",
                remedy="[[100, 0.1], [250, 0.2]]",
            ) from None
        bounds = tuple(bound for bound, _ in bins)
        if any(math.isnan(bound) for bound in bounds) or tuple(sorted(set(bounds))) != bounds:
            raise UsageError(f"The bounds of column '{column}' do not grow.", remedy="[[100, 0.1], [250, 0.2]]")
        # Numbers beyond the last bound are not known to be harmless; values that nobody listed usually are.
        otherwise = table.get("otherwise", 1.0 if bins else 0.0)
        values = table.get("values") or {}
        if not isinstance(values, Mapping):
            raise UsageError(f"The values of column '{column}' need a mapping from value to weight.")
        if any(text(value) is None for value in values):
            raise UsageError(f"Column '{column}': a missing value always weighs 0.", remedy="Leave it out of `values`.")
        listed = MappingProxyType({text(value): _weight(weight, column) for value, weight in list(values.items())})
        weights = tuple(weight for _, weight in bins)
        return cls(listed, bounds, weights, _weight(otherwise, column), table.get("decimal", "."))

    def __call__(self, label: Label) -> float:
        """Weight of a value, spelt as the kernel spells it; 0 if missing."""
        if label is None:
            return 0.0
        listed = self.values.get(label)
        if listed is not None:
            return listed
        if not self.bounds:
            return self.otherwise
        return self.number(label)

    def of_cell(self, value: Any) -> float:
        """What a cell weighs; quick for texts, and for numbers where none is listed."""
        kind = type(value)
        if kind is str:
            return self(value)
        if (kind is float or kind is int) and not self.values and self.bounds:
            return 0.0 if value != value else self.number(value)  # NaN is a missing value
        return self(text(value))

    def number(self, written: str | float) -> float:
        """What a number that is not listed weighs."""
        if isinstance(written, str) and self.decimal != ".":
            # Is 1.234 a thousand, or a number of a typed column? Cautiously, none that is known.
            written = "" if THOUSANDS.fullmatch(written) else written.replace(self.decimal, ".")
        try:
            number = float(written)
        except ValueError:
            return self.otherwise
        place = bisect_left(self.bounds, number)
        return self.weights[place] if place < len(self.weights) and not math.isnan(number) else self.otherwise

    @property
    def worst(self) -> float:
        """The most that any value weighs."""
        return self.levels[-1]

    @cached_property
    def levels(self) -> tuple[float, ...]:
        """All that values can weigh, in order."""
        return tuple(sorted({0.0, self.otherwise, *self.weights, *self.values.values()}))

    def to_dict(self) -> dict[str, Any]:
        """The table it was made from."""
        content: dict[str, Any] = {"otherwise": self.otherwise}
        if self.decimal != ".":
            content["decimal"] = self.decimal
        if self.values:
            content["values"] = dict(self.values)
        if self.bounds:
            content["bins"] = [list(pair) for pair in zip(self.bounds, self.weights, strict=True)]
        return content


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The sensitivity function: f(column, value) from 0, harmless, to 1, the worst.

    >>> f = Sensitivity.from_dict({"account": {"values": {"Gold": 1.0}, "otherwise": 0.1},
    ...                            "bill": {"bins": [[100, 0.1], [250, 0.2]], "otherwise": 1.0}})
    >>> f("account", "Gold"), f("account", "White"), f("bill", 100), f("bill", 100.5), f("bill", None)
    (1.0, 0.1, 0.1, 0.2, 0.0)
    """

    tables: Mapping[str, Weights]
    """Per column what its values weigh, where no context has a table of its own."""
    contexts: Mapping[str, Mapping[str, Weights]] = field(default_factory=lambda: MappingProxyType({}))
    """Per context the columns that weigh otherwise there."""
    context: str | None = None

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any], context: str | None = None) -> Sensitivity:
        """From one table per column: `values`, `bins` (inclusive bounds), `otherwise` and `contexts`.

        A context's table replaces that of its column; columns without one keep theirs. `otherwise` is 0 unless
        given, and 1 where there are bins.
        """
        given: Any = tables  # a caller may hand over anything
        if not isinstance(given, Mapping) or not given:
            raise UsageError(
                "A sensitivity function needs one table per sensitive column.",
                remedy='For example: {"account": {"values": {"Gold": 1.0}, "otherwise": 0.1}}',
            )
        for name, table in tables.items():
            inner = table.get("contexts") if isinstance(table, Mapping) else None
            for one in (table, *(inner.values() if isinstance(inner, Mapping) else ())):
                known = KEYS if one is table else KEYS[:-2]
                if not isinstance(one, Mapping) or any(key not in known for key in one):
                    raise UsageError(
                        f"The sensitivity of column '{name}' is no table of {', '.join(known)}.",
                        remedy='For example: {"values": {"Gold": 1.0}, "otherwise": 0.1} or {"bins": [[100, 0.1]], "otherwise": 1.0}',
                    )
        plain = {name: Weights.of(table, column=name) for name, table in tables.items()}
        contexts: dict[str, dict[str, Weights]] = {}
        for name, table in tables.items():
            for where, its in (table.get("contexts") or {}).items():
                contexts.setdefault(where, {})[name] = Weights.of(its, column=name)
        frozen = {where: MappingProxyType(its) for where, its in contexts.items()}
        return cls(MappingProxyType(plain), MappingProxyType(frozen)).within(context)

    @classmethod
    def from_policy(cls, policy: Policy, context: str | None = None) -> Sensitivity:
        """From the sections [sensitivity.COLUMN] of a policy."""
        if not policy.sensitivity:
            raise UsageError(
                "The policy does not say how sensitive values are.",
                remedy="Add a section [sensitivity.COLUMN] for each sensitive column.",
            )
        if policy.decimal == ".":
            return cls.from_dict(policy.sensitivity, context)
        decimal = {"decimal": policy.decimal}
        tables = {}
        for name, table in policy.sensitivity.items():
            contexts = {where: {**its, **decimal} for where, its in (table.get("contexts") or {}).items()}
            tables[name] = {**table, **decimal, "contexts": contexts}
        return cls.from_dict(tables, context)

    def within(self, context: str | None) -> Sensitivity:
        """The same function in another context; None is the default one."""
        if context is not None and context not in self.contexts:
            known = ", ".join(sorted(self.contexts)) or "none"
            raise UsageError(f"No column has a table for that context; known contexts: {known}.")
        return replace(self, context=context)

    @cached_property
    def weights(self) -> Mapping[str, Weights]:
        """What values weigh in the chosen context."""
        own = self.contexts[self.context] if self.context is not None else {}
        return MappingProxyType({**self.tables, **own})

    @property
    def columns(self) -> tuple[str, ...]:
        """Sensitive columns, in the order in which scores are added up."""
        return tuple(self.weights)

    def __call__(self, column: str, value: Any) -> float:
        """What a value weighs; a column without a table weighs nothing."""
        weights = self.weights.get(column)
        return 0.0 if weights is None else weights(text(value))

    def worst(self, column: str) -> float:
        """The most that any value of a column weighs."""
        weights = self.weights.get(column)
        return 0.0 if weights is None else weights.worst

    def to_dict(self) -> dict[str, Any]:
        """The tables of all contexts, for `from_dict`."""
        tables = {name: weights.to_dict() for name, weights in self.tables.items()}
        for where, its in self.contexts.items():
            for name, weights in its.items():
                tables[name].setdefault("contexts", {})[where] = weights.to_dict()
        return tables

    @cached_property
    def version(self) -> str:
        """Names these tables: the same tables have the same version, stored with every score."""
        canonical = json.dumps([self.to_dict(), self.context], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sensitivity) and self.version == other.version

    def __hash__(self) -> int:
        return hash(self.version)

    def __repr__(self) -> str:
        where = f" in context {self.context}" if self.context is not None else ""
        return f"Sensitivity({len(self.columns)} columns{where}, version {self.version})"


def _weight(weight: Any, column: str) -> float:
    if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 <= float(weight) <= 1:
        raise UsageError(
            f"A weight of column '{column}' is no number from 0 to 1.", remedy="0 is harmless, 1 the worst."
        )
    return float(weight)


# What the cells of a column weigh, all at once.
def weigh(cells: Cells, weights: Weights) -> Floats:
    """The weight of each cell.

    >>> from discreet.misuse import Sensitivity
    >>> f = Sensitivity.from_dict({"bill": {"values": {"7": 0.9}, "bins": [[100, 0.1]], "otherwise": 1.0}})
    >>> weigh(np.array([7.0, 100.0, 101.0, np.nan]), f.weights["bill"]).tolist()
    [0.9, 0.1, 1.0, 0.0]
    """
    if not isinstance(cells, np.ndarray) or cells.dtype.kind not in "iuf":
        return numbered(cells, weights, np.float64)
    steps = np.array([*weights.weights, weights.otherwise])
    found = steps[np.searchsorted(weights.bounds, cells)] if weights.bounds else np.full(len(cells), steps[-1])
    for label, weight in weights.values.items():
        # A listed value that is spelt like a number, as numbers are spelt, is that number.
        try:
            number = int(label or "") if (label or "").removeprefix("-").isdigit() else float(label or "")
        except ValueError:
            continue
        if text(number) == label:
            found[cells == number] = weight
    if cells.dtype.kind == "f":
        found[np.isnan(cells)] = 0.0
    return found


def added(weights: Iterable[Floats], rows: int) -> Floats:
    """Sum of weights of each row, always in the order of the columns."""
    sums = np.zeros(rows)
    for its in weights:
        sums += its
    return sums


def record_scores(weights: Iterable[Floats], crowds: Any) -> Floats:
    """RS of each row: its sum of weights, at most 1, over D."""
    scores: Floats = np.minimum(added(weights, len(crowds)), 1.0) / crowds
    return scores


# Experts' knowledge ages: what was harmless may be harmful now (the paper's open question about time).
def overdue(tables: Mapping[str, Mapping[str, Any]], today: date, *, days: int) -> dict[str, int]:
    """Ages in days of weights that are older than allowed, the oldest first.

    >>> overdue({"account": {"elicited": "2025-01-01"}, "bill": {}}, date(2026, 1, 2), days=365)
    {'account': 366}
    """
    ages = {
        name: (today - date.fromisoformat(table["elicited"])).days
        for name, table in tables.items()
        if "elicited" in table
    }
    return {name: age for name, age in sorted(ages.items(), key=lambda pair: -pair[1]) if age > days}


def reminder(tables: Mapping[str, Mapping[str, Any]], today: date, *, days: int) -> str:
    """A sentence about weights that are due again, or none."""
    old = overdue(tables, today, days=days)
    if not old:
        return ""
    listed = ", ".join(f"{name} ({age:,} days)" for name, age in old.items())
    return f"Experts said long ago how sensitive values are: {listed}. Ask them again: discreet misuse elicit."
