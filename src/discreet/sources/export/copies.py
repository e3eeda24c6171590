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
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.kernel import Recoding
from discreet.kernel.arrays import Flags
from discreet.policy import Policy
from discreet.policy.schema import Formulas
from discreet.sources.duckdb_scratch import bare, connect_file, copy, literal, private_folder, quote, translated
from discreet.sources.engine import CopyFolders, Engine, Marked, Pool, Target
from discreet.sources.export.recode import NUMBERS, csv_cell, parquet_cell
from discreet.sources.export.staging import check, local_folders, staged_file, staged_table
from discreet.sources.export.targets import FileTarget, format_of
from discreet.sources.server import SCHEMES
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


class LocalOutput:
    """Outputs of engines that write on this machine: files, tables of PostgreSQL, and copies."""

    _origins: tuple[Path, ...] = ()
    """Files that are read, which nothing is written over."""
    dialect: Mapping[str, Any] = MappingProxyType({})

    def progress(self) -> float | None:
        """Unknown, unless an engine knows better."""
        return None

    def staged(self, target: str, policy: Policy, *, overwrite: bool) -> AbstractContextManager[Target]:
        """A file of this machine, or a table of PostgreSQL."""
        if target.startswith(SCHEMES):
            return staged_table(target, count=policy.count, overwrite=overwrite)
        format_of(target)
        path = Path(target)
        if path.exists() and any(origin.exists() and path.samefile(origin) for origin in self._origins):
            raise UsageError(
                f"{target} is the table that is read; writing there would destroy it.", remedy="Choose another target."
            )
        return staged_file(path, delimiter=policy.delimiter or ",", formulas=policy.formulas, overwrite=overwrite)

    def arrow(self: Engine, recoding: Recoding, *, drop: Sequence[str]) -> Any:
        """By way of a private Parquet file, which holds no value that is not published."""
        from pyarrow.parquet import read_table

        with private_folder() as folder:
            target = FileTarget(str(folder / "published.parquet"))
            self.export(recoding, target, drop=drop)
            return read_table(target.path)

    def folders(self, out: str, *, delimiter: str, formulas: Formulas = "quote") -> AbstractContextManager[CopyFolders]:
        """Folders of this machine."""
        return local_folders(Path(out), delimiter=delimiter, formulas=formulas)

    def copies(
        self: Engine, recoding: Recoding, marked: Marked, *, drop: Sequence[str], folder: Path | None, guarded: bool
    ) -> AbstractContextManager[Pool]:
        """A pool in a DuckDB file of its own."""
        return file_pool(self, recoding, marked, drop=drop, folder=folder, guarded=guarded)


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
        pool = _filled(connection, base.path, engine.name, recoding.names, marked, guarded=guarded)
        base.path.unlink()
        yield pool


def _filled(
    connection: Any, base: Path, name: str, recoded: Sequence[str], marked: Marked, *, guarded: bool
) -> FilePool:
    """The pool of the published rows and the further ones, each with its mark."""
    run, source = connection.execute, f"read_parquet({literal(str(base))})"
    types = {row[0]: row[1] for row in run(f"DESCRIBE SELECT * FROM {source}").fetchall()}
    # One row per mark: its number and its class. Then the rows that are not in the table, every cell a text for now.
    labels = list(zip(*marked.labels, strict=True)) or [()] * len(recoded)
    _load(connection, "marks", {MARK: range(len(marked.labels)), **{f"l{i}": cells for i, cells in enumerate(labels)}})
    places = {column: place for place, column in enumerate(recoded)}
    further = {column: marked.column(places[column]) if column in places else marked.cells[column] for column in types}
    _load(connection, "further", {**further, MARK: marked.places.tolist()})
    # Cells as the pool holds them: guarded where CSV will be written, and texts as numbers where few are different.
    as_text = {column: guarded and bare(kind) not in NUMBERS for column, kind in types.items()}
    spelt = {
        column: csv_cell(quote(column), bare(kind)) if as_text[column] else quote(column)
        for column, kind in types.items()
    }
    kinds = {column: "VARCHAR" if as_text[column] else kind for column, kind in types.items()}
    for place, column in enumerate(column for column, kind in types.items() if kind == "VARCHAR"):
        if run(f"SELECT approx_count_distinct({quote(column)}) FROM {source}").fetchall()[0][0] > MOST_TEXTS:
            continue
        both = f"SELECT {spelt[column]} AS t FROM {source} UNION ALL SELECT {spelt[column]} FROM further"
        if run(f"SELECT COUNT(*) FROM ({both}) WHERE t IS NOT NULL").fetchall()[0][0]:
            run(f"CREATE TYPE texts{place} AS ENUM (SELECT DISTINCT t FROM ({both}) WHERE t IS NOT NULL ORDER BY t)")
            kinds[column] = f"texts{place}"
    # All rows, those of marked classes with their mark.
    same = " AND ".join(f"s.{quote(column)} IS NOT DISTINCT FROM m.l{place}" for column, place in places.items())
    plain = ", ".join(f"s.{quote(column)}" for column in types)
    read = ", ".join(
        f"{f'unhex({quote(column)})' if kind == 'BLOB' else f'CAST({quote(column)} AS {kind})'} AS {quote(column)}"
        for column, kind in types.items()
    )
    ours = f"SELECT {plain}, COALESCE(m.{MARK}, {UNMARKED}) AS {MARK} FROM {source} AS s LEFT JOIN marks AS m ON {same}"
    cells = ", ".join(f"CAST({spelt[column]} AS {kind}) AS {quote(column)}" for column, kind in kinds.items())
    rows = f"{ours} UNION ALL SELECT {read}, {MARK} FROM further"
    run(f"CREATE TABLE pool AS SELECT {cells}, CAST({MARK} AS INTEGER) AS {MARK} FROM ({rows})")
    marks = np.asarray(np.ma.filled(run(f"SELECT {MARK} FROM pool").fetchnumpy()[MARK], UNMARKED))
    if marked.rows:
        # Single rows are found by all that is published of them; equal rows are marked one after the other.
        _load(connection, "single", {**{column: marked.single[column] for column in types}, MARK: range(marked.rows)})
        run(f"CREATE TEMP TABLE wanted AS SELECT {cells}, {MARK} FROM (SELECT {read}, {MARK} FROM single)")
        equal = " AND ".join(f"p.{quote(column)} IS NOT DISTINCT FROM w.{quote(column)}" for column in types)
        met = run(f"SELECT w.{MARK}, p.rowid FROM pool AS p JOIN wanted AS w ON {equal} ORDER BY ALL").fetchall()
        alike: dict[int, list[int]] = {}
        for mark, place in met:
            alike.setdefault(mark, []).append(place)
        unmarked = {place for _, place in met}
        for mark, rows_alike in alike.items():
            free = next((place for place in rows_alike if place in unmarked), UNMARKED)
            if free != UNMARKED:
                unmarked.remove(free)
                marks[free] = len(marked.labels) + mark
    text = f"CAST(ROW({', '.join(map(quote, types))}) AS VARCHAR)"
    total = run(f"SELECT COUNT(*), SUM(md5_number_lower({text})) FROM {source}").fetchall()[0]
    content = hashlib.sha256(repr((sorted(types), total)).encode()).hexdigest()
    held = {column: "ENUM" if kind == "VARCHAR" else bare(kind) for column, kind in types.items()}
    return FilePool(tuple(types), content, name, connection, held, marks, guarded)


def _load(connection: Any, table: str, columns: Mapping[str, Sequence[Any]]) -> None:
    """A temporary table of these columns: marks are numbers, all others texts."""
    kinds = {name: "INTEGER" if name == MARK else "VARCHAR" for name in columns}
    shape = ", ".join(f"{quote(name)} {kind}" for name, kind in kinds.items())
    connection.execute(f"CREATE TEMP TABLE {table} ({shape})")
    arrays = {f"c{place}": np.array(list(cells), dtype=object) for place, cells in enumerate(columns.values())}
    if not len(arrays["c0"]):
        return
    connection.register("handed_over", arrays)
    cells = ", ".join(f"CAST({name} AS {kind})" for name, kind in zip(arrays, kinds.values(), strict=True))
    connection.execute(f"INSERT INTO {table} SELECT {cells} FROM handed_over")
    connection.unregister("handed_over")


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
                if target.guards != self.guarded:
                    raise UsageError("A pool is guarded against formulas or not.", remedy="Make one for each.")
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
