"""Tables of many columns: work grows with the columns, not with their square, and too many are refused at once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import ColumnError, TooManyColumns
from discreet.policy import write_draft
from discreet.policy.draft import Change, edited
from discreet.sources.duckdb.engine import WIDE
from discreet.sources.engine import MOST_COLUMNS
from discreet.sources.files.csv_dialect import check_header
from tests.risk.strategies import few, some

FEW, MANY = MOST_COLUMNS // 4, MOST_COLUMNS
STEEPEST = 10
"""Times the work that four times as many columns may make: 4 when it is linear, 16 when it is quadratic."""


def wide(path: Path, columns: int, rows: int = 8, *, name: str = "column", mark: str = ",") -> Path:
    header = mark.join(f"{name}{place}" for place in range(columns))
    cells = [mark.join(str((row * 7 + place) % 5) for place in range(columns)) for row in range(rows)]
    path.write_text("\n".join([header, *cells]) + "\n", encoding="utf-8")
    return path


def seconds(work: Callable[[], Any]) -> float:
    """CPU, of all threads of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def steepness(few: Callable[[], Any], many: Callable[[], Any], *, turns: int = 3) -> float:
    """How many times the work of the one is that of the other, each at its quickest; one turn more warms up."""
    few()
    return min(seconds(many) for _ in range(turns)) / min(seconds(few) for _ in range(turns))


@pytest.mark.parametrize("columns", [MOST_COLUMNS + 1, 30_000, 200_000])
@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_too_many_columns_are_refused_within_a_second(tmp_path: Path, columns: int, mark: str) -> None:
    path = wide(tmp_path / "wide.csv", columns, rows=3, mark=mark)
    start = time.process_time()
    with pytest.raises(TooManyColumns) as caught:
        discreet.read(path)
    assert time.process_time() - start < 1
    assert (caught.value.columns, caught.value.exit_code) == (columns, 3)
    assert f"{columns:,} columns" in str(caught.value)
    assert f"at most {MOST_COLUMNS:,}" in str(caught.value)
    assert "column0" not in str(caught.value)


def test_long_names_do_not_hide_how_many_columns_came(tmp_path: Path) -> None:
    path = wide(tmp_path / "wide.csv", 30_000, rows=1, name="n" * 100)
    with pytest.raises(TooManyColumns) as caught:
        discreet.read(path)
    assert caught.value.columns == 30_000


def test_a_first_line_without_an_end_is_refused_within_a_second(tmp_path: Path) -> None:
    path = tmp_path / "endless.csv"
    path.write_text("a" * 40_000_000, encoding="utf-8")
    start = time.process_time()
    with pytest.raises(ColumnError, match="first line"):
        discreet.read(path)
    assert time.process_time() - start < 1


def test_rows_of_many_cells_are_not_all_looked_at_to_find_the_delimiter(tmp_path: Path) -> None:
    path = wide(tmp_path / "wide.csv", 30_000, rows=300)
    start = time.process_time()
    with pytest.raises(TooManyColumns):
        discreet.read(path)
    assert time.process_time() - start < 1


def test_as_many_columns_as_are_taken_are_read(tmp_path: Path) -> None:
    table = discreet.read(wide(tmp_path / "wide.csv", MOST_COLUMNS))
    assert len(table.columns) == MOST_COLUMNS
    assert table.records == 8


@pytest.mark.parametrize("source", ["frame", "parquet", "relation"])
def test_other_sources_take_as_many(tmp_path: Path, source: str) -> None:
    import duckdb

    frame = pandas.DataFrame({f"c{place}": [place] for place in range(MOST_COLUMNS + 1)})
    frame.to_parquet(tmp_path / "wide.parquet")
    given = {
        "frame": lambda: frame,
        "parquet": lambda: tmp_path / "wide.parquet",
        "relation": lambda: duckdb.from_df(frame),
    }[source]()
    with pytest.raises(TooManyColumns, match=f"{MOST_COLUMNS + 1:,} columns"):
        discreet.read(given)


# names


@some
@given(st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"]), min_size=1, max_size=12))
def test_the_first_column_named_like_an_earlier_one_is_the_one_reported(names: list[str]) -> None:
    places = [place for place, name in enumerate(names, start=1) if name in names[: place - 1]]
    if max(Counter(names).values()) == 1:
        check_header(names, Path("a.csv"))
        return
    with pytest.raises(ColumnError, match=f"column {places[0]} of {len(names)} has the same name"):
        check_header(names, Path("a.csv"))


def test_the_last_of_many_columns_may_be_the_doubled_one(tmp_path: Path) -> None:
    path = wide(tmp_path / "wide.csv", MOST_COLUMNS)
    path.write_text(
        path.read_text(encoding="utf-8").replace(f"column{MOST_COLUMNS - 1}\n", "column7\n"), encoding="utf-8"
    )
    with pytest.raises(ColumnError, match=f"column {MOST_COLUMNS} of {MOST_COLUMNS} has the same name"):
        discreet.read(path)


# work in proportion


@pytest.mark.parametrize("declared", [False, True], ids=["new", "declared"])
def test_checking_a_header_is_linear(declared: bool) -> None:
    def checked(columns: int) -> Callable[[], None]:
        names = [f"{place}" if declared else f"column{place}" for place in range(columns)]
        return lambda: check_header(names, Path("a.csv"), declared=names)

    assert steepness(checked(FEW), checked(MANY)) < STEEPEST


def test_reading_and_counting_are_linear(tmp_path: Path) -> None:
    def counted(columns: int) -> Callable[[], Any]:
        path = wide(tmp_path / f"{columns}.csv", columns)
        policy = discreet.Policy.from_dict({"columns": {f"column{place}": {"role": "quasi"} for place in range(3)}})
        return lambda: discreet.read(path, policy).classes()

    assert steepness(counted(FEW), counted(MANY)) < STEEPEST


def test_a_profile_is_linear(tmp_path: Path) -> None:
    def profiled(columns: int) -> Callable[[], Any]:
        path = wide(tmp_path / f"{columns}.csv", columns)
        return lambda: discreet.profile(discreet.read(path), largest=1)

    assert steepness(profiled(200), profiled(800), turns=2) < STEEPEST


def test_a_policy_is_read_in_linear_time(tmp_path: Path) -> None:
    def parsed(columns: int) -> Callable[[], Any]:
        text = "".join(f'[columns.c{place}]\nrole = "quasi"\nhierarchy = {{ any = "*" }}\n' for place in range(columns))
        return lambda: discreet.Policy.parse(text)

    assert steepness(parsed(FEW), parsed(MANY)) < STEEPEST


def test_a_policy_is_changed_in_linear_time() -> None:
    def changed(columns: int) -> Callable[[], Any]:
        text = "".join(f'[columns.c{place}]\nrole = "other"\n' for place in range(columns))
        changes = {f"c{place}": Change("quasi", {"any": "*"}) for place in range(columns)}
        return lambda: edited(text, changes)

    assert steepness(changed(FEW), changed(MANY)) < STEEPEST


# counting many columns one by one gives what counting each gives


@few
@given(
    st.lists(st.lists(st.sampled_from(["x", "y", "", "7"]), min_size=3, max_size=3), min_size=1, max_size=12),
    st.booleans(),
)
def test_columns_counted_in_parts_are_counted_right(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], weighted: bool
) -> None:
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    spread = [[row[place % 3] for place in range(WIDE + 6)] + [str(number)] for number, row in enumerate(rows, start=1)]
    names = [f"c{place}" for place in range(WIDE + 6)]
    path.write_text("\n".join([",".join([*names, "n"]), *map(",".join, spread)]) + "\n", encoding="utf-8")
    policy = discreet.Policy.from_dict({"data": {"count": "n"} if weighted else {}})
    table = discreet.read(path, policy)
    found = {one.names[0]: dict(zip(one.tuples(), one.sizes.tolist(), strict=True)) for one in table.each(names)}
    assert found.keys() == set(names)
    for name in (names[0], names[WIDE - 1], names[WIDE], names[-1]):
        alone = table.classes([name])
        assert found[name] == dict(zip(alone.tuples(), alone.sizes.tolist(), strict=True))


def test_a_wide_profile_drafts_a_policy_for_every_column(tmp_path: Path) -> None:
    found = discreet.profile(discreet.read(wide(tmp_path / "wide.csv", 700, rows=3)))
    assert (len(found.columns), found.singling_out.largest) == (700, 1)
    assert len(discreet.Policy.parse(write_draft(found.drafts())).roles) == 700


def test_many_columns_are_written(tmp_path: Path) -> None:
    others = {f"column{number}": {"role": "other"} for number in range(1, 400)}
    policy = discreet.Policy.from_dict({"columns": {"column0": {"role": "quasi", "hierarchy": {"any": "*"}}, **others}})
    safe = discreet.anonymise(discreet.read(wide(tmp_path / "wide.csv", 400), policy), k=2)
    start = time.process_time()
    assert safe.write(tmp_path / "safe.csv") == 8
    assert time.process_time() - start < 15
    assert len(discreet.read(tmp_path / "safe.csv").columns) == 400
