"""Spark copies: rows stay on the cluster, and workers write every copy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel import Recoding
from discreet.kernel.arrays import Flags, Label
from discreet.sources.cluster import ClusterDisk, disk_errors, quote, translated
from discreet.sources.engine import Kind, Marked, Target
from discreet.sources.export.copies import MARK, UNMARKED
from discreet.sources.export.recode import Dialect, Outline
from discreet.sources.export.targets import FolderTarget
from discreet.sources.spark.export import csv_cell, in_random_order, write
from discreet.sources.spark.rows import named, recoded

PLACE, RANK = "discreet_place", "discreet_rank"
INDEX_BITS = 33
"""Of what monotonically_increasing_id() gives, the lower bits count the rows of a partition."""


@contextmanager
def pool(
    frame: Any, recoding: Recoding, marked: Marked, *, name: str, kinds: Mapping[str, Kind], drop: Sequence[str]
) -> Iterator[SparkPool]:
    """Recode once, and hold the rows on the cluster while copies are written."""
    outline = Outline.of(tuple(frame.columns), recoding, drop=drop)
    with translated("recode"):
        base = recoded(frame, outline, Dialect(quote), str)
        rows = _united(frame.sparkSession, base, recoding.names, marked).persist()
        others = {column: kind for column, kind in kinds.items() if column not in recoding.names}
        try:
            # The digest of the rows, comparable between copies from Spark only.
            columns = base.columns
            from pyspark.sql.functions import col, count, lit, xxhash64
            from pyspark.sql.functions import sum as total

            hashed = xxhash64(*(col(named(name)) for name in columns)).cast("decimal(20, 0)")
            # the further rows are the same in all copies
            totals = rows.agg(count(lit(1)), total(hashed)).first()
            content = hashlib.sha256(repr(("spark", sorted(columns), *map(str, totals))).encode()).hexdigest()
            yield SparkPool(tuple(base.columns), content, name, rows, others)
        finally:
            rows.unpersist()


def _united(session: Any, base: Any, names: Sequence[str], marked: Marked) -> Any:
    """The rows of the table and the further ones, marked and numbered."""
    from pyspark.sql.functions import broadcast, coalesce, col, lit, monotonically_increasing_id, unhex

    labels = {f"l{place}": column for place, column in enumerate(zip(*marked.labels, strict=True))}
    marks = broadcast(_frame(session, {MARK: [str(place) for place in range(len(marked.labels))], **labels}))
    same = [base[named(name)].eqNullSafe(marks[f"l{place}"]) for place, name in enumerate(names)]
    number = coalesce(marks[MARK].cast("int"), lit(UNMARKED)).alias(MARK)
    ours = base.join(marks, same, "left").select(*(base[named(name)] for name in base.columns), number)
    cells = {
        name: marked.column(list(names).index(name)) if name in names else marked.cells[name] for name in base.columns
    }
    texts = _frame(session, {**cells, MARK: [str(place) for place in marked.places.tolist()]})
    kinds = {**{field.name: field.dataType for field in base.schema.fields}, MARK: "int"}
    cell_of = {name: col(named(name)) for name in kinds}
    further = texts.select(
        *(
            (unhex(cell_of[name]) if str(kind) == "BinaryType()" else cell_of[name].cast(kind)).alias(name)
            for name, kind in kinds.items()
        )
    )
    return ours.union(further).withColumn(PLACE, monotonically_increasing_id())


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
    kinds: Mapping[str, Kind]

    def write(self, present: Flags, target: Target, *, secret: bytes, row_ids: str | None) -> int:
        """Write the copy that holds these marks.

        The secret of its order reaches the cluster as a hash of itself.
        """
        if not isinstance(target, FolderTarget):
            raise UsageError("A copy from Spark is a folder on the cluster.", remedy="Give a folder of the cluster.")
        with translated("copy"):
            ordered = in_random_order(self._held(present), secret, position=PLACE).persist()
            try:
                return write(self._numbered(ordered, target, row_ids), target)
            finally:
                ordered.unpersist()

    def _held(self, present: Flags) -> Any:
        """The rows of unmarked classes and of these marks."""
        from pyspark.sql.functions import col

        absent = np.flatnonzero(~present).tolist()
        return self.frame.where(~col(MARK).isin(absent)) if absent else self.frame

    def _numbered(self, ordered: Any, target: FolderTarget, row_ids: str | None) -> Any:
        """Rows numbered from 1 on across partitions, which come in order."""
        from pyspark.sql.functions import col, element_at, expr, lit, spark_partition_id
        from pyspark.sql.functions import create_map as mapping
        from pyspark.sql.functions import monotonically_increasing_id as running

        spelt = {
            name: csv_cell(named(name), self.kinds.get(name, "text")) if target.blank_is_missing else named(name)
            for name in self.columns
        }
        cells = [expr(cell).alias(target.spell(name)) for name, cell in spelt.items()]
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


@dataclass(frozen=True)
class ClusterFolders:
    """On the file system of a Spark cluster."""

    session: Any = field(repr=False)
    out: str
    delimiter: str
    scratch = None

    def present(self, folder: str, name: str) -> str | None:
        """The digest of what is in its place already."""
        disk = ClusterDisk.of(self.session, f"{self.out}/{folder}")
        if not disk.exists():
            return None
        with suppress(UsageError):
            return parts_digest(self.session, f"{disk.target}/{name}")
        return ""

    def make(self, folder: str) -> ClusterFolder:
        """A new folder, empty."""
        disk = ClusterDisk.of(self.session, f"{self.out}/{folder}")
        disk.make_parent()
        disk.refuse(overwrite=False)
        return ClusterFolder(disk, self.session, self.delimiter)


@dataclass(frozen=True)
class ClusterFolder:
    """A folder of a cluster on its way."""

    disk: ClusterDisk
    session: Any = field(repr=False)
    delimiter: str

    def target(self, name: str) -> FolderTarget:
        """Where the parts of the table go, for now."""
        return FolderTarget(f"{self.disk.stage}/{name}", self.delimiter, self.session)

    def write_text(self, name: str, text: str) -> None:
        """Put a text beside it."""
        self.disk.write(f"{self.disk.stage}/{name}", text.encode())

    def digest(self, name: str) -> str:
        """The SHA-256 over the parts, which the workers hash."""
        return parts_digest(self.session, f"{self.disk.stage}/{name}")

    def put(self) -> None:
        """Move the folder to its place."""
        self.disk.put(overwrite=False)

    def discard(self) -> None:
        """Remove what is left of it aside."""
        self.disk.clear()


def parts_digest(session: Any, address: str) -> str:
    """The SHA-256 over the digests of the parts of a table, in order."""
    with disk_errors(address):
        parts = session.read.format("binaryFile").load(f"{address}/part-*")
        rows = parts.selectExpr("path", "sha2(content, 256) AS digest").collect()
    names = sorted((row["path"].rpartition("/")[2][:10], row["digest"]) for row in rows)
    return hashlib.sha256("".join(digest for _, digest in names).encode()).hexdigest()
