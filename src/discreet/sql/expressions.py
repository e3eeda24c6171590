"""Parser of expressions of the fragment, in the precedence of PostgreSQL's grammar."""

from __future__ import annotations

import re
from typing import Any

from discreet.sql import allow_lists as allowed
from discreet.sql.fragment import (
    AnyOf,
    Cast,
    Elements,
    FunctionCall,
    Membership,
    Nested,
    NotCovered,
    Operator,
    Test,
)
from discreet.sql.lexer import Token

OR, AND, NOT, IS, COMPARISON, RANGE, OTHER, SUM, PRODUCT, POWER, ZONE, SIGN, CAST = range(1, 14)
"""How tightly operators bind, weakest first."""
DEPTH = 100
"""How deep a statement may be nested."""
_WHOLE = re.compile(r"[0-9]+")
_FRAME_ENDS = {
    ("unbounded", "preceding"): "UNBOUNDED PRECEDING",
    ("unbounded", "following"): "UNBOUNDED FOLLOWING",
    ("current", "row"): "CURRENT ROW",
}
_END = Token("end", "")
_SIGNS = {**dict.fromkeys("+-", SUM), **dict.fromkeys("*/%", PRODUCT), "^": POWER}


class ExpressionParser:
    """Reads tokens from left to right."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    # Tokens -----------------------------------------------------------------------------------------------------------

    @property
    def _token(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _behind(self, places: int = 1) -> Token:
        at = self._at + places
        return self._tokens[at] if at < len(self._tokens) else _END

    def _next(self) -> Token:
        token = self._token
        if token is _END:
            raise NotCovered("a statement that ends too early")
        self._at += 1
        return token

    @staticmethod
    def _word(token: Token) -> str:
        return token.name if token.kind == "word" else ""

    def _is(self, *words: str) -> bool:
        """Whether these keywords come next."""
        return all(self._word(self._behind(place)) == word for place, word in enumerate(words))

    def _took(self, *words: str) -> bool:
        """Whether these keywords come next; then they are read."""
        if not self._is(*words):
            return False
        self._at += len(words)
        return True

    def _mark(self, text: str) -> bool:
        token = self._token
        if token.kind in ("mark", "operator") and token.text == text:
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._mark(text):
            raise self._unexpected()

    def _expect_words(self, *words: str) -> None:
        if not self._took(*words):
            raise self._unexpected()

    def _unexpected(self) -> NotCovered:
        token = self._token
        shown = (
            "the end of the text" if token is _END else ("a string" if token.kind == "string" else f"`{token.text}`")
        )
        return NotCovered(f"{shown} where the gateway did not expect it")

    def _name(self, *, reserved: frozenset[str] = allowed.RESERVED) -> str:
        token = self._token
        if token.kind == "quoted" or (token.kind == "word" and token.name not in reserved):
            self._at += 1
            return token.name
        raise self._unexpected()

    # Expressions ------------------------------------------------------------------------------------------------------

    def expression(self, least: int = OR) -> Any:
        """An expression whose operators bind at least so tightly."""
        self._depth += 1
        if self._depth > DEPTH:
            raise NotCovered(f"an expression nested more than {DEPTH} deep")
        left = self._prefix(least)
        while True:
            found = self._infix(left, least)
            if found is None:
                break
            left = found
        self._depth -= 1
        return left

    def _prefix(self, least: int) -> Any:
        if self._is("not") and least <= NOT:
            self._at += 1
            return Operator("not", (self.expression(NOT),))
        token = self._token
        if token.kind == "operator" and token.text in ("-", "+"):
            self._at += 1
            return Operator(token.text, (self.expression(SIGN),))
        if token.kind == "operator":
            raise NotCovered(f"the operator {token.text} before its operand")
        return self._primary()

    def _infix(self, left: Any, least: int) -> Any:
        token = self._token
        word = self._word(token)
        if token.kind == "mark":
            if token.text == "::":
                self._at += 1
                return Cast(left, self._type())
            if token.text == "[":
                raise NotCovered("a place of an array")
            return None
        if word:
            return self._infix_word(left, word, least)
        if token.kind != "operator":
            return None
        sign = "<>" if token.text == "!=" else token.text
        rank = COMPARISON if sign in allowed.COMPARISONS else _SIGNS.get(sign, OTHER)
        if rank < least:
            return None
        if sign not in allowed.OPERATORS:
            raise NotCovered(f"the operator {token.text}")
        self._at += 1
        if rank == COMPARISON and self._word(self._token) in ("any", "some", "all"):
            return self._quantified(left, sign)
        right = self.expression(rank + 1)
        if rank == COMPARISON and self._token.text in allowed.COMPARISONS and self._token.kind == "operator":
            raise self._unexpected()
        return Operator(sign, (left, right))

    def _infix_word(self, left: Any, word: str, least: int) -> Any:
        if word in ("or", "and"):
            rank = OR if word == "or" else AND
            if rank < least:
                return None
            self._at += 1
            return Operator(word, (left, self.expression(rank + 1)))
        if word in ("is", "isnull", "notnull"):
            return self._is_test(left, word) if least <= IS else None
        if word == "at" and self._is("at", "time", "zone"):
            if least > ZONE:
                return None
            self._at += 3
            return FunctionCall("timezone", (self.expression(ZONE + 1), left))
        if word == "collate":
            raise NotCovered("COLLATE", "leave it out")
        negated = word == "not" and self._word(self._behind()) in ("in", "like", "ilike", "between", "similar")
        if word not in ("in", "like", "ilike", "between", "similar") and not negated:
            return None
        if least > RANGE:
            return None
        self._at += 2 if negated else 1
        return self._ranged(left, self._word(self._behind(-1)), negated)

    def _ranged(self, left: Any, word: str, negated: bool) -> Any:
        if word == "similar":
            raise NotCovered("SIMILAR TO", "use LIKE or ~")
        if word == "in":
            self._expect("(")
            if self._word(self._token) in ("select", "with", "values"):
                query = self.query()
                self._expect(")")
                return Nested("in", query, left, negated)
            values = self._list()
            self._expect(")")
            return Membership(left, values, negated)
        if word == "between":
            symmetric = self._took("symmetric")
            if symmetric:
                raise NotCovered("BETWEEN SYMMETRIC", "use BETWEEN with the smaller bound first")
            self._took("asymmetric")
            low = self.expression(RANGE + 1)
            self._expect_words("and")
            high = self.expression(RANGE + 1)
            inside = Operator("and", (Operator(">=", (left, low)), Operator("<=", (left, high))))
            return Operator("not", (inside,)) if negated else inside
        pattern = self.expression(RANGE + 1)
        if self._is("escape"):
            raise NotCovered("ESCAPE", "use a backslash before % and _")
        return Operator(f"not {word}" if negated else word, (left, pattern))

    def _is_test(self, left: Any, word: str) -> Any:
        self._at += 1
        if word in ("isnull", "notnull"):
            return Test(left, "null" if word == "isnull" else "not null")
        negated = self._took("not")
        if self._took("distinct", "from"):
            right = self.expression(IS + 1)
            return Operator("is not distinct from" if negated else "is distinct from", (left, right))
        what = self._word(self._next())
        if what not in ("null", "true", "false", "unknown"):
            raise NotCovered(f"IS {what.upper()}")
        return Test(left, f"not {what}" if negated else what)

    def _quantified(self, left: Any, sign: str) -> Any:
        word = self._word(self._next())
        self._expect("(")
        if self._word(self._token) in ("select", "with", "values"):
            query = self.query()
            self._expect(")")
            if (sign, word) == ("=", "any") or (sign, word) == ("=", "some"):
                return Nested("in", query, left)
            if (sign, word) == ("<>", "all"):
                return Nested("in", query, left, negated=True)
            raise NotCovered(f"{sign} {word.upper()} (SELECT ...)", "use IN or EXISTS")
        array = self.expression()
        self._expect(")")
        if sign == "=" and word in ("any", "some"):
            return Membership(left, array.values) if isinstance(array, Elements) else AnyOf(left, array)
        if sign == "<>" and word == "all":
            if isinstance(array, Elements):
                return Membership(left, array.values, negated=True)
            return Operator("not", (AnyOf(left, array),))
        raise NotCovered(f"{sign} {word.upper()} (...)", "use = ANY (...) or IN (...)")

    def _list(self) -> tuple[Any, ...]:
        found = [self.expression()]
        while self._mark(","):
            found.append(self.expression())
        return tuple(found)

    def _primary(self) -> Any:
        """A constant, column, call or parenthesis; the parser of operands knows them."""
        raise NotImplementedError

    def _type(self) -> str:
        """The name of a type."""
        raise NotImplementedError

    def query(self) -> Any:
        """A sub-select; the parser of queries knows them."""
        raise NotImplementedError
