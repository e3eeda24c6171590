"""Spark rows: whole columns, chosen classes, onto a DuckDB desk; their export and copies, written by the workers."""

from __future__ import annotations

import hashlib
import operator
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel import Coded, Recoding
from discreet.kernel.arrays import Flags, Label
from discreet.kernel.hierarchy import text
from discreet.policy import Policy
from discreet.policy.schema import Formulas
from discreet.sources.cluster import ClusterDisk, disk_errors, quote, translated
from discreet.sources.duckdb_scratch import DuckDBDesk
from discreet.sources.engine import Cells, Field, Kind, Marked, Target, engine_for
from discreet.sources.export.copies import MARK, UNMARKED
from discreet.sources.export.recode import Dialect, Outline, Spell, base_codes, kept_codes
from discreet.sources.export.targets import NUMBER, FolderTarget, format_of, formula_count_sql, guarded_sql, unfit
from discreet.sources.files.parquet import coded
from discreet.sources.missing_codes import Code, number_patterns, numbers_among
from discreet.sources.server import SCHEMES

ROWS_PER_FILE = 1_000_000
"""Rows beyond which a worker begins another file: a file is hashed in one piece, and read by one worker."""
MOST_BROADCAST = 1_000_000
"""Classes beyond which the cluster decides itself how to join them."""


def named(name: str) -> str:
    """A column by its name, where no frames are named by braces."""
    return "`" + name.replace("`", "``") + "`"


def blanked(frame: Any, fields: Sequence[Field], codes: Sequence[Code]) -> Any:
    """The frame with some codes as missing values."""
    from pyspark.sql.functions import lit, when

    columns = []
    for column in fields:
        cell = frame[named(column.name)]
        if column.kind == "number":
            tests = [cell == lit(Decimal(number)) for number in numbers_among(codes)]
        else:
            written = cell.cast("string")
            tests = [written == lit(code) for code in codes if isinstance(code, str)]
            tests += [written.rlike(pattern) for pattern in number_patterns(codes)]
        shown = when(reduce(operator.or_, tests), lit(None)).otherwise(cell) if tests else cell
        columns.append(shown.alias(column.name))
    return frame.select(*columns)


def with_points(frame: Any, name: str, decimal: str) -> Any:
    """The frame with the numbers of a column written with decimal points; none where there was one already."""
    from pyspark.sql.functions import regexp_replace, when

    cells = {column: frame[named(column)] for column in frame.columns}
    cells[name] = when(~cells[name].contains("."), regexp_replace(cells[name], decimal, "."))
    return frame.select(*[cell.alias(column) for column, cell in cells.items()])


def fetch(frame: Any, names: Sequence[str], *, most: int | None = None) -> dict[str, Coded]:
    """The cells of some columns, as the cluster sends the rows."""
    if most is not None:
        from pyspark.sql.functions import rand

        frame = frame.orderBy(rand()).limit(most)
    arrow = _arrow(frame, names)
    return {name: coded(arrow.column(place)) for place, name in enumerate(names)}


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
    import pyarrow as arrow
    from pyspark.sql.functions import broadcast

    session, recoding = frame.sparkSession, outline.recoding
    frames = {"source": frame}
    for place, column in enumerate(recoding.classes.columns):
        # The code of every value of the column, sent to all workers.
        sql = f"SELECT DISTINCT {quote(column.name)} AS value FROM {{source}} WHERE {quote(column.name)} IS NOT NULL"
        values = session.sql(sql, source=frame).toArrow().column("value")
        codes = base_codes(column, [text(value) for value in values.to_pylist()])
        frames[f"m{place}"] = broadcast(session.createDataFrame(arrow.table({"value": values, "code": codes})))
    # The classes that are published, with their codes and labels.
    published = kept_codes(recoding)
    columns = {name: array for name, array in published.items() if not name.startswith("p")}
    for place, labels in enumerate(recoding.labels):
        spelt = np.array([None if label is None else spell(label) for label in labels], dtype=object)
        columns[f"l{place}"] = arrow.array(spelt[published[f"p{place}"]], type=arrow.string())
    kept = session.createDataFrame(arrow.table(columns))
    frames["kept"] = broadcast(kept) if len(published["id"]) <= MOST_BROADCAST else kept
    select = outline.select(dialect, relation="{source}", table="{{{}}}".format, title=spell)
    return session.sql(select, **frames)


@contextmanager
def staged(frame: Any, target: str, policy: Policy, *, name: str, overwrite: bool) -> Iterator[FolderTarget]:
    """A folder of the cluster beside the target, which becomes the target."""
    if target.startswith(SCHEMES):
        raise unfit(name, remedy="Write Parquet on the cluster, read it back with discreet, and export that.")
    format_of(target)
    disk = ClusterDisk.of(frame.sparkSession, target)
    disk.refuse(overwrite=overwrite)
    try:
        yield FolderTarget(disk.stage, policy.delimiter or ",", policy.formulas, frame.sparkSession)
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
        spelt = target.blank_is_missing
        cell_of = Dialect(
            quote, lambda name, cell: csv_cell(cell, kinds[name], guards=target.guards) if spelt else cell
        )
        published = recoded(frame, outline, cell_of, target.spell)
        return write(in_random_order(published, secrets.token_bytes(32)) if shuffled else published, target)


def formula_cells(frame: Any, recoding: Recoding, *, kinds: Mapping[str, Kind], drop: Sequence[str]) -> int:
    """Cells of the published rows that a spreadsheet would run."""
    outline = Outline.of(tuple(frame.columns), recoding, drop=drop)
    safe = ("number", "boolean", "date")
    texts = outline.texts({name: "BIGINT" if kind in safe else "VARCHAR" for name, kind in kinds.items()})
    if not texts:
        return 0
    with translated("count"):
        published = recoded(frame, replace(outline, columns=texts), Dialect(quote), str)
        sql = formula_count_sql("SELECT * FROM {published}", texts, quote=quote, text="STRING", is_number=is_number)
        return int(frame.sparkSession.sql(sql, published=published).first()["n"])


def brought(frame: Any, recoding: Recoding, *, drop: Sequence[str]) -> Any:
    """The rows as the recoding publishes them, shuffled, as an Arrow table without notes beside its columns."""
    outline = Outline.of(tuple(frame.columns), recoding, drop=drop)
    with translated("export"):
        published = recoded(frame, outline, Dialect(quote), str)
        table = in_random_order(published, secrets.token_bytes(32)).toArrow()
    # What Spark has noted beside a column stays behind, as in `write`.
    for place, column in enumerate(table.schema):
        table = table.set_column(place, column.remove_metadata(), table.column(place))
    return table.replace_schema_metadata(None)


def in_random_order(frame: Any, secret: bytes, *, position: str | None = None) -> Any:
    """The frame sorted by a keyed hash of where its rows are.

    The cluster sees a hash of the secret only.
    """
    from pyspark.sql.functions import col, concat, lit, monotonically_increasing_id, sha2

    row = monotonically_increasing_id() if position is None else col(position)
    return frame.orderBy(sha2(concat(lit(hashlib.sha256(secret).hexdigest()), row.cast("string")), 256))


def csv_cell(column: str, kind: Kind, *, guards: bool) -> str:
    """A column as text, guarded against formulas where it could hold one."""
    if kind in ("number", "boolean"):
        return column
    words = f"CAST({column} AS STRING)"
    return guarded_sql(words, is_number=is_number(words)) if guards and kind != "date" else words


def is_number(text: str) -> str:
    """Whether the whole of a text is a number; in Java, $ also matches before a line break at the end."""
    return f"{text} RLIKE r'^({NUMBER})\\z'"


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


# Copies: rows stay on the cluster, and workers write every copy.
PLACE, RANK = "discreet_place", "discreet_rank"
INDEX_BITS = 33
"""Of what monotonically_increasing_id() gives, the lower bits count the rows of a partition."""


@contextmanager
def pool(
    frame: Any, recoding: Recoding, marked: Marked, *, name: str, kinds: Mapping[str, Kind], drop: Sequence[str]
) -> Iterator[SparkPool]:
    """Recode once, and hold the rows on the cluster while copies are written."""
    outline, session = Outline.of(tuple(frame.columns), recoding, drop=drop), frame.sparkSession
    with translated("recode"):
        from pyspark.sql.functions import broadcast, coalesce, col, count, lit, unhex, xxhash64
        from pyspark.sql.functions import monotonically_increasing_id as running
        from pyspark.sql.functions import sum as total

        base = recoded(frame, outline, Dialect(quote), str)
        # Rows of the table with the marks of their classes, then the rows that are not in it.
        labels = {f"l{place}": column for place, column in enumerate(zip(*marked.labels, strict=True))}
        marks = broadcast(_frame(session, {MARK: [str(place) for place in range(len(marked.labels))], **labels}))
        places = {column: place for place, column in enumerate(recoding.names)}
        same = [base[named(column)].eqNullSafe(marks[f"l{place}"]) for column, place in places.items()]
        number = coalesce(marks[MARK].cast("int"), lit(UNMARKED)).alias(MARK)
        ours = base.join(marks, same, "left").select(*(base[named(column)] for column in base.columns), number)
        cells = {
            column: marked.column(places[column]) if column in places else marked.cells[column]
            for column in base.columns
        }
        texts = _frame(session, {**cells, MARK: [str(place) for place in marked.places.tolist()]})
        types = {**{field.name: field.dataType for field in base.schema.fields}, MARK: "int"}
        typed = [
            (unhex(col(named(column))) if str(kind) == "BinaryType()" else col(named(column)).cast(kind)).alias(column)
            for column, kind in types.items()
        ]
        if marked.rows:
            numbers = range(len(marked.labels), len(marked.labels) + marked.rows)
            single = {column: marked.single[column] for column in base.columns}
            wanted = _frame(session, {**single, MARK: list(map(str, numbers))}).select(*typed)
            ours = single_rows_marked(ours, wanted, base.columns)
        rows = ours.union(texts.select(*typed)).withColumn(PLACE, running()).persist()
        others = {column: kind for column, kind in kinds.items() if column not in places}
        try:
            # The digest of the rows, comparable between copies from Spark only; further rows are the same in all copies.
            hashed = xxhash64(*(col(named(column)) for column in base.columns)).cast("decimal(20, 0)")
            totals = rows.agg(count(lit(1)), total(hashed)).first()
            content = hashlib.sha256(repr(("spark", sorted(base.columns), *map(str, totals))).encode()).hexdigest()
            yield SparkPool(tuple(base.columns), content, name, rows, others)
        finally:
            rows.unpersist()


def single_rows_marked(rows: Any, wanted: Any, columns: Sequence[str]) -> Any:
    """The rows, of which those that equal a wanted one have its mark; equal rows are marked one after the other."""
    from pyspark.sql import Window
    from pyspark.sql.functions import broadcast, col, collect_list, expr, lit, row_number, size, sort_array, when

    marks = wanted.groupBy(*(col(named(column)) for column in columns)).agg(
        sort_array(collect_list(MARK)).alias("marks")
    )
    marks = broadcast(marks.toDF(*(f"w{place}" for place in range(len(columns))), "marks"))
    same = [rows[named(column)].eqNullSafe(marks[f"w{place}"]) for place, column in enumerate(columns)]
    cells = [col(named(column)) for column in columns]
    number = row_number().over(Window.partitionBy(*cells).orderBy(lit(1)))
    met = rows.join(marks, same, "inner").select(*cells, "marks", number.alias("number"))
    mark = when(col("number") <= size("marks"), expr("marks[number - 1]")).otherwise(lit(UNMARKED))
    return rows.join(marks, same, "left_anti").union(met.select(*cells, mark.alias(MARK)))


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
        from pyspark.sql.functions import col, create_map, element_at, expr, lit, spark_partition_id
        from pyspark.sql.functions import monotonically_increasing_id as running

        with translated("copy"):
            absent = np.flatnonzero(~present).tolist()
            rows = self.frame.where(~col(MARK).isin(absent)) if absent else self.frame
            spelt = {
                name: csv_cell(named(name), self.kinds.get(name, "text"), guards=target.guards)
                if target.blank_is_missing
                else named(name)
                for name in self.columns
            }
            cells = [expr(cell).alias(target.spell(name)) for name, cell in spelt.items()]
            ordered = in_random_order(rows, secret, position=PLACE).persist()
            try:
                if row_ids is None:
                    return write(ordered.select(*cells), target)
                # Rows are numbered from 1 on across partitions, which come in order.
                counted = ordered.groupBy(spark_partition_id().alias("part")).count().collect()
                before, offsets = 0, []
                for row in sorted(counted, key=lambda row: row["part"]):
                    offsets += [lit(row["part"]), lit(before)]
                    before += row["count"]
                inside = running().bitwiseAND(lit((1 << INDEX_BITS) - 1))
                number = inside + element_at(create_map(*offsets), spark_partition_id()) + lit(1)
                numbered = ordered.withColumn(RANK, number)
                return write(numbered.select(col(RANK).alias(target.spell(row_ids)), *cells), target)
            finally:
                ordered.unpersist()


@dataclass(frozen=True)
class ClusterFolders:
    """Folders of copies on the file system of a Spark cluster."""

    session: Any = field(repr=False)
    out: str
    delimiter: str
    formulas: Formulas
    scratch = None

    def present(self, folder: str, name: str) -> str | None:
        disk = ClusterDisk.of(self.session, f"{self.out}/{folder}")
        if not disk.exists():
            return None
        with suppress(UsageError):
            return parts_digest(self.session, f"{disk.target}/{name}")
        return ""

    def make(self, folder: str) -> ClusterFolder:
        disk = ClusterDisk.of(self.session, f"{self.out}/{folder}")
        disk.make_parent()
        disk.refuse(overwrite=False)
        return ClusterFolder(disk, self.session, self.delimiter, self.formulas)


@dataclass(frozen=True)
class ClusterFolder:
    """Folder of one copy on its way, on a cluster."""

    disk: ClusterDisk
    session: Any = field(repr=False)
    delimiter: str
    formulas: Formulas

    def target(self, name: str) -> FolderTarget:
        return FolderTarget(f"{self.disk.stage}/{name}", self.delimiter, self.formulas, self.session)

    def write_text(self, name: str, text: str) -> None:
        self.disk.write(f"{self.disk.stage}/{name}", text.encode())

    def digest(self, name: str) -> str:
        """The SHA-256 over the parts, which the workers hash."""
        return parts_digest(self.session, f"{self.disk.stage}/{name}")

    def put(self) -> None:
        self.disk.put(overwrite=False)

    def discard(self) -> None:
        self.disk.clear()


def parts_digest(session: Any, address: str) -> str:
    """The SHA-256 over the digests of the parts of a table, in order."""
    with disk_errors(address):
        parts = session.read.format("binaryFile").load(f"{address}/part-*")
        rows = parts.selectExpr("path", "sha2(content, 256) AS digest").collect()
    names = sorted((row["path"].rpartition("/")[2][:10], row["digest"]) for row in rows)
    return hashlib.sha256("".join(digest for _, digest in names).encode()).hexdigest()
