"""Files of Stata, SPSS and SAS: value labels become values, days become days, missing stays missing."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import MissingExtra
from discreet.sources.files.cell_types import TypedColumn, spelt
from discreet.sources.files.csv_dialect import check_header
from discreet.sources.files.formats import FileFormat, unreadable

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
