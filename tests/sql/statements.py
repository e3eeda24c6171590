"""Statements of the fragment at random, over the tables of tests/sql/test_printer.py."""

from __future__ import annotations

import random

SCHEMA = """
DROP SCHEMA IF EXISTS printed CASCADE; CREATE SCHEMA printed;
CREATE TABLE printed.t (a int, b text, c numeric, d date, e timestamp, f float8, g bool);
INSERT INTO printed.t SELECT n, CASE WHEN n % 7 = 0 THEN NULL ELSE 'b' || n % 5 END, n / 4.0, date '2024-01-31' + n,
  timestamp '2024-01-01 10:00' + n * interval '7 hours', n * 1.5, n % 3 = 0 FROM generate_series(1, 40) n;
CREATE TABLE printed.u (a int, name text, "Odd name" int);
INSERT INTO printed.u SELECT n * 2, 'u' || n, n % 4 FROM generate_series(1, 15) n;
"""
NUMBERS = ("a", "c", "f", "1", "2.5", "7", "1e2", ".5")
TEXTS = ("b", "'x'", "'it''s'", "E'a\\\\b'", "$$q$$", "''")
DATES = ("d", "date '2024-02-29'", "e", "timestamp '2024-03-01 12:00'")


class Statements:
    """Draws one after the other."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def _of(self, *options: str) -> str:
        return self._chance.choice(options)

    def number(self, depth: int = 2) -> str:
        if depth <= 0:
            return self._of(*NUMBERS)
        one, two = self.number(depth - 1), self.number(depth - 1)
        return self._of(
            one,
            f"{one} {self._of('+', '-', '*')} {two}",
            f"({one} - {two}) * 2 - 3 - 4",
            f"-{one}",
            f"- {one} ^ 2 / 7",
            f"abs({one})",
            f"round(({one})::numeric, 1)",
            f"coalesce({one}, {two})",
            f"nullif({one}, {two})",
            f"greatest({one}, {two}, 3)",
            f"CASE WHEN {self.condition(depth - 1)} THEN {one} ELSE {two} END",
            f"extract({self._of('year', 'month', 'day', 'dow')} FROM {self._of(*DATES)})",
            f"length({self.text(depth - 1)})",
            f"CAST({one} AS {self._of('numeric', 'float8', 'double precision', 'numeric(12, 3)')})",
            "a % 4 * 3",
            "7 / 2",
            "position('b' IN b)",
        )

    def text(self, depth: int = 2) -> str:
        if depth <= 0:
            return self._of(*TEXTS)
        one = self.text(depth - 1)
        return self._of(
            one,
            f"upper({one})",
            f"{one} || {self.text(depth - 1)}",
            f"substring({one} FROM 1 FOR 2)",
            f"substr({one}, 2)",
            f"trim(both ' ' FROM {one})",
            f"({self.number(depth - 1)})::text",
            f"to_char({self._of(*DATES)}, 'YYYY-MM')",
            f"replace({one}, 'b', 'q')",
            f"CASE a WHEN 1 THEN {one} WHEN 2 THEN 'two' END",
            f"left({one}, 1)",
        )

    def condition(self, depth: int = 2) -> str:
        if depth <= 0:
            return self._of("a > 3", "b = 'b1'", "g", "d < date '2024-02-10'", "b IS NULL", "c <= 2.5")
        one, two = self.condition(depth - 1), self.condition(depth - 1)
        return self._of(
            one,
            f"{one} AND {two}",
            f"{one} OR {two} AND {one}",
            f"NOT {one}",
            f"NOT ({one} OR {two})",
            f"({one}) IS {self._of('', 'NOT ')}{self._of('TRUE', 'FALSE', 'UNKNOWN', 'NULL')}",
            f"a {self._of('', 'NOT ')}IN (1, 2, 3)",
            f"b {self._of('LIKE', 'NOT LIKE', 'ILIKE', '~', '!~')} {self._of(chr(39) + 'B%' + chr(39), chr(39) + 'b[12]' + chr(39))}",
            "a BETWEEN 3 AND 2 + 9 AND g",
            "a NOT BETWEEN 3 AND 9",
            f"{self.number(depth - 1)} {self._of('=', '<>', '!=', '<', '>=')} {self.number(depth - 1)}",
            "b IS NOT DISTINCT FROM 'b1'",
            "a = ANY (ARRAY[1, 2, 30])",
            "EXISTS (SELECT 1 FROM printed.u WHERE u.a = t.a)",
            "a IN (SELECT a FROM printed.u)",
            "a > (SELECT avg(a) FROM printed.u)",
            "d >= timestamp '2024-02-01' - interval '3 days'",
        )

    def statement(self) -> str:
        return self._chance.choice((self.rows, self.rows, self.groups, self.joins, self.windows, self.unions))()

    def _any(self) -> str:
        return self._chance.choice((self.number, self.text, self.condition))()

    def rows(self) -> str:
        items = ", ".join(self._any() + self._of("", " AS x", ' AS "A b"', " named") for _ in range(3))
        items = self._of(items, "*", f"t.*, {self._any()}")
        distinct = self._of("", "", "DISTINCT ")
        where = self._of("", f" WHERE {self.condition()}")
        limit = (
            "" if distinct else self._of("", " ORDER BY a, b LIMIT 7", " ORDER BY c DESC NULLS LAST, a OFFSET 3 ROWS")
        )
        return f"SELECT {distinct}{items} FROM printed.t{where}{limit}"

    def groups(self) -> str:
        group = self._of("g", "b", "a % 3", "extract(month FROM d)", "upper(b)")
        kind = self._of("{}", "ROLLUP ({}, g)", "CUBE ({}, g)", "GROUPING SETS (({}), ())", "({}), g").format(group)
        aggregates = ", ".join(
            self._of(
                "count(*)",
                "sum(a)",
                "round(avg(c), 2)",
                "min(d)",
                f"count(*) FILTER (WHERE {self.condition(1)})",
                "count(DISTINCT a % 5)",
                "percentile_cont(0.5) WITHIN GROUP (ORDER BY a)",
                "stddev(a)",
                "sum(a) * 100.0 / sum(sum(a)) OVER ()",
                "bool_or(g)",
                "max(length(b))",
            )
            for _ in range(2)
        )
        having = self._of("", " HAVING count(*) > 1")
        return f"SELECT {group}, {aggregates} FROM printed.t GROUP BY {kind}{having}"

    def joins(self) -> str:
        kind = self._of("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "INNER JOIN", "LEFT OUTER JOIN")
        on = self._of("USING (a)", "ON t.a = u.a", "ON u.a = t.a AND u.name <> 'u3'")
        items = self._of("*", "t.b, u.name", 'u."Odd name", t.*', "count(*), max(u.name)")
        derived = self._of("printed.u", "printed.u AS u", "(SELECT * FROM printed.u WHERE a < 20) u")
        return f"SELECT {items} FROM printed.t {kind} {derived} {on}"

    def windows(self) -> str:
        frame = self._of("", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", " RANGE UNBOUNDED PRECEDING")
        over = f"(PARTITION BY a % 3 ORDER BY a{frame})"
        one = self._of("rank()", "row_number()", "sum(a)", "lag(a, 1, 0)", "ntile(3)", "first_value(b)", "avg(c)")
        query = f"SELECT a, {one} OVER {self._of(over, 'w')} FROM printed.t WINDOW w AS {over}"
        return self._of(query, f"WITH q AS ({query}) SELECT count(*), max(a) FROM q WHERE a < 30")

    def unions(self) -> str:
        kind = self._of("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "UNION ALL SELECT 3 INTERSECT")
        return (
            f"SELECT a FROM printed.t WHERE {self.condition(1)} {kind} SELECT a FROM printed.u ORDER BY 1 DESC LIMIT 9"
        )
