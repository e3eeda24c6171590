"""Files whose cells have types: spreadsheets, and files of Stata, SPSS and SAS.

Of a spreadsheet the one sheet that holds a table, its first row as header. Of a statistical package value labels become
values, days become days, missing stays missing. A column gets the type that loses nothing.
"""

from __future__ import annotations

import datetime
import importlib.util
import re
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EmptySource, MissingExtra, SheetNeeded, SourceUnreadable
from discreet.kernel.hierarchy import text
from discreet.sources.files.csv_dialect import check_header, with_row_names
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
    titles = with_row_names([spelt(cell) or "" for cell in header])
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


EXACT = 2**53
"""Whole numbers up to which a float holds each one."""


@dataclass(frozen=True)
class TypedColumn:
    """Cells as DuckDB takes them over, and the type that it gives them."""

    cells: NDArray[Any]
    kind: str

    @classmethod
    def of(cls, cells: Sequence[Any]) -> TypedColumn:
        """Numbers, days, times and truth values stay what they are; a mixture becomes text.

        >>> [TypedColumn.of(cells).kind for cells in ([1.0, None, 2], [1.5], [datetime.date(2001, 1, 2)], [1, "x"], [True])]
        ['BIGINT', 'DOUBLE', 'DATE', 'VARCHAR', 'BOOLEAN']
        """
        kinds = {type(cell) for cell in cells} - {type(None)}
        if kinds and kinds <= {int, float}:
            numbers = np.array(cells, dtype=np.float64)
            there = numbers[~np.isnan(numbers)]
            if not len(there) or np.abs(there).max() < EXACT:
                whole = bool((there == np.floor(there)).all())
                return cls(numbers, "BIGINT" if whole else "DOUBLE")
        kind = "VARCHAR"
        if kinds == {bool}:
            kind = "BOOLEAN"
        elif kinds and kinds <= {datetime.date, datetime.datetime}:
            timed = any(isinstance(cell, datetime.datetime) and cell.time() != datetime.time() for cell in cells)
            kind = "TIMESTAMP" if timed else "DATE"
        return cls(np.array([spelt(cell) for cell in cells], dtype=object), kind)

    def select(self, column: str) -> str:
        """The cell in SQL, missing where there is none."""
        if self.cells.dtype == np.float64:
            return f"CASE WHEN isnan({column}) THEN NULL ELSE CAST({column} AS {self.kind}) END"
        return f"CAST({column} AS {self.kind})"


def spelt(cell: Any) -> str | None:
    """A cell as text, as values are spelt everywhere; an empty text is a missing value.

    >>> [spelt(cell) for cell in (3.0, 2.5, True, "", datetime.datetime(2001, 1, 2), datetime.time(8, 30))]
    ['3', '2.5', 'true', None, '2001-01-02', '08:30:00']
    """
    return text(cell) or None


READERS = {"stata": "read_dta", "spss": "read_sav", "sas transport": "read_xport", "sas": "read_sas7bdat"}


def labelled_columns(
    path: Path, name: str, kind: FileFormat, *, labels: bool, encoding: str | None, declared: Sequence[str]
) -> tuple[list[str], dict[str, TypedColumn]]:
    """The columns whose codes were replaced by their labels, and all columns.

    Values that a file declares missing (SPSS), and the letters for missing values of Stata and SAS, are missing.
    """
    if importlib.util.find_spec("pyreadstat") is None:
        raise MissingExtra("formats", needed_for=f"Reading {kind.words}")
    import pyreadstat

    try:
        read = getattr(pyreadstat, READERS[kind.name])
        cells, about = read(str(path), output_format="dict", encoding=encoding)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OSError, ValueError, OverflowError) as error:
        raise unreadable(name, error) from None
    check_header(list(cells), name, declared=(*cells, *declared))
    known = about.variable_value_labels if labels else {}
    spelled = {title: _labelled(column, known.get(title, {})) for title, column in cells.items()}
    changed = [title for title, column in spelled.items() if column is not cells[title]]
    return changed, {title: TypedColumn.of(column) for title, column in spelled.items()}


def _labelled(cells: Sequence[Any], labels: Mapping[Any, str]) -> Sequence[Any]:
    """Codes by their labels; codes that share a label keep their number behind it, and so stay apart."""
    present = {cell for cell in set(cells) if cell in labels}
    if not present:
        return cells
    times = Counter(labels[code] for code in present)
    shown = {code: labels[code] if times[labels[code]] == 1 else f"{labels[code]} ({spelt(code)})" for code in present}
    return [shown.get(cell, cell) for cell in cells]
