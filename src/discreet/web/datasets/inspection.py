"""Is it what it says, is it a table, and does it stay within the limits? Asked before a file becomes a data set.

What is said about a file counts and names kinds; it never repeats what is in it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import DataError, DiscreetError, TooManyColumns
from discreet.policy import Policy
from discreet.sources import read
from discreet.sources.engine import MOST_COLUMNS
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
        title="Not a table we know",
    )


def inspect(path: Path, *, name: str, ending: str, settings: Settings, encoding: str | None = None) -> Inspected:
    """The columns of a file that is what it says, within the limits; a problem in words otherwise."""
    _refuse_empty(path, name)
    _refuse_lies(path, name, ending, encoding)
    _refuse_bombs(path, name, ending, settings)
    with in_words(path, name):
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
        raise Problem(
            422, renamed(error.problem, path, name), remedy=_for_pages(error), title="This file cannot be used"
        ) from None


def renamed(words: str, path: Path, name: str) -> str:
    """Words about a file, with its name in place of its path."""
    return words.replace(str(path), name).replace(path.name, name)


def _for_pages(error: DiscreetError) -> str:
    """Advice for whoever has no policy yet: the encoding is chosen in the form."""
    if isinstance(error, DataError) and "encoding" in error.remedy:
        return "Choose the encoding it is written in (often latin-1 or cp1252), or save it as UTF-8, and send it again."
    return error.remedy


def refuse_columns(columns: tuple[str, ...], name: str, settings: Settings) -> None:
    """A table of people has no thousands of columns; one that does is most likely turned on its side."""
    if len(columns) > settings.most_columns:
        raise too_many(len(columns), name, settings)


def too_many(columns: int, name: str, settings: Settings) -> Problem:
    """More columns than are looked after here, whether or not the command line would take them."""
    return Problem(
        422,
        f"{name} has {columns:,} columns; at most {settings.most_columns:,} can be looked after here.",
        remedy=f"Leave out columns that are not needed, or use the command line, which takes {MOST_COLUMNS:,}: discreet assess.",
        title="Too many columns",
    )


def _refuse_empty(path: Path, name: str) -> None:
    if path.stat().st_size == 0:
        raise Problem(
            422,
            f"{name} is empty.",
            remedy="Choose a file with a header and at least one row.",
            title="This file cannot be used",
        )


def _refuse_lies(path: Path, name: str, ending: str, encoding: str | None) -> None:
    with path.open("rb") as file:
        head = file.read(64 * 1024)
        file.seek(max(0, path.stat().st_size - 4))
        tail = file.read(4)
    found = next(((what, remedy) for sign, what, remedy in SIGNS if head.startswith(sign)), None)
    if found is not None:
        raise _lie(name, f"is {found[0]}, not a table", found[1])
    if (ending == "parquet") != (head[:4] == tail == b"PAR1"):
        kind = "is named like Parquet, but it is none" if ending == "parquet" else "is Parquet, but its name says CSV"
        raise _lie(name, kind, "Give it the ending of what it is, and send it again.")
    if (ending == "csv.gz") != head.startswith(b"\x1f\x8b"):
        kind = "is named .gz, but it is not compressed with gzip" if ending == "csv.gz" else "is compressed with gzip"
        raise _lie(name, kind, "Give it the ending of what it is (.csv or .csv.gz), and send it again.")
    if ending == "csv":
        _refuse_other_text(head, name, encoding)


def _refuse_other_text(head: bytes, name: str, encoding: str | None) -> None:
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


def _refuse_bombs(path: Path, name: str, ending: str, settings: Settings) -> None:
    if ending == "csv.gz":
        _refuse_large_gzip(path, name, settings)
    elif ending == "parquet":
        with in_words(path, name):
            _refuse_large_parquet(path, name, settings)


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
        raise Problem(
            422,
            f"{name} cannot be decompressed.",
            remedy="It may be cut off: compress it again, and send it again.",
            title="This file cannot be used",
        ) from None


def _refuse_large_parquet(path: Path, name: str, settings: Settings) -> None:
    from discreet.sources.duckdb.engine import connect, literal, translated

    with translated(name), connect() as connection:
        sizes = f"SELECT sum(total_uncompressed_size), max(num_values) FROM parquet_metadata({literal(str(path))})"  # noqa: S608 - quoted
        total, _ = connection.execute(sizes).fetchone()
    if (total or 0) > settings.largest_table:
        raise _bomb(name, settings)


def _bomb(name: str, settings: Settings) -> Problem:
    return Problem(
        413,
        f"{name} grows beyond what is accepted when it is decompressed ({settings.largest_table:,} bytes, or {MOST_RATIO} times its size).",
        remedy="If it is a real table, have whoever runs this server allow its folder, and register it where it is.",
    )
