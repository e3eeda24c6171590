"""How a result looks in a notebook: a sentence and a small table, escaped, in the notebook's own colours."""

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
    """A result for `_repr_html_`: words above a table whose rows begin with a name.

    >>> card("Two people.", [("k", 1)])
    "<table><caption style='text-align:left'>Two people.</caption><tr><th scope='row' style='text-align:left'>k</th><td style='text-align:right'>1</td></tr></table>"
    """
    top = "".join(
        f"<th scope='col' style='{LEFT if not place else RIGHT}'>{escape(name)}</th>" for place, name in enumerate(head)
    )
    heading = f"<tr>{top}</tr>" if top else ""
    return f"<table><caption style='{LEFT}'>{escape(words)}</caption>{heading}{''.join(map(_row, rows))}</table>"


def _row(cells: Sequence[object]) -> str:
    name, *values = (escape(str(cell)) for cell in cells)
    shown = "".join(f"<td style='{RIGHT}'>{value}</td>" for value in values)
    return f"<tr><th scope='row' style='{LEFT}'>{name}</th>{shown}</tr>"
