"""Parameters of the extended protocol as constants of a statement."""

from __future__ import annotations

import datetime
import struct
from decimal import Decimal
from typing import Any

from discreet.sql.fragment import (
    AnyOf,
    Cast,
    Elements,
    Literal,
    Membership,
    NotCovered,
    Operator,
    Parameter,
    transformed,
)

TYPES = {
    16: "bool", 20: "int8", 21: "int2", 23: "int4", 25: "text", 700: "float4", 701: "float8", 1042: "bpchar", 1043: "varchar",
    1082: "date", 1083: "time", 1114: "timestamp", 1184: "timestamptz", 1186: "interval", 1700: "numeric", 2950: "uuid",
    19: "text", 705: "text",
}  # fmt: skip
ARRAYS = {1000: 16, 1005: 21, 1007: 23, 1016: 20, 1009: 25, 1015: 1043, 1021: 700, 1022: 701, 1182: 1082, 1231: 1700}
"""Arrays by their type, and the type of what is in them."""
_NUMBERS = {21: "!h", 23: "!i", 20: "!q", 700: "!f", 701: "!d"}
_EPOCH = datetime.datetime(2000, 1, 1)


def filled(query: Any, types: tuple[int, ...], formats: tuple[int, ...], values: tuple[bytes | None, ...]) -> Any:
    """The tree with constants in place of parameters."""
    if not values:
        return query
    constants = [
        constant(value, types[place] if place < len(types) else 25, _format(formats, place))
        for place, value in enumerate(values)
    ]

    def put(node: Any) -> Any:
        if isinstance(node, Parameter):
            if not 1 <= node.number <= len(constants):
                raise NotCovered(f"the parameter ${node.number}, which was not given")
            return constants[node.number - 1]
        if isinstance(node, AnyOf) and isinstance(node.array, Elements):
            return Membership(node.inner, node.array.values) if node.array.values else Literal("boolean", "false")
        if isinstance(node, AnyOf) and isinstance(node.array, Cast) and isinstance(node.array.inner, Elements):
            return (
                Membership(node.inner, node.array.inner.values)
                if node.array.inner.values
                else Literal("boolean", "false")
            )
        if isinstance(node, Operator) and node.sign == "not" and isinstance(node.args[0], Membership):
            return Membership(node.args[0].inner, node.args[0].values, not node.args[0].negated)
        return node

    return transformed(query, put)


def _format(formats: tuple[int, ...], place: int) -> int:
    if not formats:
        return 0
    return formats[0] if len(formats) == 1 else formats[place]


def constant(value: bytes | None, oid: int, code: int) -> Any:
    """One parameter.

    >>> constant(b"\\0\\0\\0\\7", 23, 1)
    Cast(inner=Literal(kind='string', text='7'), type='int4')
    """
    element = ARRAYS.get(oid)
    if element is not None:
        if value is None:
            return Cast(Literal("null"), f"{TYPES[element]}[]")
        cells = _array(value, code)
        return Elements(tuple(constant(cell, element, code) for cell in cells))
    name = TYPES.get(oid)
    if name is None:
        raise NotCovered("a parameter of this type", "write the value into the statement")
    if value is None:
        return Cast(Literal("null"), name)
    return Cast(Literal("string", _text(value, oid) if code else _decoded(value)), name)


def _decoded(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise NotCovered("a parameter that cannot be read") from None


def _text(value: bytes, oid: int) -> str:
    """The text of a value in binary format."""
    try:
        if oid == 16:
            return "true" if value[0] else "false"
        if oid in _NUMBERS:
            return repr(struct.unpack(_NUMBERS[oid], value)[0])
        if oid == 1082:
            return (_EPOCH.date() + datetime.timedelta(days=struct.unpack("!i", value)[0])).isoformat()
        if oid in (1114, 1184):
            moment = _EPOCH + datetime.timedelta(microseconds=struct.unpack("!q", value)[0])
            return moment.isoformat(" ") + "+00" * (oid == 1184)
        if oid == 1700:
            return _numeric(value)
        if oid == 2950:
            digits = value.hex()
            return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
        if oid in (1083, 1186):
            raise NotCovered("a time or interval as a binary parameter", "write it into the statement")
        return value.decode("utf-8")
    except (struct.error, OverflowError, UnicodeDecodeError, IndexError):
        raise NotCovered("a parameter that cannot be read") from None


def _numeric(value: bytes) -> str:
    digits, weight, sign, scale = struct.unpack_from("!hhHh", value)
    if sign == 0xC000:
        return "NaN"
    number = Decimal(0)
    for place, group in enumerate(struct.unpack_from(f"!{digits}h", value, 8)):
        number += Decimal(group).scaleb(4 * (weight - place))
    return f"{-number if sign == 0x4000 else number:.{scale}f}"


def _array(value: bytes, code: int) -> list[bytes | None]:
    if code:
        try:
            dimensions, _, _ = struct.unpack_from("!iiI", value)
            if dimensions == 0:
                return []
            if dimensions != 1:
                raise NotCovered("an array of several dimensions as a parameter")
            (size,) = struct.unpack_from("!i", value, 12)
            found: list[bytes | None] = []
            at = 20
            for _ in range(size):
                (length,) = struct.unpack_from("!i", value, at)
                at += 4
                found.append(None if length < 0 else value[at : at + length])
                at += max(length, 0)
        except struct.error:
            raise NotCovered("a parameter that cannot be read") from None
        return found
    text = _decoded(value)
    if not (text.startswith("{") and text.endswith("}")) or "{" in text[1:]:
        raise NotCovered("an array of this form as a parameter")
    found, at, body = [], 0, text[1:-1]
    while at < len(body):
        if body[at] == '"':
            cell, at = "", at + 1
            while body[at : at + 1] != '"':
                if at + 1 >= len(body):
                    raise NotCovered("an array of this form as a parameter")
                at += body[at] == "\\"
                cell, at = cell + body[at], at + 1
            found.append(cell.encode())
            at += 1
        else:
            end = body.find(",", at)
            end = len(body) if end < 0 else end
            found.append(None if body[at:end].upper() == "NULL" else body[at:end].encode())
            at = end
        at += 1
    return found
