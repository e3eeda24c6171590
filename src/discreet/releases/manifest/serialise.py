"""Serialisation and encryption of a manifest: arrays, classes, rules, marks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import IntegrityError, MissingExtra, StoreTooNew, UsageError
from discreet.kernel import AnyValue, Classes, Column, Dates, Flat, Hierarchy, Mask, Rule, Tree, Widths
from discreet.kernel.arrays import Flags, Floats, Ints, Label
from discreet.releases.marks.codebook import Marks, derive

if TYPE_CHECKING:
    from nacl.secret import SecretBox

SMALL, LARGE = "<i4", "<i8"


def pack_ints(numbers: Ints) -> str:
    """Whole numbers in as few bytes as they need, as text.

    >>> unpack_ints(pack_ints(np.array([3, -1, 2**40]))).tolist()
    [3, -1, 1099511627776]
    """
    values = np.asarray(numbers, dtype=np.int64)
    small = not len(values) or (values.min() >= -(2**31) and values.max() < 2**31)
    kind = SMALL if small else LARGE
    return kind + _text(values.astype(kind).tobytes())


def unpack_ints(text: str) -> Ints:
    """The numbers again."""
    return np.frombuffer(_bytes(text[3:]), dtype=text[:3]).astype(np.int64)


def pack_floats(numbers: Floats) -> str:
    """Numbers to the last bit, as text."""
    return _text(np.asarray(numbers, dtype="<f8").tobytes())


def unpack_floats(text: str) -> Floats:
    """The numbers again."""
    return np.frombuffer(_bytes(text), dtype="<f8").astype(np.float64)


def pack_flags(flags: Flags) -> dict[str, Any]:
    """Truth values, eight to the byte, with their shape.

    >>> unpack_flags(pack_flags(np.array([[True, False, True]]))).tolist()
    [[True, False, True]]
    """
    return {"shape": list(flags.shape), "bits": _text(np.packbits(flags.reshape(-1)).tobytes())}


def unpack_flags(packed: Mapping[str, Any]) -> Flags:
    """The truth values again."""
    shape = tuple(packed["shape"])
    size = int(np.prod(shape, dtype=np.int64))
    bits: NDArray[np.uint8] = np.frombuffer(_bytes(packed["bits"]), dtype=np.uint8)
    return np.unpackbits(bits, count=size).astype(bool).reshape(shape)


def pack_classes(classes: Classes) -> dict[str, Any]:
    """Classes with their sizes, and what each of their values becomes at every coarser level."""
    columns = [
        {"name": column.name, "level": column.level, "paths": _upwards(column), "codes": pack_ints(codes)}
        for column, codes in zip(classes.columns, classes.codes, strict=True)
    ]
    return {"columns": columns, "sizes": pack_ints(classes.sizes)}


def unpack_classes(packed: Mapping[str, Any]) -> Classes:
    """The classes again; levels below their own hold the same values as their own."""
    columns = tuple(_column(column) for column in packed["columns"])
    codes = tuple(unpack_ints(column["codes"]) for column in packed["columns"])
    return Classes(columns, codes, unpack_ints(packed["sizes"]))


def _upwards(column: Column) -> list[list[Label]]:
    """One path per value: itself, then the value one level up, and so on."""
    hierarchy = column.hierarchy
    levels = range(column.level, hierarchy.height)
    values = [
        [hierarchy.labels[level][code] for code in hierarchy.map(column.level, level).tolist()] for level in levels
    ]
    return [list(path) for path in zip(*values, strict=True)]


def _column(packed: Mapping[str, Any]) -> Column:
    level, paths = packed["level"], packed["paths"]
    height = level + (len(paths[0]) if paths else 1)
    full = [[path[0]] * level + path for path in paths]
    return Column(packed["name"], Hierarchy.of(full, height=height), level)


def pack_marks(marks: Marks) -> dict[str, Any]:
    """Marks as they are."""
    return {
        "columns": list(marks.columns),
        "labels": [list(labels) for labels in marks.labels],
        "decoy": pack_flags(marks.decoy),
        **{name: pack_ints(getattr(marks, name)) for name in ("sizes", "links", "partners")},
    }


def unpack_marks(packed: Mapping[str, Any]) -> Marks:
    """The marks again."""
    labels: Sequence[Sequence[Label]] = packed["labels"]
    numbers = {name: unpack_ints(packed[name]) for name in ("sizes", "links", "partners")}
    return Marks(
        columns=tuple(packed["columns"]),
        labels=tuple(tuple(one) for one in labels),
        decoy=unpack_flags(packed["decoy"]),
        **numbers,
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


# Rules of generalisation as plain values, so that a sealed manifest needs no policy file to be read again.
def write_rule(rule: Rule) -> dict[str, Any]:
    """A rule as it can stand in JSON.

    >>> write_rule(Mask(5)), read_rule({"mask": 5})
    ({'mask': 5}, Mask(length=5))
    """
    match rule:
        case Flat():
            return {"flat": True}
        case Mask(length=length):
            return {"mask": length}
        case Widths(widths=widths):
            return {"widths": list(widths)}
        case AnyValue(label=label):
            return {"any": label}
        case Dates(units=units, format=style):
            return {"dates": list(units), "format": style}
        case Tree(rows=rows, name=name):
            return {"tree": [list(row) for row in rows], "name": name}
    raise UsageError(
        f"A {type(rule).__name__} cannot be written into a manifest.",
        remedy="Use the hierarchies that a policy file knows.",
    )


def read_rule(written: Mapping[str, Any]) -> Rule:
    """The rule that was written."""
    match written:
        case {"mask": length}:
            return Mask(length)
        case {"widths": widths}:
            return Widths(tuple(widths))
        case {"any": label}:
            return AnyValue(label)
        case {"dates": units, "format": style}:
            return Dates(tuple(units), style)
        case {"tree": rows, "name": name}:
            return Tree(tuple(tuple(row) for row in rows), name)
    return Flat()


# A manifest under lock and key: compressed, encrypted and authenticated with a key that is not in the store.
#
# The same manifest under the same key gives the same bytes, so that whoever repeats a step that failed commits to the same
# digest again.
FAMILY = b"discreet-manifest-"
FORMAT = FAMILY + b"1\n"
NONCE_BYTES = 24


def seal(content: bytes, *, key: bytes) -> bytes:
    """Encrypt (XSalsa20 with Poly1305); the nonce is a keyed hash of the content, so equal bytes mean equal content.

    >>> unseal(seal(b"who has which mark", key=bytes(32)), key=bytes(32))
    b'who has which mark'
    """
    nonce = hmac.digest(derive(key, "nonce"), content, hashlib.sha256)[:NONCE_BYTES]
    return FORMAT + bytes(_box(key).encrypt(zlib.compress(content, 6), nonce))


def unseal(sealed: bytes, *, key: bytes) -> bytes:
    """Decrypt; an error in words if it is of another version, was changed, or was sealed with another key."""
    if not sealed.startswith(FAMILY):
        raise IntegrityError("This is no sealed manifest.", remedy="Restore the store from a backup.")
    if not sealed.startswith(FORMAT):
        raise StoreTooNew(
            "The manifest of the release was sealed by a newer version of Discreet.",
            remedy="Update Discreet on this machine.",
        )
    from nacl.exceptions import CryptoError

    try:
        return zlib.decompress(_box(key).decrypt(sealed[len(FORMAT) :]))
    except (CryptoError, ValueError, zlib.error):
        raise IntegrityError(
            "The manifest of the release cannot be opened: it was sealed with another key, or was changed.",
            remedy="Say in DISCREET_KEYS where the keys of this ledger are, or restore the store from a backup.",
        ) from None


def digest(sealed: bytes) -> str:
    """The SHA-256 of the sealed bytes, in hex: what the ledger commits to."""
    return hashlib.sha256(sealed).hexdigest()


def _box(key: bytes) -> SecretBox:
    try:
        from nacl.secret import SecretBox
    except ImportError:
        raise MissingExtra("store", needed_for="Sealing the manifest of a release") from None
    return SecretBox(derive(key, "seal"))
