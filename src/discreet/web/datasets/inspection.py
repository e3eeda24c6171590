"""Inspection of files before they become data sets, and what may be registered.

What is said about a file counts and names kinds; it never repeats what is in it.
"""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from urllib.parse import quote, urlencode

from discreet.errors import DataError, DiscreetError, SheetNeeded, TooManyColumns
from discreet.policy import Policy
from discreet.sources import read
from discreet.sources.engine import MOST_COLUMNS
from discreet.sources.files import formats
from discreet.sources.files.archive import NOTES, stream
from discreet.sources.server import SCHEMES, address, driver
from discreet.web.framework.problems import Problem
from discreet.web.framework.settings import Settings

PLAIN = tuple(ending for ending in formats.ENDINGS if ending not in NOTES)
"""Endings of tables; files with the others are as often notes beside a table."""
LISTED = (
    ".csv, .parquet, .xlsx, .xlsb, .xls, .ods, .dta, .sav, .xpt, .sas7bdat, .feather or .jsonl, also in .zip, .gz, .bz2, "
    ".xz or .zst"
)
"""What can be sent, in words."""
DETECT = "detect"
ENCODINGS = (DETECT, "utf-8", "latin-1", "cp1252", "utf-16")
COUNTED = 256 * 1024 * 1024
"""Bytes up to which every line is looked at at once; beyond, the first job does it."""
CHUNK = 1024 * 1024
TRUSTED = 64 * 1024 * 1024
"""Bytes up to which any degree of compression is fine;"""
MOST_RATIO = 250
"""beyond, text of people does not shrink more than this, and zeros do."""


@dataclass(frozen=True)
class Inspected:
    """A file that can be a data set."""

    columns: tuple[str, ...]
    records: int | None
    """How many people there are, where all lines were looked at."""
    encoding: str | None
    """How a CSV is written; None for other files."""


def ending_of(name: str) -> str:
    """What its name says that a file is.

    >>> ending_of("People.CSV.gz")
    'csv.gz'
    """
    inner, _, ending = name.lower().rpartition(".")
    kind = formats.declared(ending and f".{ending}")
    if kind is None or ending not in PLAIN:
        raise Problem(
            415,
            f"The name of the file does not end in {LISTED}.",
            remedy="Save the table in one of these formats, with that ending.",
            title="Unsupported file",
        )
    packed = inner.rpartition(".")[2] if kind.reader == "packed" and "." in inner else ""
    return f"{packed}.{ending}" if packed in formats.ENDINGS else ending


class SheetChoice(Problem):
    """A workbook in which one of several sheets must be chosen."""

    def __init__(self, problem: Problem, sheets: Sequence[str]) -> None:
        super().__init__(422, problem.problem, remedy="Choose the sheet that is meant.", title="Which sheet?")
        self.sheets = tuple(sheets)
        self.kept, self.called = "", ""
        """The upload that waits for the choice, and its name."""


def inspect(
    path: Path, *, name: str, ending: str, settings: Settings, encoding: str = DETECT, sheet: str = ""
) -> Inspected:
    """The columns of a file that is what it says and within the limits."""
    if path.stat().st_size == 0:
        raise _unusable(f"{name} is empty.", "Choose a file with a header and at least one row.")
    with in_words(path, name):
        kind = formats.format_of(path, path.name)
        size = _unpacked_size(path, name, kind, settings)
        if kind.reader == "parquet":
            from discreet.sources.duckdb_scratch import connect, literal, translated

            with translated(name), connect() as connection:
                sizes = f"SELECT sum(total_uncompressed_size) FROM parquet_metadata({literal(str(path))})"  # noqa: S608 - quoted
                (total,) = connection.execute(sizes).fetchone()
            size = total or 0
        if size > settings.largest_table:
            raise _bomb(name, settings)
        if sheet and kind.reader != "spreadsheet":
            raise _unusable(f"{name} is no workbook, so it has no sheet.", "Leave the field for the sheet empty.")
        text = kind.reader in ("csv", "packed") and encoding != DETECT
        policy = Policy(encoding=encoding if text else None, sheet=sheet or None)
        try:
            table = read(path, policy)
        except TooManyColumns as error:
            raise too_many(error.columns, name, settings) from None
        columns = table.columns
        refuse_columns(columns, name, settings)
        whole = ending == "parquet" or path.stat().st_size <= COUNTED
        return Inspected(columns, table.records if whole else None, table.engine.dialect.get("encoding"))


@contextmanager
def in_words(path: Path, name: str) -> Iterator[None]:
    """Errors about a file name it as people did, not by its path."""
    try:
        yield
    except Problem:
        raise
    except DiscreetError as error:
        remedy = error.remedy
        if isinstance(error, DataError) and "encoding" in remedy:  # there is no policy yet, but a field in the form
            remedy = "Choose the encoding it is written in (often latin-1 or cp1252), or save it as UTF-8, and send it again."
        problem = _unusable(renamed(error.problem, path, name), remedy)
        raise (SheetChoice(problem, error.sheets) if isinstance(error, SheetNeeded) else problem) from None


def renamed(words: str, path: Path, name: str) -> str:
    """Words about a file, with its name in place of its path."""
    return words.replace(str(path), name).replace(path.name, name)


def refuse_columns(columns: tuple[str, ...], name: str, settings: Settings) -> None:
    """Refuse thousands of columns: most likely the table is turned on its side."""
    if len(columns) > settings.most_columns:
        raise too_many(len(columns), name, settings)


def too_many(columns: int, name: str, settings: Settings) -> Problem:
    """More columns than are supported here, even if the command line takes them."""
    return Problem(
        422,
        f"{name} has {columns:,} columns; at most {settings.most_columns:,} are supported here.",
        remedy=f"Leave out columns that are not needed, or use the command line, which takes {MOST_COLUMNS:,}: discreet assess.",
        title="Too many columns",
    )


def _unusable(words: str, remedy: str) -> Problem:
    return Problem(422, words, remedy=remedy, title="This file cannot be used")


def _unpacked_size(path: Path, name: str, kind: formats.FileFormat, settings: Settings) -> int:
    """How large a compressed file is when it is unpacked; it is unpacked no further than is accepted."""
    packed = path.stat().st_size
    if kind.reader == "spreadsheet" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return sum(member.file_size for member in archive.infolist())
    if kind.reader != "packed":
        return packed
    size = 0
    with stream(path, path.name, kind) as (file, _):
        while piece := file.read(CHUNK):
            size += len(piece)
            if size > settings.largest_table or (size > TRUSTED and size > MOST_RATIO * packed):
                raise _bomb(name, settings)
    return size


def _bomb(name: str, settings: Settings) -> Problem:
    return Problem(
        413,
        f"{name} grows beyond what is accepted when it is decompressed ({settings.largest_table:,} bytes, or {MOST_RATIO} times its size).",
        remedy="If it is a real table, ask the operator of this server to open its folder, and register it where it is.",
    )


# What may be registered where it is: files below folders, and tables on servers, that the operator allowed.
MOST_LISTED = 300
MOST_SEEN = 20_000
"""Names that are looked at for the list, so that a vast folder does not hold up its page."""
KEPT = ("host", "port", "user", "dbname", "sslmode")
"""What of an address is kept; nothing that names files, commands or further servers."""


def allowed_file(given: str, folders: Sequence[Path]) -> Path:
    """The file below one of the folders, without links and detours."""
    path = allowed_or_none(given, folders)
    if path is None:
        raise Problem(
            422,
            "There is no such file in the folders that are open here.",
            remedy="Give the path of a file as the list shows it. Links and '..' are not followed. "
            "The operator of this server can open more folders.",
        )
    return path


def allowed_or_none(given: str, folders: Sequence[Path]) -> Path | None:
    """As `allowed_file`, without a problem."""
    for folder in folders:
        try:
            base = folder.resolve(strict=True)
            place = Path(given)
            inner = place.relative_to(base if place.is_relative_to(base) else folder) if place.is_absolute() else place
            path = base / inner
            plain = ".." not in place.parts and not set("*?[]\0\n\r") & set(str(inner))
            real = path.resolve(strict=True)
            regular = stat.S_ISREG(path.lstat().st_mode)
        except (OSError, ValueError):
            continue
        named = path.name.lower().endswith(tuple(f".{ending}" for ending in PLAIN))
        if plain and real == path and regular and named and path != base:
            return path
    return None


def files_below(folders: Sequence[Path]) -> list[str]:
    """Files that may be registered; not more than a list can hold."""
    paths: list[str] = []
    seen = 0
    for place, inner, names in chain.from_iterable(os.walk(folder.resolve()) for folder in folders):
        seen += len(names) + len(inner)
        if seen > MOST_SEEN or len(paths) == MOST_LISTED:
            break
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        files = (str(Path(place, name)) for name in sorted(names) if not name.startswith("."))
        paths += islice((path for path in files if allowed_or_none(path, folders)), MOST_LISTED - len(paths))
    return sorted(paths)


@dataclass(frozen=True)
class ServerTable:
    """A table of a PostgreSQL server."""

    place: str
    """Its address without the password."""
    password: str | None = field(repr=False)

    def url(self) -> str:
        """Its address as it is read, with the password."""
        if self.password is None:
            return self.place
        return f"{self.place}&{urlencode({'password': self.password})}"


def server_table(given: str, table: str, password: str, servers: Sequence[str]) -> ServerTable:
    """A table on a server that is open here; other addresses are refused."""
    wrong = Problem(
        422, "That is not the address of a PostgreSQL database.", remedy="Write it as postgresql://user@host/database."
    )
    if not given.startswith(SCHEMES):
        raise wrong
    # The server's own library takes the address apart, so that there is one meaning of it only.
    psycopg = driver()
    try:
        plain, ours = address(given)
        parts = {name: str(value) for name, value in psycopg.conninfo.conninfo_to_dict(plain).items()}
    except (psycopg.Error, ValueError, DiscreetError):
        raise wrong from None
    if ours or not set(parts) <= {*KEPT, "password"}:
        raise Problem(
            422,
            "The address says more than it should.",
            remedy=f"It may give {', '.join(KEPT)} and a password; the table has a field of its own.",
        )
    host = parts.get("host", "")
    if not host or not {host, f"{host}:{parts.get('port', '5432')}"} & set(servers):
        raise Problem(
            422,
            "That server is not open here.",
            remedy="The operator of this server can open others, by their names.",
        )
    if not table or len(table) > 200:
        raise Problem(422, "The name of the table is missing.", remedy="Give it as schema.table; a view works as well.")
    # One way to write an address: a server by name before the path, a folder of sockets after it.
    secret = password or parts.get("password") or None
    kept = {name: parts[name] for name in KEPT if name in parts}
    server = ""
    if not host.startswith("/"):
        user = f"{quote(kept.pop('user'), safe='')}@" if "user" in kept else ""
        port = f":{kept.pop('port')}" if "port" in kept else ""
        name = kept.pop("host")
        server = f"{user}{f'[{name}]' if ':' in name else quote(name, safe='')}{port}"
    database = quote(kept.pop("dbname", ""), safe="")
    return ServerTable(f"postgresql://{server}/{database}?{urlencode({**kept, 'table': table})}", secret)
