"""Files of Stata, SPSS and SAS: labels become values, days become days, missing stays missing."""

from __future__ import annotations

import datetime
import importlib.util
from pathlib import Path
from typing import Any

import pandas
import pyreadstat
import pytest

import discreet
from discreet.errors import MissingExtra, SourceUnreadable

CANARY = "Zaphod-1952"
FRAME = pandas.DataFrame(
    {
        "sex": [1.0, 2.0, None, 9.0],
        "name": ["Anna", "Jörg", "", CANARY],
        "born": [datetime.date(1964, 8, 9), datetime.date(2001, 12, 1), None, datetime.date(1999, 1, 2)],
        "income": [1.5, 2.5, None, 3.0],
        "age": [39.0, 40.0, 41.0, 42.0],
    }
)
LABELS = {"sex": {1: "male", 2: "female"}, "age": {99: "unknown"}}
WRITE: dict[str, Any] = {
    "a.dta": lambda path, **labels: pyreadstat.write_dta(FRAME, path, **labels),
    "old.dta": lambda path, **labels: pyreadstat.write_dta(FRAME, path, version=10, **labels),
    "a.sav": lambda path, **labels: pyreadstat.write_sav(FRAME, path, **labels),
    "a.zsav": lambda path, **labels: pyreadstat.write_sav(FRAME, path, compress=True, **labels),
    "a.xpt": lambda path, variable_value_labels: pyreadstat.write_xport(FRAME, path),
    "old.xpt": lambda path, variable_value_labels: pyreadstat.write_xport(FRAME, path, file_format_version=5),
}


OLD = {"old.dta": {"encoding": "utf-8"}}
"""Stata's files of old have no place to say their encoding."""


def policy(**data: Any) -> discreet.Policy:
    roles = {name: {"role": "quasi"} for name in FRAME.columns}
    return discreet.Policy.from_dict({"data": data, "columns": roles})


@pytest.fixture(params=list(WRITE))
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    WRITE[request.param](tmp_path / request.param, variable_value_labels=LABELS)
    return tmp_path / str(request.param)


def rows(sex: tuple[str, str]) -> set[tuple[str | None, ...]]:
    return {
        (sex[0], "Anna", "1964-08-09", "1.5", "39"),
        (sex[1], "Jörg", "2001-12-01", "2.5", "40"),
        (None, None, None, None, "41"),
        ("9", CANARY, "1999-01-02", "3", "42"),
    }


def test_labels_become_values(path: Path) -> None:
    table = discreet.read(path, policy=policy(**OLD.get(path.name, {})))
    labelled = path.suffix != ".xpt"
    assert set(table.classes().tuples()) == rows(("male", "female") if labelled else ("1", "2"))
    assert table.engine.dialect["labelled"] == (["sex"] if labelled else [])
    kinds = {field.name: field.kind for field in table.fields}
    assert (kinds["born"], kinds["age"], kinds["income"]) == ("date", "number", "number")


def test_codes_stay_where_the_policy_says_so(path: Path) -> None:
    assert set(discreet.read(path, policy=policy(labels=False, **OLD.get(path.name, {}))).classes().tuples()) == rows(
        ("1", "2")
    )


def test_codes_that_share_a_label_stay_apart(tmp_path: Path) -> None:
    labels = {"sex": {1: "known", 2: "known"}}
    pyreadstat.write_sav(FRAME, tmp_path / "a.sav", variable_value_labels=labels)
    found = discreet.read(tmp_path / "a.sav").classes(["sex"]).tuples()
    assert set(found) == {("known (1)",), ("known (2)",), ("9",), (None,)}


def test_values_that_spss_declares_missing_are_missing(tmp_path: Path) -> None:
    pyreadstat.write_sav(FRAME, tmp_path / "a.sav", missing_ranges={"sex": [9]})
    assert set(discreet.read(tmp_path / "a.sav").classes(["sex"]).tuples()) == {("1",), ("2",), (None,)}


def test_a_file_that_is_cut_off_is_named(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(SourceUnreadable, match=path.name):
        discreet.read(path)


def test_without_the_extra_it_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="needs the extra 'formats'"):
        discreet.read(path)
