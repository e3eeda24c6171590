"""Lattice page: combinations of levels by a click, and nothing of a table that may not be published."""

from __future__ import annotations

import re

from fastapi import FastAPI

from tests.web.client import signed_in
from tests.web.samples import make_table
from tests.web.snapshot import entries


def test_every_link_leads_to_a_combination(app: FastAPI) -> None:
    """Twelve people: six women and six men of three ages, in tens of years."""
    custodian, job = signed_in(app, "custodian"), make_table(app, "custodian")
    page = custodian.get(f"/jobs/{job}/lattice").text
    assert "The table that was made" in page
    assert "<td>[30, 40)</td>" in page
    ways = set(re.findall(r'href="(\?levels=[0-9.]+)"', page))
    assert ways == {f"?levels={sex}.{age}" for sex in (0, 1) for age in (0, 1, 2)}
    for way in ways:
        other = custodian.get(f"/jobs/{job}/lattice{way}")
        assert other.status_code == 200
        assert 'aria-current="true">level' in other.text


def test_looking_is_written_down_once_a_day(app: FastAPI) -> None:
    custodian, job = signed_in(app, "custodian"), make_table(app, "custodian")
    known = len(entries(app))
    for levels in ("", "?levels=1.0", "?levels=1.1"):
        assert custodian.get(f"/jobs/{job}/lattice{levels}").status_code == 200
    assert [entry["event"] for entry in entries(app)[known:]] == ["web.shown"]


def test_nonsense_is_refused_in_words(app: FastAPI) -> None:
    custodian, job = signed_in(app, "custodian"), make_table(app, "custodian")
    for levels in ("1", "1.1.1", "9.9", "-1.0", "a.b", "1.0'--"):
        answer = custodian.get(f"/jobs/{job}/lattice", params={"levels": levels})
        assert answer.status_code == 422, levels
        assert custodian.get(f"/jobs/{job}/lattice").status_code == 200
    assert custodian.get("/jobs/12345/lattice").status_code == 404
    assert signed_in(app, "auditor").get(f"/jobs/{job}/lattice").status_code == 403
