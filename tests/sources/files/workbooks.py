"""Spreadsheets written by hand, as small as the formats allow."""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
Sheets = Mapping[str, Sequence[Sequence[Any]]]


def packed(members: Mapping[str, str]) -> bytes:
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
