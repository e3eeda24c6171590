"""DuckDB scratch database: a connection of this process that rearranges rows.

Python touches none of them. What is DuckDB as such, for every room that needs it, is here as well.
"""

from __future__ import annotations

import atexit
import fcntl
import itertools
import os
import re
import shutil
import stat
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from discreet.errors import DataError, SourceUnreadable
from discreet.kernel import Coded
from discreet.kernel.arrays import Label
from discreet.sources.export.targets import FileTarget, unwritable
from discreet.wording import reason

RELATION = "source"
INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
PLAIN_TYPES = frozenset((*INTEGERS, "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "BOOLEAN"))
"""Types that come over as numpy arrays without loss; the others come over as text."""
MOST_TEXTS = 10_000
"""Published values of a column beyond which they stay text."""
POSTGRES_CSV = (
    "delim = ',', header = false, quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, "
    "auto_detect = false, new_line = '\\n'"
)
"""How to read what COPY of PostgreSQL writes. A carriage return in the first row would be taken for the end of a line."""


def quote(name: str) -> str:
    """A name as DuckDB and PostgreSQL quote it."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    """A text as DuckDB quotes it."""
    return "'" + value.replace("'", "''") + "'"


def matches(text: str, pattern: str) -> str:
    """Whether a text matches a pattern, in SQL."""
    return f"regexp_matches({text}, {literal(pattern)})"


def bare(kind: Any) -> str:
    """A type without its length or scale."""
    return re.sub(r"\(.*", "", str(kind))


def connect() -> Any:
    """A private database in memory that spills to a private folder."""
    connection = duckdb.connect(config={"temp_directory": str(spill_folder()), "preserve_insertion_order": "false"})
    # It keeps account of its progress, and prints nothing about it.
    for setting in ("enable_progress_bar = true", "enable_progress_bar_print = false", "progress_bar_time = 0"):
        connection.execute(f"SET {setting}")
    return _confined(connection)


def connect_file(path: Path) -> Any:
    """A new database in a private file; rows stay in order."""
    options = {"temp_directory": str(path.parent), "preserve_insertion_order": "true"}
    return _confined(duckdb.connect(str(path), config=options))


_confinement: dict[str, Any] = {}
"""What `confine` was told; a process is confined once, as it starts."""


def confine(folders: Sequence[Path], *, memory: int | None = None) -> None:
    """Let all connections of this process read and write in these folders and the temporary one only, within so much memory.

    They reach no network and load no extension. What a web server or a job of one does with files that people send is confined.
    """
    allowed = [str(folder.resolve()) for folder in (*folders, Path(tempfile.gettempdir()))]
    _confinement.update(folders=allowed, memory=memory)


def _confined(connection: Any) -> Any:
    if _confinement:
        listed = ", ".join(map(literal, _confinement["folders"]))
        connection.execute(f"SET allowed_directories = [{listed}]")
        if (memory := _confinement["memory"]) is not None:
            connection.execute(f"SET memory_limit = '{memory // 1024} KiB'")
        connection.execute("SET enable_external_access = false")
    return connection


# Private copies: temporary files of people's records that do not outlive their process, even if it is killed.
PREFIX = "discreet-private-"
LOCK = "in-use"

_numbers = itertools.count(1)
_own: dict[int, Path] = {}
"""The folder of this process; a forked one gets its own."""


def private_place() -> Path:
    """The folder of this process that only its user can enter, made and locked when it is first needed.

    The system releases the lock when the process ends in any way; the next one of the same user then removes the folder.
    """
    process = os.getpid()
    if process in _own and _own[process].is_dir():
        return _own[process]
    _sweep()
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Open for as long as the process lives.
        lock = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
        with suppress(OSError):  # a file system without locks: nothing is swept there either
            fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / LOCK).exists():  # not swept between its making and its locking
            break
        os.close(lock)
    _own.clear()
    _own[process] = folder
    atexit.register(remove_private_place)
    return folder


def remove_private_place() -> None:
    """Remove the folder of this process; one that a signal ends does so before."""
    if (folder := _own.pop(os.getpid(), None)) is not None:
        shutil.rmtree(folder, ignore_errors=True)


def spill_folder() -> Path:
    """A folder, not made yet, for what one connection to DuckDB cannot hold in memory: files of two would have the same names."""
    return private_place() / f"spill-{next(_numbers)}"


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder for some files, gone afterwards."""
    with tempfile.TemporaryDirectory(dir=private_place()) as folder:
        yield Path(folder)


class PrivateFolder:
    """Temporary copies of people's records: they go with their owner, at the latest when the process ends."""

    def __init__(self, owner: object) -> None:
        self._owner = weakref.ref(owner)

    def file(self, name: str) -> Path:
        """A place for a new file of this name."""
        folder = Path(tempfile.mkdtemp(dir=private_place()))
        owner = self._owner()
        if owner is not None:
            weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
        return folder / (Path(name).name or "table")


def _sweep() -> None:
    """Remove folders of this user whose process has ended: nobody holds their lock."""
    with os.scandir(tempfile.gettempdir()) as entries:
        folders = [Path(entry) for entry in entries if entry.name.startswith(PREFIX)]
    for folder in folders:
        with suppress(OSError):  # being removed by another process, or in use
            about = folder.stat(follow_symlinks=False)
            if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o077:
                continue  # a link, of another user, or open to others
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Engine errors as ours. Their text is dropped: it quotes rows."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise DataError(
            f"{name} does not fit into memory while it is counted.",
            remedy="Free memory or disk space, or count fewer columns.",
        ) from None
    except duckdb.Error as error:
        said = str(error)
        line = re.search(r"CSV Error on Line: (\d+)", said)
        if (file := re.search(r"^  file = (.+)$", said, re.MULTILINE)) and re.search(r"\(\d+ files\)$", name):
            name = Path(file[1]).name  # the one of several that is wrong
        place = f"line {line[1]} of {name}" if line else name
        if widths := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", said):
            sign = re.search(r"delimiter = (.+?) \(", said)
            raise SourceUnreadable(
                f"{place} has {widths[2]} cells where the header has {widths[1]}.",
                remedy=f"Mend the line, or quote cells that hold the delimiter{f', which was taken to be {sign[1]}' if sign else ''}. "
                "If another sign separates the cells, name that one (--delimiter, or [data] delimiter in the policy).",
            ) from None
        if "unterminated quote" in said or "invalid state" in said:
            raise SourceUnreadable(
                f"{place} has a quote that is not closed, or characters after one that is.",
                remedy='Mend the line: a cell with quotes in it is written "so ""quoted"" here".',
            ) from None
        if re.search(r"unicode|utf-?8|encod", said, re.IGNORECASE):
            raise SourceUnreadable(
                f"{place} is not written in UTF-8.",
                remedy='Name its encoding in the policy: [data] encoding = "latin-1" (or "cp1252", "utf-16").',
            ) from None
        raise SourceUnreadable(
            f"{place} cannot be read ({reason(error)}).", remedy="Is it complete, and of the kind its name says?"
        ) from None


def cell(column: str, kind: str) -> str:
    """A column as it comes over: a number, a day, or text."""
    return column if kind in PLAIN_TYPES else f"CAST({column} AS VARCHAR) AS {column}"


def fetched(cells: Any, kind: str) -> Coded:
    """Codes of cells that came over."""
    return plain_codes(cells) if kind in PLAIN_TYPES else Coded.of([spelt(cell, kind) for cell in cells.tolist()])


def plain_codes(cells: Any) -> Coded:
    """Codes of a numpy column, missing values last."""
    mask = np.ma.getmaskarray(cells)
    distinct, codes = np.unique(np.ma.getdata(cells), return_inverse=True)
    return Coded.merged([*distinct, None], np.where(mask, len(distinct), codes.reshape(-1)))


def spelt(value: str | None, kind: str) -> str | None:
    """A value without the scale of decimals: 1.50 and 1.5 are one value."""
    if value is None or kind != "DECIMAL" or "." not in value:
        return value
    return value.rstrip("0").rstrip(".")


@dataclass(frozen=True)
class DuckDBDesk(ABC):
    """A DuckDB connection on which the source is called `source`."""

    name: str
    types: Mapping[str, str]
    handle: Any = field(repr=False)
    relation = RELATION
    private = True
    """Whether the connection is ours: settings may be changed and tables have any name."""

    @abstractmethod
    def run(self, sql: str) -> Any:
        """Run a statement."""

    @abstractmethod
    def load(self, table: str, columns: Mapping[str, Any]) -> None:
        """Make a temporary table of arrays."""

    @abstractmethod
    def showing(self, cells: Sequence[str]) -> DuckDBDesk:
        """The source with its columns as these expressions, in the same order and of the same types."""

    def progress(self) -> float | None:
        """Share done of the statement that runs now, asked from another thread; None where unknown."""
        return None

    def keep(self, table: str, select: str) -> None:
        """Make a temporary table of what a statement finds."""
        self.run(f"CREATE TEMP TABLE {table} AS {select}")

    def labels(self, table: str, column: str) -> Sequence[Label]:
        """The values are spelt as they are when they are counted."""
        kind = bare(self.types[column])
        cells = self.run(f"SELECT {cell('value', kind)} FROM {table} ORDER BY id").fetchnumpy()["value"]
        coded = fetched(cells, kind)
        return [coded.values[code] for code in coded.codes.tolist()]


class PrivateDesk(DuckDBDesk):
    """A connection of our own."""

    @classmethod
    def on(cls, connection: Any, select: str, name: str) -> PrivateDesk:
        """What a statement reads becomes the source."""
        with translated(name):
            connection.execute(f"CREATE VIEW {RELATION} AS {select}")
            types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE {RELATION}").fetchall()}
        return cls(name, types, connection)

    def run(self, sql: str) -> Any:
        try:
            return self.handle.execute(sql)
        except RuntimeError as error:
            if str(error) == "Query interrupted":  # what DuckDB makes of Ctrl-C
                raise KeyboardInterrupt from None
            raise

    def progress(self) -> float | None:
        try:
            percent = self.handle.query_progress()
        except duckdb.Error:  # closed meanwhile
            return None
        return percent / 100 if percent >= 0 else None

    def showing(self, cells: Sequence[str]) -> PrivateDesk:
        self.run(f"ALTER VIEW {RELATION} RENAME TO as_written")
        self.run(f"CREATE VIEW {RELATION} AS SELECT {', '.join(cells)} FROM as_written")
        return self

    def load(self, table: str, columns: Mapping[str, Any]) -> None:
        self.handle.register("handed_over", dict(columns))
        try:
            self.keep(table, f"{typed_select(columns)} FROM handed_over")
        finally:
            self.handle.unregister("handed_over")


class BorrowedDesk(DuckDBDesk):
    """The connection a relation belongs to, which lets nothing be registered through the relation."""

    private = False

    @classmethod
    def of(cls, relation: Any, name: str) -> BorrowedDesk:
        """On the relation's own connection."""
        return cls(name, dict(zip(relation.columns, map(str, relation.types), strict=True)), relation)

    def showing(self, cells: Sequence[str]) -> BorrowedDesk:
        return BorrowedDesk.of(self.handle.project(", ".join(cells)), self.name)

    def run(self, sql: str) -> Any:
        """Run a statement that sees the relation as `source`."""
        return self.handle.query(RELATION, sql)

    def load(self, table: str, columns: Mapping[str, Any]) -> None:
        """Make a temporary table of arrays, by way of a file."""
        with private_folder() as folder, connect() as own:
            path = literal(str(folder / "columns.parquet"))
            own.register("handed_over", dict(columns))
            own.execute(f"COPY ({typed_select(columns)} FROM handed_over) TO {path} (FORMAT parquet)")
            self.keep(table, f"SELECT * FROM read_parquet({path})")


def typed_select(columns: Mapping[str, Any]) -> str:
    """The head of the statement that gives arrays their types."""
    cells = []
    for name, array in columns.items():
        kind = "INTEGER"
        if array.dtype == object:
            # Few texts travel as numbers, which halves the work of writing them.
            texts = dict.fromkeys(array.tolist())
            kind = f"ENUM({', '.join(map(literal, texts))})" if 0 < len(texts) <= MOST_TEXTS else "VARCHAR"
        cells.append(f"CAST({name} AS {kind}) AS {name}")
    return f"SELECT {', '.join(cells)}"


def postgres_csv(path: Path, types: Mapping[str, str]) -> str:
    """The relation that reads what COPY of PostgreSQL wrote."""
    columns = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in types.items())
    return f"read_csv({literal(str(path))}, {POSTGRES_CSV}, columns = {{{columns}}})"


def copy(run: Callable[[str], Any], select: str, target: FileTarget) -> int:
    """Write the rows of a statement to a file, and count them."""
    try:
        done = run(f"COPY ({select}) TO {literal(target.address)} ({_options(target)})").fetchall()
    except duckdb.IOException as error:
        # An error about the file that is written is no error of the source.
        if str(target.path) not in str(error):
            raise
        raise unwritable(target.path.name, error) from None
    return int(done[0][0])


def _options(target: FileTarget) -> str:
    if target.format == "parquet":
        return "FORMAT parquet, COMPRESSION zstd"
    packed = "gzip" if target.format == "csv.gz" else "none"
    cells = f"DELIMITER {literal(target.delimiter)}, QUOTE '\"', ESCAPE '\"', NULLSTR ''"
    return f"FORMAT csv, HEADER true, {cells}, COMPRESSION {packed}"
