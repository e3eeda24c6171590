"""Hierarchy files: one row per value, `value;level 1;level 2;...`, without a header."""

from __future__ import annotations

import csv
from pathlib import Path

from discreet.errors import HierarchyError
from discreet.kernel import Tree


def read_tree(path: Path) -> Tree:
    """Read a hierarchy file; cells are separated by semicolons, commas or tabs."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise HierarchyError(
            f"there is no file {path}.", remedy="Paths in a policy are relative to the policy file."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise HierarchyError(
            f"{path} cannot be read ({type(error).__name__}).", remedy="Save it as UTF-8 text."
        ) from None
    lines = [line for line in text.splitlines() if line.strip()]
    rows = csv.reader(lines, delimiter=_delimiter(lines))
    return Tree(tuple(tuple(cell.strip() for cell in row) for row in rows), name=path.name)


def _delimiter(lines: list[str]) -> str:
    first = lines[0] if lines else ""
    return next((mark for mark in ";\t," if mark in first), ";")
