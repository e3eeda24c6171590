"""Notebook card of a result: a sentence and a small table, escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

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
    """A result for `_repr_html_`: words above a table whose rows begin with a name; columns of numbers to the right.

    >>> card("Two people.", [("k", 1)])
    "<table style='min-width:32em'><caption style='text-align:left'>Two people.</caption><tr><th scope='row' style='text-align:left'>k</th><td style='text-align:right'>1</td></tr></table>"
    """
    listed = [tuple(map(str, row)) for row in rows]
    looks = [LEFT, *map(_look, list(zip(*listed, strict=True))[1:])] if listed else [LEFT] * len(head)
    top = "".join(
        f"<th scope='col' style='{look}'>{escape(name)}</th>" for name, look in zip(head, looks, strict=False)
    )
    heading = f"<tr>{top}</tr>" if top else ""
    body = "".join(_row(cells, looks) for cells in listed)
    return f"<table style='min-width:32em'><caption style='{LEFT}'>{escape(words)}</caption>{heading}{body}</table>"


def _look(column: Sequence[str]) -> str:
    """To the right if most of it are numbers: "none" may stand among them."""
    return RIGHT if 2 * sum(cell[:1].isdigit() for cell in column) > len(column) else LEFT


def _row(cells: Sequence[str], looks: Sequence[str]) -> str:
    name, *values = map(escape, cells)
    shown = "".join(f"<td style='{look}'>{value}</td>" for value, look in zip(values, looks[1:], strict=True))
    return f"<tr><th scope='row' style='{LEFT}'>{name}</th>{shown}</tr>"
