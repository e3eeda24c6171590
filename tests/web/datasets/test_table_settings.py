"""Settings that a page offers: rows of people, survey, missing codes and levels come into the policy as they were typed."""

from __future__ import annotations

import tomllib

import pytest
from fastapi import FastAPI

from discreet.web.datasets import store as datasets
from tests.sources.files.workbooks import xlsx
from tests.web.client import signed_in
from tests.web.datasets.test_ingest import upload
from tests.web.datasets.test_policies import found
from tests.web.samples import make_dataset
from tests.web.snapshot import snapshot

POLICY = """\
# kept
[columns.sex]
role = "quasi"

[columns.age]
role = "sensitive?"
hierarchy = { widths = [5, 10] }
"""
ROWS = {
    "whose": "columns",
    "person-0": "age",
    "missing": "NA\r\n-9\r\n1.5\r\n",
    "decimal": ",",
    "household": "sex",
    "weight": "",
    "count": "",
}
WORDS = ("Visits", "Wards")


def test_rows_and_values_come_into_the_policy_and_comments_stay(app: FastAPI) -> None:
    number = make_dataset(app, "custodian", policy=POLICY)
    answer = signed_in(app, "custodian").post(f"/datasets/{number}/rows", {**ROWS, "version": "0"})
    assert answer.status_code == 303, answer.text
    text = found(app, number).policy or ""
    content = tomllib.loads(text)
    assert content["data"] == {"person": "age", "missing": ["NA", -9, 1.5], "decimal": ",", "household": "sex"}
    # A number that says whose row it is names a person, whatever was guessed; a role that was confirmed stays.
    assert (content["columns"]["age"]["role"], content["columns"]["sex"]["role"]) == ("identifier?", "quasi")
    assert text.startswith("# kept\n")
    page = signed_in(app, "custodian").get(f"/datasets/{number}/policy").text
    assert "NA\n-9\n1.5</textarea>" in page.replace("\r", "")


def test_what_is_not_said_any_more_goes(app: FastAPI) -> None:
    number = make_dataset(app, "custodian", policy='[data]\nperson = "row"\nmissing = ["-9"]\n\n' + POLICY)
    empty = {**dict.fromkeys(ROWS, ""), "version": "0"}
    assert signed_in(app, "custodian").post(f"/datasets/{number}/rows", empty).status_code == 303
    assert not tomllib.loads(found(app, number).policy or "").get("data")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"person-0": ""}, "No column says whose a row is"),
        ({"person-0": "nobody"}, "no such column"),
        ({"household": "nobody"}, "no such column"),
        ({"decimal": ";"}, "must be one of"),
        ({"whose": "everybody"}, "must be one of"),
        ({"missing": "\n".join(map(str, range(60)))}, "more than 50 codes"),
    ],
)
def test_settings_that_do_not_fit_are_refused_and_shown_again(app: FastAPI, wrong: dict[str, str], words: str) -> None:
    number = make_dataset(app, "custodian", policy=POLICY)
    browser, before = signed_in(app, "custodian"), snapshot(app)
    answer = browser.post(f"/datasets/{number}/rows", {**ROWS, **wrong, "version": "0"})
    assert (answer.status_code, words in answer.text) == (422, True), answer.text
    assert snapshot(app) == before


def test_levels_and_worth_come_into_the_policy(app: FastAPI) -> None:
    number = make_dataset(app, "custodian", policy=POLICY.replace("sensitive?", "quasi"))
    browser = signed_in(app, "custodian")
    typed = {"weight-0": "", "at_least-0": "", "at_most-0": "", "weight-1": "2,5", "at_least-1": "1", "at_most-1": "2"}
    assert browser.post(f"/datasets/{number}/levels", {**typed, "version": "0"}).status_code == 303
    columns = tomllib.loads(found(app, number).policy or "")["columns"]
    assert columns["sex"] == {"role": "quasi"}
    assert {**columns["age"], "hierarchy": 0} == {
        "role": "quasi",
        "hierarchy": 0,
        "weight": 2.5,
        "at_least": 1,
        "at_most": 2,
    }
    for wrong in ({"weight-1": "-1"}, {"weight-1": "nan"}, {"at_least-1": "x"}, {"at_least-1": "2", "at_most-1": "1"}):
        answer = browser.post(f"/datasets/{number}/levels", {**typed, **wrong, "version": "1"})
        assert answer.status_code == 422, wrong


def test_a_workbook_waits_until_its_sheet_is_chosen_once(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    tables = {name: [["sex", "age"], ["F", 30], [name, 31]] for name in WORDS}
    asked = upload(browser, "a.xlsx", xlsx(tables), encoding="detect")
    assert (asked.status_code, "Which sheet?" in asked.text) == (422, True)
    kept = asked.text.partition('name="kept" value="')[2].partition('"')[0]
    choice = {"kept": kept, "called": "a.xlsx", "sheet": "Wards", "name": ""}
    files = {"none": ("", b"")}
    wrong = browser.post("/datasets/upload", data={**choice, "sheet": "Nowhere"}, files=files)
    assert (wrong.status_code, "has no sheet" in wrong.text) == (422, True)
    assert browser.post("/datasets/upload", data=choice, files=files).status_code == 303
    (one,) = _all(app)
    assert (one.name, one.columns, one.policy) == ("a.xlsx", ("sex", "age"), '[data]\nsheet = "Wards"\n')
    for again in (choice, {**choice, "kept": "result-1.csv"}, {**choice, "kept": "../a.xlsx"}):
        answer = browser.post("/datasets/upload", data=again, files=files)
        assert (answer.status_code, "not there any more" in answer.text) == (422, True)
    assert len(_all(app)) == 1
    direct = upload(browser, "b.xlsx", xlsx(tables), encoding="detect", sheet="Visits")
    assert direct.status_code == 303


def _all(app: FastAPI) -> list[datasets.Dataset]:
    with app.state.site.store.reading() as connection:
        return datasets.everything(connection)


def test_a_column_that_nobody_decided_on_is_refused_at_once(app: FastAPI) -> None:
    number = make_dataset(app, "custodian", policy='[columns.sex]\nrole = "quasi"\n')
    browser, before = signed_in(app, "custodian"), snapshot(app)
    answer = browser.post(
        f"/datasets/{number}/protect",
        {"k": "2", "loss": "loss", "risk_model": "prosecutor", "search": "optimal", "format": "csv"},
    )
    assert (answer.status_code, "Without a role: age" in answer.text) == (409, True)
    assert snapshot(app) == before


def test_a_sheet_of_what_is_no_workbook_is_refused(app: FastAPI) -> None:
    answer = upload(signed_in(app, "custodian"), "a.csv", b"sex\nF\n", sheet="Visits")
    assert (answer.status_code, "no workbook" in answer.text) == (422, True)
    assert _all(app) == []
