"""Which line of a TOML file holds a key."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

_PART = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)"""
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_PART}(?:\s*\.\s*{_PART})*)\s*\]")
_KEY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")
_PARTS = re.compile(_PART)

Key = tuple[str, ...]


def line_of(source: str, key: Sequence[str]) -> int | None:
    """The line of the longest part of the key that is written in the file.

    >>> line_of("[columns.zip]\\nrole = 'quasi'", ["columns", "zip", "role"])
    2
    >>> line_of("[[gateway.limits]]\\n[[gateway.limits]]\\nlimit = 1", ["gateway", "limits", "1", "limit"])
    3
    """
    lines = lines_of(source)
    prefixes = (tuple(key[:length]) for length in range(len(key), 0, -1))
    return next((lines[prefix] for prefix in prefixes if prefix in lines), None)


def lines_of(source: str) -> dict[Key, int]:
    """The line on which each key comes first, to look up many."""
    return dict(reversed(list(_keys(source))))


def _keys(source: str) -> Iterator[tuple[Key, int]]:
    table: Key = ()
    met: Counter[Key] = Counter()
    for number, line in enumerate(source.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _split(header[2])
            if header[1] == "[[":  # one of a list: the place in it is part of the key
                met[table] += 1
                table = (*table, str(met[table] - 1))
            yield from ((table[:length], number) for length in range(1, len(table) + 1))
        elif key := _KEY.match(line):
            yield table + _split(key[1]), number


def _split(dotted: str) -> Key:
    return tuple(part.strip("\"'") for part in _PARTS.findall(dotted))
