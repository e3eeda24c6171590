"""Spark copies: rows stay on the cluster, and workers write every copy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.kernel import Recoding
from discreet.kernel.arrays import Label
from discreet.policy import Policy
from discreet.sources.engine import Kind
from discreet.sources.export.copies import MARK, UNMARKED, Marked
from discreet.sources.export.recode import Dialect, Outline
from discreet.sources.export.targets import FolderTarget, Target
from discreet.sources.spark.engine import SparkEngine, quote, translated
from discreet.sources.spark.export import csv_cell, in_random_order, joined, write
from discreet.sources.table import Table

PLACE, RANK = "discreet_place", "discreet_rank"
INDEX_BITS = 33
"""Of what monotonically_increasing_id() gives, the lower bits count the rows of a partition."""


@contextmanager
def pooled_on_cluster(table: Table, recoding: Recoding, marked: Marked) -> Iterator[SparkPool]:
    """Recode once, and keep the rows in the memory and on the disks of the cluster while copies are written."""
    engine = table.engine
    if not isinstance(engine, SparkEngine):
        raise UsageError("Only a Spark frame is copied on a cluster.", remedy="Read a Spark frame.")
    policy = table.policy or Policy()
    outline = Outline.of(tuple(engine.frame.columns), recoding, drop=policy.unpublished)
    with translated("recode"):
        base = joined(engine, outline, Dialect(quote), str)
        pool = _united(engine.frame.sparkSession, base, recoding.names, marked).persist()
        kinds = {column.name: column.kind for column in engine.fields if column.name not in recoding.names}
        try:
            # The digest of the rows of the table; Spark's own hash, so it says something between copies from Spark only.
            columns = base.columns
            from pyspark.sql.functions import col, count, lit, xxhash64
            from pyspark.sql.functions import sum as total

            hashed = xxhash64(*(col(_named(name)) for name in columns)).cast("decimal(20, 0)")
            # the further rows are the same in all copies
            found = pool.agg(count(lit(1)), total(hashed)).first()
            content = hashlib.sha256(repr(("spark", sorted(columns), *map(str, found))).encode()).hexdigest()
            yield SparkPool(tuple(base.columns), content, engine.name, pool, kinds)
        finally:
            pool.unpersist()


def _united(session: Any, base: Any, names: Sequence[str], marked: Marked) -> Any:
    """The rows of the table and the further ones, each with its mark and a number."""
    from pyspark.sql.functions import broadcast, coalesce, col, lit, monotonically_increasing_id

    marks = broadcast(_frame(session, {MARK: [str(place) for place in range(len(marked.labels))], **_labels(marked)}))
    same = [base[_named(name)].eqNullSafe(marks[f"l{place}"]) for place, name in enumerate(names)]
    number = coalesce(marks[MARK].cast("int"), lit(UNMARKED)).alias(MARK)
    ours = base.join(marks, same, "left").select(*(base[_named(name)] for name in base.columns), number)
    cells = {
        name: marked.column(list(names).index(name)) if name in names else marked.cells[name] for name in base.columns
    }
    texts = _frame(session, {**cells, MARK: [str(place) for place in marked.places.tolist()]})
    kinds = {**{field.name: field.dataType for field in base.schema.fields}, MARK: "int"}
    further = texts.select(*(_read(col(_named(name)), kind).alias(name) for name, kind in kinds.items()))
    return ours.union(further).withColumn(PLACE, monotonically_increasing_id())


def _named(name: str) -> str:
    """A column by its name, where no frames are named by braces."""
    return "`" + name.replace("`", "``") + "`"


def _read(cell: Any, kind: Any) -> Any:
    from pyspark.sql.functions import unhex

    return unhex(cell) if str(kind) == "BinaryType()" else cell.cast(kind)


def _labels(marked: Marked) -> dict[str, list[Label]]:
    width = len(marked.labels[0]) if marked.labels else 0
    return {f"l{place}": [labels[place] for labels in marked.labels] for place in range(width)}


def _frame(session: Any, columns: dict[str, Sequence[Label]]) -> Any:
    import pyarrow as arrow

    return session.createDataFrame(
        arrow.table({name: arrow.array(c, type=arrow.string()) for name, c in columns.items()})
    )


@dataclass(frozen=True, eq=False)
class SparkPool:
    """A pool in a Spark session."""

    columns: tuple[str, ...]
    content: str
    name: str
    frame: Any
    kinds: dict[str, Kind]

    def write(self, present: NDArray[np.bool_], target: Target, *, secret: bytes, row_ids: str | None) -> int:
        """Write the copy that holds these marks; the secret of its order reaches the cluster as a hash of itself."""
        if not isinstance(target, FolderTarget):
            raise UsageError("A copy from Spark is a folder on the cluster.", remedy="Give a folder of the cluster.")
        with translated("copy"):
            ordered = in_random_order(self._held(present), secret, position=PLACE).persist()
            try:
                return write(self._numbered(ordered, target, row_ids), target)
            finally:
                ordered.unpersist()

    def _held(self, present: NDArray[np.bool_]) -> Any:
        """The rows of unmarked classes and of these marks."""
        from pyspark.sql.functions import col

        absent = np.flatnonzero(~present).tolist()
        return self.frame.where(~col(MARK).isin(absent)) if absent else self.frame

    def _numbered(self, ordered: Any, target: FolderTarget, row_ids: str | None) -> Any:
        """Numbers from 1 on across partitions, which come in order: those before it, and the place within it."""
        from pyspark.sql.functions import col, element_at, expr, lit, spark_partition_id
        from pyspark.sql.functions import create_map as mapping
        from pyspark.sql.functions import monotonically_increasing_id as running

        cells = [expr(self._cell(name, target)).alias(target.spell(name)) for name in self.columns]
        if row_ids is None:
            return ordered.select(*cells)
        counted = ordered.groupBy(spark_partition_id().alias("part")).count().collect()
        before, offsets = 0, []
        for row in sorted(counted, key=lambda row: row["part"]):
            offsets += [lit(row["part"]), lit(before)]
            before += row["count"]
        inside = running().bitwiseAND(lit((1 << INDEX_BITS) - 1))
        number = inside + element_at(mapping(*offsets), spark_partition_id()) + lit(1)
        return ordered.withColumn(RANK, number).select(col(RANK).alias(target.spell(row_ids)), *cells)

    def _cell(self, name: str, target: FolderTarget) -> str:
        cell = _named(name)
        return csv_cell(cell, self.kinds.get(name, "text")) if target.blank_is_missing else cell
