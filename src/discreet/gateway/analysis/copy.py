"""COPY to the client, scored like a SELECT."""

from __future__ import annotations

import csv
import io
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.gateway.analysis.analyse import NotUnderstood
from discreet.gateway.protocol.messages import ResultColumn
from discreet.gateway.session.held_rows import HeldResult
from discreet.sql.lexer import Statement, Token, lexed

_ESCAPES = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_LINE = 5  # letter and length of a CopyData message


@dataclass(frozen=True)
class Style:
    """How the lines are written; whatever else can be asked for is refused."""

    comma: bool = False
    header: bool = False


def query_of(statement: Statement) -> Statement:
    """The query whose rows a COPY gives out: its own, or all of a table or of some of its columns."""
    tokens = list(statement.tokens)[1:]
    if tokens and tokens[0].text == "(":
        return Statement(tuple(tokens[1 : _closing(tokens)]))
    table, rest = _until(tokens, ("(", "to"))
    if [bool(token.name) for token in table] not in ([True], [True, False, True]):
        raise NotUnderstood  # COPY BINARY table, and what else may stand before a name
    columns: list[Token] = lexed("*")
    if rest and rest[0].text == "(":
        columns = rest[1 : _closing(rest)]
    return Statement((*lexed("SELECT"), *columns, *lexed("FROM"), *table))


def style_of(statement: Statement) -> Style | None:
    """How its lines are written; None where that is nothing we read."""
    words = [token.name for token in statement.tokens if token.kind == "word"]
    place = len(words) - 1 - words[::-1].index("stdout")
    options = words[place + 1 :]
    names = [token.name for token in statement.tokens]
    behind = len(names) - 1 - names[::-1].index("stdout")
    if any(token.kind not in ("word", "mark") for token in statement.tokens[behind:]):
        return None  # HEADER 0, DELIMITER ';'
    known = {"with", "format", "csv", "text", "header", "true", "false", "on", "off"}
    if set(options) - known or {"false", "off"} & set(options):
        return None
    return Style("csv" in options, "header" in options)


def _closing(tokens: Sequence[Token]) -> int:
    depth = 0
    for place, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if not depth:
            return place
    raise NotUnderstood


def _until(tokens: list[Token], ends: tuple[str, ...]) -> tuple[list[Token], list[Token]]:
    for place, token in enumerate(tokens):
        if token.text in ends or (token.kind == "word" and token.name in ends):
            return tokens[:place], tokens[place:]
    raise NotUnderstood


def as_rows(held: HeldResult, columns: tuple[ResultColumn, ...], style: Style) -> HeldResult:
    """The lines of a COPY as rows of a result; a header is left out, so its first line is not among them."""
    rows = list(_rows(held, style))[1 if style.header else 0 :]
    if any(len(row) != len(columns) for row in rows):
        raise NotUnderstood
    messages, places, at = [], [], 0
    for row in rows:
        body = b"".join(struct.pack("!i", -1) if cell is None else struct.pack("!i", len(cell)) + cell for cell in row)
        message = b"D" + struct.pack("!ih", len(body) + 6, len(row)) + body
        messages.append(message)
        places.append(at)
        at += len(message)
    return HeldResult(b"".join(messages), np.array(places, dtype=np.int64), columns)


def _rows(held: HeldResult, style: Style) -> Iterator[list[bytes | None]]:
    starts, ends = held.starts.tolist(), held.ends.tolist()
    if style.comma:
        text = b"".join(held.data[begin + _LINE : end] for begin, end in zip(starts, ends, strict=True))
        reader = csv.reader(io.StringIO(text.decode("utf-8"), newline=""), strict=True)
        try:
            found: list[list[bytes | None]] = [[cell.encode() for cell in row] for row in reader]
        except csv.Error:
            raise NotUnderstood from None
        if len(found) != len(starts):
            raise NotUnderstood
        yield from found
        return
    for begin, end in zip(starts, ends, strict=True):
        line = held.data[begin + _LINE : end]
        if not line.endswith(b"\n"):
            raise NotUnderstood
        yield [_unescaped(cell) for cell in line[:-1].split(b"\t")]


def _unescaped(cell: bytes) -> bytes | None:
    if cell == b"\\N":
        return None
    if b"\\" not in cell:
        return cell
    parts = iter(cell.split(b"\\"))
    found = [next(parts)]
    for part in parts:
        if part:
            found.append(_ESCAPES.get(part[:1], part[:1]) + part[1:])
        else:
            found.append(b"\\" + next(parts, b""))
    return b"".join(found)
