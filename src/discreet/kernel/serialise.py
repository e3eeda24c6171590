"""Serialisation: results as plain data for JSON, and as cards for notebooks."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from operator import attrgetter
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A value as JSON holds it; what JSON has no word for becomes text.

    >>> plain((1, {"a": np.array([0.5, 1.0])}, float("inf"), date(2026, 1, 2)))
    [1, {'a': [0.5, 1.0]}, 'inf', '2026-01-02']
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return "inf" if math.isinf(value) else value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | Set):
        return [plain(inner) for inner in value]
    if isinstance(value, Enum):
        return value.name
    return value.isoformat() if isinstance(value, date) else str(value)


def json_of(members: str = "", /, **computed: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    """Method `to_dict` of a class: named members, then what is computed.

    A member may be renamed, and may be a member of a member: `json_of("records type=looks version=policy.version")`.
    Without names all fields of a dataclass count.
    """
    named = [text.rpartition("=") for text in members.split()]
    getters = {key or path: attrgetter(path) for key, _, path in named}

    def to_dict(self: Any) -> dict[str, Any]:
        """For JSON."""
        chosen = getters or {field.name: attrgetter(field.name) for field in fields(self)}
        found = {key: plain(member(self)) for key, member in chosen.items()}
        return found | {key: plain(compute(self)) for key, compute in computed.items()}

    return to_dict


# Notebook cards: a sentence and a small table, escaped.
# Control characters and lone surrogates break a document; direction overrides let a name rewrite the text around it.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
LEFT, RIGHT = "text-align:left", "text-align:right"


def escape(text: str) -> str:
    """Text as it may stand between tags and in quoted attributes.

    >>> escape('<b>"&')
    '&lt;b&gt;&quot;&amp;'
    """
    return html.escape(UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text))


def card(words: str, rows: Iterable[Sequence[object]], *, head: Sequence[str] = ()) -> str:
    """Card of a result for `_repr_html_`: words above a table with named rows.

    >>> card("Two people.", [("k", 1)])
    "<table style='min-width:32em'><caption style='text-align:left'>Two people.</caption><tr><th scope='row' style='text-align:left'>k</th><td style='text-align:right'>1</td></tr></table>"
    """
    listed = [tuple(map(str, row)) for row in rows]
    looks = [LEFT] * len(head)
    if listed:
        # To the right if most of a column are numbers: "none" may be among them.
        digits = [2 * sum(cell[:1].isdigit() for cell in column) for column in zip(*listed, strict=True)]
        looks = [LEFT, *(RIGHT if twice > len(listed) else LEFT for twice in digits[1:])]
    top = "".join(
        f"<th scope='col' style='{look}'>{escape(name)}</th>" for name, look in zip(head, looks, strict=False)
    )
    body = f"<tr>{top}</tr>" if top else ""
    for row in listed:
        name, *values = map(escape, row)
        cells = "".join(f"<td style='{look}'>{value}</td>" for value, look in zip(values, looks[1:], strict=True))
        body += f"<tr><th scope='row' style='{LEFT}'>{name}</th>{cells}</tr>"
    return f"<table style='min-width:32em'><caption style='{LEFT}'>{escape(words)}</caption>{body}</table>"
