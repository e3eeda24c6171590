"""Spreadsheets: the one sheet that holds a table, its first row as header, its cells with their types."""

from __future__ import annotations

import importlib.util
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.errors import EmptySource, MissingExtra, SheetNeeded, SourceUnreadable
from discreet.sources.files.cell_types import TypedColumn, spelt
from discreet.sources.files.csv_dialect import check_header
from discreet.sources.files.formats import FileFormat, unreadable

MOST_CELLS = 10**8
"""Cells of a sheet, those between the used ones included, which take memory as well."""
BLOCK = 2**22
PLACE = re.compile(rb"[<:](?:row|c)\s[^>]*?\br=\"([A-Z]*)(\d*)\"")


def sheet_columns(
    path: Path, name: str, kind: FileFormat, *, sheet: str | None, declared: Sequence[str]
) -> tuple[str, dict[str, TypedColumn]]:
    """The name of the sheet that was read, and its columns."""
    if importlib.util.find_spec("python_calamine") is None:
        raise MissingExtra("formats", needed_for=f"Reading {kind.words}")
    import python_calamine as calamine

    _refuse_vast(path, name)
    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            shown = [
                about.name
                for about in book.sheets_metadata
                if about.typ == calamine.SheetTypeEnum.WorkSheet and about.visible == calamine.SheetVisibleEnum.Visible
            ]
            if sheet is not None and sheet not in book.sheet_names:
                raise _which(f"{name} has no sheet '{sheet}'", shown)
            rows = {
                title: _filled(book.get_sheet_by_name(title).to_python())
                for title in (shown if sheet is None else [sheet])
            }
    except calamine.PasswordError:
        raise SourceUnreadable(f"{name} is locked with a password.", remedy="Save it without one.") from None
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise unreadable(name, error) from None
    tables = [title for title, cells in rows.items() if len(cells) > 1]
    if not tables:
        where = f"sheet '{sheet}' of {name}" if sheet is not None else name
        raise EmptySource(
            f"There is no table in {where}: no sheet has a header and a row below it.",
            remedy="Give a workbook whose sheet begins with a header.",
        )
    if len(tables) > 1:
        raise _which(f"{name} has {len(tables)} sheets with tables", tables)
    header, *people = rows[tables[0]]
    titles = [spelt(cell) or "" for cell in header]
    kept = [
        place for place, title in enumerate(titles) if title.strip() or any(row[place] is not None for row in people)
    ]
    sample = [[spelt(cell) or "" for cell in (row[place] for place in kept)] for row in people[:200]]
    check_header([titles[place] for place in kept], name, rows=sample, declared=declared)
    return tables[0], {titles[place]: TypedColumn.of([row[place] for row in people]) for place in kept}


def _filled(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Rows with empty cells as missing; a row without any cell is nobody."""
    filled = ([None if cell == "" else cell for cell in row] for row in rows)
    return [row for row in filled if any(cell is not None for cell in row)]


def _which(problem: str, sheets: Sequence[str]) -> SheetNeeded:
    listed = ", ".join(f"'{title}'" for title in sheets)
    return SheetNeeded(
        f"{problem}: {listed}." if "with tables" in problem else f"{problem}. It has: {listed}.",
        remedy=f'Say which one (--sheet NAME), or in the policy [data] sheet = "{sheets[0] if sheets else ""}".',
        sheets=sheets,
    )


def _refuse_vast(path: Path, name: str) -> None:
    """Stop if cells are so far apart that the sheet between them does not fit into memory."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        for inner in archive.namelist():
            if not re.fullmatch(r"xl/worksheets/[^/]*\.xml", inner):
                continue
            letters, farthest, rest = set[bytes](), 0, b""
            with archive.open(inner) as file:
                while block := file.read(BLOCK):
                    found = PLACE.findall(rest + block)
                    letters |= {column for column, _ in found}
                    farthest = max([farthest, *(int(row) for _, row in found if row)])
                    rest = block[-200:]
            widest = max(
                (
                    sum((ord(sign) - 64) * 26**power for power, sign in enumerate(reversed(text)))
                    for text in (column.decode() for column in letters)
                ),
                default=0,
            )
            if widest * farthest > MOST_CELLS:
                raise SourceUnreadable(
                    f"A sheet of {name} goes over {farthest:,} rows and {widest:,} columns, most of them empty.",
                    remedy="Delete what is far outside the table, or save the table as CSV.",
                )
