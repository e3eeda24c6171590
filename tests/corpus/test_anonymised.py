"""Real tables made anonymous by their drafted policy on every engine, checked by code that uses nothing of ours."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pandas
import psycopg
import pyarrow
import pytest

import discreet
from tests.contract.outputs import PLACES, SCHEMA
from tests.contract.readers import POSTGRES, READERS, SPARK
from tests.corpus.tables import TABLES

BY_NAME = {table.name: table for table in TABLES if "quasi" in table.roles.values()}
K, L, SUPPRESSION, MOST = 5, 2, 0.05, 6
"""The recipient gets so many quasi-identifiers at most: with forty of them nothing but asterisks would be left."""
PLACE = "place of the row"
ENGINES = {
    "pandas": ((), tuple(BY_NAME)),
    "postgres": ((POSTGRES,), ("wagepan", "anes96", "febrl1")),
    "spark": ((SPARK,), ("diabetes", "febrl1")),
}
"""How tests of an engine are marked, and the tables that it gets in every run; the others are slow tests."""
RUNS = [
    pytest.param(engine, name, marks=marks if name in daily else (*marks, pytest.mark.slow))
    for engine, (marks, daily) in ENGINES.items()
    for name in BY_NAME
]


def confirmed(frame: pandas.DataFrame) -> dict[str, Any]:
    """The drafted policy as a person might confirm it, with a column that says where each row was."""
    profile = discreet.profile(discreet.read(frame), largest=1)
    drafts = profile.drafts()
    chosen = [draft.column for draft in drafts if draft.role == "quasi"][:MOST]
    columns: dict[str, Any] = {PLACE: {"role": "other"}}
    for draft in drafts:
        columns[draft.column] = {"role": "drop" if draft.role == "quasi" else draft.role}
        if draft.column in chosen:
            columns[draft.column] = {"role": "quasi", "hierarchy": tomllib.loads(f"rule = {draft.hierarchy}")["rule"]}
    return {"data": {"person": profile.person or "row"}, "columns": columns}


@pytest.fixture
def published(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., pandas.DataFrame]:
    """Makes a table anonymous on one engine, where its rows are and stay, and reads what left it row by row."""

    def publish(engine: str, frame: pandas.DataFrame, policy: dict[str, Any], **limits: Any) -> pandas.DataFrame:
        table = READERS[engine](request, tmp_path)(
            pyarrow.Table.from_pandas(frame, preserve_index=False), discreet.Policy.from_dict(policy)
        )
        result = discreet.anonymise(table, k=K, suppression=SUPPRESSION, search="optimal", **limits)
        if engine == "pandas":
            return result.to_pandas()
        place = PLACES["postgres" if engine == "postgres" else "parquet"](request, Path(mkdtemp(dir=tmp_path)))
        result.write(place.target)
        if engine == "spark":
            parts = sorted(Path(place.target).glob("part-*.parquet"))
            return pandas.concat([pandas.read_parquet(part) for part in parts], ignore_index=True)
        with psycopg.connect(request.getfixturevalue("postgres_url")) as connection:
            cursor = connection.execute(f'SELECT * FROM "{SCHEMA}".published ORDER BY ctid'.encode())
            return pandas.DataFrame(cursor.fetchall(), columns=[column.name for column in cursor.description or ()])

    return publish


def covers(label: Any, value: Any) -> bool:
    """Whether a published cell is true of the value that came."""
    if pandas.isna(label) or pandas.isna(value):
        return label == "*" or bool(pandas.isna(label) and pandas.isna(value))
    if label in ("*", str(value)):
        return True
    if band := re.fullmatch(r"\[(-?[\d.]+), (-?[\d.]+)\)", label):
        return float(band[1]) <= float(value) < float(band[2])
    if least := re.fullmatch(r"(-?[\d.]+)\+", label):
        return float(value) >= float(least[1])
    if (kept := label.rstrip("*")) != label:
        return len(label) == len(value) and value.startswith(kept)
    return not isinstance(value, str) and float(label) == float(value)


def test_a_published_cell_is_true_of_some_values_only() -> None:
    cells = {"22": (22.0, 23), "[20, 30)": (20, 30), "90+": (95, 89), "20**": ("2090", "3090"), "no": ("no", "yes")}
    assert all(covers(label, value) and not covers(label, other) for label, (value, other) in cells.items())
    assert [covers(*pair) for pair in (("*", None), (None, None), (None, 1), ("1", None))] == [True, True, False, False]


@pytest.mark.parametrize(("engine", "name"), RUNS)
def test_classes_rows_and_order_are_as_promised(
    engine: str, name: str, published: Callable[..., pandas.DataFrame]
) -> None:
    frame = BY_NAME[name].read().reset_index(drop=True)
    policy = confirmed(frame)
    frame[PLACE] = range(len(frame))
    roles = {column: section["role"] for column, section in policy["columns"].items()}
    quasi, sensitive = ([column for column, role in roles.items() if role == part] for part in ("quasi", "sensitive"))
    safe = published(engine, frame, policy, **({"diversity": L} if sensitive else {}))
    assert set(safe.columns) == {column for column, role in roles.items() if role not in ("identifier", "drop")}
    places = safe[PLACE].astype(int)
    came = frame.loc[places].reset_index(drop=True)

    # Nobody is in a class of fewer than k people, and few rows are left out.
    person = policy["data"]["person"]
    whose = places if person == "row" else came[person]
    classes = safe.assign(whose=whose).groupby(quasi, dropna=False)
    assert classes["whose"].nunique().min() >= K
    assert len(frame) * (1 - SUPPRESSION) <= len(safe) <= len(frame)

    # Each class has at least l known values of each sensitive column, or none.
    values = [classes[column].nunique() for column in sensitive]
    assert all(((known >= L) | (known == 0)).all() for known in values)

    # Each row is one of the rows that came: what was not generalised as it was, the rest true of it.
    assert places.is_unique
    for column in safe.columns.difference(quasi):
        # What a server returns has a type of its own.
        unchanged = safe[column].astype(came[column].dtype)
        pandas.testing.assert_series_equal(unchanged, came[column], check_exact=True)
    for column in quasi:
        pairs = pandas.DataFrame({"label": safe[column], "value": came[column]}).drop_duplicates()
        assert all(map(covers, pairs["label"], pairs["value"])), column

    # Where a row is says nothing of where it was nor of what it held, hidden columns too.
    ranks = came.apply(lambda cells: cells if pandas.api.types.is_numeric_dtype(cells) else cells.astype(str)).rank()
    leaks = ranks.fillna(0).corrwith(pandas.Series(range(len(safe)))).abs()
    # By chance a rank correlation reaches six standard errors once in a thousand million columns.
    assert leaks.max() < 6 / (len(safe) - 1) ** 0.5, leaks.idxmax()


@pytest.mark.parametrize(
    "engine",
    ["pandas", pytest.param("postgres", marks=POSTGRES), pytest.param("spark", marks=(SPARK, pytest.mark.slow))],
)
def test_a_panel_is_counted_by_its_people(engine: str, published: Callable[..., pandas.DataFrame]) -> None:
    """Each man of `wagepan` has eight rows, most of them alike: by rows alone, a class may be one man."""
    quasi = ["educ", "black", "hisp", "married", "exper"]
    frame = BY_NAME["wagepan"].read()[["nr", *quasi]]
    policy = confirmed(frame)
    assert policy["data"] == {"person": "nr"}
    frame = frame.assign(**{PLACE: range(len(frame))})
    fewest = {}
    for person in ("nr", "row"):
        safe = published(engine, frame, {**policy, "data": {"person": person}})
        men = safe.assign(nr=frame["nr"].loc[safe[PLACE].astype(int)].to_numpy()).groupby(quasi, dropna=False)["nr"]
        fewest[person] = men.nunique().min()
    assert fewest["nr"] >= K > fewest["row"]
