"""Files people have: each is read, or named for what it is, and never shows a value of a person."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

import discreet
from discreet.errors import ColumnError, DiscreetError, EmptySource, SourceUnreadable, UsageError
from discreet.sources import duckdb_scratch

CANARY = "Zaphod-1952"
PEOPLE = {"name": ["Anna", "Jörg", CANARY], "age": ["39", "40", "41"]}
TEXT = "name;age\nAnna;39\nJörg;40\n" + f"{CANARY};41\n"
POLICY = discreet.Policy.from_dict({"columns": {"name": {"role": "quasi"}, "age": {"role": "quasi"}}})
WANTED = {("Anna", "39"), ("Jörg", "40"), (CANARY, "41")}


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return out.getvalue()


def written(write: Callable[[Any], None]) -> bytes:
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def frame() -> Any:
    return pyarrow.table({"name": PEOPLE["name"], "age": [int(age) for age in PEOPLE["age"]]})


def arrow_stream(out: Any) -> None:
    with pyarrow.ipc.new_stream(out, frame().schema) as stream:
        stream.write_table(frame())


JSON = "".join(
    json.dumps({"name": name, "age": int(age)}) + "\n" for name, age in zip(PEOPLE["name"], PEOPLE["age"], strict=True)
)
PARQUET = written(lambda out: pyarrow.parquet.write_table(frame(), out))
ZSTD = pyarrow.compress(TEXT.encode(), codec="zstd", asbytes=True)
READ: dict[str, bytes] = {
    "plain.csv": TEXT.encode(),
    "mark.csv": TEXT.encode("utf-8-sig"),
    "utf16.csv": TEXT.encode("utf-16"),
    "utf16le.csv": TEXT.encode("utf-16-le"),
    "latin.csv": TEXT.encode("latin-1"),
    "dos.csv": TEXT.encode("cp850"),
    "tabs.tsv": TEXT.replace(";", "\t").encode(),
    "comma.txt": TEXT.replace(";", ",").encode(),
    "noending": TEXT.encode(),
    "windows.csv": TEXT.replace("\n", "\r\n").encode(),
    "mac.csv": TEXT.replace("\n", "\r").encode(),
    "mixed.csv": TEXT.replace("\n", "\r\n", 2).encode(),
    "mixed the other way.csv": TEXT.replace("\n", "\r\n").replace("\r\n", "\n", 1).encode(),
    "empty lines first.csv": b"\n  \n" + TEXT.encode(),
    "no last line end.csv": TEXT.rstrip("\n").encode(),
    "a.csv.gz": gzip.compress(TEXT.encode()),
    "A.CSV.GZ": gzip.compress(TEXT.encode()),
    "latin.csv.gz": gzip.compress(TEXT.encode("latin-1")),
    "a.csv.bz2": bz2.compress(TEXT.encode()),
    "a.csv.xz": lzma.compress(TEXT.encode()),
    "a.csv.zst": ZSTD,
    "a.zip": zipped(people__csv=TEXT.encode()),
    "beside.zip": zipped(people__csv=TEXT.encode(), README__txt=b"about\n", __MACOSX=b"x"),
    "parquet.zip": zipped(people__parquet=PARQUET),
    "latin.zip": zipped(people__csv=TEXT.encode("cp1252")),
    "nested.zip": zipped(people__csv__gz=gzip.compress(TEXT.encode())),
    "a.parquet": PARQUET,
    "a.pq": PARQUET,
    "parquet.gz": gzip.compress(PARQUET),
    "a.feather": written(lambda out: pyarrow.feather.write_feather(frame(), out)),
    "a.arrow": written(lambda out: pyarrow.feather.write_feather(frame(), out)),
    "a.arrows": written(arrow_stream),
    "a.jsonl": JSON.encode(),
    "a.ndjson": JSON.encode(),
    "mark.jsonl": JSON.encode("utf-8-sig"),
    "a.jsonl.gz": gzip.compress(JSON.encode()),
}


@pytest.mark.parametrize("name", list(READ))
def test_a_file_that_people_have_is_read(write: Any, name: str) -> None:
    table = discreet.read(write(name, READ[name]), policy=POLICY)
    assert set(table.classes().tuples()) == WANTED
    assert [field.name for field in table.fields] == ["name", "age"]
    assert table.name == name


HTML = f"<!DOCTYPE html><html><body><table><tr><td>{CANARY}</td></tr></table></body></html>"
LOCKED = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + "EncryptedPackage".encode("utf-16-le") + bytes(480)
"""The beginning and the directory of the container that Office makes for a password."""
REFUSED: dict[str, tuple[bytes, type[DiscreetError], str]] = {
    "empty.csv": (b"", EmptySource, "is empty"),
    "blank.csv": (b"\n\n", EmptySource, "is empty"),
    "page.csv": (HTML.encode(), SourceUnreadable, "is an HTML page"),
    "page.xls": (HTML.encode(), SourceUnreadable, "is an HTML page"),
    "paper.csv": (b"%PDF-1.7\n" + CANARY.encode(), SourceUnreadable, "is a PDF document"),
    "picture.csv": (b"\x89PNG\r\n\x1a\n" + bytes(50), SourceUnreadable, "is a picture"),
    "photo.csv": (b"\xff\xd8\xff\xe0" + bytes(50), SourceUnreadable, "is a picture"),
    "list.csv": (json.dumps([{"name": CANARY}]).encode(), SourceUnreadable, "is a JSON document"),
    "lines.csv": (JSON.encode(), SourceUnreadable, "is JSON lines, but its name says text in cells"),
    "xml.csv": (b"<?xml version='1.0'?><a/>", SourceUnreadable, "is an XML document"),
    "parquet.csv": (PARQUET, SourceUnreadable, "is Parquet, but its name says text in cells"),
    "text.parquet": (TEXT.encode(), SourceUnreadable, "is not Parquet, although its name says so"),
    "text.xlsx": (TEXT.encode(), SourceUnreadable, "is not an Excel workbook, although"),
    "text.csv.gz": (TEXT.encode(), SourceUnreadable, "is not compressed with gzip, although"),
    "gzip.csv": (gzip.compress(TEXT.encode()), SourceUnreadable, "is compressed with gzip, but"),
    "page.csv.gz": (gzip.compress(HTML.encode()), SourceUnreadable, "is an HTML page"),
    "cut.csv.gz": (gzip.compress(TEXT.encode() * 500)[:-20], SourceUnreadable, "is cut off or damaged"),
    "cut.csv.bz2": (bz2.compress(TEXT.encode())[:-9], SourceUnreadable, "is cut off or damaged"),
    "cut.csv.xz": (lzma.compress(TEXT.encode())[:-9], SourceUnreadable, "is cut off or damaged"),
    "cut.zip": (zipped(people__csv=TEXT.encode())[:-30], SourceUnreadable, "is cut off or damaged"),
    "cut.parquet": (PARQUET[:-30], SourceUnreadable, "cannot be read"),
    "two.zip": (zipped(a__csv=b"a\n1\n", b__csv=b"a\n1\n"), SourceUnreadable, "holds 2 tables: a.csv, b.csv"),
    "none.zip": (zipped(a__pdf=b"%PDF", b__png=b"x"), EmptySource, "holds no table"),
    "base.csv": (b"SQLite format 3\0" + bytes(50), SourceUnreadable, "is a SQLite database"),
    "nul.csv": (TEXT.encode() + b"x\0y;2\n", SourceUnreadable, "Line 5 of nul.csv holds a NUL byte"),
    "quote.csv": (TEXT.encode() + f'"{CANARY};2\n'.encode(), SourceUnreadable, "line 5 of quote.csv has a quote"),
    "after.csv": (TEXT.encode() + f'"{CANARY}"x;2\n'.encode(), SourceUnreadable, "line 5 of after.csv has a quote"),
    "ragged.csv": (TEXT.encode() + b"1;2;3\n", SourceUnreadable, "line 5 of ragged.csv has 3 cells"),
    "short.csv": (TEXT.encode() + b"1\n", SourceUnreadable, "line 5 of short.csv has 1 cells"),
    "broken.jsonl": (
        JSON.encode() + f'{{"name": "{CANARY}\n'.encode(),
        SourceUnreadable,
        "Line 4 of broken.jsonl is no JSON",
    ),
    "row.jsonl": (
        JSON.encode() + f'["{CANARY}"]\n'.encode() + JSON.encode(),
        SourceUnreadable,
        "Line 4 of row.jsonl is",
    ),
    "locked.xlsx": (LOCKED, SourceUnreadable, "is locked with a password"),
    "case.csv": (b"name;NAME;age\n1;2;3\n", ColumnError, "differs from it in case only"),
    "headerless.csv": (f"{CANARY};39\nAnna;40\n".encode(), ColumnError, "not a header"),
    "mail.csv": (f"{CANARY};a@example.org\nAnna;b@example.org\n".encode(), ColumnError, "not a header"),
    "words.csv": (f"{CANARY};Berlin;F\nAnna;Berlin;F\nJim;Rome;M\n".encode(), ColumnError, "not a header"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_a_file_that_cannot_be_read_is_named_for_what_it_is(write: Any, name: str) -> None:
    content, error, words = REFUSED[name]
    with pytest.raises(error) as caught:
        _ = discreet.read(write(name, content)).records
    assert words in str(caught.value)
    assert CANARY not in str(caught.value)
    assert "Berlin" not in str(caught.value)
    assert caught.value.remedy
    assert caught.value.exit_code == 3


def test_what_was_found_is_said(write: Any) -> None:
    found = discreet.read(write("a.csv", TEXT.encode("latin-1"))).engine.dialect
    assert found == {"format": "csv", "encoding": "cp1252", "delimiter": ";"}
    found = discreet.read(write("a.csv.gz", gzip.compress(TEXT.encode()))).engine.dialect
    assert found == {"format": "csv", "packed": ["gzip"], "encoding": "utf-8", "delimiter": ";"}
    assert discreet.read(frame()).engine.dialect == {}


def test_line_ends_inside_quotes_stay(write: Any) -> None:
    path = write("a.csv", b'name;age\r\n"a\r\nb";1\n"c\nd";2\r\n"e ""x""\rf";3\n')
    assert set(discreet.read(path, policy=POLICY).classes().tuples()) == {
        ("a\r\nb", "1"),
        ("c\nd", "2"),
        ('e "x"\rf', "3"),
    }


def test_texts_in_json_stay_letter_by_letter_and_missing_stays_missing(write: Any) -> None:
    lines = '{"name": "2020-01-05", "age": 1}\n{"name": "007"}\n{"age": 2.5, "name": null}\n'
    table = discreet.read(write("a.jsonl", lines.encode()), policy=POLICY)
    assert set(table.classes().tuples()) == {("2020-01-05", "1"), ("007", None), (None, "2.5")}


def test_parts_with_the_same_header_are_one_table(tmp_path: Path) -> None:
    for number, (name, code) in enumerate((("Anna", "utf-8"), ("Jörg", "latin-1"), ("Zoë", "utf-16"))):
        (tmp_path / f"part-{number}.csv").write_bytes(f"name;age\n{name};{number}\n".encode(code))
    table = discreet.read(tmp_path / "part-*.csv", policy=POLICY)
    assert set(table.classes().tuples()) == {("Anna", "0"), ("Jörg", "1"), ("Zoë", "2")}
    assert table.name == "part-*.csv (3 files)"
    assert table.engine.dialect["files"] == ["part-0.csv", "part-1.csv", "part-2.csv"]
    whole = discreet.read(tmp_path, policy=POLICY)
    assert whole.records == 3
    assert whole.name == f"{tmp_path.name} (3 files)"
    (tmp_path / "part-3.csv").write_text(f"age;name\n1;{CANARY}\n", encoding="utf-8")
    with pytest.raises(ColumnError, match=r"part-3\.csv has other columns than part-0\.csv"):
        discreet.read(tmp_path / "part-*.csv", policy=POLICY)
    (tmp_path / "part-3.csv").write_text(f"name;age\n{CANARY}\n", encoding="utf-8")
    with pytest.raises(SourceUnreadable, match=r"line 2 of part-3\.csv has 1 cells"):
        discreet.read(tmp_path / "part-*.csv", policy=POLICY).classes()


def test_a_folder_with_one_table_names_it(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(frame(), tmp_path / "only.parquet")
    assert discreet.read(tmp_path).name == "only.parquet"


def test_a_folder_of_several_kinds_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TEXT, encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(JSON, encoding="utf-8")
    with pytest.raises(SourceUnreadable, match=r"b\.jsonl is another one than a\.csv"):
        discreet.read(tmp_path)


@pytest.mark.parametrize(
    "content",
    [TEXT.encode(), TEXT.encode("latin-1"), gzip.compress(TEXT.encode()), PARQUET],
    ids=["utf-8", "latin-1", "gzip", "parquet"],  # what gzip writes holds the time, and so would a name made of it
)
def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    table = discreet.read("-", policy=POLICY)
    assert set(table.classes().tuples()) == WANTED
    assert table.classes(["age"]).records == 3
    assert table.name == "standard input"


def test_private_copies_go_with_the_table(write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setattr(duckdb_scratch, "_own", {})
    table = discreet.read(write("nested.zip", READ["nested.zip"]), policy=POLICY)
    assert table.records == 3
    (folder,) = scratch.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.suffix for path in scratch.rglob("*") if path.is_file()} > {""}
    del table
    assert [path.name for path in scratch.rglob("*") if path.is_file()] == [duckdb_scratch.LOCK]
    duckdb_scratch.remove_private_place()
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("way", ["itself", "another spelling", "a link", "a hard link"])
def test_the_table_that_is_read_is_never_written_over(tmp_path: Path, way: str) -> None:
    source = tmp_path / "people.csv"
    source.write_text("age\n" + "39\n" * 6, encoding="utf-8")
    target = {
        "itself": source,
        "another spelling": tmp_path / "." / "x" / ".." / "people.csv",
        "a link": tmp_path / "link.csv",
        "a hard link": tmp_path / "hard.csv",
    }[way]
    (tmp_path / "x").mkdir()
    if way == "a link":
        target.symlink_to(source)
    if way == "a hard link":
        target.hardlink_to(source)
    policy = discreet.Policy.from_dict({"columns": {"age": {"role": "quasi", "hierarchy": {"any": "*"}}}})
    result = discreet.anonymise(discreet.read(source, policy=policy), k=5)
    with pytest.raises(UsageError, match="is the table that is read"):
        result.write(target, overwrite=True)
    assert source.read_text(encoding="utf-8").count("39") == 6
