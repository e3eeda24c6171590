"""Lexer of SQL as PostgreSQL reads it; ambiguous text is refused.

The parser that looks into statements is another one than the server's. So that both see the same words, texts are taken
apart here, by the server's rules, and put together again without comments and with every string in plain quotes.

>>> [token.text for token in lexed("SELECT /* a /* b */ */ $$it's$$ -- end")]
['SELECT', "'it''s'"]
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

_HEAD, _TAIL = r"A-Za-z_\x80-\U0010ffff", r"A-Za-z0-9_\x80-\U0010ffff"
_TOKEN = re.compile(
    rf"""
      (?P<space>[ \t\n\r\f\v]+)
    | (?P<line>--[^\n\r]*)
    | (?P<block>/\*)
    | (?P<escape>[eE]'(?:[^'\\]|''|\\[\s\S])*')
    | (?P<unicode>[uU]&['"])
    | (?P<bits>[bBxX]'[^']*')
    | (?P<string>[nN]?'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")+")
    | (?P<dollar>\$(?:[{_HEAD}][{_TAIL}]*)?\$)
    | (?P<parameter>\$[0-9]+)
    | (?P<word>[{_HEAD}][{_TAIL}$]*)
    | (?P<number>0[xX][0-9a-fA-F]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<operator>(?:(?!--|/\*)[+\-*/<>=~!@\#%^&|`?])+)
    | (?P<mark>::|:=|[()\[\],;:.])
    """,
    re.VERBOSE,
)
_BLOCK = re.compile(r"/\*|\*/")
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))")
_PLAIN = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
LONGEST = 1_000_000
LONGEST_NAME = 63
"""Bytes; the server cuts longer ones off, and then they are other names."""


class Unreadable(Exception):
    """Text that the server may read otherwise; caught inside the room."""


class Token(NamedTuple):
    """Word of a text: its kind, its spelling, and the name it is."""

    kind: str
    """word, quoted, string, bits, parameter, number, operator or mark."""
    text: str
    name: str = ""
    """Of words and quoted names: the name that the server takes it for."""


@dataclass(frozen=True)
class Statement:
    """One statement of a text."""

    tokens: tuple[Token, ...]

    @property
    def text(self) -> str:
        """The statement, written plainly."""
        return " ".join(token.text for token in self.tokens)

    @property
    def words(self) -> tuple[str, ...]:
        """The names and keywords, in order; those in quotes are no keywords."""
        return tuple(token.name for token in self.tokens if token.kind == "word")

    @property
    def verb(self) -> str:
        """What it does, by its first word."""
        return next((token.name for token in self.tokens if token.text != "("), "")

    @property
    def names(self) -> frozenset[str]:
        """Everything that can be a name of something."""
        return frozenset(token.name for token in self.tokens if token.name)

    @property
    def calls(self) -> frozenset[str]:
        """Names that may be of functions: before a parenthesis, or behind a dot."""
        texts = ["", *(token.text for token in self.tokens), ""]
        around = zip(texts, self.tokens, texts[2:], strict=False)
        return frozenset(
            token.name for before, token, behind in around if token.name and (before == "." or behind == "(")
        )

    @property
    def operators(self) -> frozenset[str]:
        """The operators."""
        return frozenset(token.text for token in self.tokens if token.kind == "operator")


def statements(text: str) -> list[Statement]:
    """The statements of a text; empty ones are left out, as the server does.

    >>> [one.verb for one in statements("begin;; SELECT 1; -- end")]
    ['begin', 'select']
    """
    parts = groupby(lexed(text), key=lambda token: token.text == ";")
    return [Statement(tuple(tokens)) for is_end, tokens in parts if not is_end]


def lexed(text: str) -> list[Token]:
    """The words of a text."""
    if len(text) > LONGEST or "\0" in text:
        raise Unreadable
    found: list[Token] = []
    at, last, broken = 0, "", False  # broken: a line ended since the last token, so a string goes on in the next
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unreadable
        kind, at = str(match.lastgroup), match.end()
        if kind == "space":
            broken = broken or "\n" in match[0] or "\r" in match[0]
        elif kind == "line":
            continue
        elif kind == "block":
            depth = 1
            while depth:
                edge = _BLOCK.search(text, at)
                if edge is None:
                    raise Unreadable
                depth += 1 if edge[0] == "/*" else -1
                at = edge.end()
        else:
            token, at = _token(kind, match[0], text, at)
            if token.kind == "string" and found and found[-1].kind in ("string", "bits"):
                # Only plain strings go on in the next line; one with escapes would go on with escapes.
                if not broken or kind != "string" or last != "string" or match[0][0] != "'":
                    raise Unreadable
                token = Token("string", found.pop().text[:-1] + token.text[1:])
            last = kind
            if len(token.name.encode()) > LONGEST_NAME:
                raise Unreadable
            found.append(token)
            broken = False
    return found


def _token(kind: str, written: str, text: str, at: int) -> tuple[Token, int]:
    if kind == "unicode":
        raise Unreadable
    if kind == "dollar":
        end = text.find(written, at)
        if end < 0:
            raise Unreadable
        return Token("string", _quoted(text[at:end])), end + len(written)
    if kind == "escape":
        return Token("string", _quoted(_unescaped(written[2:-1]))), at
    if kind == "string":
        return Token("string", written[written.index("'") :]), at
    if kind == "word":
        if "$" in written or text[at : at + 1] in ("'", "$"):  # a$b$..., or a prefix that is none
            raise Unreadable
        if any(not letter.isascii() and letter != letter.lower() for letter in written):
            raise Unreadable  # whether the server folds it depends on its encoding
        # The server folds the letters of ASCII only.
        folded = written.lower() if written.isascii() else "".join(c.lower() if c.isascii() else c for c in written)
        return Token("word", written, folded), at
    if kind == "operator":
        shorter = written
        # An operator ends in + or - only if it holds one of some letters; else that is a sign of what follows.
        if not set(written) & set("~!@#%^&|`?"):
            while len(shorter) > 1 and shorter[-1] in "+-":
                shorter = shorter[:-1]
        return Token(kind, shorter), at - len(written) + len(shorter)
    if kind == "quoted":
        return Token("quoted", written, written[1:-1].replace('""', '"')), at
    if kind in ("number", "parameter") and re.match(rf"[{_TAIL}$]", text[at : at + 1]):
        raise Unreadable
    return Token(kind, written), at


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _unescaped(written: str) -> str:
    def meant(match: re.Match[str]) -> str:
        octal, short, four, eight, other = match.groups()
        if other is not None:
            return _PLAIN.get(other, other)
        number = int(octal, 8) if octal else int(short or four or eight, 16)
        if number == 0 or (number > 0x7F and (octal or short)) or number > 0x10FFFF or 0xD800 <= number < 0xE000:
            raise Unreadable  # bytes of some encoding, or no character at all
        return chr(number)

    return _ESCAPE.sub(meant, written.replace("''", "'"))
