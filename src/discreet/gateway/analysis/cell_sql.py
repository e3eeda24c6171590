"""SQL that counts the cells of a statistic in one scan.

Sensitive conditions stand in FILTER only and everything beside a sensitive column is total, so that neither an index nor
an error can tell anything. So that time tells nothing, nobody is looked at whose cells are too small to be shown, work on
public columns is done for every row, and work on sensitive ones once for each row of their own table, whatever is joined.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.gateway.analysis.block_parts import Resolved
from discreet.gateway.analysis.hashes import hash_of
from discreet.gateway.analysis.people import nullable_of, parts_of, repeats
from discreet.gateway.analysis.row_order import EXACT, is_total, settled_aggregates
from discreet.gateway.analysis.statistic import Bounds, CellPart, Statistic
from discreet.gateway.analysis.terms import CellQuestion, Measure, Quantity
from discreet.sql.fragment import Aggregate, Cast, ColumnName, Literal, conjunction, rebuilt
from discreet.sql.printer import printed

SEED = "CAST($1 AS int8)"


class CellSql:
    """Statements for one question of a part."""

    def __init__(
        self,
        statistic: Statistic,
        part: CellPart,
        question: CellQuestion,
        bounds: Bounds,
        rows: int,
        *,
        smallest: int = 0,
        least: int = 0,
    ) -> None:
        """With `smallest`, people are left out whose cells all have fewer; with `least`, sensitive cells that have fewer."""
        self._statistic, self._part, self._question, self._bounds = statistic, part, question, bounds
        self._resolved: Resolved = statistic.resolved
        self._once, self._most = statistic.person.once, rows
        self._smallest = smallest
        self.least = least if any(place in statistic.hidden for one in self._sets() for place in one) else 0
        self._columns: dict[str, str] = {}
        self._sums: dict[str, str] = {}
        leaves = {alias for alias, _ in self._resolved.sensitive(self._spoken)} - {*self._resolved.lookups}
        self._merged = leaves if not self._once and repeats(statistic.select, self._resolved, leaves) else set()
        """Parts whose rows are brought together before anything sensitive of them is looked at."""
        self._missing = nullable_of(statistic.select.source)
        self._named = all(map(self._filled, statistic.person.columns))
        """Whether every row has its person."""
        self._groups = [self._text(one) for one in statistic.counted]

    def _text(self, group: Any) -> str:
        """A group by what is shown of it.

        1.0 and 1.00 are equal, and whose value is shown for both would be seen.
        """
        kind = self._resolved.sources[group.table].columns.get(group.name) if isinstance(group, ColumnName) else ""
        plain = kind in EXACT and kind != "timestamptz"  # whose abbreviated zones may be the same
        if plain and kind not in ("text", "varchar"):
            return printed(group)
        return f'({printed(group if plain else Cast(group, "text"))} COLLATE pg_catalog."C")'

    # What the audit is told -------------------------------------------------------------------------------------------

    @property
    def relation(self) -> str:
        """FROM."""
        return printed(self._statistic.select.source)

    @property
    def where(self) -> str:
        """The public condition."""
        condition = conjunction(self._question.where)
        return "true" if condition is None else printed(condition)

    @property
    def person(self) -> str:
        """What names the person of a row; NULL where there is none."""
        columns = self._statistic.person.columns
        if len(columns) == 1:
            return printed(columns[0])
        empty = " OR ".join(f"{printed(one)} IS NULL" for one in columns)
        return f"CASE WHEN {empty} THEN NULL ELSE CAST(ROW({', '.join(map(printed, columns))}) AS text) END"

    def label(self, number: int) -> str:
        """What tells the cells of a grouping set apart: its public groups."""
        chosen = self._statistic.sets[number]
        places = [place for place in range(len(self._groups)) if place not in self._statistic.hidden]
        if not any(place in chosen for place in places):
            return "''"
        shown = [f"CAST({self._groups[place]} AS text)" if place in chosen else "NULL" for place in places]
        return f"CAST(ROW({', '.join(shown)}) AS text)"

    def groups(self, number: int) -> tuple[str, ...]:
        """The public groups of which that label is made."""
        chosen = self._statistic.sets[number]
        return tuple(self._groups[place] for place in chosen if place not in self._statistic.hidden)

    # Cells that are too small -----------------------------------------------------------------------------------------

    @property
    def divided(self) -> tuple[int, ...]:
        """Grouping sets that say who is asked about; none where it is everybody."""
        public = {number: frozenset(self.groups(number)) for number in self._part.sets}
        least = [number for number, some in public.items() if not any(other < some for other in public.values())]
        return (
            () if any(not public[number] for number in least) else tuple({public[one]: one for one in least}.values())
        )

    def _cells(self, number: int, listed: str, people: str) -> str:
        """The cells of a grouping set that have so many people."""
        counted = f"count({self.person})" if self._once else f"count(DISTINCT {self.person})"
        grouped = ", ".join(self.groups(number))
        return f"SELECT {listed} FROM {self.relation} WHERE {self.where} GROUP BY {grouped} HAVING {counted} {people}"

    def looked_at(self, smallest: int) -> str:
        """How many cells have fewer people, and how long the longest public group is."""
        few = [f"(SELECT count(*) FROM ({self._cells(one, '1', f'< {smallest}')}) AS c)" for one in self.divided]
        texts = {f"octet_length(CAST({one} AS text))" for number in self._part.sets for one in self.groups(number)}
        longest = f"(SELECT max(GREATEST({', '.join(sorted(texts))})) FROM {self.relation} WHERE {self.where})"
        return f"SELECT {' + '.join(few) or '0'}, {longest if texts and self._part.sensitive else '0'}"

    # The rows -------------------------------------------------------------------------------------------------------------

    def _column(self, letter: str, sql: str) -> str:
        """A column of the rows, each expression once."""
        if sql not in self._columns:
            self._columns[sql] = f"{letter}{len(self._columns)}"
        return self._columns[sql]

    def _value(self, measure: Measure) -> str:
        """A value within its bounds, from their middle."""
        low, high = self._bounds[measure.name]
        value, middle = printed(measure.inner), (low + high) / 2
        # A number may be too large for a double before it is clipped; NULL stays NULL, and NaN is above everything.
        kind = "numeric" if measure.type == "numeric" else "float8"
        number = value if kind == "numeric" else f"CAST({value} AS float8)"
        return (
            f"CASE WHEN {number} < CAST('{low!r}' AS {kind}) THEN CAST('{low - middle!r}' AS float8) "
            f"WHEN {number} > CAST('{high!r}' AS {kind}) THEN CAST('{high - middle!r}' AS float8) "
            f"ELSE CAST({value} AS float8) - CAST('{middle!r}' AS float8) END"
        )

    def _filled(self, node: Any) -> bool:
        """Whether a column has a value in every row."""
        source = self._resolved.sources.get(node.table) if isinstance(node, ColumnName) else None
        if source is None or source.relation is None:
            return False
        return node.name in source.relation.filled and not self._missing.get(node.table, True)

    def _measure(self, measure: Measure) -> str:
        return self._column("v", self._value(measure))

    def _bin(self, measure: Measure, number: int) -> str:
        low, high = self._bounds[measure.name]
        half, width = (high - low) / 2, (high - low) / number or 1.0
        place = f"FLOOR(({self._value(measure)} + CAST('{half!r}' AS float8)) / CAST('{width!r}' AS float8))"
        return f"CAST(LEAST(GREATEST({place}, 0), {number - 1}) AS int4)"

    def _filter(self, quantity: Quantity, summed: int = 0) -> list[str]:
        """Which rows count; of so many measures a sum leaves NULL out by itself, and public ones WHERE."""
        found = [] if self._named else ["p IS NOT NULL"]
        if quantity.where is not None:
            found.append(self._column("f", printed(quantity.where)))
        needed = [one.inner for one in quantity.measures[summed:] if one.sensitive and not self._filled(one.inner)]
        return found + [f"{self._column('w', printed(one))} IS NOT NULL" for one in needed]

    @property
    def _spoken(self) -> tuple[Any, ...]:
        """Where sensitive columns stand."""
        select = self._statistic.select
        return select.items, select.where, self._statistic.groups, tuple(self._statistic.aggregates)

    def _source(self, *, ordered: bool = False, sets: int = 1) -> str:
        """The rows, each with all that is asked of it; of several sets the server would work it out before it leaves rows out."""
        person = self._statistic.person
        kind = self._resolved.sources[person.columns[0].table].columns[person.columns[0].name]
        single = kind if len(person.columns) == 1 else "text"
        leaves = sorted(self._resolved.sensitive(self._spoken))
        asks = bool(self._question.quantities or self._part.sensitive) and not ordered
        names = [self._column("w", printed(ColumnName(*leaf))) for leaf in leaves if asks]
        plain = single.startswith("int") and bool(leaves)
        hashed = f"(CAST(p AS int8) # {SEED})" if plain else hash_of("p", single, SEED)
        for leaf, name in zip(leaves, names, strict=asks):
            hashed = hash_of(name, self._resolved.sources[leaf[0]].columns[leaf[1]], hashed)
        self._hash = f"pg_catalog.hashint8extended(k, {hashed})" if self._merged else hashed
        columns = [f"{sql} AS {name}" for sql, name in self._columns.items()]
        if self._merged:
            return self._brought_together(columns, " OFFSET 0" * (sets > 1))
        columns += [f"{sql} AS g{place}" for place, sql in enumerate(self._groups)]
        # Work on public columns and on several is done for every row, and not only where a sensitive condition holds.
        quantities = self._question.quantities
        fence = any(len(one.measures) > 1 or not all(it.sensitive for it in one.measures) for one in quantities)
        listed = ", ".join([*columns, f"{self.person} AS p"])
        row = f"ROW({', '.join([self.person, *self._columns])})"
        order = f" ORDER BY {hash_of(row, '', SEED)}" * ordered + " OFFSET 0" * (fence or ordered or sets > 1)
        return f"(SELECT {listed} FROM {self.relation} WHERE {self._kept}{order}) AS r"

    @property
    def _kept(self) -> str:
        """The public condition, and that a row is in a cell of enough people."""
        cells = [
            f"{self.label(one)} IN ({self._cells(one, self.label(one), f'>= {self._smallest}')})"
            for one in self.divided * bool(self._smallest)
        ]
        return f"({self.where}) AND ({' OR '.join(cells)})" if cells else self.where

    def _brought_together(self, columns: list[str], fence: str) -> str:
        """Joined rows as one for each sensitive row and public group.

        Else a join that repeats somebody would repeat the work on their values, and its time would tell of them alone.
        """
        hidden = self._statistic.hidden
        rows = [f"{printed(ColumnName(one, name))}" for one in sorted(self._merged) for name in ("tableoid", "ctid")]
        inner = [f"{sql} AS i{place}" for place, sql in enumerate(rows)]
        inner += [f"{sql} AS g{place}" for place, sql in enumerate(self._groups) if place not in hidden]
        inner += [f"{sql} AS {name}" for sql, name in self._sums.items() if name.startswith("b")]
        inner.append(f"{self.person} AS p")
        grouped = ", ".join(str(place) for place in range(1, len(inner) + 1))
        inner += ["count(*) AS k"]
        inner += [f"sum({sql}) AS {name}" for sql, name in self._sums.items() if name.startswith("s")]
        source = f"(SELECT {', '.join(inner)} FROM {self.relation} WHERE {self._kept} GROUP BY {grouped}) AS k"
        parts = {one.alias: one for one in parts_of(self._statistic.select.source)}
        for place, alias in enumerate(sorted(self._merged)):
            same = (
                f"{printed(ColumnName(alias, name))} = k.i{2 * place + at}"
                for at, name in enumerate(("tableoid", "ctid"))
            )
            kind = "LEFT" if self._missing[alias] else "INNER"
            source += f" {kind} JOIN {printed(parts[alias])} ON {' AND '.join(same)}"
        outer = [f"{self._groups[place]} AS g{place}" for place in hidden]
        outer += [f"k.g{place}" for place in range(len(self._groups)) if place not in hidden]
        outer += [f"k.{name}" for name in ("p", "k", *self._sums.values())]
        return f"(SELECT {', '.join([*columns, *outer])} FROM {source}{fence}) AS r"

    def _summed(self, letter: str, sql: str) -> str:
        """A public number of the rows that are brought together."""
        if sql not in self._sums:
            self._sums[sql] = f"{letter}{len(self._sums)}_"
        return self._sums[sql]

    def _rows(self, filtered: str) -> str:
        """How many rows there are."""
        return f"COALESCE(CAST(sum(k){filtered} AS int8), 0)" if self._merged else f"count(*){filtered}"

    def _added(self, quantity: Quantity) -> str:
        """What a row adds to a quantity."""
        first = quantity.measures[:1]  # the second of a sum or square only says whose rows count
        factors = {"sum": first, "square": first * 2}.get(quantity.tag, quantity.measures)
        if not self._merged:
            return " * ".join(map(self._measure, factors))
        public = " * ".join(self._value(one) for one in factors if not one.sensitive)
        secret = [self._measure(one) for one in factors if one.sensitive]
        return " * ".join([*secret, self._summed("s", public) if public else "k"])

    def _sets(self, *, public: bool = True) -> list[tuple[int, ...]]:
        """Grouping sets of the part, with their public parts: the people that are asked about."""
        found = [self._statistic.sets[number] for number in self._part.sets]
        if public:
            found += [tuple(one for one in some if one not in self._statistic.hidden) for some in found]
        return list(dict.fromkeys(tuple(sorted(one)) for one in found))

    def _grouped(self, sets: list[tuple[int, ...]], *more: str) -> str:
        listed = [", ".join([*more, *(f"g{place}" for place in some)]) for some in sets]
        if len(listed) == 1:  # the server can share the work out, as it cannot with several sets
            return f" GROUP BY {listed[0]}" if listed[0] else ""
        return f" GROUP BY GROUPING SETS ({', '.join(f'({one})' for one in listed)})"

    def _present(self, place: int) -> bool:
        """Whether a group is in any of the sets that are counted together; the server does not know the others."""
        return any(place in some for some in self._sets())

    @property
    def _mask(self) -> str:
        """What GROUPING of all groups says."""
        last = len(self._groups) - 1
        if len(self._sets()) == 1:
            return str(sum(1 << (last - place) for place in range(last + 1) if not self._present(place)))
        bits = [
            f"(GROUPING(g{place}) << {last - place})" if self._present(place) else str(1 << (last - place))
            for place in range(last + 1)
        ]
        return " + ".join(bits) or "0"

    @property
    def _labels(self) -> list[str]:
        return [
            f"CAST(g{place} AS text)" if self._present(place) else "CAST(NULL AS text)"
            for place in range(len(self._groups))
        ]

    # Statements -------------------------------------------------------------------------------------------------------

    @property
    def adds_up(self) -> bool:
        """Whether all sets can be worked out from the finest, in which everybody is once."""
        sets = self._sets()
        finest = tuple(sorted({one for some in sets for one in some}))
        counts = all(one.name == "count" and not one.distinct for one in self._question.exact)
        return self._once and len(sets) > 1 and finest in sets and counts

    def moments(self) -> str:
        """Per cell: mask, groups, people, who, and the quantities but for bins; then what is exact, if it fits."""
        plain = [one for one in self._question.quantities if not one.tag.startswith("bin:")]
        summed = {"sum": 1, "square": 1, "product": 2} if self._once else {}
        filters = {place: self._filter(one, summed.get(one.tag, 0)) for place, one in enumerate(plain)}
        sums = ("sum", "square", "product")
        values = {place: self._added(one) if one.tag in sums else "" for place, one in enumerate(plain)}
        exact = [self._exact(one) for one in self._question.exact] if not self._apart else []
        sets = [max(self._sets(), key=len)] if self.adds_up else self._sets()
        source = self._source(sets=len(sets))
        if self._once:
            numbers = [self._one_row(one, filters[place], values[place]) for place, one in enumerate(plain)]
            named = "" if self._named else " FILTER (WHERE p IS NOT NULL)"
            who = f"CAST(pg_catalog.bit_xor({self._hash}){named} AS text)"
            if self.adds_up and self.least:
                groups = [f"g{place}" for place in range(len(self._groups)) if self._present(place)]
                named_numbers = [f"{one} AS n{place}" for place, one in enumerate(numbers)]
                listed = ", ".join(
                    [*groups, "count(p) AS p", f"pg_catalog.bit_xor({self._hash}){named} AS h", *named_numbers]
                )
                totals = [f"COALESCE(sum(n{place}), 0)" for place in range(len(numbers))]
                outputs = [
                    self._mask,
                    *self._labels,
                    "COALESCE(sum(p), 0)",
                    "CAST(pg_catalog.bit_xor(h) AS text)",
                    *totals,
                ]
                source = f"(SELECT {listed} FROM {source}{self._grouped(sets)}) AS finest"
                having = self._having(self._mask, "sum(p)")
                return f"SELECT {', '.join(outputs)} FROM {source}{self._grouped(self._sets())}{having}"
            mask = "0" if self.adds_up else self._mask
            outputs = [mask, *self._labels, "count(p)", who, *numbers, *exact]
            return f"SELECT {', '.join(outputs)} FROM {source}{self._grouped(sets)}{self._having(mask, 'count(p)')}"
        inner, outer = [], []
        for place, one in enumerate(plain):
            where = " AND ".join(filters[place])
            filtered = f" FILTER (WHERE {where})" if where else ""
            inner.append(f"{self._rows(filtered)} AS n{place}")
            if one.tag in ("count", "present"):
                part = f"LEAST(n{place}, {self._most})"
            elif one.tag == "people":
                part = f"LEAST(n{place}, 1)"
            else:
                inner.append(f"sum({values[place]}){filtered} AS s{place}")
                part = f"CASE WHEN n{place} > {self._most} THEN s{place} * {self._most} / n{place} ELSE s{place} END"
            outer.append(f"COALESCE(sum({part}), 0)")
        groups = [f"g{place}" for place in range(len(self._groups)) if self._present(place)]
        inner_sql = (
            f"SELECT {', '.join([f'{self._mask} AS m', *groups, 'p', f'sum(CAST({self._hash} AS numeric)) AS h', *inner])} "
            f"FROM {source} WHERE p IS NOT NULL{self._grouped(sets, 'p') or ' GROUP BY p'}"
        )
        who = f"CAST(pg_catalog.bit_xor(pg_catalog.hashtextextended(CAST(h AS text), {SEED})) AS text)"
        outputs = ["m", *self._labels, "count(p)", who, *outer]
        grouping = f" GROUP BY {', '.join(['m', *groups])}" if groups else " GROUP BY m"
        return f"SELECT {', '.join(outputs)} FROM ({inner_sql}) AS people{grouping}{self._having('m', 'count(p)')}"

    def _having(self, mask: str, people: str) -> str:
        """Leaves out sensitive cells that are never shown: a row of each would take its time."""
        if not self.least:
            return ""
        secret = sum(1 << (len(self._groups) - 1 - place) for place in self._statistic.hidden)
        return f" HAVING {people} >= {self.least} OR (({mask}) & {secret}) = {secret}"

    @property
    def _apart(self) -> bool:
        """Whether what is exact is asked for by itself, of all rows."""
        return not self._once or bool(self._smallest and self.divided) or self._sees_order

    @property
    def _sees_order(self) -> bool:
        """Whether anything exact depends on the order of rows."""
        return not all(is_total(one, self._resolved, settled=True) for one in self._question.exact)

    def exact(self) -> str:
        """What is exact, where it is asked for by itself; empty without any."""
        if not self._apart or not self._question.exact:
            return ""
        outputs = [self._exact(one) for one in self._question.exact]
        self._merged, self._smallest = set(), 0
        source = self._source(ordered=self._sees_order)
        sets = self._sets(public=False)
        return f"SELECT {', '.join([self._mask, *self._labels, *outputs])} FROM {source}{self._grouped(sets)}"

    def histogram(self, quantity: Quantity, bins: int) -> str:
        """Per cell and bin: how many."""
        measure = quantity.measures[0]
        value = self._bin(measure, bins)
        place = self._summed("b", value) if self._merged and not measure.sensitive else self._column("b", value)
        where = " AND ".join(self._filter(quantity))
        filtered = f" FILTER (WHERE {where})" if where else ""  # in WHERE, other work would wait for it
        sets = self._sets(public=False)
        source = self._source(sets=len(sets))
        groups = [f"g{number}" for number in range(len(self._groups)) if self._present(number)]
        if self._once:
            cell = ", ".join([self._mask, *groups])
            people = [f"sum(count(p)) OVER (PARTITION BY {cell}) AS people"] * bool(self.least)
            outputs = [self._mask, *self._labels, place, f"count(p){filtered}", *people]
            sql = f"SELECT {', '.join(outputs)} FROM {source}{self._grouped(sets, place) or f' GROUP BY {place}'}"
            return self._large(sql)
        counted = f"LEAST({self._rows(filtered)}, {self._most}) AS n"
        first = f"row_number() OVER (PARTITION BY {', '.join([self._mask, *groups, 'p'])})"
        once = [f"CASE {first} WHEN 1 THEN 1 ELSE 0 END AS o"] * bool(self.least)
        rows = ", ".join([f"{self._mask} AS m", *groups, f"{place} AS b", counted, *once])
        inner = f"SELECT {rows} FROM {source} WHERE p IS NOT NULL{self._grouped(sets, place, 'p')}"
        people = [f"sum(sum(o)) OVER (PARTITION BY {', '.join(['m', *groups])}) AS people"] * bool(self.least)
        outputs = ["m", *self._labels, "b", "COALESCE(sum(n), 0)", *people]
        return self._large(f"SELECT {', '.join(outputs)} FROM ({inner}) AS x GROUP BY {', '.join(['m', *groups, 'b'])}")

    def _large(self, histogram: str) -> str:
        """Bins of the cells that have enough people."""
        if not self.least:
            return histogram
        names = ", ".join(["m", *(f"l{place}" for place in range(len(self._groups))), "b", "n"])
        return f"SELECT {names} FROM ({histogram}) AS c({names}, people) WHERE people >= {self.least}"

    def _one_row(self, quantity: Quantity, filters: list[str], added: str) -> str:
        filtered = f" FILTER (WHERE {' AND '.join(filters)})" if filters else ""
        if quantity.tag in ("count", "present", "people"):
            return f"count(p){filtered}"
        return f"COALESCE(sum({added}){filtered}, 0)"

    def _exact(self, node: Aggregate) -> str:
        """An aggregate of public columns over the rows."""

        def lifted(one: Any) -> Any:
            return one if one is None or isinstance(one, Literal) else ColumnName("r", self._column("x", printed(one)))

        def over_rows(one: Any) -> Any:
            if not isinstance(one, Aggregate):
                return rebuilt(one, over_rows)
            within = tuple(replace(it, inner=lifted(it.inner)) for it in one.within)
            return replace(one, args=tuple(map(lifted, one.args)), where=lifted(one.where), within=within)

        return f"CAST({printed(over_rows(settled_aggregates(node, self._resolved)))} AS text)"

    def extremes(self, measure: Measure) -> str:
        """The bounds of a public column, from the data."""
        value = f"CAST({printed(measure.inner)} AS float8)"
        return f"SELECT min({value}), max({value}) FROM {self.relation} WHERE {self.where}"
