"""Markup that escapes everything unless it was built here."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Child: TypeAlias = "Markup | str | Sequence[Child] | None"
Attribute: TypeAlias = str | int | bool | None

VOID = frozenset({"br", "meta"})
BLOCKS = frozenset({"div", "figure", "g", "li", "meta", "p", "section", "style", "svg", "table", "title", "tr", "ul"})
# Control characters and lone surrogates break a document; direction overrides let a name rewrite the text around it.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Markup:
    """Text that is markup already: the one way around escaping.

    >>> str(element("p", "a < b", element("b", "&")))
    '<p>a &lt; b<b>&amp;</b></p>\\n'
    """

    text: str

    def __str__(self) -> str:
        return self.text


def escape(text: str) -> str:
    """Text as it may stand between tags and in quoted attributes.

    >>> escape('<b>"&')
    '&lt;b&gt;&quot;&amp;'
    """
    return html.escape(UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text))


def element(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """An element; `class_` stands for class, other underscores for hyphens, and None or False leaves one out.

    >>> str(element("th", "age", scope="col", class_="number", aria_sort=None))
    '<th scope="col" class="number">age</th>'
    """
    opening = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    closing = "" if name in VOID else f"</{name}>"
    return Markup(f"{opening}{join(*children)}{closing}" + ("\n" if name in BLOCKS else ""))


def join(*children: Child) -> Markup:
    """Pieces one after the other.

    >>> str(join("a & ", [Markup("<br>"), None, "b"]))
    'a &amp; <br>b'
    """
    return Markup("".join(_text(child) for child in children))


def _text(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child.text
    return escape(child) if isinstance(child, str) else join(*child).text


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
