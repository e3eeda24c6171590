"""The values of parameters, as far as they can be told from a Bind."""

from __future__ import annotations

from typing import Any

from discreet.gateway.disclosure.disclosure import Undecodable, loader
from discreet.gateway.enforcement.interface import Bind
from discreet.kernel.hierarchy import text

TEXTS = frozenset((0, 25, 1043, 1042, 19, 705))
NUMBERS = frozenset((20, 21, 23))
_AS_TEXT, _AS_BYTES = TEXTS | NUMBERS, NUMBERS | (TEXTS - {0})


def told(bind: Bind) -> dict[str, Any]:
    """Numbers of parameters, as $1 is written, with their texts; those that cannot be told are left out.

    >>> body = b"\\0\\0" + b"\\0\\2\\0\\0\\0\\1" + b"\\0\\2\\0\\0\\0\\x017\\0\\0\\0\\2\\0\\1" + b"\\0\\0"
    >>> told(Bind("", "", "SELECT $1, $2", (23,), body))
    {'1': '7'}
    """
    found: dict[str, Any] = {}
    given = bind.values
    for place, value in enumerate(given.parameters):
        kind = bind.types[place] if place < len(bind.types) else 0
        known = _told(value, kind, _format(given.parameter_formats, place))
        if known is not None:
            found[str(place + 1)] = known
    return found


def _format(formats: tuple[int, ...], place: int) -> int:
    if len(formats) == 1:
        return formats[0]
    return formats[place] if place < len(formats) else 0


def _told(value: bytes | None, kind: int, form: int) -> str | None:
    if value is None:
        return None
    try:
        if form == 0:
            return value.decode() if kind in _AS_TEXT else None
        return text(loader(kind, 1)(value)) if kind in _AS_BYTES else None
    except (Undecodable, UnicodeDecodeError, ValueError):
        return None
