"""Messages of the PostgreSQL protocol: read those that are judged, write ours.

>>> raw = error(sqlstate="42501", message="No.")
>>> raw[:1], fields(raw[5:])["C"], fields(raw[5:])["M"]
(b'E', '42501', 'No.')
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct, pack
from typing import NamedTuple

from discreet.gateway.protocol.framing import LENGTH, Malformed

_COLUMN = Struct("!IhIhih")
_COUNT = Struct("!H")

FLUSH = b"H\x00\x00\x00\x04"
SYNC = b"S\x00\x00\x00\x04"
NOWHERE = "discreet: a result was withheld"
"""A portal that nobody has: asking for it fails what is not yet committed, and says why in the server's log."""


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result, as the server describes it."""

    name: str
    table: int
    """OID of the table that it comes from, 0 if it is an expression."""
    number: int
    """Number of the column in that table, 0 if it is an expression."""
    type: int
    size: int
    modifier: int
    format: int
    """0 for text, 1 for binary."""


def message(letter: bytes, body: bytes = b"") -> bytes:
    """A whole message."""
    return letter + pack("!i", len(body) + 4) + body


def error(*, sqlstate: str, message: str, hint: str = "", detail: str = "", severity: str = "ERROR") -> bytes:
    """An ErrorResponse; with the severity NOTICE or WARNING, a NoticeResponse."""
    parts = {"S": severity, "V": severity, "C": sqlstate, "M": message, "D": detail, "H": hint}
    return report({field: text for field, text in parts.items() if text}, notice=severity in ("NOTICE", "WARNING"))


def report(parts: Mapping[str, str], *, notice: bool, encoding: str = "utf-8") -> bytes:
    """An ErrorResponse or NoticeResponse with these fields."""
    body = b"".join(
        field.encode("ascii") + text.replace("\0", "").encode(encoding, "replace") + b"\0"
        for field, text in parts.items()
    )
    return _message(b"N" if notice else b"E", body + b"\0")


_message = message


def fields(body: bytes, encoding: str = "utf-8") -> dict[str, str]:
    """The fields of an ErrorResponse or NoticeResponse by their letters."""
    return {chr(part[0]): part[1:].decode(encoding, "replace") for part in body.split(b"\0") if part}


def ready(status: int) -> bytes:
    """A ReadyForQuery."""
    return b"Z\x00\x00\x00\x05" + bytes((status,))


def describe_portal(name: bytes) -> bytes:
    """A Describe for a portal."""
    return message(b"D", b"P" + name + b"\0")


EXECUTE_NOWHERE = message(b"E", NOWHERE.encode() + b"\0" + b"\0\0\0\0")
"""An Execute that fails."""
COPY_FAIL = message(b"f", b"The result was withheld.\0")
"""There will be no data."""


def complete(tag: str) -> bytes:
    """A CommandComplete."""
    return message(b"C", tag.encode("ascii", "replace") + b"\0")


@lru_cache(512)
def described(body: bytes, encoding: str = "utf-8") -> tuple[ResultColumn, ...]:
    """The columns of a RowDescription."""
    try:
        columns, pos = [], 2
        for _ in range(int.from_bytes(body[:2], "big")):
            end = body.index(b"\0", pos)
            name = body[pos:end].decode(encoding, "replace")
            columns.append(ResultColumn(name, *_COLUMN.unpack_from(body, end + 1)))
            pos = end + 1 + _COLUMN.size
    except (ValueError, struct.error):
        raise Malformed from None
    return tuple(columns)


class ParseBody(NamedTuple):
    """What a Parse message says."""

    name: bytes
    text: bytes
    types: tuple[int, ...]


class BindValues(NamedTuple):
    """What a Bind message says behind the names of portal and statement."""

    parameter_formats: tuple[int, ...]
    parameters: tuple[bytes | None, ...]
    result_formats: tuple[int, ...]


def query_text(body: bytes) -> bytes:
    """The text of a Query."""
    if not body or body.find(0) != len(body) - 1:
        raise Malformed
    return body[:-1]


def parse_body(body: bytes) -> ParseBody:
    """What a Parse message says."""
    try:
        name = body.index(0)
        text = body.index(0, name + 1)
        (count,) = _COUNT.unpack_from(body, text + 1)
        types = struct.unpack_from(f"!{count}I", body, text + 3) if count else ()
    except (ValueError, struct.error):
        raise Malformed from None
    if len(body) != text + 3 + 4 * count:
        raise Malformed
    return ParseBody(body[:name], body[name + 1 : text], types)


def bind_names(body: bytes) -> tuple[bytes, bytes]:
    """The portal that a Bind message opens, and the statement that it binds."""
    portal = body.find(0)
    statement = body.find(0, portal + 1)
    if portal < 0 or statement < 0:
        raise Malformed
    return body[:portal], body[portal + 1 : statement]


def bind_values(body: bytes) -> BindValues:
    """What a Bind message says behind the names."""
    try:
        formats, pos = _shorts(body, body.index(0, body.index(0) + 1) + 1)
        values, pos = _values(body, pos)
        results, pos = _shorts(body, pos)
    except (ValueError, struct.error):
        raise Malformed from None
    if pos != len(body):
        raise Malformed
    return BindValues(formats, values, results)


def copy_formats(body: bytes) -> tuple[int, ...]:
    """The formats of the columns that a COPY to the client gives out.

    >>> copy_formats(b"\\0\\0\\2\\0\\0\\0\\1")
    (0, 1)
    """
    try:
        formats, end = _shorts(body, 1)
    except struct.error:
        raise Malformed from None
    if end != len(body):
        raise Malformed
    return formats


def _shorts(body: bytes, pos: int) -> tuple[tuple[int, ...], int]:
    (count,) = _COUNT.unpack_from(body, pos)
    return struct.unpack_from(f"!{count}h", body, pos + 2) if count else (), pos + 2 + 2 * count


def _values(body: bytes, pos: int) -> tuple[tuple[bytes | None, ...], int]:
    (count,) = _COUNT.unpack_from(body, pos)
    pos += 2
    found: list[bytes | None] = []
    for _ in range(count):
        (size,) = LENGTH.unpack_from(body, pos)
        pos += 4
        if size < -1 or pos + size > len(body):
            raise Malformed
        found.append(None if size < 0 else body[pos : pos + size])
        pos += max(size, 0)
    return tuple(found), pos


def row_of(body: bytes) -> tuple[bytes | None, ...]:
    """The cells of one row."""
    try:
        return _values(body, 0)[0]
    except struct.error:
        raise Malformed from None


def query_message(sql: str) -> bytes:
    """A text of the simple protocol."""
    return message(b"Q", sql.encode() + b"\0")


def question_messages(sql: str) -> bytes:
    """A question in the middle of a pipeline: under names of its own, answered at once, and left behind by nobody."""
    name = b"discreet lookup\0"
    parse = message(b"P", name + sql.encode() + b"\0\0\0")
    bind = message(b"B", name + name + b"\0\0\0\0\0\0")
    closing = message(b"C", b"P" + name) + message(b"C", b"S" + name)
    return parse + bind + message(b"E", name + b"\0\0\0\0") + closing + FLUSH


def execute_body(body: bytes) -> tuple[bytes, int]:
    """Portal of an Execute, and the most rows that are wanted; 0 for all."""
    end = body.find(0)
    if end < 0 or len(body) != end + 5:
        raise Malformed
    return body[:end], LENGTH.unpack_from(body, end + 1)[0]


def target(body: bytes) -> tuple[int, bytes]:
    """What a Describe or Close is about: S or P, and a name."""
    if body[:1] not in (b"S", b"P") or body.find(0) != len(body) - 1:
        raise Malformed
    return body[0], body[1:-1]


def call_body(body: bytes) -> tuple[int, tuple[int, ...], tuple[bytes | None, ...], int]:
    """OID of the function, formats and values of arguments, format of the result."""
    try:
        (function,) = LENGTH.unpack_from(body)
        formats, pos = _shorts(body, 4)
        arguments, pos = _values(body, pos)
        (result,) = struct.unpack_from("!h", body, pos)
    except struct.error:
        raise Malformed from None
    if pos + 2 != len(body):
        raise Malformed
    return function & 0xFFFF_FFFF, formats, arguments, result


def parameter_status(body: bytes) -> tuple[str, str]:
    """Name and value of a ParameterStatus."""
    parts = body.split(b"\0")
    if len(parts) < 3:
        raise Malformed
    return parts[0].decode("ascii", "replace"), parts[1].decode("utf-8", "replace")
