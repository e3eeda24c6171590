"""Query results in the browser: scored, reduced to a limit, written down, and no value where it does not belong."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from fastapi import FastAPI

from discreet.misuse import prepare, score
from discreet.misuse.prepared_source import FACTORS
from discreet.misuse.reduction import WAYS
from discreet.web.datasets.result_page import SHORT
from tests.misuse.paper import COLUMNS, PUBLISHED, QUASI, SOURCE, F
from tests.web.client import signed_in
from tests.web.release_data import _bring, words_of
from tests.web.snapshot import entries

ROLES = "".join(
    f'[columns.{name}]\nrole = "{"quasi" if name in QUASI else "sensitive"}"\n'
    + ('hierarchy = { any = "*" }\n' if name in QUASI else "")
    for name in COLUMNS
)
WEIGHTS = """
[sensitivity.account]
values = { Gold = 1.0, Silver = 0.7, Bronze = 0.3, White = 0.1 }
elicited = "2019-01-01"

[sensitivity.bill]
bins = [[100, 0.1], [250, 0.2], [400, 0.3], [700, 0.5]]
otherwise = 1.0
"""


def written(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


@pytest.fixture
def dataset(app: FastAPI) -> int:
    return _bring(app, "customers.csv", written(SOURCE), COLUMNS, owner="custodian", policy=ROLES + WEIGHTS)


FORM = {"factor": "k", "x": "2", "limit": "1", "way": "rows"}


def test_a_result_is_scored_and_reduced(app: FastAPI, dataset: int) -> None:
    browser = signed_in(app, "custodian")
    page = words_of(browser.get(f"/datasets/{dataset}/result"))
    assert "M-score" in page
    form = browser.get(f"/datasets/{dataset}/result").text
    assert all(f'<option value="{name}"' in form for name in (*FACTORS, *WAYS))
    assert SHORT.keys() == FACTORS.keys()
    assert "Experts said long ago" in page
    files = {"file": ("result.csv", written(PUBLISHED))}
    scored = browser.post(f"/datasets/{dataset}/score", FORM, files=files)
    assert scored.status_code == 200
    assert "result.csv: misuse score 1.225" in words_of(scored)
    assert not any(value in words_of(scored) for value in ("Lawyer", "Teacher"))
    for way, left in (("rows", 5), ("cells", 6), ("generalise", 6)):
        files = {"file": ("result.csv", written(PUBLISHED))}
        taken = browser.post(f"/datasets/{dataset}/reduce", {**FORM, "way": way}, files=files)
        assert taken.status_code == 200, words_of(taken)
        rows = list(csv.DictReader(io.StringIO(taken.text)))
        assert len(rows) == left
        if way != "generalise":
            typed = [{**row, "bill": float(row["bill"]) if row["bill"] else None} for row in rows]
            assert score(typed, source=prepare(SOURCE, QUASI), sensitivity=F).value <= 1 + 1e-9
    noted = [one for one in entries(app) if one["event"] == "misuse.reduced"]
    assert [way for one in noted for way in ("rows", "cells", "generalise") if f'"way":"{way}"' in _plain(one)] == [
        "rows", "cells", "generalise",
    ]  # fmt: skip
    assert not any(row["account"] in _plain(one) for row in SOURCE for one in noted)


def _plain(entry: dict[str, Any]) -> str:
    """Everything that an entry holds, as text."""
    return "".join(cell.decode() if isinstance(cell, bytes) else str(cell) for cell in entry.values()).replace(" ", "")


def test_another_factor_makes_shared_values_weigh_more(app: FastAPI, dataset: int) -> None:
    alike = [SOURCE[0] | {"account": "Gold"}] * 2
    files = {"file": ("result.csv", written(alike))}
    page = words_of(
        signed_in(app, "custodian").post(f"/datasets/{dataset}/score", {**FORM, "factor": "l-diversity"}, files=files)
    )
    assert "misuse score" in page


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"limit": "much"}, "The limit is a number"),
        ({"limit": "-1"}, "The limit is a number"),
        ({"x": "0"}, "x is a number from 1"),
    ],
)
def test_what_makes_no_sense_is_said(app: FastAPI, dataset: int, form: dict[str, str], words: str) -> None:
    files = {"file": ("result.csv", written(PUBLISHED))}
    answer = signed_in(app, "custodian").post(f"/datasets/{dataset}/reduce", {**FORM, **form}, files=files)
    assert (answer.status_code, words in words_of(answer)) == (422, True)


def test_without_weights_or_file_nothing_is_scored(app: FastAPI) -> None:
    bare = _bring(app, "bare.csv", written(SOURCE), COLUMNS, owner="custodian", policy=ROLES)
    browser = signed_in(app, "custodian")
    assert "does not say how sensitive" in words_of(browser.get(f"/datasets/{bare}/result"))
    files = {"file": ("result.csv", written(PUBLISHED))}
    assert browser.post(f"/datasets/{bare}/reduce", FORM, files=files).status_code == 409
    foreign = b"job,city,sex,account,bill\nX,Y,Z,Secretvalue,notanumber\n"
    answer = browser.post(f"/datasets/{bare}/score", FORM, files={"file": ("odd.csv", foreign)})
    assert "Secretvalue" not in answer.text
