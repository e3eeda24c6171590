"""Spark export: workers recode and write the parts of a folder."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from discreet.kernel import Recoding
from discreet.policy import Policy
from discreet.sources.cluster import ClusterDisk, quote, translated
from discreet.sources.engine import Kind, Target
from discreet.sources.export.recode import Dialect, Outline
from discreet.sources.export.targets import NUMBER, FolderTarget, format_of, guarded_sql, unfit
from discreet.sources.server import SCHEMES
from discreet.sources.spark.rows import named, recoded

ROWS_PER_FILE = 1_000_000
"""Rows beyond which a worker begins another file: a file is hashed in one piece, and read by one worker."""


@contextmanager
def staged(frame: Any, target: str, policy: Policy, *, name: str, overwrite: bool) -> Iterator[FolderTarget]:
    """A folder of the cluster beside the target, which becomes the target."""
    if target.startswith(SCHEMES):
        raise unfit(name, remedy="Write Parquet on the cluster, read it back with discreet, and export that.")
    format_of(target)
    disk = ClusterDisk.of(frame.sparkSession, target)
    disk.refuse(overwrite=overwrite)
    try:
        yield FolderTarget(disk.stage, policy.delimiter or ",", frame.sparkSession)
        disk.put(overwrite=overwrite)
    finally:
        disk.clear()


def export(
    frame: Any,
    recoding: Recoding,
    target: Target,
    *,
    name: str,
    kinds: Mapping[str, Kind],
    drop: Sequence[str],
    shuffled: bool,
) -> int:
    """Write the rows as the recoding publishes them."""
    if not isinstance(target, FolderTarget):
        raise unfit(name, remedy="Give the name of a folder on the cluster that ends in .parquet or .csv.")
    outline = Outline.of(tuple(frame.columns), recoding, drop=drop)
    with translated("export"):
        published = published_frame(frame, outline, target, kinds=kinds)
        return write(in_random_order(published, secrets.token_bytes(32)) if shuffled else published, target)


def published_frame(frame: Any, outline: Outline, target: FolderTarget, *, kinds: Mapping[str, Kind]) -> Any:
    """The recoded frame, its cells spelt as the target wants them."""
    dialect = Dialect(quote, lambda name, cell: csv_cell(cell, kinds[name]) if target.blank_is_missing else cell)
    return recoded(frame, outline, dialect, target.spell)


def in_random_order(frame: Any, secret: bytes, *, position: str | None = None) -> Any:
    """The frame sorted by a keyed hash of where its rows are.

    The cluster sees a hash of the secret only.
    """
    from pyspark.sql.functions import col, concat, lit, monotonically_increasing_id, sha2

    row = monotonically_increasing_id() if position is None else col(position)
    return frame.orderBy(sha2(concat(lit(hashlib.sha256(secret).hexdigest()), row.cast("string")), 256))


def csv_cell(column: str, kind: Kind) -> str:
    """A column guarded against formulas where it could hold one."""
    if kind in ("number", "boolean"):
        return column
    words = f"CAST({column} AS STRING)"
    # in Java, $ also matches before a line break at the end
    return words if kind == "date" else guarded_sql(words, is_number=f"{words} RLIKE r'^({NUMBER})\\z'")


def write(frame: Any, target: FolderTarget) -> int:
    """Let the workers write a frame, and return the number of its rows."""
    from pyspark.sql import Observation
    from pyspark.sql.functions import col, count, lit

    seen = Observation()
    # What Spark has noted beside a column, such as the values behind the codes of an indexer, would be written into the files.
    bare = [col(named(name)).alias(name, metadata={}) for name in frame.columns]
    writer = (
        frame.select(*bare).observe(seen, count(lit(1)).alias("rows")).write.option("maxRecordsPerFile", ROWS_PER_FILE)
    )
    if target.format == "parquet":
        writer.parquet(target.address)
    else:
        packed = "gzip" if target.format == "csv.gz" else "none"
        writer.options(**_csv(target), compression=packed).csv(target.address)
    return int(seen.get.get("rows", 0))


def _csv(target: FolderTarget) -> dict[str, Any]:
    spaces = {"ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
    return {"header": True, "sep": target.delimiter, "quote": '"', "escape": '"', **spaces}


def parts(target: FolderTarget, columns: Sequence[str]) -> Any:
    """The parts that were written, as one frame."""
    from pyspark.sql.types import StringType, StructField, StructType

    reader = target.session.read
    shape = StructType([StructField(name, StringType()) for name in columns])
    with translated("read back"):
        if target.format == "parquet":
            return reader.parquet(target.address)
        return reader.options(**_csv(target), multiLine=True).schema(shape).csv(target.address)
