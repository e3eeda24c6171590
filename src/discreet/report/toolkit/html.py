"""HTML markup that escapes everything unless it was built here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from discreet.kernel.serialise import escape

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
    """An element; `class_` is the attribute class, other underscores are hyphens, None or False leaves one out.

    >>> str(element("th", "age", scope="col", class_="number", aria_sort=None))
    '<th scope="col" class="number">age</th>'
    """
    written = ""
    for key, value in attributes.items():
        if value is not None and value is not False:
            attribute = key.rstrip("_").replace("_", "-")
            written += f" {attribute}" if value is True else f' {attribute}="{escape(str(value))}"'
    closing = "" if name in VOID else f"</{name}>"
    return Markup(f"<{name}{written}>{join(*children)}{closing}" + ("\n" if name in BLOCKS else ""))


def join(*children: Child) -> Markup:
    """Pieces one after the other.

    >>> str(join("a & ", [Markup("<br>"), None, "b"]))
    'a &amp; <br>b'
    """
    pieces = []
    for child in children:
        if isinstance(child, Markup):
            pieces.append(child.text)
        elif isinstance(child, str):
            pieces.append(escape(child))
        elif child is not None:
            pieces.append(join(*child).text)
    return Markup("".join(pieces))
