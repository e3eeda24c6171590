"""Spark rows: whole columns, chosen classes, and onto a DuckDB desk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.kernel import Coded, Column, Recoding
from discreet.kernel.hierarchy import text
from discreet.policy import Policy
from discreet.sources import files
from discreet.sources.cluster import quote, translated
from discreet.sources.desk import DuckDBDesk
from discreet.sources.engine import Cells, engine_for
from discreet.sources.export.recode import Dialect, Outline, Spell, base_codes, kept_codes

MOST_BROADCAST = 1_000_000
"""Classes beyond which the cluster decides itself how to join them."""


def named(name: str) -> str:
    """A column by its name, where no frames are named by braces."""
    return "`" + name.replace("`", "``") + "`"


def fetch(frame: Any, names: Sequence[str]) -> dict[str, Coded]:
    """The cells of some columns, as the cluster sends the rows."""
    arrow = _arrow(frame, names)
    return {name: files.coded(arrow.column(place)) for place, name in enumerate(names)}


def chosen(frame: Any, recoding: Recoding, *, drop: Sequence[str]) -> Cells:
    """The rows that the recoding publishes, in no particular order, as Python values."""
    outline = Outline.of(tuple(frame.columns), recoding, drop=drop)
    with translated("read"):
        arrow = recoded(frame, outline, Dialect(quote), str).toArrow()
    return {name: arrow.column(place).to_pylist() for place, name in enumerate(arrow.column_names)}


@contextmanager
def desk(frame: Any, names: Sequence[str], *, name: str) -> Iterator[DuckDBDesk]:
    """These columns on a DuckDB connection, brought to the driver as Arrow."""
    engine = engine_for(_arrow(frame, names), Policy())
    with engine.desk(names) as brought:
        yield replace(brought, name=name)


def _arrow(frame: Any, names: Sequence[str]) -> Any:
    with translated("read"):
        return frame.select(*[frame[named(name)] for name in names]).toArrow()


def recoded(frame: Any, outline: Outline, dialect: Dialect, spell: Spell) -> Any:
    """The recoded frame."""
    recoding = outline.recoding
    frames = {f"m{place}": _map(frame, column) for place, column in enumerate(recoding.classes.columns)}
    frames |= {"kept": _kept(frame, recoding, spell), "source": frame}
    select = outline.select(dialect, relation="{source}", table="{{{}}}".format, title=spell)
    return frame.sparkSession.sql(select, **frames)


def _map(frame: Any, column: Column) -> Any:
    """The code of every value of a column, sent to all workers."""
    import pyarrow as arrow
    from pyspark.sql.functions import broadcast

    session, name = frame.sparkSession, quote(column.name)
    sql = f"SELECT DISTINCT {name} AS value FROM {{source}} WHERE {name} IS NOT NULL"
    values = session.sql(sql, source=frame).toArrow().column("value")
    codes = base_codes(column, [text(value) for value in values.to_pylist()])
    return broadcast(session.createDataFrame(arrow.table({"value": values, "code": codes})))


def _kept(frame: Any, recoding: Recoding, spell: Spell) -> Any:
    """The classes that are published, with their codes and labels."""
    import pyarrow as arrow
    from pyspark.sql.functions import broadcast

    codes = kept_codes(recoding)
    columns = {name: array for name, array in codes.items() if not name.startswith("p")}
    for place, labels in enumerate(recoding.labels):
        spelt = np.array([None if label is None else spell(label) for label in labels], dtype=object)
        columns[f"l{place}"] = arrow.array(spelt[codes[f"p{place}"]], type=arrow.string())
    kept = frame.sparkSession.createDataFrame(arrow.table(columns))
    return broadcast(kept) if len(codes["id"]) <= MOST_BROADCAST else kept
