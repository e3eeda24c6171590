"""Results in any shape (rows, pandas, polars, Arrow): read by column, rebuilt as they were given.

What was given as a path, a URL or a table comes back as a list of dictionaries.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ColumnError, EmptySource, UsageError
from discreet.kernel import Classes, Coded, Histogram
from discreet.kernel.arrays import Ints, Label
from discreet.kernel.hierarchy import text

# The cells of one column as they come: coded, as a numpy array or as a list; and a number for each of them.
Cells = Coded | NDArray[Any] | list[Any]
Numbers = NDArray[Any]


def as_cells(column: Any) -> Cells:
    """A column given as Coded, as an array or as any sequence."""
    if isinstance(column, (Coded, list)):
        return column
    if isinstance(column, np.ma.MaskedArray):
        filled: list[Any] = column.tolist()
        return filled if np.ma.is_masked(column) else np.asarray(column.data)
    if isinstance(column, np.ndarray):
        return column.tolist() if column.dtype.kind in "OUS" else column
    return list(column)


def coded(cells: Cells) -> Coded:
    """The same cells as codes into their distinct values."""
    if isinstance(cells, Coded):
        return cells
    if isinstance(cells, list):
        return Coded.of(cells)
    distinct, codes = np.unique(cells, return_inverse=True)
    return Coded.merged(list(distinct), codes.reshape(-1))


def labels(cells: Cells) -> list[Label]:
    """The spelling of every cell."""
    its = coded(cells)
    return [its.values[code] for code in its.codes.tolist()]


def numbered(cells: Cells, number: Callable[[Label], float], dtype: type) -> Numbers:
    """A number per cell; `number` is called once for each distinct cell."""
    if isinstance(cells, np.ndarray):
        cells = coded(cells)
    if isinstance(cells, Coded):
        return np.array([number(value) for value in cells.values], dtype=dtype)[cells.codes]
    try:
        memo: dict[Any, Any] = dict.fromkeys(cells)
    except TypeError:  # lists and the like cannot be keys
        return numbered(Coded.of(cells), number, dtype)
    # Whether numbers and truth values are mixed: 1 and True are one key, but not one value.
    if any(cell == 0 or cell == 1 for cell in memo if isinstance(cell, (bool, int, float))) and any(
        isinstance(cell, bool) for cell in cells
    ):
        return numbered(Coded.of(cells), number, dtype)
    for cell in memo:
        memo[cell] = number(text(cell))
    return np.fromiter(map(memo.__getitem__, cells), dtype=dtype, count=len(cells))


def whole(cells: NDArray[Any]) -> Ints | None:
    """An array of numbers as integers, or None where some are not whole."""
    if cells.dtype.kind == "i":
        return cells.astype(np.int64, copy=False)
    if cells.dtype.kind == "u":
        return cells.astype(np.int64) if not len(cells) or int(cells.max()) < 2**63 else None
    if cells.dtype.kind != "f":
        return None
    with np.errstate(invalid="ignore"):
        rounded = np.rint(cells)
        inside = bool((np.abs(cells) < 2**53).all()) and bool((rounded == cells).all())
    return rounded.astype(np.int64) if inside else None


# A result or a source as columns, decoded only where they are needed.
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table, each decoded when it is first asked for."""

    names: tuple[str, ...]
    rows: int
    decode: Callable[[str], Cells] = field(repr=False)
    _decoded: dict[str, Cells] = field(default_factory=dict, repr=False)

    @classmethod
    def of_rows(cls, rows: Rows) -> Columns:
        """From a list of dictionaries; an absent key is a missing value."""
        names = dict.fromkeys(name for row in rows for name in row)
        return cls(tuple(names), len(rows), lambda name: [row.get(name) for row in rows])

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any]) -> Columns:
        """From decoded columns: Coded, numpy arrays or lists of one length."""
        lengths = {len(cells.codes) if isinstance(cells, Coded) else len(cells) for cells in columns.values()}
        if len(lengths) > 1:
            raise ColumnError("The columns differ in length.", remedy="Give one cell per row in every column.")
        return cls(tuple(columns), lengths.pop() if lengths else 0, lambda name: as_cells(columns[name]))

    def cells(self, name: str) -> Cells:
        """The cells of a column."""
        if name not in self._decoded:
            self._decoded[name] = self.decode(name)
        return self._decoded[name]

    def classes(self, by: Sequence[str] | None = None, *, sensitive: Sequence[str] = ()) -> Classes:
        """Equivalence classes of these rows, one person each."""
        if by is None or sensitive:
            raise UsageError("Say which columns to count by.", remedy="by=[...]")
        if not self.rows:
            raise EmptySource("There is nobody in the source.", remedy="Give a table with at least one row.")
        for name in by:
            if name not in self.names:
                raise ColumnError(f"The source has no column '{name}'.", remedy="Check the names of the columns.")
        counts = np.ones(self.rows, dtype=np.int64)
        return Classes.from_histogram(Histogram({name: coded(self.cells(name)) for name in by}, counts))


def is_rows(table: Any) -> bool:
    """Whether this is a list of dictionaries."""
    return isinstance(table, (list, tuple)) and all(isinstance(row, Mapping) for row in table)


Masks = Mapping[str, NDArray[np.bool_]]


def take(result: Any, columns: Columns, places: Ints) -> Any:
    """The rows at these places, in order."""
    kind, table = _opened(result, columns)
    match kind:
        case "rows":
            return [table[place] for place in places.tolist()]
        case "columns":
            return {name: _taken(cells, places) for name, cells in table.items()}
        case "pandas":
            return table.iloc[places]
        case "polars":
            return table[places]
    return table.take(places)


def blank(result: Any, columns: Columns, masks: Masks) -> Any:
    """The same rows with some cells emptied."""
    kind, table = _opened(result, columns)
    masks = {name: mask for name, mask in masks.items() if mask.any()}
    match kind:
        case "rows":
            for name, mask in masks.items():
                for place in np.flatnonzero(mask).tolist():
                    table[place] = {**table[place], name: None}
            return table
        case "columns":
            return {name: _emptied(cells, masks[name]) if name in masks else cells for name, cells in table.items()}
        case "pandas":
            emptied = {}
            for name, label in _labels(table, masks):
                column = table[label]
                if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iub":
                    # The kinds that know missing values, so that no digit is lost.
                    plain = column.dtype.name.replace("i", "I").replace("u", "U")
                    column = column.astype("boolean" if column.dtype.kind == "b" else plain)
                emptied[label] = column.mask(masks[name])
            return _replaced(table, emptied)
        case "polars":
            import polars

            blanks = [
                polars.when(polars.Series(mask)).then(None).otherwise(polars.col(name)).alias(name)
                for name, mask in masks.items()
            ]
            return table.with_columns(blanks)
    import pyarrow as arrow
    import pyarrow.compute as compute

    for name, mask in masks.items():
        place = table.schema.get_field_index(name)
        field = table.schema.field(place).with_nullable(True)
        cells = compute.if_else(arrow.array(mask), arrow.nulls(len(mask), field.type), table.column(place))
        table = table.set_column(place, field, cells)
    return table


def exchange(result: Any, columns: Columns, written: Mapping[str, Sequence[Label]]) -> Any:
    """The same rows with some columns written as other texts."""
    kind, table = _opened(result, columns)
    texts = {name: list(cells) for name, cells in written.items()}
    match kind:
        case "rows":
            for name, cells in texts.items():
                table = [{**row, name: cell} for row, cell in zip(table, cells, strict=True)]
            return table
        case "columns":
            return {name: texts.get(name, cells) for name, cells in table.items()}
        case "pandas":
            return _replaced(table, {label: texts[name] for name, label in _labels(table, texts)})
        case "polars":
            import polars

            return table.with_columns(
                [polars.Series(name, cells, dtype=polars.String) for name, cells in texts.items()]
            )
    for name, cells in texts.items():
        table = table.set_column(table.schema.get_field_index(name), name, [cells])
    return table


def _opened(result: Any, columns: Columns) -> tuple[str, Any]:
    """Kind of a result, and the result; one from elsewhere becomes rows of texts."""
    if is_rows(result):
        return "rows", list(result)
    if isinstance(result, Mapping):
        return "columns", result
    library = type(result).__module__.partition(".")[0]
    if library in ("pandas", "polars", "pyarrow"):
        return library, collected(result)
    cells = [labels(columns.cells(name)) for name in columns.names]
    return "rows", [dict(zip(columns.names, row, strict=True)) for row in zip(*cells, strict=True)]


def _taken(cells: Any, places: Ints) -> Any:
    if isinstance(cells, Coded):
        return Coded(cells.values, cells.codes[places])
    return cells[places] if isinstance(cells, np.ndarray) else [cells[place] for place in places.tolist()]


def _emptied(cells: Any, mask: NDArray[np.bool_]) -> Any:
    if isinstance(cells, Coded):
        return Coded((*cells.values, None), np.where(mask, len(cells.values), cells.codes))
    if isinstance(cells, np.ndarray):
        return np.ma.masked_array(cells, mask=np.ma.getmaskarray(cells) | mask)
    return [None if empty else cell for cell, empty in zip(cells, mask.tolist(), strict=True)]


def _labels(frame: Any, names: Iterable[str]) -> list[tuple[str, Any]]:
    """Columns of a pandas frame may have labels that are no texts."""
    known = {str(label): label for label in frame.columns}
    return [(name, known[name]) for name in names]


def _replaced(frame: Any, columns: Mapping[Any, Any]) -> Any:
    copy = frame.copy()
    for label, cells in columns.items():
        copy[label] = cells
    return copy


def collected(frame: Any) -> Any:
    """A lazy frame of polars as a frame."""
    return frame.collect() if type(frame).__name__ == "LazyFrame" else frame


def as_csv(rows: Rows, names: Sequence[str], delimiter: str = ",") -> str:
    """Rows as the text of a CSV file; cells that a spreadsheet would take for formulas are quoted."""
    written = io.StringIO()
    writer = csv.writer(written, delimiter=delimiter, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([harmless(row.get(name)) for name in names] for row in rows)
    return written.getvalue()


def harmless(cell: Any) -> Any:
    """A cell that a spreadsheet does not take for a formula.

    >>> harmless("=1+1"), harmless("-3.5"), harmless(None)
    ("'=1+1", '-3.5', '')
    """
    if cell is None:
        return ""
    if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
        try:
            float(cell)
        except ValueError:
            return f"'{cell}"
    return cell
