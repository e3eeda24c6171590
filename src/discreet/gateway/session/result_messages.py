"""Messages of a released result: descriptions, rows, copied lines."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from discreet.gateway.analysis.statements import CopyForm
from discreet.gateway.protocol.data_rows import DataRows
from discreet.gateway.protocol.messages import ResultColumn, complete, message

_SHORT = struct.Struct("!h")
PARSED, BOUND, CLOSED, NO_DATA, SUSPENDED = (message(letter) for letter in (b"1", b"2", b"3", b"n", b"s"))
COPY_ENDS = message(b"c")


def row_description(columns: Sequence[ResultColumn]) -> bytes:
    """What the columns are."""
    parts = [_SHORT.pack(len(columns))]
    for one in columns:
        sizes = struct.pack("!ihIhih", one.table, one.number, one.type, one.size, one.modifier, one.format)
        parts.append(one.name.encode() + b"\0" + sizes)
    return message(b"T", b"".join(parts))


def parameter_description(types: Sequence[int]) -> bytes:
    """The types of parameters."""
    return message(b"t", struct.pack(f"!h{len(types)}I", len(types), *types))


def selected(columns: Sequence[ResultColumn], rows: DataRows) -> bytes:
    """A whole result of the simple protocol."""
    return b"".join((row_description(columns), rows.content, complete(f"SELECT {len(rows)}")))


_ESCAPES = {ord(b"\\"): b"\\\\", 8: b"\\b", 9: b"\\t", 10: b"\\n", 11: b"\\v", 12: b"\\f", 13: b"\\r"}
_COPY_BEGINS = b"PGCOPY\n\xff\r\n\0" + bytes(8)


def copied(columns: Sequence[ResultColumn], rows: DataRows, form: CopyForm) -> bytes:
    """A result as COPY ... TO STDOUT gives it."""
    binary = form.format == "binary"
    begin = message(b"H", struct.pack(f"!bh{len(columns)}h", binary, len(columns), *[int(binary)] * len(columns)))
    ended = COPY_ENDS + complete(f"COPY {len(rows)}")
    if binary:  # a row is written there as in a result
        return b"".join((begin, message(b"d", _COPY_BEGINS), rows.lettered("d"), message(b"d", b"\xff\xff"), ended))
    csv = form.format == "csv"
    joint = (form.delimiter or ("," if csv else "\t")).encode()
    null = (form.null if form.null is not None else "" if csv else "\\N").encode()

    def cell(one: bytes | None) -> bytes:
        if one is None:
            return null
        return _csv(one, joint, null) if csv else _plain(one, joint)

    lines = [joint.join(map(cell, row)) + b"\n" for row in rows.cells()]
    if form.header:
        lines.insert(0, joint.join(cell(one.name.encode()) for one in columns) + b"\n")
    return begin + b"".join(message(b"d", line) for line in lines) + ended


def _plain(cell: bytes, joint: bytes) -> bytes:
    if not any(one in cell for one in b"\\\b\t\n\x0b\x0c\r" + joint):
        return cell
    escapes = {joint[0]: b"\\" + joint, **_ESCAPES}
    return b"".join(escapes.get(one, bytes([one])) for one in cell)


def _csv(cell: bytes, joint: bytes, null: bytes) -> bytes:
    if cell in (null, b"\\.") or any(one in cell for one in b'"\r\n' + joint):
        return b'"' + cell.replace(b'"', b'""') + b'"'
    return cell
