"""Spreadsheets: the sheet that holds the table, with days as days and whole numbers as whole numbers."""

from __future__ import annotations

import datetime
import importlib.util
import zipfile
from typing import Any

import pytest

import discreet
from discreet.errors import ColumnError, EmptySource, MissingExtra, SourceUnreadable
from tests.sources.files.workbooks import ods, xls, xlsb, xlsx

CANARY = "Zaphod-1952"
DAY = datetime.date(1964, 8, 9)
PEOPLE = [
    ["name", "age", "born", "income", "member", "code"],
    ["Jörg", 39, DAY, 1.5, True, "007"],
    [CANARY, 40, datetime.date(2001, 12, 1), 2, False, 12],
    [None, None, None, None, None, None],
    ["Anna", None, None, None, None, None],
]
QUASI = {"columns": {name: {"role": "quasi"} for name in PEOPLE[0]}}
POLICY = discreet.Policy.from_dict(QUASI)
WRITE = {"a.xlsx": xlsx, "a.ods": ods, "a.xlsb": xlsb, "a.xls": xls}


@pytest.mark.parametrize("name", list(WRITE))
def test_cells_keep_their_types_and_missing_stays_missing(write: Any, name: str) -> None:
    table = discreet.read(write(name, WRITE[name]({"Patients": PEOPLE, "Empty": []})), policy=POLICY)
    assert {field.name: field.kind for field in table.fields} == {
        "name": "text",
        "age": "number",
        "born": "date",
        "income": "number",
        "member": "boolean",
        "code": "text",
    }
    assert set(table.classes().tuples()) == {
        ("Jörg", "39", "1964-08-09", "1.5", "true", "007"),
        (CANARY, "40", "2001-12-01", "2", "false", "12"),
        ("Anna", None, None, None, None, None),
    }
    assert table.engine.dialect["sheet"] == "Patients"


@pytest.mark.parametrize("name", list(WRITE))
def test_several_sheets_are_named_and_one_is_chosen(write: Any, name: str) -> None:
    path = write(name, WRITE[name]({"Patients": PEOPLE, "Controls": PEOPLE[:2]}))
    with pytest.raises(SourceUnreadable, match="2 sheets with tables: 'Patients', 'Controls'"):
        discreet.read(path, policy=POLICY)
    chosen = discreet.Policy.from_dict({**QUASI, "data": {"sheet": "Controls"}})
    assert discreet.read(path, policy=chosen).records == 1
    with pytest.raises(SourceUnreadable, match=r"no sheet 'Elsewhere'\. It has: 'Patients', 'Controls'"):
        discreet.read(path, policy=discreet.Policy.from_dict({"data": {"sheet": "Elsewhere"}}))


def test_a_hidden_sheet_is_read_only_where_it_is_named(write: Any) -> None:
    path = write("a.xlsx", xlsx({"Patients": PEOPLE, "Lists": PEOPLE[:2]}, hidden=["Lists"]))
    assert discreet.read(path, policy=POLICY).records == 3
    chosen = discreet.Policy.from_dict({**QUASI, "data": {"sheet": "Lists"}})
    assert discreet.read(path, policy=chosen).records == 1


@pytest.mark.parametrize("name", list(WRITE))
@pytest.mark.parametrize("rows", [[], [["name", "age"]]], ids=["empty", "a header"])
def test_a_sheet_without_people_is_empty(write: Any, name: str, rows: list[list[str]]) -> None:
    with pytest.raises(EmptySource, match="There is no table in a"):
        discreet.read(write(name, WRITE[name]({"Patients": rows})))


def test_a_row_of_values_is_no_header_and_is_not_shown(write: Any) -> None:
    with pytest.raises(ColumnError) as caught:
        discreet.read(write("a.xlsx", xlsx({"A": [[CANARY, 39], ["Anna", 40]]})))
    assert CANARY not in str(caught.value)
    with pytest.raises(ColumnError, match="column 2 of 2 has no name"):
        discreet.read(write("a.xlsx", xlsx({"A": [["name", None], ["Anna", 40]]})))


def test_cells_far_apart_are_refused_before_they_take_memory(write: Any) -> None:
    book = xlsx({"A": [["name"], ["Anna"]]})
    assert discreet.read(write("a.xlsx", book)).records == 1
    path = write("b.xlsx", xlsx({"A": [["name", *[None] * 24, "z"], ["Anna"]]}))
    with zipfile.ZipFile(path) as archive:
        members = {inner: archive.read(inner) for inner in archive.namelist()}
    members["xl/worksheets/sheet1.xml"] = members["xl/worksheets/sheet1.xml"].replace(b'"Z1"', b'"XFD1048576"')
    with zipfile.ZipFile(path, "w") as archive:
        for inner, content in members.items():
            archive.writestr(inner, content)
    with pytest.raises(SourceUnreadable, match="1,048,576 rows and 16,384 columns"):
        discreet.read(path)


def test_without_the_extra_it_is_named(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="Reading an Excel workbook needs the extra 'formats'"):
        discreet.read(write("a.xlsx", xlsx({"A": PEOPLE})))
