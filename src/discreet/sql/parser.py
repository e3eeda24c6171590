"""Parser of queries of the fragment: SELECT, VALUES, WITH, UNION and their parts.

The server never sees what the client wrote, so this parser need not read every statement as the server would. It must
read none otherwise than written: whatever is not named here is refused, and tests compare what is printed from the tree
with the text on a real server.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.sql import allow_lists as allowed
from discreet.sql.expressions import DEPTH
from discreet.sql.fragment import (
    DerivedTable,
    Elements,
    Join,
    Literal,
    NotCovered,
    Output,
    Select,
    Series,
    SetQuery,
    Star,
    Table,
    ValuesList,
    Window,
    transformed,
    walk,
)
from discreet.sql.lexer import Token
from discreet.sql.operands import OperandParser
from discreet.sql.output_names import output_name

LONGEST = 64_000
"""Characters of a statement that are read."""
REPEATED = 5_000
"""So many parts may be put in place of the names of common table expressions."""
SETS = 32
"""Grouping sets of one query."""


def parse_query(tokens: list[Token]) -> Any:
    """The tree of one statement; NotCovered if it is outside the fragment.

    >>> from discreet.sql.lexer import lexed
    >>> parse_query(lexed("SELECT a FROM t")).source
    Table(schema='', name='t', alias='t', columns=())
    """
    if sum(len(token.text) + 1 for token in tokens) > LONGEST:
        raise NotCovered(f"a statement of more than {LONGEST:,} characters")
    parser = QueryParser(tokens)
    found = parser.query()
    parser.finish()
    return found


class QueryParser(OperandParser):
    """Reads queries; names of common table expressions are replaced by what they stand for."""

    def __init__(self, tokens: list[Token]) -> None:
        super().__init__(tokens)
        self._named: list[dict[str, tuple[Any, tuple[str, ...], int]]] = []
        self._repeated = 0
        self._windows: list[list[tuple[str, Window]]] = []

    def finish(self) -> None:
        """Nothing may be left."""
        if self._at < len(self._tokens):
            raise self._unexpected()

    def query(self) -> Any:
        """A query with its common table expressions."""
        self._depth += 1
        if self._depth > DEPTH // 2:
            raise NotCovered("queries nested too deep")
        self._named.append({})
        if self._took("with"):
            self._common()
        found = self._combined(0)
        found = self._ordered(found)
        self._named.pop()
        self._depth -= 1
        return found

    def _common(self) -> None:
        if self._took("recursive"):
            raise NotCovered("WITH RECURSIVE")
        while True:
            name = self._name()
            columns = self._names() if self._token.text == "(" else ()
            self._expect_words("as")
            if not self._took("materialized"):
                self._took("not", "materialized")
            self._expect("(")
            if self._word(self._token) not in ("select", "with", "values", "table") and self._token.text != "(":
                raise NotCovered(f"{self._word(self._token).upper()} in a common table expression")
            query = self.query()
            self._expect(")")
            self._named[-1][name] = (query, columns, sum(1 for _ in walk(query)))
            if not self._mark(","):
                return

    def _names(self) -> tuple[str, ...]:
        self._expect("(")
        found = [self._name()]
        while self._mark(","):
            found.append(self._name())
        self._expect(")")
        return tuple(found)

    def _combined(self, rank: int) -> Any:
        """UNION and EXCEPT bind alike, INTERSECT more tightly."""
        left = self._single() if rank else self._combined(1)
        kinds = ("intersect",) if rank else ("union", "except")
        while self._word(self._token) in kinds:
            kind = self._word(self._next())
            every = self._took("all")
            if not every:
                self._took("distinct")
            left = SetQuery(kind, every, left, self._single() if rank else self._combined(1))
        return left

    def _single(self) -> Any:
        if self._mark("("):
            found = self.query()
            self._expect(")")
            return found
        if self._took("values"):
            rows = []
            while True:
                self._expect("(")
                rows.append(Elements(self._list()))
                self._expect(")")
                if not self._mark(","):
                    return ValuesList(tuple(rows))
        if self._took("table"):
            return Select((Star(),), self._relation())
        self._expect_words("select")
        return self._select()

    def _ordered(self, found: Any) -> Any:
        order = self._order_by() if self._is("order", "by") else ()
        limit = offset = None
        while True:
            if self._took("limit"):
                limit = Literal("null") if self._took("all") else self.expression()
            elif self._took("offset"):
                offset = self.expression()
                _ = self._took("rows") or self._took("row")
            elif self._took("fetch"):
                if not self._took("first"):
                    self._expect_words("next")
                limit = Literal("number", "1") if self._is("row") or self._is("rows") else self.expression()
                if not self._took("rows"):
                    self._expect_words("row")
                self._expect_words("only")
            else:
                break
        if self._is("for"):
            raise NotCovered("locks (FOR UPDATE, FOR SHARE)", "leave them out")
        if not (order or limit is not None or offset is not None):
            return found
        if found.order or found.limit is not None or found.offset is not None:
            # (SELECT ... LIMIT 5) ORDER BY ...: what is in parentheses comes first
            found = Select((Star(),), DerivedTable(found, "inner"))
        return replace(found, order=order, limit=limit, offset=offset)

    def _select(self) -> Select:
        distinct = self._took("distinct")
        if distinct and self._is("on"):
            raise NotCovered("DISTINCT ON", "use GROUP BY, or a window function")
        if not distinct:
            self._took("all")
        self._windows.append([])
        items = [] if self._is("from") else self._items()
        if self._is("into"):
            raise NotCovered("SELECT INTO")
        source = self._from() if self._took("from") else None
        where = self.expression() if self._took("where") else None
        groups = self._group_by() if self._took("group", "by") else None
        having = self.expression() if self._took("having") else None
        found = Select(tuple(items), source, where, groups, having, distinct)
        if self._took("window"):
            found = self._with_windows(found)
        self._windows.pop()
        return found

    def _named_window(self, inner: Any) -> Window:
        """A window by its name, which is defined behind HAVING: put in place there."""
        return Window(inner, (), (), f"={self._name()}")

    def _with_windows(self, found: Select) -> Select:
        defined: dict[str, Window] = {}
        while True:
            name = self._name()
            self._expect_words("as")
            self._expect("(")
            defined[name] = self._window(None)
            self._expect(")")
            if not self._mark(","):
                break

        def placed(node: Any) -> Any:
            if isinstance(node, Window) and node.frame.startswith("="):
                window = defined.get(node.frame[1:])
                if window is None:
                    raise NotCovered(f"the window {node.frame[1:]}, which is not defined")
                return replace(window, inner=node.inner)
            return node

        return replace(found, items=transformed(found.items, placed))

    def _items(self) -> list[Any]:
        found: list[Any] = []
        while True:
            if self._mark("*"):
                found.append(Star())
            elif self._behind(1).text == "." and self._behind(2).text == "*":
                table = self._name()
                self._at += 2
                found.append(Star(table))
            else:
                inner = self.expression()
                if self._took("as"):
                    name = self._name(reserved=frozenset())
                elif self._token.kind == "quoted" or self._word(self._token) not in ("", *allowed.NOT_BEHIND_FROM):
                    name = self._name()
                else:
                    name = output_name(inner)
                found.append(Output(inner, name))
            if not self._mark(","):
                return found

    # FROM -------------------------------------------------------------------------------------------------------------

    def _from(self) -> Any:
        found = self._joined()
        while self._mark(","):
            found = Join("cross", found, self._joined())
        return found

    def _joined(self) -> Any:
        left = self._part()
        while True:
            natural = self._took("natural")
            if self._took("cross", "join"):
                left = Join("cross", left, self._part())
                continue
            kind = ""
            if self._is("join") or self._is("inner", "join"):
                self._took("inner")
                kind = "inner"
            elif self._word(self._token) in ("left", "right", "full"):
                kind = self._word(self._next())
                self._took("outer")
            if not kind:
                if natural:
                    raise self._unexpected()
                return left
            self._expect_words("join")
            right = self._part()
            if natural:
                left = Join(kind, left, right, natural=True)
            elif self._took("using"):
                left = Join(kind, left, right, using=self._names())
                if self._is("as"):
                    raise NotCovered("USING (...) AS")
            else:
                self._expect_words("on")
                left = Join(kind, left, right, self.expression())

    def _part(self) -> Any:
        self._depth += 1
        if self._depth > DEPTH:
            raise NotCovered("joins nested too deep")
        try:
            if self._is("lateral"):
                raise NotCovered("LATERAL", "join a sub-select that is grouped")
            if self._token.text == "(" and self._token.kind == "mark":
                return self._in_parentheses()
            return self._relation()
        finally:
            self._depth -= 1

    def _in_parentheses(self) -> Any:
        depth = 0
        while self._behind(depth).text == "(":
            depth += 1
        if self._word(self._behind(depth)) in ("select", "with", "values"):
            began = self._at
            self._expect("(")
            try:
                query = self.query()
                self._expect(")")
                alias, columns = self._alias()
                return DerivedTable(query, alias or "unnamed", columns)
            except NotCovered:
                if depth == 1:
                    raise
                self._at = began
        self._expect("(")
        found = self._joined()
        self._expect(")")
        if self._is("as") or self._token.kind == "quoted":
            raise NotCovered("an alias of a whole join")
        return found

    def _alias(self) -> tuple[str, tuple[str, ...]]:
        if (
            self._took("as")
            or self._token.kind == "quoted"
            or self._word(self._token) not in ("", *allowed.NOT_BEHIND_FROM)
        ):
            alias = self._name()
        else:
            return "", ()
        return alias, self._names() if self._token.text == "(" else ()

    def _relation(self) -> Any:
        if self._is("only"):
            raise NotCovered("ONLY")
        if self._is("rows", "from"):
            raise NotCovered("ROWS FROM")
        first = self._name(reserved=allowed.NOT_BEHIND_FROM)
        schema, name = "", first
        while self._token.text == "." and self._token.kind == "mark":
            if schema:
                raise NotCovered("a table by the name of its database", "write schema.table")
            self._at += 1
            schema, name = first, self._name(reserved=frozenset())
        if self._token.text == "(" and self._token.kind == "mark":
            return self._series(name if not schema else f"{schema}.{name}")
        self._mark("*")
        alias, columns = self._alias()
        if self._is("tablesample"):
            raise NotCovered("TABLESAMPLE")
        if not schema:
            for names in reversed(self._named):
                if name in names:
                    query, given, parts = names[name]
                    self._repeated += parts  # else two names for the one before double the statement each time
                    if self._repeated > REPEATED:
                        raise NotCovered("common table expressions that name each other too often")
                    return DerivedTable(query, alias or name, columns or given)
        return Table(schema, name, alias or name, columns)

    def _series(self, name: str) -> Series:
        if name != "generate_series":
            raise NotCovered(f"the function {name}() in FROM")
        self._expect("(")
        args = self._list()
        self._expect(")")
        if self._is("with"):
            raise NotCovered("WITH ORDINALITY")
        alias, columns = self._alias()
        if not 2 <= len(args) <= 3 or len(columns) > 1:
            raise NotCovered("generate_series() of this form")
        alias = alias or "generate_series"
        return Series(args, alias, columns[0] if columns else alias)

    # GROUP BY ---------------------------------------------------------------------------------------------------------

    def _group_by(self) -> tuple[tuple[Any, ...], ...]:
        """Grouping sets: the product of what is listed, each taken apart."""
        if self._is("distinct"):
            raise NotCovered("GROUP BY DISTINCT")
        self._took("all")
        found: list[tuple[Any, ...]] = [()]
        while True:
            sets = self._grouping()
            found = [one + other for one in found for other in sets]
            if len(found) > SETS:
                raise NotCovered(f"more than {SETS} grouping sets")
            if not self._mark(","):
                break
        return tuple(tuple(dict.fromkeys(one)) for one in found)

    def _grouping(self) -> list[tuple[Any, ...]]:
        if self._is("grouping", "sets"):
            self._at += 2
            self._expect("(")
            sets: list[tuple[Any, ...]] = []
            while True:
                sets += self._grouping()
                if not self._mark(","):
                    break
            self._expect(")")
            return sets
        kind = self._word(self._token)
        if kind in ("rollup", "cube") and self._behind().text == "(":
            self._at += 2
            parts = []
            while True:
                parts.append(self._group_part())
                if not self._mark(","):
                    break
            self._expect(")")
            if kind == "rollup":
                return [sum(parts[:end], ()) for end in range(len(parts), -1, -1)]
            if len(parts) > 5:
                raise NotCovered(f"more than {SETS} grouping sets")
            places = range(len(parts))
            masks = sorted(range(2 ** len(parts)), key=lambda mask: -mask)
            return [
                sum((parts[place] for place in places if mask >> (len(parts) - 1 - place) & 1), ()) for mask in masks
            ]
        return [self._group_part()]

    def _group_part(self) -> tuple[Any, ...]:
        if self._token.text == "(" and self._token.kind == "mark":
            began = self._at
            self._at += 1
            if self._mark(")"):
                return ()
            try:
                found = self._list()
                self._expect(")")
                if len(found) > 1 or self._token.text in (",", ")") or self._token.kind in ("end", "word"):
                    return found
            except NotCovered:
                pass
            self._at = began
        return (self.expression(),)
