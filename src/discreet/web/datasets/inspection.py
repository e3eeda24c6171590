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
    """The columns of a file that is what it says, within the limits; a problem in words otherwise."""
    if path.stat().st_size == 0:
        raise _unusable(f"{name} is empty.", "Choose a file with a header and at least one row.")
    _refuse_lies(path, name, ending, encoding)
    if ending == "csv.gz":
        _refuse_large_gzip(path, name, settings)
    with in_words(path, name):
        if ending == "parquet":
            from discreet.sources.desk import connect, literal, translated

            with translated(name), connect() as connection:
                sizes = (
                    f"SELECT sum(total_uncompressed_size), max(num_values) FROM parquet_metadata({literal(str(path))})"  # noqa: S608 - quoted
                )
                total, _ = connection.execute(sizes).fetchone()
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
    """Errors about a file speak of it by the name that people gave it, not by where it is on this machine."""
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
    """A table of people has no thousands of columns; one that does is most likely turned on its side."""
    if len(columns) > settings.most_columns:
        raise too_many(len(columns), name, settings)


def too_many(columns: int, name: str, settings: Settings) -> Problem:
    """More columns than are looked after here, whether or not the command line would take them."""
    return Problem(
        422,
        f"{name} has {columns:,} columns; at most {settings.most_columns:,} are supported here.",
        remedy=f"Leave out columns that are not needed, or use the command line, which takes {MOST_COLUMNS:,}: discreet assess.",
        title="Too many columns",
    )


def _unusable(words: str, remedy: str) -> Problem:
    return Problem(422, words, remedy=remedy, title="This file cannot be used")


def _refuse_lies(path: Path, name: str, ending: str, encoding: str | None) -> None:
    with path.open("rb") as file:
        head = file.read(64 * 1024)
        file.seek(max(0, path.stat().st_size - 4))
        tail = file.read(4)
    other = next(((what, remedy) for sign, what, remedy in SIGNS if head.startswith(sign)), None)
    if other is not None:
        raise _lie(name, f"is {other[0]}, not a table", other[1])
    if (ending == "parquet") != (head[:4] == tail == b"PAR1"):
        kind = "is named like Parquet, but it is none" if ending == "parquet" else "is Parquet, but its name says CSV"
        raise _lie(name, kind, "Give it the ending of what it is, and send it again.")
    if (ending == "csv.gz") != head.startswith(b"\x1f\x8b"):
        kind = "is named .gz, but it is not compressed with gzip" if ending == "csv.gz" else "is compressed with gzip"
        raise _lie(name, kind, "Give it the ending of what it is (.csv or .csv.gz), and send it again.")
    if ending == "csv":
        if b"\0" in head and encoding != "utf-16":
            raise _lie(
                name,
                "holds bytes that no text has, so it is not a CSV",
                "Save the table as CSV; if it is UTF-16, choose that encoding.",
            )
        start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        if start in (b"{", b"[", b"<"):
            kind = "HTML or XML" if start == b"<" else "JSON"
            raise _lie(
                name, f"looks like {kind}, not like a table", "Save the table as CSV, with a header in its first row."
            )


def _lie(name: str, words: str, remedy: str) -> Problem:
    return Problem(422, f"{name} {words}.", remedy=remedy, title="This file is not what its name says")


def _refuse_large_gzip(path: Path, name: str, settings: Settings) -> None:
    """By decompressing it, which is the only way to know, and stopping where it is enough."""
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
    """The file below one of the folders, without links and detours; all else gets the same answer."""
    for folder in folders:
        path = _below(given, folder)
        if path is not None:
            return path
    raise Problem(
        422,
        "There is no such file in the folders that are open here.",
        remedy="Give the path of a .csv, .csv.gz or .parquet file as the list shows it. Links and '..' are not followed. "
        "The operator of this server opens folders with --folder.",
    )


def _below(given: str, folder: Path) -> Path | None:
    try:
        base = folder.resolve(strict=True)
        place = Path(given)
        inner = place.relative_to(base if place.is_relative_to(base) else folder) if place.is_absolute() else place
        path = base / inner
        plain = ".." not in place.parts and not set("*?[]\0\n\r") & set(str(inner))
        real = path.resolve(strict=True)
        regular = stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return None
    named = path.name.lower().endswith(tuple(f".{ending}" for ending in ENDINGS))
    return path if plain and real == path and regular and named and path != base else None


def files_below(folders: Sequence[Path]) -> list[str]:
    """Files that may be registered, for a list to choose from; not more than a list can hold."""
    paths = []
    for path in _walk(folders):
        paths.append(path)
        if len(paths) == MOST_LISTED:
            break
    return sorted(paths)


def _walk(folders: Sequence[Path]) -> Iterator[str]:
    seen = 0
    for folder in folders:
        for place, inner, names in os.walk(folder.resolve(), followlinks=False):
            seen += len(names) + len(inner)
            if seen > MOST_SEEN:
                return
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            for name in sorted(names):
                path = str(Path(place, name))
                if not name.startswith(".") and allowed_or_none(path, folders):
                    yield path


def allowed_or_none(given: str, folders: Sequence[Path]) -> Path | None:
    """As `allowed_file`, without a problem."""
    try:
        return allowed_file(given, folders)
    except Problem:
        return None


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
    """A table on one of the servers that are open here. What names files, services or other servers is refused."""
    parts = _parts(given)
    host = f"{parts.get('host', '')}:{parts.get('port', '5432')}"
    if not {host, parts.get("host", "")} & set(servers) or not parts.get("host"):
        raise Problem(
            422,
            "That server is not open here.",
            remedy="The operator of this server opens others by name with --server HOST.",
        )
    if not table or len(table) > 200:
        raise Problem(422, "The name of the table is missing.", remedy="Give it as schema.table; a view works as well.")
    secret = password or parts.pop("password", "") or None
    return ServerTable(_place({name: parts[name] for name in KEPT if name in parts}, table), secret)


def _place(kept: dict[str, str], table: str) -> str:
    """One way to write an address: a server by name before the path, a folder of sockets after it."""
    server = ""
    if not kept["host"].startswith("/"):
        user = f"{quote(kept.pop('user'), safe='')}@" if "user" in kept else ""
        port = f":{kept.pop('port')}" if "port" in kept else ""
        name = kept.pop("host")
        server = f"{user}{f'[{name}]' if ':' in name else quote(name, safe='')}{port}"
    return f"postgresql://{server}/{quote(kept.pop('dbname', ''), safe='')}?{urlencode({**kept, 'table': table})}"


def _parts(given: str) -> dict[str, str]:
    """The address as the server's own library takes it apart, so that there is one meaning of it only."""
    wrong = Problem(
        422, "That is not the address of a PostgreSQL database.", remedy="Write it as postgresql://user@host/database."
    )
    if not given.startswith(SCHEMES):
        raise wrong
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
    return parts
