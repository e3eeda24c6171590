"""Bringing data sets: good files are kept and hashed, bad ones get a clear answer and leave no trace."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from discreet.web import Settings
from discreet.web.datasets import inspection
from discreet.web.datasets import store as datasets
from discreet.web.jobs import store as jobs
from discreet.web.jobs.supervisor import Supervisor
from tests.sources.files.workbooks import ods, xlsx
from tests.web.client import BOTH_STORES, Browser, signed_in
from tests.web.jobs.working import look_of, work
from tests.web.snapshot import entries, snapshot

GOOD = b"sex,age\nF,30\nM,31\nF,32\n"
CANARY = "Henrietta-4711"
"""A value of a person who does not exist, which must not come back in any error."""


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Small limits, so that they can be met."""
    return replace(settings, largest_upload=300_000, largest_table=2_000_000, most_columns=50)


def upload(browser: Browser, file: str, content: bytes, **fields: str) -> httpx.Response:
    data = {"name": "", "encoding": "utf-8", **fields}
    return browser.post("/datasets/upload", data=data, files={"file": (file, content)})


def parquet(**columns: list[object]) -> bytes:
    import pyarrow as arrow
    import pyarrow.parquet as files

    out = io.BytesIO()
    files.write_table(arrow.table(columns), out)
    return out.getvalue()


def packed(names: str, content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names.split():
            archive.writestr(name, content)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [("people.csv", GOOD), ("People.CSV.GZ", gzip.compress(GOOD)), ("people.parquet", parquet(sex=["F"], age=[1]))],
    ids=["csv", "gzip", "parquet"],
)
def test_a_good_file_is_kept_hashed_and_looked_at(app: FastAPI, name: str, content: bytes) -> None:
    answer = upload(signed_in(app, "custodian"), name, content)
    assert answer.status_code == 303, answer.text
    site = app.state.site
    with site.store.reading() as connection:
        (one,) = datasets.everything(connection)
        (job,) = jobs.newest(connection)
    assert answer.headers["location"] == f"/datasets/{one.id}?said=brought"
    assert (one.name, one.kind, one.columns, one.owner) == (name, "upload", ("sex", "age"), "custodian")
    path = site.places.folder.find(one.place)
    assert path.read_bytes() == content
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert one.hash == hashlib.sha256(content).hexdigest()
    assert (job.kind, job.dataset, job.state) == ("profile", one.id, "queued")
    written = entries(app)[-1]
    assert (written["event"], written["subject"]) == ("web.dataset", f"dataset:{one.id}")
    assert one.hash in written["body"]


BAD: dict[str, tuple[str, bytes, int, str]] = {
    "no file": ("", b"", 422, "No file was chosen"),
    "empty": ("a.csv", b"", 422, "is empty"),
    "blank lines": ("a.csv", b"\n\n  \n", 422, "is empty"),
    "header only": ("a.csv", b"sex,age\n", 422, "nobody in"),
    "header only, packed": ("a.csv.gz", gzip.compress(b"sex,age\n"), 422, "nobody in"),
    "no rows in Parquet": ("a.parquet", parquet(sex=[]), 422, "nobody in"),
    "no header": ("a.csv", f"1,2\n{CANARY},3\n".encode(), 422, "not a header"),
    "doubled name": ("a.csv", b"sex,sex\nF,M\n", 422, "same name"),
    "unnamed column": ("a.csv", b"sex,\nF,M\n", 422, "no name"),
    "two columns without names": ("a.csv", b",,age\n1,F,3\n", 422, "no name"),
    "broken quote": ("a.csv", f'sex,age\nF,"30\n{CANARY},31\n'.encode(), 422, "a quote that is not closed"),
    "two tables": ("a.zip", packed("a.csv b.csv", GOOD), 422, "holds 2 tables"),
    "an empty sheet": ("a.xlsx", xlsx({"People": []}), 422, "no sheet has a header"),
    "ragged": ("a.csv", f"sex,age\nF,30\n{CANARY},31,x\n".encode(), 422, "line 3"),
    "latin-1": ("a.csv", "name,age\nZoë,30\n".encode("latin-1"), 422, "not written in"),
    "utf-16": ("a.csv", "sex,age\nF,30\n".encode("utf-16"), 422, "a NUL byte"),
    "ten thousand columns": ("a.csv", b",".join(b"c%d" % n for n in range(10_000)) + b"\n" + b"1," * 9_999 + b"1\n", 422, "10,000 columns"),
    "many columns in Parquet": ("a.parquet", parquet(**{f"c{n}": [1] for n in range(60)}), 422, "60 columns"),
    "a spreadsheet": ("a.csv", packed("xl/workbook.xml", GOOD), 422, "is an Excel workbook, but"),
    "another name": ("a.xlsx", packed("x", GOOD), 422, "is a ZIP archive, but"),
    "no ending": ("people", GOOD, 415, "does not end in"),
    "a PDF": ("a.csv", b"%PDF-1.7 " + CANARY.encode(), 422, "a PDF"),
    "a picture": ("a.csv", b"\x89PNG\r\n\x1a\n", 422, "a picture"),
    "JSON": ("a.csv", f'[{{"name": "{CANARY}"}}]'.encode(), 422, "is a JSON document"),
    "HTML": ("a.csv", b"<!doctype html><p>", 422, "is an HTML page"),
    "CSV called Parquet": ("a.parquet", GOOD, 422, "is not Parquet, although"),
    "Parquet called CSV": ("a.csv", parquet(sex=["F"]), 422, "its name says text in cells"),
    "torn Parquet": ("a.parquet", b"PAR1" + b"\0" * 40 + b"PAR1", 422, "cannot be read"),
    "gzip called CSV": ("a.csv", gzip.compress(GOOD), 422, "compressed with gzip"),
    "CSV called gzip": ("a.csv.gz", GOOD, 422, "is not compressed with gzip"),
    "torn gzip": ("a.csv.gz", gzip.compress(GOOD * 50)[:-20], 422, "is cut off or damaged"),
    "a bomb": ("a.csv.gz", gzip.compress(b"a,b\n" + b"0,0\n" * 1_000_000), 413, "when it is decompressed"),
    "too large": ("a.csv", GOOD * 20_000, 413, "larger than 300,000 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(BAD))
def test_a_bad_file_gets_a_clear_answer_and_leaves_no_trace(app: FastAPI, case: str) -> None:
    name, content, status, words = BAD[case]
    browser = signed_in(app, "custodian")
    before = snapshot(app)
    answer = upload(browser, name, content)
    assert answer.status_code == status, answer.text
    assert words in answer.text
    assert "<b>Next</b>" in answer.text
    assert CANARY not in answer.text
    assert str(app.state.site.settings.data) not in answer.text
    assert snapshot(app) == before
    assert list(app.state.site.places.folder.path.iterdir()) == []


def test_the_api_says_the_same_as_a_problem(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    for name, content, status, words in BAD.values():
        answer = browser.post(
            "/api/v1/datasets",
            data={"encoding": "utf-8"},
            files={"file": (name, content)} if name else {"other": ("x", b"")},
        )
        assert answer.status_code == status, (name, answer.text)
        assert words in answer.json()["detail"]
        assert answer.json()["next"]
        assert CANARY not in answer.text
    assert list(app.state.site.places.folder.path.iterdir()) == []


def test_many_columns_are_refused_within_a_second(app: FastAPI) -> None:
    content = b",".join(b"c%d" % n for n in range(30_000)) + b"\n" + b"1," * 29_999 + b"1\n"
    browser = signed_in(app, "custodian")
    start = time.process_time()
    answer = upload(browser, "a.csv", content)
    assert time.process_time() - start < 1
    assert answer.status_code == 422
    assert "30,000 columns; at most 50 are supported here" in answer.text


def test_a_bomb_of_zeros_is_stopped_by_its_ratio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "TRUSTED", 1_000_000)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"\0" * 5_000_000))
    with pytest.raises(inspection.Problem, match="250 times its size"):
        inspection.inspect(path, name="bomb.csv.gz", ending="csv.gz", settings=Settings())


def test_a_parquet_bomb_is_stopped_by_what_it_says_of_itself(app: FastAPI) -> None:
    content = parquet(sex=["F" * 1_000_000 + str(n) for n in range(3)])
    answer = upload(signed_in(app, "custodian"), "a.parquet", content)
    assert answer.status_code == 413


@pytest.mark.parametrize(("encoding", "name"), [("latin-1", "Zoë"), ("utf-16", "Zoë"), ("cp1252", "Zoë")])
def test_the_encoding_is_chosen(app: FastAPI, encoding: str, name: str) -> None:
    content = f"name,age\n{name},30\n".encode(encoding)
    assert upload(signed_in(app, "custodian"), "a.csv", content, encoding=encoding).status_code == 303
    with app.state.site.store.reading() as connection:
        assert [one.encoding for one in datasets.everything(connection)] == [encoding]


OTHERS: dict[str, tuple[bytes, str | None]] = {
    "a.csv": ("sex,name\nF,Jörg\n".encode("cp1252"), "cp1252"),
    "a.csv.bz2": (bz2.compress(GOOD), "utf-8"),
    "a.csv.xz": (lzma.compress(GOOD), "utf-8"),
    "a.zip": (packed("people.csv", GOOD), "utf-8"),
    "a.jsonl": (b'{"sex": "F", "age": 30}\n', None),
    "a.xlsx": (xlsx({"People": [["sex", "age"], ["F", 30]]}), None),
    "a.ods": (ods({"People": [["sex", "age"], ["F", 30]]}), None),
}


@pytest.mark.parametrize("name", list(OTHERS))
def test_other_files_are_taken_and_profiled_and_a_csv_by_the_encoding_it_has(app: FastAPI, name: str) -> None:
    content, encoding = OTHERS[name]
    assert upload(signed_in(app, "custodian"), name, content, encoding="detect").status_code == 303
    with app.state.site.store.reading() as connection:
        (one,) = datasets.everything(connection)
    assert (len(one.columns), one.encoding) == (2, encoding)
    supervisor = Supervisor(app.state.site)
    work(supervisor, 1)
    assert look_of(supervisor, 1).state == "done", look_of(supervisor, 1)


def test_a_workbook_with_several_tables_asks_which(app: FastAPI) -> None:
    rows = [["sex", "age"], ["F", 30]]
    book = xlsx({"People": rows, "Others": rows, "Old": rows}, hidden=["Old"])
    answer = upload(signed_in(app, "custodian"), "a.xlsx", book)
    assert answer.status_code == 422
    assert "2 sheets with tables" in answer.text
    assert [f'value="{name}"' in answer.text for name in ("People", "Others", "Old")] == [True, True, False]


def test_a_spreadsheet_that_grows_too_large_is_refused(app: FastAPI) -> None:
    vast = xlsx({"People": [["sex"], *[["F" * 1_000]] * 3_000]})
    assert upload(signed_in(app, "custodian"), "a.xlsx", vast).status_code == 413


def test_names_are_unique_and_clean(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    names = ["C:\\data\\people.csv", "../../people.csv", "peo\u202eple.csv", "<b>.csv", "x" * 300 + ".csv"]
    for name in names:
        assert upload(browser, name, GOOD).status_code == 303
    assert upload(browser, "a.csv", GOOD, name="mine").status_code == 303
    again = upload(browser, "a.csv", GOOD, name="mine")
    assert again.status_code == 409
    with app.state.site.store.reading() as connection:
        found = [one.name for one in datasets.everything(connection)]
    assert {"people.csv", "people.csv (2)", "mine", "<b>.csv"} <= set(found)
    assert all(name.isprintable() and len(name) <= 80 for name in found)
    page = browser.get("/datasets").text
    assert "&lt;b&gt;.csv" in page
    assert "<b>.csv" not in page


def test_a_full_disk_is_said_and_nothing_stays(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    browser = signed_in(app, "custodian")
    monkeypatch.setattr(os, "fsync", full)
    answer = upload(browser, "a.csv", GOOD)
    monkeypatch.undo()
    assert answer.status_code == 503
    assert list(app.state.site.places.folder.path.iterdir()) == []


class TestOnBothStores:
    """What the store decides."""

    pytestmark = BOTH_STORES

    def test_a_data_set_and_its_entry_stand_or_fall_together(
        self, app: FastAPI, monkeypatch: pytest.MonkeyPatch
    ) -> None:

        browser = signed_in(app, "custodian")
        before = snapshot(app)
        monkeypatch.setattr(jobs, "enqueue", lambda *_, **__: 1 / 0)
        assert upload(browser, "a.csv", GOOD).status_code == 500
        assert snapshot(app) == before
        assert list(app.state.site.places.folder.path.iterdir()) == []
