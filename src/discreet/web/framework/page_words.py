"""Words for pages: findings and remedies without the commands that people in a browser do not have."""

from __future__ import annotations

import re

from discreet.report.toolkit.html import Markup
from discreet.report.toolkit.page import prose

COMMAND = re.compile(r"(?<![\w-])--[a-z]|\bdiscreet(?: |\xa0)[a-z]")
"""An option, or a command: the name of the program has a capital letter elsewhere."""
ASIDE = re.compile(r"\s*\([^()]*\)")
SENTENCE = re.compile(r"(?<=[.!?;])\s+")
BLOCK = re.compile(r"<(p|li|td|dd)\b([^>]*)>((?:(?!<(?:p|li|td|dd)\b).)*?)</\1>", re.DOTALL)
LABEL = re.compile(r"\s*<b>[^<]*</b>\s*")


def without_commands(text: str) -> str:
    """A text without asides and sentences that name a command.

    >>> without_commands("Give a table of the population (`--population`). Or run: discreet doctor.")
    'Give a table of the population.'
    """
    if not COMMAND.search(text):
        return text
    text = ASIDE.sub(lambda aside: "" if COMMAND.search(aside[0]) else aside[0], text)
    kept = " ".join(sentence for sentence in SENTENCE.split(text) if not COMMAND.search(sentence))
    return f"{kept[:-1]}." if kept.endswith(";") else kept


def page_prose(text: str) -> Markup:
    """Words for people on a page."""
    return prose(without_commands(text))


def page_section(html: str) -> Markup:
    """A section of a report on a page; a paragraph of which nothing is left goes."""

    def block(found: re.Match[str]) -> str:
        name, about, inner = found.groups()
        if not COMMAND.search(inner):
            return found[0]
        label = LABEL.match(inner)
        begin = label[0] if label else ""
        rest = without_commands(inner[len(begin) :])
        return f"<{name}{about}>{begin}{rest}</{name}>" if rest.strip() else ""

    return Markup(BLOCK.sub(block, html))
