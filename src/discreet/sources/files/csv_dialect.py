"""CSV files: their encoding, what separates the cells, whether the first row is a header.

Where DuckDB cannot read the text as it is, a private copy is made in UTF-8. Encodings are found by what letters would
spell in the languages of Europe.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np

from discreet.errors import ColumnError, EmptySource, SourceUnreadable
from discreet.sources.duckdb_scratch import PrivateFolder
from discreet.sources.engine import refuse_wide
from discreet.sources.files.formats import damaged, unreadable

DELIMITERS = ";\t|,"
"""A comma comes last: where both fit, it is a decimal comma."""
SAMPLE_LINES = 200
SAMPLE = 2**20
"""Lines and characters that are looked at to find out what separates the cells."""
ROW_NUMBER = "row_number"
"""What the first column is called where it has no name."""
LONGEST_HEADER = 2**24
"""Characters of the first line."""
VALUE = re.compile(r"[-+]?\d+([.,]\d+)*|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T][\d:.]+)?|[^@\s]+@[^@\s]+\.\w+")
"""A number, a date or an e-mail address, none of which names a column."""

csv.field_size_limit(2**27)


@dataclass(frozen=True)
class CsvFile:
    """A CSV as it is written, and the path of the same text in UTF-8."""

    path: Path
    name: str
    header: tuple[str, ...]
    delimiter: str
    encoding: str

    def refuse_other(self, first: CsvFile) -> None:
        """Stop if it does not go on from the first file of a pattern."""
        if (self.header, self.delimiter) != (first.header, first.delimiter):
            raise ColumnError(
                f"{self.name} has other columns than {first.name}, or another order or delimiter.",
                remedy="Give files with the same first row, or one pattern for each kind.",
            )


def csv_file(
    path: Path,
    name: str,
    folder: PrivateFolder,
    *,
    delimiter: str | None,
    encoding: str | None,
    declared: Sequence[str] = (),
) -> CsvFile:
    """A CSV that was looked at: its text, its delimiter and its header; gzip is read as it is."""
    try:
        with opened(path) as file:
            text = examined(file, name, encoding=encoding)
        code = "utf-8-sig" if known(text.encoding) in UTF8 else text.encoding
        with io.TextIOWrapper(opened(path), encoding=code, newline="") as lines:
            empty, sample = _sample(lines, name)
        mark = delimiter or guess_delimiter(sample)
        header, *rows = csv.reader(sample, delimiter=mark)
        header = with_row_names(header)
        check_header(header, name, rows=rows, declared=declared)
        plain = path
        if code != "utf-8-sig" or text.mixed or empty:
            plain = folder.file(name if name.lower().endswith(".csv") else f"{name}.csv")
            with io.TextIOWrapper(opened(path), encoding=code, newline="") as original:
                _recode(original, plain, name, skip=empty)
    except UnicodeError:
        raise not_written(name, encoding or "the encoding that its beginning shows") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise damaged(name) from None
    except OSError as error:
        raise unreadable(name, error) from None
    except csv.Error:
        raise SourceUnreadable(f"The first row of {name} cannot be read.", remedy="Is every quote closed?") from None
    return CsvFile(plain, name, tuple(header), mark, "utf-8" if code == "utf-8-sig" else text.encoding)


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, decompressed where its name ends in .gz."""
    return cast("IO[bytes]", gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb"))


def _sample(file: io.TextIOWrapper, name: str) -> tuple[int, list[str]]:
    """How many empty lines there are before the header; the header whole, and some rows after it."""
    lines: list[str] = []
    left, empty = SAMPLE, 0
    for _ in range(SAMPLE_LINES):
        line = file.readline(SAMPLE if lines else LONGEST_HEADER + 1)
        if line.strip():
            lines.append(line)
        elif line and not lines:
            empty += 1
        left -= len(line)
        if not line or left < 0:
            break
    if not lines:
        raise EmptySource(f"{name} is empty.", remedy="Give a file with a header and at least one row.")
    if len(lines[0]) > LONGEST_HEADER:
        raise ColumnError(
            f"{name}: the first line is longer than {LONGEST_HEADER:,} characters, so it is no header.",
            remedy="Does every row end with a line break? Give the columns names in a first row of their own.",
        )
    return empty, lines


def guess_delimiter(lines: Sequence[str]) -> str:
    """The mark that cuts every line into equally many cells, and the most.

    >>> guess_delimiter(["a;b,c", "1;2,5", "3;4,5"])
    ';'
    """
    fits: dict[str, tuple[float, int]] = {}
    for mark in DELIMITERS:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=mark) if row)
        width, times = widths.most_common(1)[0] if widths else (1, 0)
        fits[mark] = (times / widths.total(), width) if width > 1 else (0.0, 0)
    return max(fits, key=lambda mark: fits[mark])


def with_row_names(header: list[str]) -> list[str]:
    """A header whose first column, if it alone has no name, is called by what it is: R and pandas number rows there.

    >>> with_row_names(["", "age"]), with_row_names(["age", ""]), with_row_names(["", "", "age"])
    (['row_number', 'age'], ['age', ''], ['', '', 'age'])
    """
    numbered = len(header) > 1 and not header[0].strip() and all(map(str.strip, header[1:]))
    return [ROW_NUMBER, *header[1:]] if numbered and ROW_NUMBER not in header else header


def check_header(
    header: Sequence[str], name: str | Path, *, rows: Sequence[Sequence[str]] = (), declared: Sequence[str] = ()
) -> None:
    """Stop if the first row cannot be a header.

    Names are not repeated: they may be a person's values.
    """
    refuse_wide(len(header), str(name))
    named = set(declared)
    strange = [place for place, title in enumerate(header) if title not in named]
    if values := [place for place in strange if VALUE.fullmatch(header[place].strip())]:
        raise ColumnError(
            f"{name}: {len(values)} of {len(header)} names in the first row are numbers, dates or addresses, so it looks like a record, not a header.",
            remedy="Add a header row. If these are names, list the columns in a policy.",
        )
    below = [row for row in rows if len(row) == len(header) and list(row) != list(header)]
    again = [place for place in strange if header[place].strip() and any(row[place] == header[place] for row in below)]
    if 3 * len(again) >= len(header) and (len(again) > 1 or len(header) < 4):
        raise ColumnError(
            f"{name}: {len(again)} of {len(header)} names in the first row are values of their columns further down, so it looks like a record, not a header.",
            remedy="Add a header row. If these are names, list the columns in a policy.",
        )
    unnamed = [place for place, title in enumerate(header, start=1) if not title.strip()]
    if unnamed:
        further = any(len(row) == len(header) and all(cell.strip() for cell in row) for row in rows)
        down = " The header may be further down, below a title: delete the rows above it." if further else ""
        raise ColumnError(
            f"{name}: column {unnamed[0]} of {len(header)} has no name.",
            remedy=f"Give every column a name in the first row.{down}",
        )
    first: dict[str, int] = {}
    places = enumerate(header, start=1)
    doubled = next((place for place, title in places if first.setdefault(title.casefold(), place) != place), None)
    if doubled is not None:
        raise ColumnError(
            f"{name}: column {doubled} of {len(header)} has the same name as an earlier one, or differs from it in case only.",
            remedy="Give every column a name of its own.",
        )


def _recode(original: io.TextIOWrapper, target: Path, name: str, *, skip: int) -> None:
    """Copy the text in UTF-8, its lines ending in one way; what is inside quotes stays as it is."""
    for _ in range(skip):
        original.readline()
    with target.open("w", encoding="utf-8", newline="") as copy:
        quoted, held, line = False, "", 1 + skip
        while block := original.read(BLOCK):
            if "\0" in block:
                at = line + block.count("\n", 0, block.index("\0"))
                raise SourceUnreadable(
                    f"Line {at} of {name} holds a NUL character, which no text has.", remedy="Save it again as text."
                )
            line += block.count("\n")
            text, held = held + block, ""
            if text.endswith("\r"):  # its line feed may be the next character
                text, held = text[:-1], "\r"
            parts = text.split('"')
            for place in range(int(quoted), len(parts), 2):
                parts[place] = parts[place].replace("\r\n", "\n").replace("\r", "\n")
            quoted ^= len(parts) % 2 == 0
            copy.write('"'.join(parts))
        copy.write("\n" if held else "")


# Encodings.
BLOCK = 2**20
HEAD = 4_096
MOST_SAMPLE = 2**18
"""Bytes of lines with letters beyond ASCII that are looked at."""
UTF8 = ("utf-8", "utf-8-sig", "ascii")
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
CANDIDATES = (
    "cp1252", "cp1250", "iso-8859-2", "cp1254", "cp1257", "cp1251", "cp1253", "iso-8859-7", "koi8-r", "koi8-u", "cp850", "cp852",
    "mac-roman", "cp866", "latin-1",
)  # fmt: skip
"""Encodings of one byte per letter; where several spell the text equally well, the first."""
ALPHABETS = (
    "äöüß", "äöüßéèàçâêëîïôû", "éèàçâêëîïôûùüÿœæ", "áéíóúüñ", "àáçéèíïóòúü", "àèéìíîòóù", "äåöéü", "åæøéäöü", "áâãàçéêíóôõúü",
    "ëïéèüöóáê", "ąćęłńóśźżé", "áčďéěíňóřšťúůýžöüä", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüűä", "čćđšž", "ăâîșțşţ", "çğıöşüiâî",
    "äõöüšž", "āčēģīķļņšūž", "ąčęėįšųūž", "áðéíóúýþæö", "абвгдежзийклмнопрстуфхцчшщъыьэюяё", "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя",
    "абвгдђежзијклљмнњопрстћуфхцчџш", "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ",
)  # fmt: skip
"""Letters beyond ASCII, language by language: German, Swiss, French, Spanish, Catalan, Italian, Swedish, Danish, ..."""
ATTACHED = "\u00a0«»‘’“”„…–—·"
APART = "•°§€©®™²³ºª½¼¾£±×µ´¡¿"
"""Signs that a table may hold beside its letters: next to words, or apart from them."""
LAST_LATIN = "\u024f"
GOOD_FIT = 0.85


@dataclass(frozen=True)
class ExaminedText:
    """What one pass over a file says about its text."""

    encoding: str
    mixed: bool
    """Whether lines end in more than one way."""


def known(encoding: str) -> str:
    """The name that Python has for an encoding."""
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise SourceUnreadable(
            f"There is no encoding named '{encoding}'.", remedy='Use a name such as "utf-8", "latin-1" or "cp1252".'
        ) from None


def examined(file: IO[bytes], name: str, *, encoding: str | None) -> ExaminedText:
    """The encoding of a file, given or found, and how its lines end; NUL bytes are refused."""
    block = file.read(BLOCK)
    given = None if encoding is None else known(encoding)
    wide = given or _wide(block)
    single = (
        given not in (None, *UTF8) and len(bytes(range(256)).decode(given, "replace")) == 256
    )  # one byte a character
    if wide is not None and not wide.startswith("utf-8") and wide != "ascii" and not single:
        return ExaminedText(
            wide if given is None else encoding or wide, mixed=True
        )  # copied anyway, with one kind of line end
    decoder = codecs.getincrementaldecoder("utf-8")()
    bad: int | None = None
    sample, size, line, ends, before = [], 0, 1, Counter[str](), b""
    while block:
        if (place := block.find(b"\0")) >= 0:
            at = line + block.count(b"\n", 0, place)
            raise SourceUnreadable(
                f"Line {at} of {name} holds a NUL byte, which no text has.",
                remedy="Save the table again as text. If it is UTF-16, name that encoding (--encoding utf-16, or [data] encoding in the policy).",
            )
        if not block.isascii():
            if bad is None:
                try:
                    decoder.decode(block)
                except UnicodeDecodeError as error:
                    bad = line + block.count(b"\n", 0, error.start)
            if size < MOST_SAMPLE:
                found = b"".join(re.findall(rb"[^\r\n]*[\x80-\xff][^\r\n]*[\r\n]?", block))[:MOST_SAMPLE]
                sample.append(found)
                size += len(found)
        # Large files have gigabytes: what is rare is looked for first, and what is frequent is counted by numpy.
        feeds = int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n")))
        returns = block.count(b"\r") if b"\r" in block else 0
        both = block.count(b"\r\n") if returns else 0
        both += before.endswith(b"\r") and block.startswith(b"\n")
        ends += Counter({"\r\n": both, "\n": feeds - both, "\r": returns - both})
        line, before, block = line + feeds, block, file.read(BLOCK)
    if bad is None:
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            bad = line
    mixed = sum(count > 0 for count in ends.values()) > 1
    if bad is None:
        # Letters beyond ASCII that are UTF-8 throughout are nothing else: what Discreet writes is read by the same policy.
        return ExaminedText("utf-8" if sample or not single else encoding or "utf-8", mixed)
    if single:
        return ExaminedText(encoding or "utf-8", mixed=True)
    if given is not None:
        raise not_written(name, encoding or "utf-8", line=bad)
    return ExaminedText(spelt(b"".join(sample), name), mixed)


def _wide(head: bytes) -> str | None:
    """An encoding that a mark at the beginning gives away, or the pattern of its zeros."""
    for mark, name in MARKS:
        if head.startswith(mark):
            return name
    even, odd = head[:HEAD:2].count(0), head[1:HEAD:2].count(0)
    feeds = head[:HEAD].count(b"\n")
    if odd > 20 * even and (head[:HEAD].count(b"\n\0") > 0.5 * feeds or 5 * odd > len(head[:HEAD])):
        return "utf-16-le"
    if even > 20 * odd and (head[:HEAD].count(b"\0\n") > 0.5 * feeds or 5 * even > len(head[:HEAD])):
        return "utf-16-be"
    return None


def spelt(sample: bytes, name: str) -> str:
    """The encoding in which lines with letters beyond ASCII spell words of one language best.

    >>> [spelt(text.encode(code), "a.csv") for text, code in (("Łódź", "cp1250"), ("Köln", "latin-1"), ("Köln", "cp850"))]
    ['cp1250', 'cp1252', 'cp850']
    """
    fits = {code: _fit(sample, code) for code in CANDIDATES}
    best = max(fits, key=lambda code: fits[code])
    if fits[best] < GOOD_FIT:
        raise SourceUnreadable(
            f"{name} is not written in UTF-8, and its letters do not show in which encoding it is.",
            remedy='Name it (--encoding shift_jis, for example), or in the policy [data] encoding = "shift_jis".',
        )
    return best


def _fit(sample: bytes, encoding: str) -> float:
    """The share of signs beyond ASCII that are letters of one language, or are where signs may be."""
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError:
        return 0.0
    signs = re.findall(r"(?<=(.))?([^\x00-\x7f])(?=(.))?", f" {text} ", re.DOTALL)
    letters: Counter[str] = Counter()
    fitting = 0
    for before, sign, after in signs:
        if sign in ATTACHED:
            fitting += sign in "\u00a0’–·" or not (before.isalpha() and after.isalpha())
        elif sign in APART:
            fitting += not (before.isalpha() or after.isalpha())
        elif sign.isalpha() and not (sign.isupper() and (before.islower() or (before.isalpha() and after.islower()))):
            # No word is written in two scripts.
            latin = (before + after).isascii() and (before + after).strip().isalpha()
            letters[sign.lower()[0]] += not (latin and sign.lower() > LAST_LATIN)
    best = max(sum(letters[letter] for letter in alphabet) for alphabet in ALPHABETS)
    return (best + fitting) / len(signs) if signs else 1.0


def not_written(name: str, encoding: str, *, line: int | None = None) -> SourceUnreadable:
    """Bytes that the encoding does not have, without the bytes."""
    place = name if line is None else f"Line {line} of {name}"
    return SourceUnreadable(
        f"{place} is not written in {encoding}.",
        remedy='Name its encoding (--encoding cp1252), or in the policy [data] encoding = "cp1252" (or "latin-1", "utf-16"). '
        "Without one it is detected.",
    )
