"""Messages of the PostgreSQL protocol: read those that are judged, write ours.

>>> error(sqlstate="42501", message="No.")[5:]
b'SERROR\\x00VERROR\\x00C42501\\x00MNo.\\x00\\x00'
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct, pack
from typing import NamedTuple

from discreet.gateway.protocol.framing import LENGTH, Malformed

_COUNT = Struct("!H")
_COLUMN = Struct("!ihIhih")

FLUSH = b"H\x00\x00\x00\x04"
SYNC = b"S\x00\x00\x00\x04"
NOWHERE = "discreet: a statement was refused"
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
    fields = (name.encode() + text.replace("\0", "").encode() + b"\0" for name, text in parts.items() if text)
    return _message(b"N" if severity in ("NOTICE", "WARNING") else b"E", b"".join(fields) + b"\0")


_message = message


def ready(status: int) -> bytes:
    """A ReadyForQuery."""
    return b"Z\x00\x00\x00\x05" + bytes((status,))


EXECUTE_NOWHERE = message(b"E", NOWHERE.encode() + b"\0" + b"\0\0\0\0")
"""An Execute that fails."""


def complete(tag: str) -> bytes:
    """A CommandComplete."""
    return message(b"C", tag.encode("ascii", "replace") + b"\0")


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


def row_description_of(body: bytes) -> tuple[ResultColumn, ...]:
    """The columns of a RowDescription, without the tables they come from."""
    (count,), pos, found = _COUNT.unpack_from(body), 2, []
    for _ in range(count):
        end = body.index(0, pos)
        _, _, kind, size, modifier, code = _COLUMN.unpack_from(body, end + 1)
        found.append(ResultColumn(body[pos:end].decode("utf-8", "replace"), 0, 0, kind, size, modifier, code))
        pos = end + 1 + _COLUMN.size
    return tuple(found)


def error_of(body: bytes) -> tuple[str, str]:
    """Code and words of an ErrorResponse."""
    fields = {one[:1]: one[1:].decode("utf-8", "replace") for one in body.split(b"\0")}
    return fields.get(b"C", "57P03"), fields.get(b"M", "")


def statement_messages(sql: str, values: Sequence[bytes], formats: Sequence[int]) -> bytes:
    """Parse, Bind, Describe, Execute and Sync of one statement without a name, with values as text."""
    given = pack("!h", len(values)) + b"".join(pack("!i", len(one)) + one for one in values)
    bind = b"\0\0\0\0" + given + pack(f"!h{len(formats)}h", len(formats), *formats)
    parts = (message(b"P", b"\0" + sql.encode() + b"\0\0\0"), message(b"B", bind), message(b"D", b"P\0"))
    return b"".join(parts) + message(b"E", b"\0\0\0\0\0") + SYNC


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


def parameter_status(body: bytes) -> tuple[str, str]:
    """Name and value of a ParameterStatus."""
    parts = body.split(b"\0")
    if len(parts) < 3:
        raise Malformed
    return parts[0].decode("ascii", "replace"), parts[1].decode("utf-8", "replace")
