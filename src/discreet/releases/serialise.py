"""Arrays, classes and rules of generalisation as JSON, for sealed manifests."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.kernel import (
    AnyValue,
    AutoMask,
    Classes,
    Column,
    Cuts,
    Dates,
    Flat,
    Hierarchy,
    Mask,
    Prefix,
    Rule,
    TopBottomCode,
    Tree,
    Widths,
)
from discreet.kernel.arrays import Flags, Ints
from discreet.kernel.serialise import plain


def pack_ints(numbers: Ints) -> str:
    """Whole numbers in as few bytes as they need, as text.

    >>> unpack_ints(pack_ints(np.array([3, -1, 2**40]))).tolist()
    [3, -1, 1099511627776]
    """
    values = np.asarray(numbers, dtype=np.int64)
    small = not len(values) or (values.min() >= -(2**31) and values.max() < 2**31)
    kind = "<i4" if small else "<i8"
    return kind + text_of(values.astype(kind).tobytes())


def unpack_ints(text: str) -> Ints:
    """The numbers again."""
    return np.frombuffer(bytes_of(text[3:]), dtype=text[:3]).astype(np.int64)


def pack_flags(flags: Flags) -> dict[str, Any]:
    """Truth values, eight to the byte, with their shape.

    >>> unpack_flags(pack_flags(np.array([[True, False, True]]))).tolist()
    [[True, False, True]]
    """
    return {"shape": list(flags.shape), "bits": text_of(np.packbits(flags.reshape(-1)).tobytes())}


def unpack_flags(packed: Mapping[str, Any]) -> Flags:
    """The truth values again."""
    shape = tuple(packed["shape"])
    size = int(np.prod(shape, dtype=np.int64))
    bits: NDArray[np.uint8] = np.frombuffer(bytes_of(packed["bits"]), dtype=np.uint8)
    return np.unpackbits(bits, count=size).astype(bool).reshape(shape)


def pack_classes(classes: Classes) -> dict[str, Any]:
    """Classes with their sizes, and what each of their values becomes at every coarser level."""
    columns = []
    for column, codes in zip(classes.columns, classes.codes, strict=True):
        hierarchy = column.hierarchy
        # One path per value: itself, then the value one level up, and so on.
        values = [
            [hierarchy.labels[level][code] for code in hierarchy.map(column.level, level).tolist()]
            for level in range(column.level, hierarchy.height)
        ]
        paths = [list(path) for path in zip(*values, strict=True)]
        columns.append({"name": column.name, "level": column.level, "paths": paths, "codes": pack_ints(codes)})
    return {"columns": columns, "sizes": pack_ints(classes.sizes)}


def unpack_classes(packed: Mapping[str, Any]) -> Classes:
    """The classes again; levels below their own hold the same values as their own."""
    columns = []
    for column in packed["columns"]:
        level, paths = column["level"], column["paths"]
        height = level + (len(paths[0]) if paths else 1)
        hierarchy = Hierarchy.of([[path[0]] * level + path for path in paths], height=height)
        columns.append(Column(column["name"], hierarchy, level))
    codes = tuple(unpack_ints(column["codes"]) for column in packed["columns"])
    return Classes(tuple(columns), codes, unpack_ints(packed["sizes"]))


def text_of(data: bytes) -> str:
    """Bytes as text."""
    return base64.b64encode(data).decode("ascii")


def bytes_of(text: str) -> bytes:
    """The bytes again."""
    return base64.b64decode(text, validate=True)


RULES: Mapping[type[Any], Mapping[str, str]] = {
    Mask: {"mask": "length"},
    AutoMask: {"auto_mask": "longest"},
    Prefix: {"prefix": "lengths"},
    TopBottomCode: {"top": "top", "bottom": "bottom", "widths": "widths"},
    Widths: {"widths": "widths"},
    Cuts: {"cuts": "cuts"},
    AnyValue: {"any": "label"},
    Dates: {"dates": "units", "format": "format"},
    Tree: {"tree": "rows", "name": "name"},
}
"""Rules of generalisation: the keys of each in JSON, and its attributes."""


def write_rule(rule: Rule) -> dict[str, Any]:
    """A rule as JSON holds it.

    >>> write_rule(Mask(5)), read_rule({"mask": 5})
    ({'mask': 5}, Mask(length=5))
    """
    if isinstance(rule, Flat):
        return {"flat": True}
    if type(rule) not in RULES:
        raise UsageError(
            f"A {type(rule).__name__} cannot be written into a manifest.",
            remedy="Use the hierarchies that a policy file knows.",
        )
    written = {key: plain(getattr(rule, attribute)) for key, attribute in RULES[type(rule)].items()}
    decimal = getattr(rule, "decimal", ".")
    return written if decimal == "." else {**written, "decimal": decimal}


def read_rule(written: Mapping[str, Any]) -> Rule:
    """The rule that was written."""
    for kind, keys in RULES.items():
        if keys.keys() <= written.keys():
            decimal = {"decimal": written["decimal"]} if "decimal" in written else {}
            rule: Rule = kind(**{attribute: _tuples(written[key]) for key, attribute in keys.items()}, **decimal)
            return rule
    return Flat()


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
