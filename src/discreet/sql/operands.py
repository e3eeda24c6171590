"""Parser of operands: constants, columns, types, CASE, calls of functions, aggregates and windows."""

from __future__ import annotations

import re
from typing import Any

from discreet.sql import allow_lists as allowed
from discreet.sql.expressions import RANGE, ExpressionParser
from discreet.sql.fragment import (
    Aggregate,
    Case,
    Cast,
    ColumnName,
    Elements,
    FunctionCall,
    Literal,
    Nested,
    NotCovered,
    Operator,
    OrderBy,
    Parameter,
    When,
    Window,
)

_WHOLE = re.compile(r"[0-9]+")
_FRAME_ENDS = {
    ("unbounded", "preceding"): "UNBOUNDED PRECEDING",
    ("unbounded", "following"): "UNBOUNDED FOLLOWING",
    ("current", "row"): "CURRENT ROW",
}


class OperandParser(ExpressionParser):
    """Reads what stands between operators."""

    def _primary(self) -> Any:
        token = self._token
        if token.kind == "string":
            self._at += 1
            return Literal("string", token.text[1:-1].replace("''", "'"))
        if token.kind == "number":
            self._at += 1
            if token.text[:2].lower() == "0x":
                raise NotCovered("a number in hexadecimal digits", "write it in decimal digits")
            return Literal("number", token.text)
        if token.kind == "parameter":
            self._at += 1
            return Parameter(int(token.text[1:]))
        if token.text == "(" and token.kind == "mark":
            return self._parenthesis()
        if token.kind == "word" and (self._behind().text != "(" or token.name in ("case", "array")):
            found = self._keyword(token.name)
            if found is not None:
                return found
        if token.kind == "word" and self._behind().text == "(" and self._behind().kind == "mark":
            return self._called(token.name)
        return self._column()

    def _parenthesis(self) -> Any:
        self._expect("(")
        if self._word(self._token) in ("select", "with", "values"):
            query = self.query()
            self._expect(")")
            return Nested("scalar", query)
        inner = self.expression()
        if self._mark(","):
            raise NotCovered("a row of several values", "compare the columns one by one")
        self._expect(")")
        return inner

    def _keyword(self, word: str) -> Any:
        if word in ("true", "false"):
            self._at += 1
            return Literal("boolean", word)
        if word == "null":
            self._at += 1
            return Literal("null")
        if word == "case":
            return self._case()
        if word in ("current_date", "current_timestamp", "localtimestamp"):
            self._at += 1
            return FunctionCall(word, ())
        if word in ("current_user", "session_user", "user", "current_role", "current_catalog", "current_schema"):
            raise NotCovered(word.upper())
        if word == "array":
            self._at += 1
            if not self._mark("["):
                raise NotCovered("ARRAY (SELECT ...)")
            values = self._list()
            self._expect("]")
            return Elements(values)
        if self._behind().kind == "string" or self._is_typed_literal():
            return self._typed(word)
        return None

    def _is_typed_literal(self) -> bool:
        words = [self._word(self._behind(place)) for place in range(4)]
        return words[0] in ("timestamp", "time") and words[1] in ("with", "without") and words[2:4] == ["time", "zone"]

    def _typed(self, word: str) -> Any:
        if word not in allowed.TYPES and word != "double":
            raise NotCovered(f"a constant of type {word}")
        kind = self._type()
        token = self._next()
        if token.kind != "string":
            raise self._unexpected()
        value = Literal("string", token.text[1:-1].replace("''", "'"))
        unit = self._word(self._token)
        if kind == "interval" and unit in ("year", "month", "day", "hour", "minute", "second"):
            self._at += 1
            value = Literal("string", f"{value.text} {unit}")
        return Cast(value, kind)

    def _column(self) -> Any:
        first = self._name()
        if self._token.text != ".":
            return ColumnName("", first)
        self._at += 1
        if self._token.text == "*":
            raise NotCovered("a whole row as a value", "name its columns")
        second = self._name(reserved=frozenset())
        if self._token.text == "(":
            raise NotCovered(f"the function {first}.{second}", f"write {second}(...)" if first == "pg_catalog" else "")
        if self._token.text == "." and self._token.kind == "mark":
            self._at += 1
            third = self._name(reserved=frozenset())
            return ColumnName(f"{first}.{second}", third)
        return ColumnName(first, second)

    def _case(self) -> Any:
        self._expect_words("case")
        operand = None if self._is("when") else self.expression()
        whens = []
        while self._took("when"):
            condition = self.expression()
            self._expect_words("then")
            value = self.expression()
            whens.append(When(condition if operand is None else Operator("=", (operand, condition)), value))
        otherwise = self.expression() if self._took("else") else None
        self._expect_words("end")
        if not whens:
            raise self._unexpected()
        return Case(tuple(whens), otherwise)

    def _type(self) -> str:
        word = self._word(self._next())
        if word == "pg_catalog" and self._mark("."):
            word = self._word(self._next())
        if word == "double" and self._took("precision"):
            word = "double precision"
        elif word == "character" and self._took("varying"):
            word = "character varying"
        name = allowed.TYPES.get(word)
        if name is None:
            raise NotCovered(f"the type {word}" if word else "a type of this form")
        sizes = []
        if self._token.text == "(" and self._token.kind == "mark":
            self._at += 1
            while True:
                size = self._next()
                if size.kind != "number" or not _WHOLE.fullmatch(size.text):
                    raise NotCovered(f"a size of the type {word}")
                sizes.append(size.text)
                if not self._mark(","):
                    break
            self._expect(")")
        if len(sizes) > allowed.SIZED.get(name, 0):
            raise NotCovered(f"a size of the type {word}")
        if name in ("timestamp", "time") and self._took("with", "time", "zone"):
            if name == "time":
                raise NotCovered("the type time with time zone")
            name = "timestamptz"
        elif name in ("timestamp", "time"):
            self._took("without", "time", "zone")
        if word in ("char", "character") and not sizes:
            sizes = ["1"]
        if self._token.text == "[":
            self._at += 1
            self._expect("]")
            return f"{name}[]"
        return f"{name}({', '.join(sizes)})" if sizes else name

    # Calls ------------------------------------------------------------------------------------------------------------

    def _called(self, name: str) -> Any:
        self._at += 2
        if name == "cast":
            inner = self.expression()
            self._expect_words("as")
            kind = self._type()
            self._expect(")")
            return Cast(inner, kind)
        if name == "exists":
            query = self.query()
            self._expect(")")
            return Nested("exists", query)
        if name in ("extract", "position", "trim", "substring"):
            special = self._spelt_in_words(name)
            if special is not None:
                return special
        if name == "grouping":
            grouped = self._list()
            self._expect(")")
            return FunctionCall("grouping", grouped)
        distinct = self._took("distinct")
        if not distinct:
            self._took("all")
        args: tuple[Any, ...] = ()
        if not self._mark(")"):
            if self._mark("*"):
                if name != "count":
                    raise self._unexpected()
            else:
                args = self._list()
            if self._is("order", "by"):
                raise NotCovered(f"ORDER BY inside {name}()")
            self._expect(")")
        return self._function(name, args, distinct)

    def _function(self, name: str, args: tuple[Any, ...], distinct: bool) -> Any:
        if name in allowed.CLOCKS and not args:
            return FunctionCall(name, ())
        if name in allowed.AGGREGATES or name in allowed.ORDERED:
            return self._aggregate(name, args, distinct)
        if name in allowed.WINDOWS:
            fewest, most = allowed.WINDOWS[name]
            inner: Any = FunctionCall(name, args)
            if not fewest <= len(args) <= most or distinct:
                raise NotCovered(f"{name}() with {len(args)} arguments")
            if not self._is("over"):
                raise NotCovered(f"{name}() without OVER")
            return self._over(inner)
        counts = allowed.FUNCTIONS.get(name) or allowed.SPECIAL.get(name)
        if counts is None:
            raise NotCovered(f"the function {name}()")
        if not counts[0] <= len(args) <= counts[1] or distinct:
            raise NotCovered(f"{name}() with {len(args)} arguments")
        return FunctionCall(name, args)

    def _aggregate(self, name: str, args: tuple[Any, ...], distinct: bool) -> Any:
        within: tuple[OrderBy, ...] = ()
        if name in allowed.ORDERED:
            if len(args) != allowed.ORDERED[name] or distinct:
                raise NotCovered(f"{name}() with {len(args)} arguments")
            self._expect_words("within", "group")
            self._expect("(")
            within = self._order_by()
            self._expect(")")
            if len(within) != 1:
                raise NotCovered(f"{name}() without WITHIN GROUP (ORDER BY one expression)")
        else:
            fewest, most = allowed.AGGREGATES[name]
            if not fewest <= len(args) <= most or (distinct and not args):
                raise NotCovered(f"{name}() with {len(args)} arguments")
        where = None
        if self._took("filter"):
            self._expect("(")
            self._expect_words("where")
            where = self.expression()
            self._expect(")")
        found = Aggregate(name, args, distinct, where, within)
        return self._over(found) if self._is("over") else found

    def _over(self, inner: Any) -> Window:
        self._expect_words("over")
        if not self._mark("("):
            return self._named_window(inner)
        found = self._window(inner)
        self._expect(")")
        return found

    def _named_window(self, inner: Any) -> Window:
        raise NotCovered("a window by its name", "write OVER (...) at each place")

    def _window(self, inner: Any) -> Window:
        partition = ()
        if self._took("partition", "by"):
            partition = self._list()
        order = self._order_by() if self._is("order", "by") else ()
        frame = ""
        if self._word(self._token) in ("rows", "range", "groups"):
            frame = self._word(self._next()).upper()
            if self._took("between"):
                first = self._frame_end()
                self._expect_words("and")
                frame = f"{frame} BETWEEN {first} AND {self._frame_end()}"
            else:
                frame = f"{frame} {self._frame_end()}"
        return Window(inner, partition, order, frame)

    def _frame_end(self) -> str:
        token = self._next()
        if token.kind == "number" and _WHOLE.fullmatch(token.text):
            side = self._word(self._next())
            if side in ("preceding", "following"):
                return f"{token.text} {side.upper()}"
            raise self._unexpected()
        end = _FRAME_ENDS.get((self._word(token), self._word(self._next())))
        if end is None:
            raise NotCovered("a frame of this form")
        return end

    def _order_by(self) -> tuple[OrderBy, ...]:
        self._expect_words("order", "by")
        found = []
        while True:
            inner = self.expression()
            descending = self._took("desc")
            if not descending:
                self._took("asc")
            nulls = ""
            if self._took("nulls"):
                nulls = self._word(self._next())
                if nulls not in ("first", "last"):
                    raise self._unexpected()
            if self._is("using"):
                raise NotCovered("ORDER BY ... USING")
            found.append(OrderBy(inner, descending, nulls))
            if not self._mark(","):
                return tuple(found)

    def _spelt_in_words(self, name: str) -> Any:
        """Functions with words between their arguments; None where they are written with commas."""
        if name == "extract":
            token = self._next()
            field = token.text[1:-1].lower() if token.kind == "string" else token.name
            if field not in allowed.FIELDS:
                raise NotCovered(f"EXTRACT of {field}")
            self._expect_words("from")
            inner = self.expression()
            self._expect(")")
            return FunctionCall("extract", (Literal("string", field), inner))
        if name == "position":
            what = self.expression(RANGE + 1)
            self._expect_words("in")
            where = self.expression(RANGE + 1)
            self._expect(")")
            return FunctionCall("position", (where, what))
        if name == "trim":
            side = self._word(self._token) if self._word(self._token) in ("both", "leading", "trailing") else ""
            self._at += bool(side)
            called = {"leading": "ltrim", "trailing": "rtrim"}.get(side, "btrim")
            letters: tuple[Any, ...] = ()
            if not self._took("from"):
                first = self.expression()
                if self._took("from"):
                    letters = (first,)
                else:
                    more = (self.expression(),) if self._mark(",") else ()
                    self._expect(")")
                    return FunctionCall(called, (first, *more))
            inner = self.expression()
            self._expect(")")
            return FunctionCall(called, (inner, *letters))
        text = self.expression()
        if not self._took("from"):
            if self._is("for"):
                raise NotCovered("substring() with FOR alone", "use left()")
            args = [text]
            while self._mark(","):
                args.append(self.expression())
            self._expect(")")
            return self._function("substring", tuple(args), False)
        begin = self.expression()
        length = (self.expression(),) if self._took("for") else ()
        self._expect(")")
        return FunctionCall("substring", (text, begin, *length))
