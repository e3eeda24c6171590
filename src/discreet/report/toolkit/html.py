"""HTML markup that escapes everything unless it was built here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from discreet.kernel.notebook import escape

Child: TypeAlias = "Markup | str | Sequence[Child] | None"
Attribute: TypeAlias = str | int | bool | None

VOID = frozenset({"br", "meta"})
BLOCKS = frozenset({"div", "figure", "g", "li", "meta", "p", "section", "style", "svg", "table", "title", "tr", "ul"})


@dataclass(frozen=True)
class Markup:
    """Text that is markup already: the one way around escaping.

    >>> str(element("p", "a < b", element("b", "&")))
    '<p>a &lt; b<b>&amp;</b></p>\\n'
    """

    text: str

    def __str__(self) -> str:
        return self.text


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
