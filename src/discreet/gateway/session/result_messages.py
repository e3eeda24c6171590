"""Messages of a released result: descriptions, rows, copied lines."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from discreet.gateway.protocol.messages import ResultColumn, complete, message

_SHORT, _LONG = struct.Struct("!h"), struct.Struct("!i")
_EMPTY = b"\xff\xff\xff\xff"
_LENGTHS = [_LONG.pack(number) for number in range(256)]
PARSED, BOUND, CLOSED, NO_DATA, SUSPENDED = (message(letter) for letter in (b"1", b"2", b"3", b"n", b"s"))
COPY_ENDS = message(b"c")


def row_description(columns: Sequence[ResultColumn]) -> bytes:
    """What the columns are."""
    parts = [_SHORT.pack(len(columns))]
    for one in columns:
        sizes = struct.pack("!ihihih", one.table, one.number, one.type, one.size, one.modifier, one.format)
        parts.append(one.name.encode() + b"\0" + sizes)
    return message(b"T", b"".join(parts))


def parameter_description(types: Sequence[int]) -> bytes:
    """The types of parameters."""
    return message(b"t", struct.pack(f"!h{len(types)}I", len(types), *types))


def data_rows(rows: Iterable[Sequence[bytes | None]]) -> bytes:
    """Rows of a result."""
    found = []
    pack = _LONG.pack
    for row in rows:
        if None in row:
            body = b"".join([_EMPTY if cell is None else pack(len(cell)) + cell for cell in row])
        else:
            body = b"".join([_LENGTHS[len(cell)] + cell if len(cell) < 256 else pack(len(cell)) + cell for cell in row])  # type: ignore[arg-type, operator]
        found.append(b"D" + pack(len(body) + 6) + _SHORT.pack(len(row)) + body)
    return b"".join(found)


def selected(columns: Sequence[ResultColumn], rows: Sequence[Sequence[bytes | None]]) -> bytes:
    """A whole result of the simple protocol."""
    return row_description(columns) + data_rows(rows) + complete(f"SELECT {len(rows)}")


_ESCAPES = {ord(b"\\"): b"\\\\", 8: b"\\b", 9: b"\\t", 10: b"\\n", 11: b"\\v", 12: b"\\f", 13: b"\\r"}


def copied(
    columns: Sequence[ResultColumn], rows: Sequence[Sequence[bytes | None]], *, csv: bool, header: bool
) -> bytes:
    """A result as COPY ... TO STDOUT gives it, as text or CSV."""
    begin = message(b"H", struct.pack(f"!bh{len(columns)}h", 0, len(columns), *[0] * len(columns)))
    cell, joint = (_csv, b",") if csv else (_plain, b"\t")
    lines = [joint.join(cell(one) for one in row) + b"\n" for row in rows]
    if header:
        lines.insert(0, joint.join(cell(one.name.encode()) for one in columns) + b"\n")
    return begin + b"".join(message(b"d", line) for line in lines) + COPY_ENDS + complete(f"COPY {len(rows)}")


def _plain(cell: bytes | None) -> bytes:
    if cell is None:
        return b"\\N"
    if not any(one in cell for one in b"\\\b\t\n\x0b\x0c\r"):
        return cell
    return b"".join(_ESCAPES.get(one, bytes([one])) for one in cell)


def _csv(cell: bytes | None) -> bytes:
    if cell is None:
        return b""
    if not cell or cell == b"\\." or any(one in cell for one in b',"\r\n'):
        return b'"' + cell.replace(b'"', b'""') + b'"'
    return cell
