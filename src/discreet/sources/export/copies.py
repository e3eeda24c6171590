"""Copies of published rows: read and recoded once, written for any choice of classes.

Some classes are marked. A copy holds all rows of unmarked classes and those of the marks that it is given, in an order of
its own that only the holder of its secret could repeat.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.kernel import Recoding
from discreet.kernel.arrays import Flags
from discreet.policy import Policy
from discreet.sources.desk import bare, connect_file, copy, literal, quote, translated
from discreet.sources.engine import Engine, Marked, Pool, Target
from discreet.sources.export.recode import NUMBERS, csv_cell, parquet_cell
from discreet.sources.export.staging import check
from discreet.sources.export.targets import FileTarget
from discreet.sources.table import Table, refuse_export

MARK = "discreet_mark"
RANK = "discreet_rank"
UNMARKED = -1
MOST_TEXTS = 10_000
"""Different texts of a column up to which they are held as numbers, which makes sorting and writing quick."""


def pooled(
    table: Table, recoding: Recoding, marked: Marked, *, folder: Path | None, guarded: bool = False
) -> AbstractContextManager[Pool]:
    """A pool on the engine of a table: see `Engine.copies`."""
    if table.policy is not None and table.policy.count:
        raise UsageError(
            "Copies are made of rows, and here a row stands for several people.",
            remedy="Give a table with one row per person; a population may well be counted.",
        )
    refuse_export(table, recoding)
    drop = (table.policy or Policy()).unpublished
    return table.engine.copies(recoding, marked, drop=drop, folder=folder, guarded=guarded)


def refuse_row_ids(columns: Sequence[str], row_ids: str | None) -> None:
    """Stop if a column has the name that row numbers would get."""
    taken = {name.casefold() for name in columns}
    if row_ids is not None and row_ids.casefold() in taken:
        raise UsageError(
            f"The table has a column '{row_ids}' already, which is how copies number their rows.",
            remedy="Give the column of row numbers another name, or none.",
        )


def ranks(keep: Flags, secret: bytes) -> NDArray[np.int32]:
    """The place of every row in a copy, from 1 on; else 0.

    The order follows from the secret. Rows are sorted by the output of SHAKE-256, so the order tells nothing about
    where a row came from.

    >>> sorted(ranks(np.array([True, False, True]), b"secret").tolist())
    [0, 1, 2]
    """
    kept = np.flatnonzero(keep)
    luck = np.frombuffer(hashlib.shake_256(secret).digest(8 * len(kept)), dtype="<u8")
    # the places are sorted along in the lower bits, which is quicker than sorting them by the luck
    places = np.uint64((1 << len(kept).bit_length()) - 1)
    order = np.sort((luck & ~places) | np.arange(len(kept), dtype=np.uint64)) & places
    ranked = np.zeros(len(keep), dtype=np.int32)
    ranked[kept[order.astype(np.int64)]] = np.arange(1, len(kept) + 1, dtype=np.int32)
    return ranked


@contextmanager
def file_pool(
    engine: Engine, recoding: Recoding, marked: Marked, *, drop: Sequence[str], folder: Path | None, guarded: bool
) -> Iterator[Pool]:
    """A pool in a private DuckDB file, for engines that export to files."""
    if folder is None:
        raise UsageError("Copies of a file or a table are written to folders of this machine.", remedy="Give one.")
    base = FileTarget(str(folder / "base.parquet"))
    engine.export(recoding, base, drop=drop, shuffled=False)
    check(base, recoding, columns=[field.name for field in engine.fields if field.name not in drop], count=None)
    with connect_file(folder / "pool.duckdb") as connection, translated(engine.name):
        pool = _Building(connection, recoding.names, marked, guarded).build(base.path, engine.name)
        base.path.unlink()
        yield pool


@dataclass(frozen=True)
class _Building:
    """Makes the pool: the published rows and the further ones, each with its mark."""

    connection: Any
    names: tuple[str, ...]
    marked: Marked
    guarded: bool

    def build(self, base: Path, name: str) -> FilePool:
        run, source = self.connection.execute, f"read_parquet({literal(str(base))})"
        types = {row[0]: row[1] for row in run(f"DESCRIBE SELECT * FROM {source}").fetchall()}
        self._load_marks()
        self._load_further(types)
        kinds = {name: self._kind(place, name, kind, source) for place, (name, kind) in enumerate(types.items())}
        cells = ", ".join(
            f"CAST({self._spelt(column, types[column])} AS {kind}) AS {quote(column)}" for column, kind in kinds.items()
        )
        run(
            f"CREATE TABLE pool AS SELECT {cells}, CAST({MARK} AS INTEGER) AS {MARK} FROM ({self._rows(types, source)})"
        )
        marks = run(f"SELECT {MARK} FROM pool").fetchnumpy()[MARK]
        text = f"CAST(ROW({', '.join(map(quote, types))}) AS VARCHAR)"
        total = run(f"SELECT COUNT(*), SUM(md5_number_lower({text})) FROM {source}").fetchall()[0]
        content = hashlib.sha256(repr((sorted(types), total)).encode()).hexdigest()
        plain = {column: "ENUM" if kind == "VARCHAR" else bare(kind) for column, kind in types.items()}
        return FilePool(
            tuple(types), content, name, self.connection, plain, np.asarray(np.ma.filled(marks, UNMARKED)), self.guarded
        )

    def _spelt(self, name: str, kind: str) -> str:
        """A cell as the pool holds it: guarded where CSV will be written."""
        return csv_cell(quote(name), bare(kind)) if self.guarded and bare(kind) not in NUMBERS else quote(name)

    def _load_marks(self) -> None:
        """One row per mark: its number and its class."""
        shape = ", ".join([f"{MARK} INTEGER", *(f"l{place} VARCHAR" for place in range(len(self.names)))])
        self.connection.execute(f"CREATE TEMP TABLE marks ({shape})")
        columns = list(zip(*self.marked.labels, strict=True)) or [()] * len(self.names)
        self._fill("marks", {MARK: range(len(self.marked.labels)), **{f"l{i}": c for i, c in enumerate(columns)}})

    def _load_further(self, types: Mapping[str, str]) -> None:
        """The rows that are not in the table, every cell a text for now."""
        shape = ", ".join(f"{quote(name)} VARCHAR" for name in types)
        self.connection.execute(f"CREATE TEMP TABLE further ({shape}, {MARK} INTEGER)")
        cells = {
            name: self.marked.column(self.names.index(name)) if name in self.names else self.marked.cells[name]
            for name in types
        }
        self._fill("further", {**cells, MARK: self.marked.places.tolist()})

    def _fill(self, table: str, columns: Mapping[str, Sequence[Any]]) -> None:
        arrays = {f"c{place}": np.array(list(cells), dtype=object) for place, cells in enumerate(columns.values())}
        if not len(arrays["c0"]):
            return
        self.connection.register("handed_over", arrays)
        cells = ", ".join(
            f"CAST({name} AS {'INTEGER' if title == MARK else 'VARCHAR'})"
            for name, title in zip(arrays, columns, strict=True)
        )
        self.connection.execute(f"INSERT INTO {table} SELECT {cells} FROM handed_over")
        self.connection.unregister("handed_over")

    def _rows(self, types: Mapping[str, str], source: str) -> str:
        """All rows, those of marked classes with their mark."""
        same = " AND ".join(f"s.{quote(name)} IS NOT DISTINCT FROM m.l{place}" for place, name in enumerate(self.names))
        plain = ", ".join(f"s.{quote(name)}" for name in types)
        read = ", ".join(
            f"unhex({quote(name)})" if kind == "BLOB" else f"CAST({quote(name)} AS {kind})"
            for name, kind in types.items()
        )
        ours = f"SELECT {plain}, COALESCE(m.{MARK}, {UNMARKED}) AS {MARK} FROM {source} AS s LEFT JOIN marks AS m ON {same}"
        return f"{ours} UNION ALL SELECT {read}, {MARK} FROM further"

    def _kind(self, place: int, name: str, kind: str, source: str) -> str:
        """Texts as numbers where there are not too many different ones."""
        if kind != "VARCHAR":
            return "VARCHAR" if self.guarded and bare(kind) not in NUMBERS else kind
        run, cell = self.connection.execute, quote(name)
        if run(f"SELECT approx_count_distinct({cell}) FROM {source}").fetchall()[0][0] > MOST_TEXTS:
            return kind
        spelt = self._spelt(name, kind)
        both = f"SELECT {spelt} AS t FROM {source} UNION ALL SELECT {spelt} FROM further"
        if not run(f"SELECT COUNT(*) FROM ({both}) WHERE t IS NOT NULL").fetchall()[0][0]:
            return kind
        run(f"CREATE TYPE texts{place} AS ENUM (SELECT DISTINCT t FROM ({both}) WHERE t IS NOT NULL ORDER BY t)")
        return f"texts{place}"


@dataclass(frozen=True, eq=False)
class FilePool:
    """A pool in a DuckDB file of its own, mostly on disk."""

    columns: tuple[str, ...]
    content: str
    name: str
    connection: Any
    kinds: Mapping[str, str]
    """Per column, what it holds."""
    marks: NDArray[np.int32]
    guarded: bool

    def write(self, present: Flags, target: Target, *, secret: bytes, row_ids: str | None) -> int:
        """Write the copy that holds these marks."""
        if not isinstance(target, FileTarget):
            raise UsageError("A copy is a file.", remedy="Let its name end in .parquet, .csv or .csv.gz.")
        keep = np.append(present, True)[self.marks]  # the place -1 is the last one: unmarked rows are always there
        with translated(self.name):
            self.connection.register("ranked", {RANK: ranks(keep, secret)})
            try:
                # Sorted while texts are numbers, then spelt: half the time.
                if target.blank_is_missing != self.guarded:
                    raise UsageError("A pool is for CSV or for Parquet.", remedy="Make one for each.")
                cells = [
                    f"{quote(name) if self.guarded else parquet_cell(quote(name), kind)} AS {quote(target.spell(name))}"
                    for name, kind in self.kinds.items()
                ]
                first = [] if row_ids is None else [f"{RANK} AS {quote(target.spell(row_ids))}"]
                ordered = f"SELECT * FROM pool POSITIONAL JOIN ranked WHERE {RANK} > 0 ORDER BY {RANK}"
                select = f"SELECT {', '.join([*first, *cells])} FROM ({ordered})"
                return copy(self.connection.execute, select, target)
            finally:
                self.connection.unregister("ranked")
