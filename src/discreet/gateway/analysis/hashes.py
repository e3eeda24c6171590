"""Hashes of values in SQL, the same on every server."""

from __future__ import annotations

_HASHES = {
    "int2": ("pg_catalog.hashint2extended", "CAST(-32768 AS int2)"),
    "int4": ("pg_catalog.hashint4extended", "CAST(-2147483648 AS int4)"),
    "int8": ("pg_catalog.hashint8extended", "CAST(-9223372036854775808 AS int8)"),
    "numeric": ("pg_catalog.hash_numeric_extended", "CAST('NaN' AS numeric)"),
    "float8": ("pg_catalog.hashfloat8extended", "CAST('NaN' AS float8)"),
}


def hash_of(value: str, kind: str, seed: str) -> str:
    """A hash of one value and of what was hashed before."""
    function, missing = _HASHES.get(kind, ("", ""))
    if not function:
        text = f"COALESCE(CAST({value} AS text), E'\\x01')"
        return f'pg_catalog.hashtextextended({text} COLLATE pg_catalog."C", {seed})'  # whatever is equal elsewhere
    return f"{function}(COALESCE({value}, {missing}), {seed})"
