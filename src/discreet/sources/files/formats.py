"""Formats of files: what a name says, what the bytes say, and that both agree."""

from __future__ import annotations

import mmap
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from discreet.errors import EmptySource, SourceUnreadable
from discreet.wording import reason

Reader = Literal["csv", "json", "parquet", "arrow", "spreadsheet", "statistics", "packed"]
HEAD = 4_096
"""Bytes that are looked at to see what a file is."""


@dataclass(frozen=True)
class FileFormat:
    """A format that is read, the endings of its files, and what these begin with."""

    name: str
    words: str
    reader: Reader
    endings: tuple[str, ...]
    signs: tuple[bytes, ...] = ()


CSV = FileFormat("csv", "text in cells (CSV)", "csv", ("csv", "tsv", "tab", "psv", "txt", "dat"))
JSON_LINES = FileFormat("json lines", "JSON lines", "json", ("jsonl", "ndjson"))
EXCEL = FileFormat("excel", "an Excel workbook", "spreadsheet", ("xlsx", "xlsm", "xlsb"))
EXCEL_97 = FileFormat(
    "excel 97", "an Excel 97 workbook", "spreadsheet", ("xls",), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",)
)
ODS = FileFormat("ods", "an OpenDocument spreadsheet", "spreadsheet", ("ods",))
STATA = FileFormat("stata", "a Stata file", "statistics", ("dta",), (b"<stata_dta>",))
ZIP = FileFormat("zip", "a ZIP archive", "packed", ("zip",))
FORMATS = (
    CSV,
    FileFormat("parquet", "Parquet", "parquet", ("parquet", "pq"), (b"PAR1",)),
    EXCEL,
    EXCEL_97,
    ODS,
    STATA,
    FileFormat("spss", "an SPSS file", "statistics", ("sav", "zsav"), (b"$FL2", b"$FL3")),
    FileFormat("sas transport", "a SAS transport file", "statistics", ("xpt",), (b"HEADER RECORD*******LIB",)),
    FileFormat(
        "sas", "a SAS data set", "statistics", ("sas7bdat",), (bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92",)
    ),
    FileFormat(
        "arrow",
        "a Feather or Arrow file",
        "arrow",
        ("feather", "arrow", "ipc", "arrows"),
        (b"ARROW1", b"\xff\xff\xff\xff"),
    ),
    JSON_LINES,
    FileFormat("gzip", "compressed with gzip", "packed", ("gz",), (b"\x1f\x8b",)),
    FileFormat("bzip2", "compressed with bzip2", "packed", ("bz2",), (b"BZh",)),
    FileFormat("xz", "compressed with xz", "packed", ("xz",), (b"\xfd7zXZ\0",)),
    FileFormat("zstd", "compressed with zstd", "packed", ("zst",), (b"\x28\xb5\x2f\xfd",)),
    ZIP,
)
ENDINGS = tuple(ending for kind in FORMATS for ending in kind.endings)
STRANGERS = (
    (rb"%PDF", "a PDF document"),
    (rb"\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP|II\*\0|MM\0\*", "a picture"),
    (rb"SQLite format 3", "a SQLite database"),
    (rb".{8}DUCK", "a DuckDB database"),
    (rb"7z\xbc\xaf|Rar!", "an archive of a kind that is not read"),
    (rb".{257}ustar", "a tar archive"),
    (rb"\x89HDF", "an HDF5 file"),
    (rb"FEA1", "a Feather file of version 1"),
    (rb"RD[AX][23]\n", "an R data file"),
    (rb"\{\\rtf", "a text document"),
    (rb"\x7fELF|MZ\x90", "a program"),
    (rb"(\xef\xbb\xbf)?\s*(<!--.{0,2000}?-->\s*)?<(!doctype\s+html|html|head|body|table|meta)\b", "an HTML page"),
    (rb"(\xef\xbb\xbf)?\s*<\?xml", "an XML document"),
    (rb"(\xef\xbb\xbf)?\s*\[\s*[\[{\"]", "a JSON document"),
)
"""How files begin that hold no table, or none that is read."""
OBJECT = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*("|\})')
OLD_STATA = re.compile(rb"[\x66-\x73][\x01\x02]\x01")
SAVE = "Save or export the table behind it, as CSV for example."
REMEDIES = {"a SQLite database": "Name one of its tables, with an absolute path: sqlite:///srv/people.db?table=people"}


def declared(name: str) -> FileFormat | None:
    """The format that the ending of a name stands for.

    >>> [kind.name for name in ("People.CSV", "a.csv.gz", "x.sav") if (kind := declared(name))]
    ['csv', 'gzip', 'spss']
    """
    ending = name.lower().rpartition(".")[2] if "." in name else ""
    return next((kind for kind in FORMATS if ending in kind.endings), None)


def format_of(path: Path, name: str) -> FileFormat:
    """The format of a file whose name and bytes agree; a refusal that says what it is, otherwise."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise unreadable(name, error) from None
    if not head:
        raise EmptySource(f"{name} is empty.", remedy="Give a file with a header and at least one row.")
    said, found = declared(name), recognised(head, path, name)
    if found is None:
        if said is None or said is CSV:
            return CSV
        raise SourceUnreadable(
            f"{name} is not {said.words}, although its name says so.",
            remedy="It may be cut off or damaged, or have the wrong ending: save it again, under the ending of what it is.",
        )
    if found is EXCEL_97:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            # In such a container Office puts a workbook with a password.
            if content.find("EncryptedPackage".encode("utf-16-le")) >= 0:
                raise SourceUnreadable(f"{name} is locked with a password.", remedy="Save it without one.")
    if said is not None and said is not found:
        raise SourceUnreadable(
            f"{name} is {found.words}, but its name says {said.words}.",
            remedy=f"Let its name end in .{found.endings[0]}.",
        )
    return found


def unreadable(name: str, error: Exception) -> SourceUnreadable:
    """A file that the system does not give, without its words."""
    return SourceUnreadable(f"{name} cannot be read ({reason(error)}).", remedy="Is it complete, and yours to read?")


def recognised(head: bytes, path: Path, name: str) -> FileFormat | None:
    """What the first bytes of a file say that it is; None for text."""
    for pattern, words in STRANGERS:
        if re.match(pattern, head, re.DOTALL | re.IGNORECASE):
            raise SourceUnreadable(f"{name} is {words}, not a table.", remedy=REMEDIES.get(words, SAVE))
    for kind in FORMATS:
        if head.startswith(kind.signs):
            return kind
    if OLD_STATA.match(head):
        return STATA
    if OBJECT.match(head):
        return JSON_LINES
    if not head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return None
    # Spreadsheets are ZIP archives, too.
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            mime = archive.read("mimetype")[:100] if "mimetype" in names else b""
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, EOFError):
        raise damaged(name) from None
    folders = {inner.partition("/")[0] for inner in names}
    if "xl" in folders:
        return EXCEL
    if mime.startswith(b"application/vnd.oasis.opendocument.spreadsheet"):
        return ODS
    if mime or folders & {"word", "ppt"}:
        raise SourceUnreadable(f"{name} is a text document or a presentation, not a table.", remedy=SAVE)
    return ZIP


def damaged(name: str) -> SourceUnreadable:
    """A file that ends too early or does not add up."""
    return SourceUnreadable(
        f"{name} is cut off or damaged: it cannot be unpacked to its end.",
        remedy="Copy or download it again, or pack it again.",
    )
