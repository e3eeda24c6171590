"""Archives and private copies: one table inside a compressed file, unpacked where only this user reads it."""

from __future__ import annotations

import bz2
import gzip
import importlib.util
import lzma
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from discreet.errors import EmptySource, MissingExtra, SourceUnreadable
from discreet.sources.duckdb_scratch import PrivateFolder
from discreet.sources.files.formats import FileFormat, damaged, declared

BLOCK = 2**20
MOST_NAMED = 10
"""Tables of an archive that an error names."""
NOTES = ("txt", "dat")
"""Endings of tables that files beside a table have as well."""


def unpacked(path: Path, name: str, kind: FileFormat, folder: PrivateFolder) -> tuple[Path, str]:
    """The one table inside a compressed file, and its name."""
    with stream(path, name, kind) as (packed, inner):
        plain = folder.file(inner)
        with plain.open("wb") as file:
            shutil.copyfileobj(packed, file, BLOCK)
    return plain, inner


@contextmanager
def stream(path: Path, name: str, kind: FileFormat) -> Iterator[tuple[IO[bytes], str]]:
    """The bytes of the one table inside a compressed file, and its name."""
    inner = name.rpartition(".")[0] if declared(name) is kind else name
    try:
        if kind.name == "zip":
            with zipfile.ZipFile(path) as archive, archive.open(_only_table(archive, name)) as file:
                yield file, Path(file.name).name
        else:
            with _OPEN[kind.name](path) as file:
                yield file, inner
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError):
        raise damaged(name) from None


def _zstd(path: Path) -> IO[bytes]:
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingExtra("formats", needed_for="A file compressed with zstd")
    import pyarrow

    return cast("IO[bytes]", pyarrow.input_stream(str(path), compression="zstd"))


_OPEN: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open, "zstd": _zstd}


def _only_table(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """The one table of an archive; others beside it are named."""
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not any(part.startswith((".", "__MACOSX")) for part in Path(member.filename).parts)
    ]
    tables = [member for member in members if declared(member.filename) is not None]
    tables = [table for table in tables if not table.filename.lower().endswith(NOTES)] or tables
    if len(members) == 1:
        tables = members
    if not tables:
        raise EmptySource(f"{name} holds no table.", remedy="Pack one table into it, a CSV for example.")
    if len(tables) > 1:
        more = f" and {len(tables) - MOST_NAMED} more" if len(tables) > MOST_NAMED else ""
        raise SourceUnreadable(
            f"{name} holds {len(tables)} tables: {', '.join(table.filename for table in tables[:MOST_NAMED])}{more}.",
            remedy="Unpack it, and give the one that is meant.",
        )
    if tables[0].flag_bits & 1:
        raise SourceUnreadable(f"{name} is locked with a password.", remedy="Unpack it, and give the table inside.")
    return tables[0]
