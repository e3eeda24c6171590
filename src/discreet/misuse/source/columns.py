"""A reduced result in the shape it was given in: dictionaries, columns, a pandas or polars frame, or Arrow.

What was given as a path, a URL or a table comes back as a list of dictionaries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernel import Coded
from discreet.kernel.arrays import Ints, Label
from discreet.misuse.cells import labels
from discreet.misuse.columns import Columns, is_rows

Masks = Mapping[str, NDArray[np.bool_]]


def kind_of(result: Any) -> str:
    """What a result is: rows, columns, pandas, polars, pyarrow, or elsewhere."""
    if is_rows(result):
        return "rows"
    if isinstance(result, Mapping):
        return "columns"
    module = type(result).__module__.partition(".")[0]
    return module if module in ("pandas", "polars", "pyarrow") else "elsewhere"


def take(result: Any, columns: Columns, places: Ints) -> Any:
    """The rows at these places, in order."""
    match kind_of(result):
        case "rows":
            return [result[place] for place in places.tolist()]
        case "columns":
            return {name: _taken(cells, places) for name, cells in result.items()}
        case "pandas":
            return result.iloc[places]
        case "polars":
            return _collected(result)[places]
        case "pyarrow":
            return result.take(places)
    return [row for row, kept in zip(as_rows(columns), _marked(places, columns.rows), strict=True) if kept]


def blank(result: Any, columns: Columns, masks: Masks) -> Any:
    """The same rows with some cells emptied."""
    masks = {name: mask for name, mask in masks.items() if mask.any()}
    match kind_of(result):
        case "rows":
            return _blank_rows(list(result), masks)
        case "columns":
            return {name: _emptied(cells, masks[name]) if name in masks else cells for name, cells in result.items()}
        case "pandas":
            blanked = {label: _blank_pandas(result[label], masks[name]) for name, label in _labels(result, masks)}
            return _replaced(result, blanked)
        case "polars":
            return _blank_polars(_collected(result), masks)
        case "pyarrow":
            return _blank_arrow(result, masks)
    return _blank_rows(as_rows(columns), masks)


def exchange(result: Any, columns: Columns, written: Mapping[str, Sequence[Label]]) -> Any:
    """The same rows with some columns written anew, as text."""
    match kind_of(result):
        case "rows":
            return _exchange_rows(list(result), written)
        case "columns":
            return {name: list(written[name]) if name in written else cells for name, cells in result.items()}
        case "pandas":
            return _replaced(result, {label: list(written[name]) for name, label in _labels(result, written)})
        case "polars":
            return _exchange_polars(_collected(result), written)
        case "pyarrow":
            for name, cells in written.items():
                result = result.set_column(result.schema.get_field_index(name), name, [list(cells)])
            return result
    return _exchange_rows(as_rows(columns), written)


def as_rows(columns: Columns) -> list[dict[str, Any]]:
    """A table from elsewhere as a list of dictionaries of texts."""
    cells = [labels(columns.cells(name)) for name in columns.names]
    return [dict(zip(columns.names, row, strict=True)) for row in zip(*cells, strict=True)]


def _marked(places: Ints, rows: int) -> list[bool]:
    marked = np.zeros(rows, dtype=bool)
    marked[places] = True
    return marked.tolist()


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


def _blank_rows(rows: list[Any], masks: Masks) -> list[Any]:
    for name, mask in masks.items():
        for place in np.flatnonzero(mask).tolist():
            rows[place] = {**rows[place], name: None}
    return rows


def _exchange_rows(rows: list[Any], written: Mapping[str, Sequence[Label]]) -> list[Any]:
    for name, cells in written.items():
        rows = [{**row, name: cell} for row, cell in zip(rows, cells, strict=True)]
    return rows


def _labels(frame: Any, names: Iterable[str]) -> list[tuple[str, Any]]:
    """Columns of a pandas frame may have labels that are no texts."""
    known = {str(label): label for label in frame.columns}
    return [(name, known[name]) for name in names]


def _replaced(frame: Any, columns: Mapping[Any, Any]) -> Any:
    copy = frame.copy()
    for label, cells in columns.items():
        copy[label] = cells
    return copy


def _collected(frame: Any) -> Any:
    return frame.collect() if hasattr(frame, "collect") else frame


def _blank_pandas(column: Any, mask: NDArray[np.bool_]) -> Any:
    """Whole numbers and truth values become the kinds that know missing values, so that no digit is lost."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iub":
        column = column.astype(
            "boolean" if column.dtype.kind == "b" else column.dtype.name.replace("i", "I").replace("u", "U")
        )
    return column.mask(mask)


def _blank_polars(frame: Any, masks: Masks) -> Any:
    import polars

    blanks = [
        polars.when(polars.Series(mask)).then(None).otherwise(polars.col(name)).alias(name)
        for name, mask in masks.items()
    ]
    return frame.with_columns(blanks)


def _blank_arrow(table: Any, masks: Masks) -> Any:
    import pyarrow as arrow
    import pyarrow.compute as compute

    for name, mask in masks.items():
        place = table.schema.get_field_index(name)
        field = table.schema.field(place).with_nullable(True)
        nothing = arrow.nulls(len(mask), field.type)
        table = table.set_column(place, field, compute.if_else(arrow.array(mask), nothing, table.column(place)))
    return table


def _exchange_polars(frame: Any, written: Mapping[str, Sequence[Label]]) -> Any:
    import polars

    return frame.with_columns(
        [polars.Series(name, list(cells), dtype=polars.String) for name, cells in written.items()]
    )
