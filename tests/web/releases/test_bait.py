"""Bait at the release desk: planned, approved with its warning, made, handed over, traced."""

from __future__ import annotations

import csv
import io
import zipfile

import pytest
from fastapi import FastAPI

from discreet.releases.delivery.service import Registry
from tests.web.client import make_accounts, signed_in
from tests.web.release_data import approve, bring_town, form_of, plan, words_of, work_off

BAIT = {"mode": "bait", "decoys": "4", "budget": "10", "removal": "size", "k": "5", "force": ""}


@pytest.fixture
def app(app: FastAPI) -> FastAPI:
    make_accounts(app, "custodian2")
    return app


def test_bait_from_the_form_to_a_trace(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    number = plan(app, browser, room=True, **BAIT)
    assert work_off(app) == ["done"]
    page = words_of(browser.get(f"/releases/plans/{number}"))
    for words in ("4 decoys per copy", "is a decoy", "counting look-alikes", "bait (AnonTokens)", "Attention"):
        assert words in page
    form = browser.get(f"/releases/plans/{number}/change").text
    assert 'value="10"' in form
    assert "None" not in words_of(browser.get(f"/releases/plans/{number}/change"))
    approve(app, number)
    assert browser.post(f"/releases/plans/{number}/make").status_code == 303
    assert work_off(app) == ["done"]
    registry = Registry(app.state.site.ledger)
    manifest = registry.open(registry.require("spring"))
    assert manifest.bait
    answer = browser.post("/releases/named/spring/deliver", {"recipient": "south"})
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        text = archive.read("data.csv").decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    held = {tuple(row[name] for name in manifest.codebook.marks.columns) for row in rows}
    marks = manifest.codebook.marks
    decoys = {label for label, decoy in zip(marks.labels, marks.decoy.tolist(), strict=True) if decoy}
    assert len(held & decoys) == 4
    files = {"file": ("leak.csv", text.encode())}
    assert browser.post("/releases/named/spring/leak", {"alpha": "0.001"}, files=files).status_code == 303
    assert "south" in words_of(browser.get("/releases/named/spring"))
    more = browser.post("/releases/named/spring/recipients", {"recipients": "late"})
    assert more.status_code == 303
    (problem,) = work_off(app)
    assert "has bait" in problem


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [("decoys", "0", "decoys"), ("budget", "much", "not a number"), ("most_factor", "0.5", "most factor")],
)
def test_settings_of_bait_are_checked_and_nothing_typed_is_lost(
    app: FastAPI, field: str, value: str, words: str
) -> None:
    form = {**form_of(*bring_town(app)), **BAIT, field: value}
    answer = signed_in(app, "custodian").post("/releases/new", form)
    assert answer.status_code == 422
    assert words in words_of(answer)
    assert f'value="{value}"' in answer.text


def test_with_marks_the_settings_of_bait_mean_nothing(app: FastAPI) -> None:
    form = {**form_of(*bring_town(app)), **BAIT, "mode": "marks"}
    assert signed_in(app, "custodian").post("/releases/new", form).status_code == 303
