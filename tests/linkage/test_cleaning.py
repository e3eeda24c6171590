"""Cells on their way into a project."""

from __future__ import annotations

from datetime import date
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.linkage import Attribute, LinkageSpec
from discreet.linkage.cleaning import cleaned, plain
from discreet.linkage.linkfile import Case

CONNECTION = duckdb.connect()


def spec(case: Case = "upper", missing: tuple[str, ...] = ()) -> LinkageSpec:
    found = LinkageSpec.from_dict({"linkage": {"identifying": {"a": {"kind": "string"}, "b": {"kind": "date"}}}})
    return LinkageSpec(found.attributes, found.sides, case=case, missing=missing)


def clean(value: Any, kind: str, attribute: Attribute, declared: LinkageSpec) -> Any:
    cell = f"CAST($1 AS {kind})"
    return CONNECTION.execute(f"SELECT {cleaned(cell, kind, attribute, declared)}", [value]).fetchall()[0][0]


STRING = Attribute("a", "string")
DATE = Attribute("b", "date", ("%Y-%m-%d", "%m/%d/%Y"))


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("  anna   maria ", "VARCHAR", "ANNA MARIA"),
        ("", "VARCHAR", None),
        ("  ", "VARCHAR", None),
        ("n/a", "VARCHAR", None),
        ("N/A", "VARCHAR", None),
        (None, "VARCHAR", None),
        ("straße", "VARCHAR", "STRASSE"),
        ("e\u0301mile", "VARCHAR", "\u00c9MILE"),
        (5304218.0, "DOUBLE", "5304218"),
        (1.5, "DOUBLE", "1.5"),
        (42, "BIGINT", "42"),
    ],
)
def test_text(value: Any, kind: str, expected: str | None) -> None:
    got = clean(value, kind, STRING, spec(missing=("n/a",)))
    assert got == expected or (value == "straße" and got in ("STRASSE", "STRAßE", "STRAẞE"))


def test_letters_are_kept_where_wanted() -> None:
    assert clean("Anna", "VARCHAR", STRING, spec("keep")) == "Anna"
    assert clean("Anna", "VARCHAR", STRING, spec("lower")) == "anna"


@pytest.mark.parametrize(
    ("value", "kind", "formats", "expected"),
    [
        ("1980-03-04", "VARCHAR", DATE.formats, "1980-03-04"),
        ("3/4/1980", "VARCHAR", DATE.formats, "1980-03-04"),
        (" 03/04/1980 ", "VARCHAR", DATE.formats, "1980-03-04"),
        ("19151331", "VARCHAR", ("%Y%m%d",), "1915-13-31"),
        (19151111, "BIGINT", ("%Y%m%d",), "1915-11-11"),
        ("4.3.1980", "VARCHAR", ("%d.%m.%Y",), "1980-03-04"),
        ("4.3.80", "VARCHAR", ("%d.%m.%Y",), None),
        ("yesterday", "VARCHAR", DATE.formats, None),
        ("", "VARCHAR", DATE.formats, None),
        (date(1980, 3, 4), "DATE", DATE.formats, "1980-03-04"),
    ],
)
def test_dates(value: Any, kind: str, formats: tuple[str, ...], expected: str | None) -> None:
    assert clean(value, kind, Attribute("b", "date", formats), spec()) == expected


@settings(deadline=None)
@given(st.dates(), st.sampled_from(["%Y-%m-%d", "%m/%d/%Y", "%d.%m.%Y", "%Y%m%d", "%d%m%Y", "%Y %d %m"]))
def test_every_date_in_every_format_comes_out_alike(day: date, written: str) -> None:
    text = written.replace("%Y", f"{day.year:04d}").replace("%m", f"{day.month:02d}").replace("%d", f"{day.day:02d}")
    assert clean(text, "VARCHAR", Attribute("b", "date", (written,)), spec()) == day.isoformat()


@settings(deadline=None)
@given(st.text(max_size=12))
def test_cleaning_twice_changes_nothing(value: str) -> None:
    value = value.replace("\0", "")
    once = clean(value, "VARCHAR", STRING, spec("keep"))
    assert once is None or clean(once, "VARCHAR", STRING, spec("keep")) == once


def test_ids_are_only_trimmed() -> None:
    assert CONNECTION.execute(f"SELECT {plain('$1', 'VARCHAR')}", [" aB 1 "]).fetchall() == [("aB 1",)]
