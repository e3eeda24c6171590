"""Spark export: workers recode and write the parts of a folder."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel import Column, Recoding
from discreet.kernel.hierarchy import text
from discreet.sources.engine import Kind
from discreet.sources.export.recode import Dialect, Outline, Spell, base_codes, kept_codes
from discreet.sources.export.targets import NUMBER, FolderTarget, Target, guarded_sql, occupied, unfit
from discreet.sources.spark.engine import SparkEngine, failures, quote, translated

MOST_BROADCAST = 1_000_000
"""Classes beyond which the cluster decides itself how to join them."""
ROWS_PER_FILE = 1_000_000
"""Rows beyond which a worker begins another file: a file is hashed in one piece, and read by one worker."""


def export(engine: SparkEngine, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool) -> int:
    """Write the rows as the recoding publishes them, in a random order where they are `shuffled`."""
    if not isinstance(target, FolderTarget):
        raise unfit(engine.name, remedy="Give the name of a folder on the cluster that ends in .parquet or .csv.")
    outline = Outline.of(tuple(engine.frame.columns), recoding, drop=drop)
    with translated("export"):
        recoded = _recoded(engine, outline, target)
        return write(in_random_order(recoded, secrets.token_bytes(32)) if shuffled else recoded, target)


def in_random_order(frame: Any, secret: bytes, *, position: str | None = None) -> Any:
    """The frame sorted by a keyed hash of where its rows are; the cluster sees a hash of the secret only."""
    from pyspark.sql.functions import col, concat, lit, monotonically_increasing_id, sha2

    row = monotonically_increasing_id() if position is None else col(position)
    return frame.orderBy(sha2(concat(lit(hashlib.sha256(secret).hexdigest()), row.cast("string")), 256))


def chosen(engine: SparkEngine, recoding: Recoding, *, drop: Sequence[str]) -> Any:
    """The rows that the recoding publishes, in no particular order, as an Arrow table."""
    outline = Outline.of(tuple(engine.frame.columns), recoding, drop=drop)
    with translated("read"):
        return joined(engine, outline, Dialect(quote), str).toArrow()


def _recoded(engine: SparkEngine, outline: Outline, target: FolderTarget) -> Any:
    kinds = {column.name: column.kind for column in engine.fields}
    return joined(engine, outline, Dialect(quote, _cells(kinds, target)), target.spell)


def joined(engine: SparkEngine, outline: Outline, dialect: Dialect, spell: Spell) -> Any:
    """The recoded frame."""
    recoding = outline.recoding
    frames = {f"m{place}": _map(engine, column) for place, column in enumerate(recoding.classes.columns)}
    frames |= {"kept": _kept(engine, recoding, spell), "source": engine.frame}
    select = outline.select(dialect, relation="{source}", table="{{{}}}".format, title=spell)
    return engine.frame.sparkSession.sql(select, **frames)


def _map(engine: SparkEngine, column: Column) -> Any:
    import pyarrow as arrow
    from pyspark.sql.functions import broadcast

    session, name = engine.frame.sparkSession, quote(column.name)
    sql = f"SELECT DISTINCT {name} AS value FROM {{source}} WHERE {name} IS NOT NULL"
    values = session.sql(sql, source=engine.frame).toArrow().column("value")
    codes = base_codes(column, [text(value) for value in values.to_pylist()])
    return broadcast(session.createDataFrame(arrow.table({"value": values, "code": codes})))


def _kept(engine: SparkEngine, recoding: Recoding, spell: Spell) -> Any:
    import pyarrow as arrow
    from pyspark.sql.functions import broadcast

    codes = kept_codes(recoding)
    columns = {name: array for name, array in codes.items() if not name.startswith("p")}
    for place, labels in enumerate(recoding.labels):
        spelt = np.array([None if label is None else spell(label) for label in labels], dtype=object)
        columns[f"l{place}"] = arrow.array(spelt[codes[f"p{place}"]], type=arrow.string())
    frame = engine.frame.sparkSession.createDataFrame(arrow.table(columns))
    return broadcast(frame) if len(codes["id"]) <= MOST_BROADCAST else frame


def _cells(kinds: dict[str, Kind], target: FolderTarget) -> Callable[[str, str], str]:
    return lambda name, cell: csv_cell(cell, kinds[name]) if target.blank_is_missing else cell


def csv_cell(column: str, kind: Kind) -> str:
    """A column guarded against formulas where it could hold one."""
    if kind in ("number", "boolean"):
        return column
    words = f"CAST({column} AS STRING)"
    # in Java, $ also matches before a line break at the end
    return words if kind == "date" else guarded_sql(words, is_number=f"{words} RLIKE r'^({NUMBER})\\z'")


def write(frame: Any, target: FolderTarget) -> int:
    """Let the workers write a frame, and say how many rows it had."""
    from pyspark.sql import Observation
    from pyspark.sql.functions import col, count, lit

    seen = Observation()
    # What Spark has noted beside a column, such as the values behind the codes of an indexer, would be written into the files.
    bare = [col("`" + name.replace("`", "``") + "`").alias(name, metadata={}) for name in frame.columns]
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


@contextmanager
def staged_folder(session: Any, address: str, *, delimiter: str, overwrite: bool) -> Iterator[Target]:
    """A folder beside the target that becomes the target, both on the file system of the cluster."""
    disk = ClusterDisk.of(session, address)
    disk.refuse(overwrite=overwrite)
    try:
        yield FolderTarget(disk.stage, delimiter, session)
        disk.put(overwrite=overwrite)
    finally:
        disk.clear()


# The file system a Spark cluster writes to, reached through the driver, since it need not be that of this machine.
FOLDERS = ("file:", "hdfs:")
"""File systems where a folder must be there before something is put into it; object stores have none."""


@dataclass(frozen=True)
class ClusterDisk:
    """One target on that file system, and a folder beside it for what is not finished."""

    target: str
    system: Any = field(repr=False)
    path: Any = field(repr=False)
    """What makes a path of a text."""
    token: str = field(default_factory=lambda: secrets.token_hex(6))

    @classmethod
    def of(cls, session: Any, address: str) -> ClusterDisk:
        """The file system that the address names, or the cluster's own."""
        jvm = getattr(session, "_jvm", None)
        if jvm is None:
            raise UsageError(
                "Over Spark Connect the files of the cluster can be neither moved nor removed.",
                remedy="Export from a session on the driver itself.",
            )
        with told(address):
            path = jvm.org.apache.hadoop.fs.Path
            system = path(address).getFileSystem(session._jsc.hadoopConfiguration())
            return cls(system.makeQualified(path(address)).toString(), system, path)

    @property
    def _parent(self) -> str:
        return self.target.rpartition("/")[0]

    @property
    def _aside(self) -> str:
        return f"{self._parent}/.discreet-{self.token}"

    @property
    def stage(self) -> str:
        """Where to write; it carries the name of the target."""
        return f"{self._aside}/{self.target.rpartition('/')[2]}"

    def refuse(self, *, overwrite: bool) -> None:
        """Stop if the target cannot be made."""
        with told(self.target):
            if self.target.startswith(FOLDERS) and not self._exists(self._parent):
                raise UsageError(f"There is no folder {self._parent}.", remedy="Create it first, or check the path.")
            if self._exists(self.target) and not overwrite:
                raise occupied(self.target)

    def put(self, *, overwrite: bool) -> None:
        """Make what was written the target; what was there before goes only when that has worked."""
        self.refuse(overwrite=overwrite)
        old = f"{self._aside}/old"
        with told(self.target):
            replaced = self._exists(self.target) and self._move(self.target, old)
            if not self._move(self.stage, self.target):
                _ = replaced and self._move(old, self.target)
                raise UsageError(f"{self.target} cannot be written.", remedy="Is its folder yours to write to?")

    def make_parent(self) -> None:
        """Make the folder that the target will be in, if there is none."""
        with told(self.target):
            self.system.mkdirs(self.path(self._parent))

    def exists(self) -> bool:
        """Whether there is something at the target."""
        with told(self.target):
            return self._exists(self.target)

    def write(self, address: str, content: bytes) -> None:
        """Write a small file."""
        with told(address):
            out = self.system.create(self.path(address))
            try:
                out.write(bytearray(content))
            finally:
                out.close()

    def clear(self) -> None:
        """Remove whatever is left aside."""
        with suppress(UsageError), told(self.target):
            self.system.delete(self.path(self._aside), True)

    def _exists(self, address: str) -> bool:
        return bool(self.system.exists(self.path(address)))

    def _move(self, start: str, end: str) -> bool:
        return bool(self.system.rename(self.path(start), self.path(end)))


@contextmanager
def told(address: str) -> Iterator[None]:
    """Errors of the driver as ours."""
    try:
        yield
    except failures() as error:
        raise UsageError(
            f"{address} cannot be written ({type(error).__name__}).", remedy="The log of the driver says more."
        ) from None
