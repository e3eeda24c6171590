"""Inspection of files before they become data sets, and what may be registered.

What is said about a file counts and names kinds; it never repeats what is in it.
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from urllib.parse import quote, urlencode

from discreet.errors import DataError, DiscreetError, TooManyColumns
from discreet.policy import Policy
from discreet.sources import read
from discreet.sources.engine import MOST_COLUMNS
from discreet.sources.server import SCHEMES, address, driver
from discreet.web.framework.problems import Problem
from discreet.web.framework.settings import Settings

ENDINGS = ("csv.gz", "csv", "parquet")
ENCODINGS = ("utf-8", "latin-1", "cp1252", "utf-16")
COUNTED = 256 * 1024 * 1024
"""Bytes up to which every line is looked at at once; beyond, the first job does it."""
CHUNK = 1024 * 1024
TRUSTED = 64 * 1024 * 1024
"""Bytes up to which any degree of compression is fine;"""
MOST_RATIO = 250
"""beyond, text of people does not shrink more than this, and zeros do."""

SIGNS = (
    (b"PK\x03\x04", "a ZIP archive, as spreadsheets are", "Save it as CSV, and upload that."),
    (b"%PDF", "a PDF document", "Export the table behind it as CSV."),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet or document", "Save it as CSV, and upload that."),
    (b"BZh", "compressed with bzip2", "Decompress it, or compress it with gzip."),
    (b"\xfd7zXZ", "compressed with xz", "Decompress it, or compress it with gzip."),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "Decompress it, or compress it with gzip."),
    (b"SQLite format 3", "a SQLite database", "Export the table as CSV."),
    (b"\x89PNG", "a picture", "Choose the file with the table."),
    (b"\xff\xd8\xff", "a picture", "Choose the file with the table."),
)
"""What files begin with that are no tables, what they are, and what to do."""


@dataclass(frozen=True)
class Inspected:
    """A file that can be a data set."""

    columns: tuple[str, ...]
    records: int | None
    """How many people there are, where all lines were looked at."""


def ending_of(name: str) -> str:
    """What its name says that a file is.

    >>> ending_of("People.CSV.gz")
    'csv.gz'
    """
    for ending in ENDINGS:
        if name.lower().endswith(f".{ending}"):
            return ending
    raise Problem(
        415,
        "The name of the file does not end in .csv, .csv.gz or .parquet.",
        remedy="Save the table as CSV (also compressed with gzip) or Parquet, with that ending.",
        title="Unsupported file",
    )


def inspect(path: Path, *, name: str, ending: str, settings: Settings, encoding: str | None = None) -> Inspected:
    """The columns of a file that is what it says and within the limits."""
    if path.stat().st_size == 0:
        raise _unusable(f"{name} is empty.", "Choose a file with a header and at least one row.")
    _refuse_false_type(path, name, ending, encoding)
    if ending == "csv.gz":
        # Decompressing it is the only way to know its size; it stops where it is enough.
        size, packed = 0, path.stat().st_size
        try:
            with gzip.open(path, "rb") as file:
                while piece := file.read(CHUNK):
                    size += len(piece)
                    if size > settings.largest_table or (size > TRUSTED and size > MOST_RATIO * packed):
                        raise _bomb(name, settings)
        except (OSError, EOFError, zlib.error):
            remedy = "It may be cut off: compress it again, and send it again."
            raise _unusable(f"{name} cannot be decompressed.", remedy) from None
    with in_words(path, name):
        if ending == "parquet":
            from discreet.sources.duckdb_scratch import connect, literal, translated

            with translated(name), connect() as connection:
                sizes = f"SELECT sum(total_uncompressed_size) FROM parquet_metadata({literal(str(path))})"  # noqa: S608 - quoted
                (total,) = connection.execute(sizes).fetchone()
            if (total or 0) > settings.largest_table:
                raise _bomb(name, settings)
        policy = Policy(encoding=encoding) if ending != "parquet" else Policy()
        try:
            table = read(path, policy)
        except TooManyColumns as error:
            raise too_many(error.columns, name, settings) from None
        columns = table.columns
        refuse_columns(columns, name, settings)
        whole = ending == "parquet" or path.stat().st_size <= COUNTED
        return Inspected(columns, table.records if whole else None)


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
        raise _unusable(renamed(error.problem, path, name), remedy) from None


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


def _refuse_false_type(path: Path, name: str, ending: str, encoding: str | None) -> None:
    """Refuse a file whose bytes are not what its name says."""
    with path.open("rb") as file:
        head = file.read(64 * 1024)
        file.seek(max(0, path.stat().st_size - 4))
        tail = file.read(4)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    markup = "HTML or XML" if start == b"<" else "JSON"
    checks = [
        *((head.startswith(sign), f"is {what}, not a table", remedy) for sign, what, remedy in SIGNS),
        (
            (ending == "parquet") != (head[:4] == tail == b"PAR1"),
            "is named like Parquet, but it is none" if ending == "parquet" else "is Parquet, but its name says CSV",
            "Give it the ending of what it is, and send it again.",
        ),
        (
            (ending == "csv.gz") != head.startswith(b"\x1f\x8b"),
            "is named .gz, but it is not compressed with gzip" if ending == "csv.gz" else "is compressed with gzip",
            "Give it the ending of what it is (.csv or .csv.gz), and send it again.",
        ),
        (
            ending == "csv" and b"\0" in head and encoding != "utf-16",
            "holds bytes that no text has, so it is not a CSV",
            "Save the table as CSV; if it is UTF-16, choose that encoding.",
        ),
        (
            ending == "csv" and start in (b"{", b"[", b"<"),
            f"looks like {markup}, not like a table",
            "Save the table as CSV, with a header in its first row.",
        ),
    ]
    for wrong, words, remedy in checks:
        if wrong:
            raise Problem(422, f"{name} {words}.", remedy=remedy, title="This file is not what its name says")


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
            remedy="Give the path of a .csv, .csv.gz or .parquet file as the list shows it. Links and '..' are not followed. "
            "The operator of this server opens folders with --folder.",
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
        named = path.name.lower().endswith(tuple(f".{ending}" for ending in ENDINGS))
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
            remedy="The operator of this server opens others by name with --server HOST.",
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
