"""Links from a page to files outside docs/, such as tests: the site does not hold these, so their names stay as text."""

from __future__ import annotations

import re
from typing import Any

OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./){2,}[^)]+\)")


def on_page_markdown(markdown: str, **_known: Any) -> str:
    """A page without links that leave the documentation."""
    return OUTSIDE.sub(r"\1", markdown)
