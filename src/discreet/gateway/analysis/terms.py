"""Aggregates of a statistic as numbers that are noised: counts, centred sums, squares, products, bins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.gateway.analysis.aggregate_forms import (
    linear,
    number_of,
    replaced_conditions,
    truth_of,
    weighted_truth,
    without_widening,
)
from discreet.gateway.analysis.condition_grid import ConditionGrid, constant_of, exact_number, is_constant
from discreet.gateway.analysis.conditions import canonical, total
from discreet.gateway.analysis.relations import NUMERIC
from discreet.gateway.statistics import moments as of
from discreet.sql.fragment import (
    TRUE,
    Aggregate,
    Case,
    ColumnName,
    NotCovered,
    Operator,
    Test,
    conjunction,
    conjuncts,
    walk,
)
from discreet.sql.printer import printed

Key = tuple[int, int]
"""A number of a cell: of which question, and which of its quantities."""
Value = float | None
Given = Callable[[Key], Value]
RAW = frozenset(("min", "max", "array_agg", "string_agg", "mode"))


@dataclass(frozen=True)
class Measure:
    """What is added up: a sensitive column, or an expression of public ones."""

    inner: Any
    name: str
    sensitive: bool
    type: str = ""


@dataclass(frozen=True)
class Quantity:
    """A number per cell, as the noise knows it."""

    tag: str
    measures: tuple[Measure, ...]
    where: Any
    """The sensitive conditions of FILTER and WHERE."""
    condition: str
    columns: tuple[str, ...]
    """Sensitive ones, those of measures first."""
    detail: str = ""
    """What more the noise depends on: expressions whose meaning depends on FROM."""


@dataclass(eq=False)
class CellQuestion:
    """What is asked about the same people: one condition on public columns, and the numbers."""

    where: tuple[Any, ...]
    quantities: list[Quantity] = field(default_factory=list)
    exact: list[Aggregate] = field(default_factory=list)


@dataclass(frozen=True)
class Term:
    """An aggregate, worked out from noised numbers; `exact` names one that tells nothing sensitive."""

    compute: Callable[[Given, Mapping[str, tuple[float, float]]], Value] | None = None
    exact: tuple[int, int] | None = None
    whole: bool = False


class Terms:
    """Turns the aggregates of one block into terms; `groups` are the sensitive expressions that it groups by."""

    def __init__(
        self,
        grid: ConditionGrid,
        where: tuple[Any, ...],
        groups: tuple[Any, ...],
        bins: int,
        missing: Mapping[str, bool],
    ) -> None:
        self._grid, self._groups, self._bins, self._missing = grid, groups, bins, missing
        resolved = grid.resolved
        self.public = tuple(one for one in where if not resolved.sensitive(one))
        self._sensitive = tuple(one for one in where if resolved.sensitive(one))
        self.by = tuple(sorted({grid.name(leaf) for one in groups for leaf in resolved.sensitive(one)}))
        self.questions: list[CellQuestion] = [CellQuestion(self.public)]
        for one in self._sensitive:
            canonical(one, grid)  # a form that no statistic allows is refused at once

    @property
    def conditional(self) -> bool:
        """Whether every number of the block depends on something sensitive."""
        return bool(self._sensitive or self._groups)

    def count_groups(self) -> None:
        """Count the people of sensitive groups: being shown is an answer, asked for or not."""
        for place in range(len(self.questions)):
            self._need(place, "count", (), ())

    def of(self, node: Aggregate) -> Term:
        """One aggregate."""
        if not self.conditional and not self._grid.resolved.sensitive(node):
            return self._exact(self._question(conjuncts(node.where)), node)
        node = weighted_truth(replaced_conditions(node), self._grid.resolved)
        if node.name == "avg" and isinstance(node.args[0], Case) and not node.distinct:
            return self._share(node)
        filters = conjuncts(node.where)
        resolved = self._grid.resolved
        public = tuple(one for one in filters if not resolved.sensitive(one))
        hidden = (*self._sensitive, *(one for one in filters if resolved.sensitive(one)))
        question = self._question(public)
        sensitive = hidden or self._groups or resolved.sensitive((*node.args, *(one.inner for one in node.within)))
        if not sensitive:
            return self._exact(question, node)
        truth = truth_of(node, resolved)
        return self._noised(question, node, hidden) if truth is None else self._true(node, truth)

    def _true(self, node: Aggregate, truth: Any) -> Term:
        """sum((c)::int) and avg((c)::int): how many it is true of, and of how many of those where it is known."""
        part = self.of(Aggregate("count", (), False, conjunction([*conjuncts(node.where), truth])))
        if node.name == "sum":
            return part
        leaves = sorted(self._grid.resolved.sensitive(truth))
        tests = [self._filled(ColumnName(*leaf)) for leaf in leaves] if leaves else [Test(truth, "not null")]
        there = [one for one in tests if one is not None]
        whole = self.of(Aggregate("count", (), False, conjunction([*conjuncts(node.where), *there])))
        return _combined(part, whole, lambda a, b: a / b if a is not None and b else None)

    def _share(self, node: Aggregate) -> Term:
        """avg(CASE WHEN c THEN a ELSE b END): a share of the rows."""
        case = node.args[0]
        if len(case.whens) != 1 or not is_constant(case.whens[0].value) or not is_constant(case.otherwise):
            raise NotCovered("avg(CASE ...) of this form", "use avg(x) FILTER (WHERE ...)")
        high, low = number_of(case.whens[0].value), number_of(case.otherwise) if case.otherwise is not None else 0.0
        part = self.of(Aggregate("count", (), False, conjunction([*conjuncts(node.where), case.whens[0].condition])))
        whole = self.of(Aggregate("count", (), False, node.where))
        return _combined(part, whole, lambda a, b: low + (high - low) * a / b if a is not None and b else None)

    def _question(self, public: tuple[Any, ...]) -> int:
        where = (*self.public, *public)
        for place, one in enumerate(self.questions):
            if one.where == where:
                return place
        self.questions.append(CellQuestion(where))
        return len(self.questions) - 1

    def _exact(self, question: int, node: Aggregate) -> Term:
        return Term(exact=(question, self._listed(question, replace(node, where=None))))

    def _listed(self, question: int, node: Aggregate) -> int:
        listed = self.questions[question].exact
        if node not in listed:
            listed.append(node)
        return listed.index(node)

    def _need(self, question: int, tag: str, measures: tuple[Measure, ...], hidden: tuple[Any, ...]) -> Key:
        canon = sorted({canonical(one, self._grid) for one in hidden})
        columns = [one.name for one in measures if one.sensitive]
        columns += [self._grid.name(leaf) for leaf in sorted(self._grid.resolved.sensitive(hidden))]
        # Where names of columns do not say which are meant: public ones, and those of tables that FROM has twice.
        resolved, told = self._grid.resolved, []
        for measure in measures:
            marks = [resolved.occurrence(it.table) for it in walk(measure.inner) if isinstance(it, ColumnName)]
            if not measure.sensitive or any(marks):
                told.append(printed(measure.inner).replace(resolved.salt, ""))
        detail = repr(told) if told else ""
        where = conjunction([total(one, self._grid) for one in hidden])
        wanted = Quantity(tag, measures, where, repr(canon) if canon else "", tuple(dict.fromkeys(columns)), detail)
        listed = self.questions[question].quantities
        for place, one in enumerate(listed):
            same = (one.tag, one.measures, one.condition, one.columns)
            if same == (wanted.tag, wanted.measures, wanted.condition, wanted.columns):
                return question, place
        listed.append(wanted)
        return question, len(listed) - 1

    def _measure(self, node: Any, function: str) -> Measure:
        resolved = self._grid.resolved
        leaves = resolved.sensitive(node)
        for one in walk(node):
            if isinstance(one, ColumnName) and resolved.roles(one) & {"key", "identifier"}:
                raise NotCovered(
                    f"{function}() of `{one.name}`, which says whom a row is about, beside sensitive columns",
                    "use count(*) or count(DISTINCT key)",
                )
        if not leaves:
            plain = printed(node).replace(resolved.salt, "")
            if isinstance(node, ColumnName) and resolved.sources[node.table].table is not None:
                plain = self._grid.name((node.table, node.name)) + resolved.occurrence(node.table)
            return Measure(node, plain, False)
        if not isinstance(node, ColumnName):
            raise NotCovered(
                f"{function}() of an expression of `{sorted(leaves)[0][1]}`", f"use {function}() of the column itself"
            )
        kind = self._grid.type_of((node.table, node.name))
        if kind not in NUMERIC:
            raise NotCovered(f"{function}() of `{node.name}`, which is no number", "group by it, and count")
        return Measure(node, self._grid.name((node.table, node.name)), True, kind)

    def _noised(self, question: int, node: Aggregate, hidden: tuple[Any, ...]) -> Term:
        name = node.name
        if name in RAW or name in ("bool_and", "bool_or", "every", "mode"):
            hint = "use percentile_cont(0.5) WITHIN GROUP (ORDER BY ...), avg or count"
            secret = self._grid.resolved.sensitive((node.args, tuple(one.inner for one in node.within)))
            of_whom = "of sensitive values" if secret else "under a sensitive condition or group"
            raise NotCovered(f"{name}() {of_whom}, which shows values of single people", hint)
        if name == "count" and node.distinct:
            return self._distinct(question, node, hidden)
        if node.distinct:
            raise NotCovered(f"{name}(DISTINCT ...) of sensitive values", f"use {name}() without DISTINCT")
        if name == "count":
            return self._count(question, node, hidden)
        if name in ("percentile_cont", "percentile_disc"):
            return self._percentile(question, node, hidden)
        if name in ("sum", "avg", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"):
            return self._of_one(question, node, hidden)
        return self._of_two(question, node, hidden)

    def _distinct(self, question: int, node: Aggregate, hidden: tuple[Any, ...]) -> Term:
        arg = node.args[0]
        if isinstance(arg, ColumnName) and "key" in self._grid.resolved.roles(arg):
            key = self._need(question, "people", (), hidden)
            return Term(lambda given, _: given(key), whole=True)
        raise NotCovered(
            "count(DISTINCT ...) that touches sensitive values", "group by the column, and count the groups"
        )

    def _count(self, question: int, node: Aggregate, hidden: tuple[Any, ...]) -> Term:
        arg = node.args[0] if node.args else TRUE
        present = None if is_constant(arg) else self._filled(arg)
        if present is not None and self._grid.resolved.sensitive(present):
            hidden = (*hidden, present)
        elif present is not None:
            question = self._question((*self.questions[question].where[len(self.public) :], present))
        if not hidden and not self._groups:  # a column that is never empty: the rows themselves
            return self._exact(question, Aggregate("count", ()))
        key = self._need(question, "count", (), hidden)
        return Term(lambda given, _: given(key), whole=True)

    def _filled(self, arg: Any) -> Any:
        """That an argument is there, unless the catalog says that it always is."""
        if isinstance(arg, ColumnName):
            relation = self._grid.resolved.sources[arg.table].relation
            if relation is not None and arg.name in relation.filled and not self._missing.get(arg.table, True):
                return None
            return Test(arg, "not null")
        if self._grid.resolved.sensitive(arg):
            raise NotCovered("count() of an expression of a sensitive column", "use count(*) FILTER (WHERE ...)")
        return Test(arg, "not null")

    def _among(self, question: int, measures: tuple[Measure, ...]) -> int:
        """The question about those whose public measures are there: nobody else counts."""
        tests = [self._filled(one.inner) for one in measures if not one.sensitive]
        where = self.questions[question].where[len(self.public) :]
        return self._question((*where, *(one for one in tests if one is not None and one not in where)))

    def _present(self, question: int, measures: tuple[Measure, ...], hidden: tuple[Any, ...]) -> Key:
        """How many rows have all of some values; exact where that is public."""
        secret = [one for one in measures if one.sensitive and self._filled(one.inner) is not None]
        if not hidden and not self._groups and not secret:
            test = conjunction([Test(one.inner, "not null") for one in measures if not one.sensitive])
            return question, -1 - self._listed(question, Aggregate("count", (), False, test))
        if not any(one.sensitive for one in measures):
            return self._need(question, "count", measures, hidden)
        return self._need(question, "present", measures, hidden)

    def _of_one(self, question: int, node: Aggregate, hidden: tuple[Any, ...]) -> Term:
        factor, inner, offset = linear(node.args[0])
        product = isinstance(inner, Operator) and inner.sign == "*" and self._grid.resolved.sensitive(inner)
        if product and node.name in ("sum", "avg"):
            return self._of_product(question, node.name, inner, hidden, (factor, offset))
        if is_constant(inner):
            count = self._count(question, Aggregate("count", ()), hidden)
            value = number_of(node.args[0])
            if node.name == "avg":
                return Term(lambda given, bounds: value)
            return _combined(count, None, lambda n, _: None if n is None else n * value)
        measure = self._measure(inner, node.name)
        question = self._among(question, (measure,))
        n = self._present(question, (measure,), hidden)
        s = self._need(question, "sum", (measure,), hidden)
        name = measure.name
        if node.name == "sum":

            def total(given: Given, bounds: Mapping[str, tuple[float, float]]) -> Value:
                number, centred = given(n), given(s)
                if number is None or centred is None:
                    return None
                return factor * of.total(number, centred, bounds[name]) + offset * number

            return Term(total)
        if node.name == "avg":

            def average(given: Given, bounds: Mapping[str, tuple[float, float]]) -> Value:
                number, centred = given(n), given(s)
                found = None if number is None or centred is None else of.average(number, centred, bounds[name])
                return None if found is None else factor * found + offset

            return Term(average)
        q = self._need(question, "square", (measure,), hidden)
        sample, root = not node.name.endswith("_pop"), node.name.startswith("stddev")

        def spread(given: Given, bounds: Mapping[str, tuple[float, float]]) -> Value:
            number, centred, squares = given(n), given(s), given(q)
            if number is None or centred is None or squares is None:
                return None
            found = (of.deviation if root else of.variance)(number, centred, squares, sample=sample)
            return None if found is None else found * (abs(factor) if root else factor * factor)

        return Term(spread)

    def _of_product(
        self, question: int, name: str, node: Operator, hidden: tuple[Any, ...], line: tuple[float, float]
    ) -> Term:
        """sum(x * weight): the moments of corr() say it."""
        y, x = (self._measure(without_widening(one), name) for one in node.args)
        y, x = (y, x) if y.sensitive else (x, y)
        question = self._among(question, (y, x))
        keys = [self._present(question, (y, x), hidden)]
        keys += [self._need(question, "sum", both, hidden) for both in ((y, x), (x, y))]
        same = y.name == x.name
        keys.append(self._need(question, "square" if same else "product", (y,) if same else (y, x), hidden))

        def found(given: Given, bounds: Mapping[str, tuple[float, float]]) -> Value:
            n, sy, sx, p = (given(key) for key in keys)
            if n is None or sy is None or sx is None or p is None:
                return None
            middle_y, middle_x = (sum(bounds[one.name]) / 2 for one in (y, x))
            total = line[0] * (p + middle_y * sx + middle_x * sy + n * middle_y * middle_x) + line[1] * n
            return total if name == "sum" else total / n if n > 0 else None

        return Term(found)

    def _of_two(self, question: int, node: Aggregate, hidden: tuple[Any, ...]) -> Term:
        y, x = (self._measure(without_widening(one), node.name) for one in node.args)
        if not y.sensitive and not x.sensitive:
            raise NotCovered(
                f"{node.name}() of public columns under a sensitive condition", "ask for averages by group"
            )
        question = self._among(question, (y, x))
        n = self._present(question, (y, x), hidden)
        sy, sx = self._need(question, "sum", (y, x), hidden), self._need(question, "sum", (x, y), hidden)
        qy, qx = self._need(question, "square", (y, x), hidden), self._need(question, "square", (x, y), hidden)
        p = self._need(question, "product", (y, x), hidden)
        name = node.name

        def found(given: Given, bounds: Mapping[str, tuple[float, float]]) -> Value:
            values = [given(key) for key in (n, sy, sx, qy, qx, p)]
            if any(one is None for one in values):
                return None
            number, y_sum, x_sum, y_square, x_square, product = (one or 0.0 for one in values)
            if name == "corr":
                return of.correlation(number, y_sum, x_sum, y_square, x_square, product)
            if name in ("covar_pop", "covar_samp"):
                return of.covariance(number, y_sum, x_sum, product, sample=name == "covar_samp")
            if name == "regr_slope":
                return of.slope(number, x_sum, y_sum, x_square, product)
            if name == "regr_intercept":
                return of.intercept(
                    number, x_sum, y_sum, x_square, product, x_bounds=bounds[x.name], y_bounds=bounds[y.name]
                )
            if name == "regr_r2":
                correlation = of.correlation(number, y_sum, x_sum, y_square, x_square, product)
                return None if correlation is None else correlation * correlation
            if name == "regr_count":
                return number
            first = name == "regr_avgx"
            return of.average(number, x_sum if first else y_sum, bounds[(x if first else y).name])

        return Term(found, whole=name == "regr_count")

    def _percentile(self, question: int, node: Aggregate, hidden: tuple[Any, ...]) -> Term:
        order = node.within[0]
        if order.nulls:
            raise NotCovered("NULLS FIRST or LAST in WITHIN GROUP")
        fraction = float(exact_number(constant_of(node.args[0])))
        if order.descending:
            fraction = 1 - fraction
        factor, inner, offset = linear(order.inner)
        measure = self._measure(inner, "percentile_cont")
        if factor < 0:
            fraction = 1 - fraction
        question = self._among(question, (measure,))
        n = self._present(question, (measure,), hidden)
        keys = [self._need(question, f"bin:{place}", (measure,), hidden) for place in range(self._bins)]
        name = measure.name

        def found(given: Given, bounds: Mapping[str, tuple[float, float]]) -> Value:
            bins, number = [given(key) for key in keys], given(n)
            if number is None or any(one is None for one in bins):
                return None
            low, high = bounds[name]
            value = of.percentile(fraction, [one or 0.0 for one in bins], low, high, number)
            return None if value is None else factor * value + offset

        return Term(found)


def _combined(one: Term, other: Term | None, work: Callable[[Value, Value], Value]) -> Term:
    """A term of two others, each exact or noised."""
    parts = [part for part in (one, other) if part is not None]
    if any(part.exact is not None for part in parts):
        refs = tuple(part.exact for part in parts)

        def mixed(given: Given, bounds: Mapping[str, tuple[float, float]]) -> Value:
            values: list[Value] = []
            for part, ref in zip(parts, refs, strict=True):
                if ref is not None:
                    values.append(given((ref[0], -1 - ref[1])))
                elif part.compute is not None:
                    values.append(part.compute(given, bounds))
            return work(values[0], values[1] if len(values) > 1 else None)

        return Term(mixed)

    def both(given: Given, bounds: Mapping[str, tuple[float, float]]) -> Value:
        values = [part.compute(given, bounds) if part.compute is not None else None for part in parts]
        return work(values[0], values[1] if len(values) > 1 else None)

    return Term(both)
