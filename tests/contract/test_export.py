"""One contract for every engine and every target: what is published is what the recoding says, and nothing else."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import discreet
from discreet.errors import IntegrityError, UsageError
from discreet.kernel import Classes, Recoding
from tests.contract.outputs import PLACES, Output, Place, counted, recoding_of
from tests.contract.readers import LOCAL, POSTGRES, READERS, SPARK, TYPED, TYPELESS, Reader

WEIRD = "na`m\"e {x}'"
"""A column name that every quoting must survive."""
RISKY = "@note, 1"
"""A column name that a spreadsheet would calculate."""
HOSTILE = {
    "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0",
    "@x": "'@x",
    "+49 30 1": "'+49 30 1",
    "-5\n": "'-5\n",
    "\ttab": "'\ttab",
    "\rreturn": "'\rreturn",
    "-5": "-5",
    "+1": "+1",
    "-1.5e3": "-1.5e3",
    "-inf": "-inf",
    "+Infinity": "+Infinity",
    "-info": "'-info",
    'say "hi"': 'say "hi"',
    "two\nlines": "two\nlines",
    " a;b,c ": " a;b,c ",
    "a=b": "a=b",
    "": "",
}
"""Texts, and how a CSV has them."""
SCHEMA = pyarrow.schema(
    [
        ("name", pyarrow.string()),
        ("sex", pyarrow.string()),
        (RISKY, pyarrow.string()),
        ("zip", pyarrow.string()),
        ("year", pyarrow.int32()),
        ("born", pyarrow.date32()),
        ("dose", pyarrow.decimal128(6, 2)),
        ("ok", pyarrow.bool_()),
        ("n", pyarrow.int64()),
        (WEIRD, pyarrow.string()),
    ]
)
POLICY = discreet.Policy.from_dict(
    {
        "data": {"delimiter": ";", "count": "n"},
        "columns": {
            "name": {"role": "identifier"},
            "sex": {"role": "quasi"},
            "zip": {"role": "quasi", "hierarchy": {"mask": 5}},
            "year": {"role": "quasi", "hierarchy": {"widths": [10]}},
            WEIRD: {"role": "quasi"},
            "dose": {"role": "sensitive"},
            **{name: {"role": "other"} for name in (RISKY, "born", "ok")},
        },
    }
)


def quasi(*names: str) -> discreet.Policy:
    """A policy in which these columns are the quasi-identifiers."""
    others = {name: {"role": "other"} for name in SCHEMA.names if name not in names}
    return discreet.Policy.from_dict({"columns": {**{name: {"role": "quasi"} for name in names}, **others}})


LEVELS = {"zip": 2, "year": 1}
K = 3


def person(sex: str | None, zip_: str | None, year: int | None, weird: str | None, **rest: Any) -> dict[str, Any]:
    usual = {"name": "CANARY", "born": None, "dose": None, "ok": None, "n": 1, RISKY: None}
    return {**usual, "sex": sex, "zip": zip_, "year": year, WEIRD: weird, **rest}


ROWS = [
    *(person("F", f"0106{i % 3}", 1960 + i % 10, "x", **{RISKY: note}) for i, note in enumerate(HOSTILE)),
    *(person("M", "99999", -5, "=1+1", n=2, dose=Decimal("1.50"), ok=True) for _ in range(2)),
    *(person("M", "99999", -5, "'=1+1", born=datetime.date(1964, 8, 9), ok=False) for _ in range(4)),
    *(person(None, None, None, None, n=count, dose=Decimal("-2.00")) for count in (0, 1, 5)),
    *(person("x'\"`{}", "ünï;,", 1971, "two\nlines") for _ in range(3)),
    person("F", "12345", 1971, "rare"),
    person("F", "12345", 1972, "rare", n=1),
    person("nobody", "54321", 2001, "x", n=0),
]


def arrow_table(rows: list[dict[str, Any]]) -> pyarrow.Table:
    return pyarrow.Table.from_pylist(rows, schema=SCHEMA)


def published(row: dict[str, Any]) -> dict[str, Any]:
    """What the policy at these levels makes of a row."""
    start = None if row["year"] is None else row["year"] // 10 * 10
    zip_ = None if row["zip"] is None else f"{row['zip'][:3]}**"
    return {**row, "zip": zip_, "year": None if start is None else f"[{start}, {start + 10})"}


def expected(rows: list[dict[str, Any]], *, guarded: bool) -> Output:
    """The same table, computed here row by row."""
    seen = [published(row) for row in rows]
    people: Counter[tuple[Any, ...]] = Counter()
    for row in seen:
        people[tuple(row[name] for name in POLICY.quasi)] += row["n"]
    names = [name for name in SCHEMA.names if name != "name"]
    kept = [row for row in seen if people[tuple(row[name] for name in POLICY.quasi)] >= K]
    spell = spelt if guarded else str
    cells = [[spell(row[name]) if isinstance(row[name], str) else row[name] for name in names] for row in kept]
    return [spell(name) for name in names], counted(cells)


def spelt(cell: str) -> str:
    return {**HOSTILE, "=1+1": "'=1+1", RISKY: f"'{RISKY}"}.get(cell, cell)


def pairs(*seldom: str) -> list[Any]:
    """Every engine with every target that it can write; Spark writes a compressed CSV, and these, in long runs only.

    What DuckDB read otherwise than as cells of text or of a type is written as Parquet, as that changes nothing any more.
    """
    engines = {**{engine: [] for engine in LOCAL}, "postgres": POSTGRES, "spark": SPARK}
    alike = set(LOCAL) - {TYPELESS, TYPED, "memory"}
    rarely = {("spark", target): [SPARK, pytest.mark.slow] for target in ("csv.gz", *seldom)}
    return [
        pytest.param(
            engine, target, marks=rarely.get((engine, target), marks or (POSTGRES if target == "postgres" else []))
        )
        for engine, marks in engines.items()
        for target in PLACES
        if (engine, target) != ("spark", "postgres") and (engine not in alike or target == "parquet")
    ]


@pytest.fixture
def reading(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Reader]:
    return lambda engine: READERS[engine](request, tmp_path)


@pytest.fixture
def placing(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Place]:
    return lambda target: PLACES[target](request, tmp_path)


@pytest.mark.parametrize(("engine", "target"), pairs())
def test_what_is_written_is_what_the_recoding_says(
    engine: str, target: str, reading: Callable[[str], Reader], placing: Callable[[str], Place]
) -> None:
    table, place = reading(engine)(arrow_table(ROWS), POLICY), placing(target)
    wanted = expected(ROWS, guarded=target.startswith("csv"))
    written = table.export(recoding_of(table, LEVELS, k=K), place.target)
    assert place.read() == wanted
    assert written == wanted[1].total() == len(HOSTILE) + 2 + 4 + 3 + 3
    assert len(place.left()) == 1


@pytest.mark.parametrize(("engine", "target"), pairs("csv"))
def test_a_table_that_is_not_as_decided_leaves_nothing_behind(
    engine: str, target: str, reading: Callable[[str], Reader], placing: Callable[[str], Place]
) -> None:
    """The recoding was decided when one of several alike was not there yet."""
    reader, place = reading(engine), placing(target)
    fewer = [row for place, row in enumerate(ROWS) if place != len(HOSTILE)]
    recoding = recoding_of(reader(arrow_table(fewer), POLICY), LEVELS, k=1)
    with pytest.raises(IntegrityError) as caught:
        reader(arrow_table(ROWS), POLICY).export(recoding, place.target)
    assert "CANARY" not in str(caught.value)
    assert caught.value.remedy
    assert place.left() == []


@pytest.mark.parametrize(("engine", "target"), pairs("csv"))
def test_a_target_that_exists_is_replaced_only_when_asked_and_only_by_a_good_one(
    engine: str, target: str, reading: Callable[[str], Reader], placing: Callable[[str], Place]
) -> None:
    table, place = reading(engine)(arrow_table(ROWS), POLICY), placing(target)
    recoding = recoding_of(table, LEVELS, k=K)
    table.export(recoding_of(table, LEVELS, k=5), place.target)
    before = place.read()
    with pytest.raises(UsageError, match="overwrite"):
        table.export(recoding, place.target)
    with pytest.raises(RuntimeError, match="not good enough"):
        table.export(recoding, place.target, overwrite=True, verify=refuse)
    assert place.read() == before
    table.export(recoding, place.target, overwrite=True)
    assert place.read() == expected(ROWS, guarded=target.startswith("csv")) != before
    assert len(place.left()) == 1


def refuse(found: Classes) -> None:
    assert found.names == POLICY.quasi
    raise RuntimeError("not good enough")


def test_values_of_every_type_find_their_class(reader: Reader, placing: Callable[[str], Place]) -> None:
    names = ("born", "dose", "ok", "year")
    table, place = reader(arrow_table(ROWS), quasi(*names)), placing("parquet")
    kept = np.array([values != (None, None, None, "1960") for values in table.classes().tuples()])
    table.export(Recoding.of_levels(table.classes(), {}, kept=kept), place.target)
    rows = [row for row in ROWS if [row[name] for name in names] != [None, None, None, 1960]]
    titles, found = place.read()
    assert titles == SCHEMA.names
    assert found == counted([row[name] for name in SCHEMA.names] for row in rows)


def test_a_column_may_have_no_values_at_all(reader: Reader, placing: Callable[[str], Place]) -> None:
    policy = quasi("sex", "born", "zip")
    rows = [person("F", None, 1971, "x"), person("M", None, 1971, "x")]
    table, place = reader(arrow_table(rows), policy), placing("parquet")
    assert table.export(Recoding.of_levels(table.classes(), {}, kept=np.array([True, False])), place.target) == 1
    assert place.read()[1] == counted([[rows[0][name] for name in SCHEMA.names]])


def test_a_value_may_be_published_as_one_thing_here_and_another_there(
    reader: Reader, placing: Callable[[str], Place]
) -> None:
    policy = quasi("sex", "zip")
    rows = [person(sex, zip_, 1971, "x") for sex, zip_ in ("F1", "M1", "F2", "M3")]
    table, place = reader(arrow_table(rows), policy), placing("parquet")
    classes = table.classes()
    assert list(classes.tuples()) == [("F", "1"), ("F", "2"), ("M", "1"), ("M", "3")]
    codes = (classes.codes[0], np.array([0, 0, 1, 2]))
    recoding = Recoding(classes, (("F", "M"), ("1 or 2", "one", None)), codes, np.ones(4, dtype=bool))
    assert table.export(recoding, place.target) == 4
    titles, found = place.read()
    places = [titles.index("sex"), titles.index("zip")]
    seen = Counter(tuple(row[place] for place in places) for row in found.elements())
    assert seen == {("F", "1 or 2"): 2, ("M", "one"): 1, ("M", None): 1}
