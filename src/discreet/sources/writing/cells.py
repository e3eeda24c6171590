"""Cells of a CSV that no spreadsheet takes for a formula."""

from __future__ import annotations

import re

RISKY = ("=", "+", "-", "@", "\t", "\r")
NUMBER = "[-+]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][-+]?[0-9]+)?"
"""Written without backslashes and braces, which engines read differently."""


def guarded(cell: str) -> str:
    """The cell with an apostrophe before what a spreadsheet would calculate; plain numbers stay.

    >>> [guarded(cell) for cell in ("=1+1", "-5", "+1", "@x", "a=b", "'=x")]
    ["'=1+1", '-5', '+1', "'@x", 'a=b', "'=x"]
    """
    return f"'{cell}" if cell.startswith(RISKY) and not re.fullmatch(NUMBER, cell) else cell


def guarded_sql(cell: str, *, is_number: str) -> str:
    """The same in SQL, given how the engine asks whether the whole cell is a number."""
    # No IN: DuckDB makes a join of each list, and hundreds of columns hundreds of joins.
    risky = " OR ".join(f"LEFT({cell}, 1) = CHR({ord(mark)})" for mark in RISKY)
    return f"CASE WHEN ({risky}) AND NOT {is_number} THEN CONCAT(CHR(39), {cell}) ELSE {cell} END"
