"""How a cell becomes the text that is compared and shown, as expressions of DuckDB: no value passes through Python."""

from __future__ import annotations

import re
from collections.abc import Sequence

from discreet.linkage.linkfile import Case
from discreet.linkage.records.spec import Attribute, LinkageSpec
from discreet.sources.duckdb.engine import literal

DAYS = ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")
FLOATS = ("FLOAT", "DOUBLE")
GROUPS = {"%Y": "([0-9]{4})", "%m": "([0-9]{1,2})", "%d": "([0-9]{1,2})"}
FOLDS: dict[Case, str] = {"upper": "upper", "lower": "lower", "keep": ""}


def cleaned(cell: str, kind: str, attribute: Attribute, spec: LinkageSpec) -> str:
    """The expression for a cell of a column of this type of DuckDB; missing values become NULL."""
    if attribute.kind == "date":
        return _date(cell, kind, attribute.formats, spec.missing)
    return _text(_written(cell, kind), spec.case, spec.missing)


def plain(cell: str, kind: str) -> str:
    """The cell as text, without its blanks; what is empty is missing."""
    return f"nullif(trim({_written(cell, kind)}), '')"


def _written(cell: str, kind: str) -> str:
    """A whole number that a frame holds as a float, since others are missing, is written without its point."""
    text = f"CAST({cell} AS VARCHAR)"
    if kind not in FLOATS:
        return text
    return f"CASE WHEN {cell} = floor({cell}) AND abs({cell}) < 1e15 THEN CAST(CAST({cell} AS BIGINT) AS VARCHAR) ELSE {text} END"


def _text(cell: str, case: Case, missing: Sequence[str]) -> str:
    """Composed letters, single blanks, one case."""
    folded = f"{FOLDS[case]}(trim(regexp_replace(nfc_normalize({cell}), '\\s+', ' ', 'g')))"
    return _present(folded, missing)


def _present(cell: str, missing: Sequence[str]) -> str:
    words = ", ".join(f"upper({literal(word.strip())})" for word in ("", *missing))
    return f"CASE WHEN upper({cell}) IN ({words}) THEN NULL ELSE {cell} END"


def _date(cell: str, kind: str, formats: Sequence[str], missing: Sequence[str]) -> str:
    """YYYY-MM-DD. The digits are moved, not checked: a month 13 is a slip that people who decide should see."""
    if kind in DAYS:
        return f"strftime({cell}, '%Y-%m-%d')"
    text = _present(f"trim({_written(cell, kind)})", missing)
    return f"coalesce({', '.join(_moved(text, one) for one in formats)})"


def _moved(cell: str, written: str) -> str:
    pattern, order = pattern_of(written)
    year, month, day = (
        f"lpad(regexp_extract({cell}, {literal(pattern)}, {order.index(part) + 1}), {width}, '0')"
        for part, width in (("%Y", 4), ("%m", 2), ("%d", 2))
    )
    return f"CASE WHEN regexp_full_match({cell}, {literal(pattern)}) THEN {year} || '-' || {month} || '-' || {day} END"


def pattern_of(written: str) -> tuple[str, list[str]]:
    """A date format as a pattern, and the order of its parts.

    >>> pattern_of("%d.%m.%Y")
    ('([0-9]{1,2})\\\\.([0-9]{1,2})\\\\.([0-9]{4})', ['%d', '%m', '%Y'])
    >>> pattern_of("%Y%m%d")[0]
    '([0-9]{4})([0-9]{2})([0-9]{2})'
    """
    pieces = re.split(r"(%[Ymd])", written)
    glued = any(not piece for piece in pieces[2:-1:2])
    pattern = "".join(GROUPS.get(piece, re.escape(piece)) for piece in pieces)
    return (pattern.replace("{1,2}", "{2}") if glued else pattern), [piece for piece in pieces if piece in GROUPS]
