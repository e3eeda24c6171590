"""What must be known of a CSV file before an engine reads it: delimiter, header, encoding.

Engines quote the offending row when they fail. A row is a person's record, so everything that can be checked is
checked here first, and errors speak of line numbers only.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import tempfile
import weakref
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO, cast

from discreet.errors import ColumnError, EmptySource, SourceUnreadable
from discreet.sources.engine import refuse_wide

DELIMITERS = ";\t|,"
"""A comma comes last: where both fit, it is a decimal comma."""
UTF8 = ("utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii")
SAMPLE_LINES = 200
SAMPLE = 2**20
"""Lines and characters that are looked at to find out what separates the cells."""
LONGEST_HEADER = 2**24
"""Characters of the first line."""

csv.field_size_limit(2**27)


def opened(path: Path, encoding: str) -> IO[str]:
    """The file as text, decompressed when its name ends in .gz."""
    binary = gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb")  # noqa: SIM115 - closed by the caller
    return io.TextIOWrapper(cast("IO[bytes]", binary), encoding=encoding, newline="")


def sniff(path: Path, *, delimiter: str | None, encoding: str) -> tuple[str, list[str]]:
    """The delimiter and the column names."""
    lines = _first_lines(path, encoding)
    if not lines:
        raise EmptySource(f"{path} is empty.", remedy="Give a file with a header and at least one row.")
    mark = delimiter or guess_delimiter(lines)
    header = next(csv.reader(lines, delimiter=mark))
    return mark, header


def guess_delimiter(lines: Sequence[str]) -> str:
    """The mark that cuts every line into the same number of cells, the most cells if several do.

    >>> guess_delimiter(["a;b,c", "1;2,5", "3;4,5"])
    ';'
    """
    return max(DELIMITERS, key=lambda mark: _fit(lines, mark))


def _fit(lines: Sequence[str], mark: str) -> tuple[float, int]:
    widths = Counter(len(row) for row in csv.reader(lines, delimiter=mark) if row)
    width, times = widths.most_common(1)[0] if widths else (1, 0)
    return (times / max(widths.total(), 1) if width > 1 else 0.0, width if width > 1 else 0)


def check_header(header: Sequence[str], path: Path, *, declared: Sequence[str] = ()) -> None:
    """Stop if the first row cannot be a header. Names are not repeated: they may be a person's values."""
    refuse_wide(len(header), str(path))
    unnamed = [place for place, name in enumerate(header, start=1) if not name.strip()]
    if unnamed:
        raise ColumnError(
            f"{path}: column {unnamed[0]} of {len(header)} has no name.",
            remedy="Give every column a name in the first row.",
        )
    doubled = _first_doubled(header)
    if doubled is not None:
        raise ColumnError(
            f"{path}: column {doubled} of {len(header)} has the same name as an earlier one.",
            remedy="Give every column a name of its own.",
        )
    known = set(declared)
    values = [name for name in header if _is_value(name) and name not in known]
    if values:
        raise ColumnError(
            f"{path}: {len(values)} of {len(header)} names in the first row are numbers or dates, so it looks like a record, not a header.",
            remedy="Add a header row. If these are names, list the columns in a policy.",
        )


def _first_doubled(header: Sequence[str]) -> int | None:
    """The place of the first name that an earlier column has, too."""
    met: set[str] = set()
    for place, name in enumerate(header, start=1):
        if name in met:
            return place
        met.add(name)
    return None


def _is_value(name: str) -> bool:
    return bool(re.fullmatch(r"[-+]?\d+([.,]\d+)?|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}", name.strip()))


def as_utf8(path: Path, encoding: str, *, owner: object) -> Path:
    """The path of the file in UTF-8: itself, or a copy in the temporary folder that goes with its owner.

    It holds people's records, so it goes from the moment it is there, at the latest when the process ends.
    """
    if _known(encoding) in UTF8:
        return path
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="", suffix=".csv", delete=False) as copy:
        weakref.finalize(owner, Path(copy.name).unlink, missing_ok=True)
        try:
            with opened(path, encoding) as original:
                while block := original.read(1 << 20):
                    copy.write(block)
        except (UnicodeError, OSError, EOFError) as error:
            raise unreadable(path, error, encoding) from None
    return Path(copy.name)


def _known(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise SourceUnreadable(
            f"There is no encoding named '{encoding}'.", remedy='Use a name such as "utf-8", "latin-1" or "cp1252".'
        ) from None


def _first_lines(path: Path, encoding: str) -> list[str]:
    _known(encoding)
    try:
        with opened(path, "utf-8-sig" if _known(encoding) == "utf-8" else encoding) as file:
            lines = _sample(file)
    except (UnicodeError, OSError, EOFError) as error:
        raise unreadable(path, error, encoding) from None
    if lines and len(lines[0]) > LONGEST_HEADER:
        raise ColumnError(
            f"{path}: the first line is longer than {LONGEST_HEADER:,} characters, so it is no header.",
            remedy="Does every row end with a line break? Give the columns names in a first row of their own.",
        )
    return lines


def _sample(file: IO[str]) -> list[str]:
    """The header whole, and some rows after it; empty lines are left out."""
    lines: list[str] = []
    left = SAMPLE
    for _ in range(SAMPLE_LINES):
        line = file.readline(SAMPLE if lines else LONGEST_HEADER + 1)
        if line.strip():
            lines.append(line)
        left -= len(line)
        if not line or left < 0:
            break
    return lines


def unreadable(path: Path, error: Exception, encoding: str) -> SourceUnreadable:
    """What went wrong, without the bytes that went wrong."""
    if isinstance(error, UnicodeError):
        return SourceUnreadable(
            f"{path} is not written in {encoding}.",
            remedy='Name its encoding in the policy: [data] encoding = "latin-1" (or "cp1252", "utf-16").',
        )
    return SourceUnreadable(
        f"{path} cannot be read ({type(error).__name__}).", remedy="Is it complete, and yours to read?"
    )
