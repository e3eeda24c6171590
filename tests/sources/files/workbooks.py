"""Spreadsheets written by hand, as small as the formats allow."""

from __future__ import annotations

import datetime
import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
Sheets = Mapping[str, Sequence[Sequence[Any]]]


def packed(members: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return out.getvalue()


def xlsx(sheets: Sheets, *, hidden: Sequence[str] = ()) -> bytes:
    """An Excel workbook; days are numbers with the format of a date, as Excel has them."""
    names = list(enumerate(sheets, start=1))
    state = {name: ' state="hidden"' if name in hidden else "" for name in sheets}
    listed = "".join(f'<sheet name={quoteattr(name)} sheetId="{n}" r:id="rId{n}"{state[name]}/>' for n, name in names)
    related = "".join(
        f'<Relationship Id="rId{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n, _ in names
    )
    styles = f'<Relationship Id="rId0" Type="{OFFICE}/styles" Target="styles.xml"/>'
    formats = '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs>'
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    types = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{kind}.worksheet+xml"/>' for n, _ in names
    )
    return packed(
        {
            "[Content_Types].xml": f'{HEAD}<Types xmlns="{PACKAGE}/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
            f'<Override PartName="/xl/styles.xml" ContentType="{kind}.styles+xml"/>{types}</Types>',
            "_rels/.rels": f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships">'
            f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'{HEAD}<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships">{styles}{related}</Relationships>',
            "xl/styles.xml": f'{HEAD}<styleSheet xmlns="{MAIN}">{formats}</styleSheet>',
            **{
                f"xl/worksheets/sheet{n}.xml": f'{HEAD}<worksheet xmlns="{MAIN}"><sheetData>{_rows(sheets[name])}</sheetData></worksheet>'
                for n, name in names
            },
        }
    )


def _rows(rows: Sequence[Sequence[Any]]) -> str:
    return "".join(
        f'<row r="{y}">' + "".join(_cell(f"{chr(64 + x)}{y}", cell) for x, cell in enumerate(row, start=1)) + "</row>"
        for y, row in enumerate(rows, start=1)
    )


def _cell(place: str, cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return f'<c r="{place}" t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, datetime.date):
        return f'<c r="{place}" s="1"><v>{(cell - datetime.date(1899, 12, 30)).days}</v></c>'
    if isinstance(cell, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
    return f'<c r="{place}"><v>{cell}</v></c>'


def ods(sheets: Sheets) -> bytes:
    """An OpenDocument spreadsheet."""

    def cell(content: Any) -> str:
        if content is None:
            return "<table:table-cell/>"
        if isinstance(content, datetime.date):
            return f'<table:table-cell office:value-type="date" office:date-value="{content.isoformat()}"/>'
        if isinstance(content, bool):
            return f'<table:table-cell office:value-type="boolean" office:boolean-value="{str(content).lower()}"/>'
        if isinstance(content, str):
            return f'<table:table-cell office:value-type="string"><text:p>{escape(content)}</text:p></table:table-cell>'
        return f'<table:table-cell office:value-type="float" office:value="{content}"/>'

    tables = "".join(
        f"<table:table table:name={quoteattr(name)}>"
        + "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
        + "</table:table>"
        for name, rows in sheets.items()
    )
    spaces = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{short}:1.0"' for short in ("office", "table", "text")
    )
    mime = "application/vnd.oasis.opendocument.spreadsheet"
    return packed(
        {
            "mimetype": mime,
            "META-INF/manifest.xml": f'{HEAD}<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{mime}"/></manifest:manifest>',
            "content.xml": f"{HEAD}<office:document-content {spaces}><office:body><office:spreadsheet>{tables}"
            "</office:spreadsheet></office:body></office:document-content>",
        }
    )


def _serial(cell: Any) -> tuple[float, int]:
    """A number or a day as Excel counts them, and the style of its cell."""
    day = isinstance(cell, datetime.date)
    return (float((cell - datetime.date(1899, 12, 30)).days) if day else float(cell)), int(day)


def xlsb(sheets: Sheets) -> bytes:
    """A binary workbook of Excel 2007: the parts of an .xlsx as records."""

    def record(kind: int, content: bytes = b"") -> bytes:
        number = bytes([kind]) if kind < 128 else bytes([kind & 127 | 128, kind >> 7])
        size = len(content)
        return number + (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + content

    def text(content: str) -> bytes:
        return struct.pack("<I", len(content)) + content.encode("utf-16-le")

    def cell(column: int, content: Any) -> bytes:
        if content is None:
            return b""
        if isinstance(content, bool):
            return record(4, struct.pack("<IIB", column, 0, content))
        if isinstance(content, str):
            return record(6, struct.pack("<II", column, 0) + text(content))
        number, style = _serial(content)
        return record(5, struct.pack("<IId", column, style, number))

    def sheet(rows: Sequence[Sequence[Any]]) -> bytes:
        lines = b"".join(
            record(0, struct.pack("<I", y) + bytes(21)) + b"".join(cell(x, content) for x, content in enumerate(row))
            for y, row in enumerate(rows)
        )
        widest = max((len(row) for row in rows), default=1)
        dimension = record(148, struct.pack("<IIII", 0, max(len(rows) - 1, 0), 0, widest - 1))
        return record(129) + dimension + record(145) + lines + record(146) + record(130)

    names = list(enumerate(sheets, start=1))
    listed = b"".join(record(156, struct.pack("<II", 0, n) + text(f"rId{n}") + text(name)) for n, name in names)
    related = "".join(
        f'<Relationship Id="rId{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.bin"/>' for n, _ in names
    )
    styles = b"".join(record(47, struct.pack("<HH", 0, form) + bytes(12)) for form in (0, 14))
    return packed(
        {
            "xl/workbook.bin": record(131) + record(143) + listed + record(144) + record(132),
            "xl/_rels/workbook.bin.rels": f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships">{related}</Relationships>',
            "xl/styles.bin": record(278) + record(617, struct.pack("<I", 2)) + styles + record(618) + record(279),
            **{f"xl/worksheets/sheet{n}.bin": sheet(sheets[name]) for n, name in names},
        }
    )


def xls(sheets: Sheets) -> bytes:
    """A workbook of Excel 97: records in the one stream of a compound file."""

    def record(kind: int, content: bytes = b"") -> bytes:
        return struct.pack("<HH", kind, len(content)) + content

    def cell(y: int, x: int, content: Any) -> bytes:
        if content is None:
            return b""
        if isinstance(content, bool):
            return record(0x205, struct.pack("<HHHBB", y, x, 0, content, 0))
        if isinstance(content, str):
            return record(0x204, struct.pack("<HHHHB", y, x, 0, len(content), 1) + content.encode("utf-16-le"))
        number, style = _serial(content)
        return record(0x203, struct.pack("<HHHd", y, x, style, number))

    begin, end = struct.pack("<HHHHII", 0x600, 0, 0, 0, 0, 0), record(10)
    bodies = []
    for rows in sheets.values():
        widest = max((len(row) for row in rows), default=0)
        dimension = record(0x200, struct.pack("<IIHHH", 0, len(rows), 0, widest, 0))
        cells = b"".join(cell(y, x, content) for y, row in enumerate(rows) for x, content in enumerate(row))
        bodies.append(record(0x809, begin[:2] + b"\x10" + begin[3:]) + dimension + cells + end)
    forms = b"".join(record(0xE0, struct.pack("<HHH", 0, form, 0) + bytes(14)) for form in (0, 14))
    head = record(0x809, begin[:2] + b"\x05" + begin[3:]) + forms
    at = len(head) + sum(12 + 2 * len(name) for name in sheets) + len(end)
    listed = b""
    for name, body in zip(sheets, bodies, strict=True):
        listed += record(0x85, struct.pack("<IBBBB", at, 0, 0, len(name), 1) + name.encode("utf-16-le"))
        at += len(body)
    return _compound("Workbook", head + listed + end + b"".join(bodies))


def _compound(name: str, content: bytes) -> bytes:
    """A compound file with one stream: a header, an allocation table, a directory and the stream, in sectors."""
    content = content.ljust(4096, b"\0")
    content += bytes(-len(content) % 512)
    sectors, last, free = len(content) // 512, 0xFFFFFFFE, 0xFFFFFFFF

    def entry(title: str, kind: int, child: int, start: int, size: int) -> bytes:
        letters = (title + "\0").encode("utf-16-le") if title else b""
        about = struct.pack("<HBBIII", len(letters), kind, 1, free, free, child)
        return letters.ljust(64, b"\0") + about + bytes(36) + struct.pack("<IQ", start, size)

    chain = [0xFFFFFFFD, last, *range(3, sectors + 2), last]
    table = struct.pack("<128I", *chain, *[free] * (128 - len(chain)))
    folder = entry("Root Entry", 5, 1, last, 0) + entry(name, 2, free, 2, len(content)) + 2 * entry("", 0, free, 0, 0)
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    head += struct.pack("<HHHHH6xIIIIIIIIII", 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, last, 0, last, 0, 0)
    return head + struct.pack("<108I", *[free] * 108) + table + folder + content
