"""The misuse score."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import ColumnError, EmptySource, UsageError
from discreet.kernel import Classes, Coded
from discreet.misuse import Sensitivity, prepare, reduce_cells, score
from discreet.misuse.prepared_source import KEPT_CROWDS
from discreet.misuse.result_formats import Columns
from discreet.misuse.scorer import FEW
from tests.misuse import brute
from tests.misuse.paper import COLUMNS, PUBLISHED, QUASI, SOURCE, TABLES, F
from tests.misuse.strategies import CELLS, XS, results, rows

PAPER: dict[str, Any] = {"source": SOURCE, "quasi": QUASI, "sensitivity": F}


def test_the_crowds_of_the_printed_table_and_scores_of_our_weights() -> None:
    crowds = score(SOURCE, **PAPER).weighed.crowds
    assert [int(crowds[place]) for place in (0, 2, 3, 4, 7)] == [2, 1, 2, 3, 1]
    assert score(PUBLISHED, **PAPER).weighed.crowds == [2, 2, 3, 2, 1, 3]
    for x, expected in ((1.0, 3.0), (2.0, 1.224745), (math.inf, 0.5)):
        assert score(PUBLISHED, x=x, **PAPER).value == pytest.approx(expected, abs=1e-6)
    assert score(SOURCE, **PAPER).value == pytest.approx(2.7)
    assert score(PUBLISHED, **PAPER).normalised == pytest.approx(0.453609, abs=1e-6)
    assert score(SOURCE, **PAPER).normalised == 1.0


@given(source=rows(least=1, most=12), result=results(), x=XS)
def test_the_score_is_the_formula(source: list[dict[str, Any]], result: list[dict[str, Any]], x: float) -> None:
    prepared = prepare(source, QUASI)
    expected = brute.score(result, source, QUASI, F, x)
    few = score(result, source=prepared, sensitivity=F, x=x)
    many = score(Columns.of_rows(result), source=prepared, sensitivity=F, x=x)
    assert brute.close(few.value, expected)
    assert few.value == many.value
    assert list(few.weighed.record_scores) == many.weighed.record_scores.tolist()
    assert few.top == many.top
    assert few.rows == len(result)


@given(source=rows(least=1, most=12), result=results(), x=XS)
def test_normalised_is_in_relation_to_the_whole_source(
    source: list[dict[str, Any]], result: list[dict[str, Any]], x: float
) -> None:
    found = score(result, source=source, quasi=QUASI, sensitivity=F, x=x)
    names = {name for row in result for name in row}
    whole = brute.score([{name: row[name] for name in names} for row in source], source, QUASI, F, x)
    assert found.normalised is not None
    assert brute.close(found.normalised, min(1.0, found.value / whole) if whole else float(found.value > 0))


@given(source=rows(least=1, most=8), more=rows(least=1, most=8), x=XS)
def test_with_quasi_identifiers_more_rows_never_lower_the_score(
    source: list[dict[str, Any]], more: list[dict[str, Any]], x: float
) -> None:
    prepared = prepare(source, QUASI)
    values = [score(more[:number], source=prepared, sensitivity=F, x=x).value for number in range(len(more) + 1)]
    assert values == sorted(values)


def test_without_quasi_identifiers_the_score_falls_as_rows_are_added() -> None:
    account = [{"account": row["account"]} for row in PUBLISHED]
    assert score(account[:1], **PAPER).value == 1.0
    assert score(account, **PAPER).value == pytest.approx(0.408, abs=1e-3)


def test_edges() -> None:
    assert score([], **PAPER).value == 0.0
    assert score([], **PAPER).normalised == 0.0
    assert score([{}], **PAPER).value == 0.0
    assert score([dict.fromkeys(COLUMNS)], **PAPER).value == 0.0
    stranger = {"job": "Pilot", "city": "NY", "sex": "Male", "account": "Silver", "bill": None}
    assert score([stranger], **PAPER).value == 0.7
    assert score([{"account": "Gold", "bill": 900}] * 4, x=2.0, **PAPER).value == 0.5


@pytest.mark.parametrize("x", [0.99, 0, -1, math.nan])
def test_x_is_from_one_to_infinity(x: float) -> None:
    with pytest.raises(UsageError, match="from 1 to infinity"):
        score(PUBLISHED, x=x, **PAPER)


def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(ColumnError, match="profession"):
        score(PUBLISHED, source=SOURCE, quasi=["profession"], sensitivity=F)
    with pytest.raises(UsageError, match="'account' is a quasi-identifier and has weights"):
        score(PUBLISHED, source=SOURCE, quasi=["account"], sensitivity=F)
    with pytest.raises(UsageError, match="was not prepared"):
        score(PUBLISHED, source=prepare(SOURCE, ["job"]), quasi=["city"], sensitivity=F)
    with pytest.raises(UsageError, match="how sensitive"):
        score(PUBLISHED, source=SOURCE, quasi=QUASI)
    with pytest.raises(UsageError, match="quasi-identifiers"):
        score(PUBLISHED, source=SOURCE, sensitivity=F)
    with pytest.raises(EmptySource):
        score(PUBLISHED, source=[], quasi=QUASI, sensitivity=F)
    with pytest.raises(ColumnError, match="length"):
        score({"account": ["Gold"], "bill": []}, **PAPER)


def frames(table: list[dict[str, Any]], tmp_path: Path) -> dict[str, Any]:
    """The same rows in every shape that is taken."""
    arrow = pyarrow.Table.from_pylist(table)
    frame = pandas.DataFrame(table)
    csv, parquet = tmp_path / f"{len(table)}.csv", tmp_path / f"{len(table)}.parquet"
    polars.DataFrame(table).write_csv(csv)
    polars.DataFrame(table).write_parquet(parquet)
    columns = {name: np.array([row[name] for row in table]) for name in table[0]}
    return {
        "rows": table,
        "tuple": tuple(table),
        "columns": columns,
        "coded": {name: Coded.of(cells.tolist()) for name, cells in columns.items()},
        "pandas": frame,
        "categories": frame.astype({"job": "category", "account": "category"}),
        "objects": frame.astype(object),
        "polars": polars.DataFrame(table),
        "lazy": polars.LazyFrame(table),
        "arrow": arrow,
        "batch": arrow.to_batches()[0],
        "csv": str(csv),
        "parquet": parquet,
        "table": discreet.read(csv),
    }


SHAPES = ("rows", "tuple", "columns", "coded", "pandas", "categories", "objects", "polars", "lazy", "arrow", "batch")


@pytest.mark.parametrize("shape", [*SHAPES, "csv", "parquet", "table"])
def test_results_and_sources_come_in_any_shape(shape: str, tmp_path: Path) -> None:
    result, source = frames(PUBLISHED, tmp_path)[shape], frames(SOURCE, tmp_path)[shape]
    found = score(result, source=source, quasi=QUASI, sensitivity=F)
    expected = score(PUBLISHED, **PAPER)
    assert (found.value, found.normalised, found.top) == (expected.value, expected.normalised, expected.top)


def test_missing_values_are_missing_in_any_shape(tmp_path: Path) -> None:
    table = [*PUBLISHED, {**PUBLISHED[0], "account": None, "bill": None, "job": None}]
    source = [*SOURCE, *[{**SOURCE[0], "job": None}] * 3]
    expected = brute.record_scores(table, source, QUASI, F)
    arrow, frame = pyarrow.Table.from_pylist(table), pandas.DataFrame(table)
    for shape in (arrow, frame, frame.convert_dtypes(), frame.astype({"job": "category"}), polars.DataFrame(table)):
        found = score(shape, source=prepare(source, QUASI), sensitivity=F)
        assert found.weighed.record_scores.tolist() == pytest.approx(expected)


def test_results_without_rows_in_any_shape() -> None:
    frame = pandas.DataFrame(PUBLISHED)[:0]
    shapes = (
        frame,
        polars.DataFrame(PUBLISHED)[:0],
        pyarrow.Table.from_pylist(PUBLISHED)[:0],
        {"job": [], "account": []},
    )
    for shape in shapes:
        found = score(shape, **PAPER)
        assert (found.value, found.rows, found.top, found.normalised) == (0.0, 0, (), 0.0)


def test_labels_of_a_frame_need_not_be_texts() -> None:
    frame = pandas.DataFrame([["Lawyer", "Gold"]], columns=["job", 7])
    f = Sensitivity.from_dict({"7": {"values": {"Gold": 0.5}}})
    assert score(frame, source=SOURCE, quasi=["job"], sensitivity=f).value == 0.25
    masked = reduce_cells(frame, source=SOURCE, quasi=["job"], sensitivity=f, limit=0.0)
    assert masked.columns.tolist() == ["job", 7]
    assert masked[7].isna().all()
    twice = pandas.DataFrame([["a", "b"]], columns=["7", 7])
    with pytest.raises(ColumnError, match="same name"):
        score(twice, source=SOURCE, quasi=["job"], sensitivity=f)


def test_a_source_whose_values_are_outside_a_hierarchy_has_no_whole(tmp_path: Path) -> None:
    frames(SOURCE, tmp_path)
    roles: dict[str, Any] = {name: {"role": "quasi"} for name in QUASI}
    roles["account"] = {"role": "sensitive", "hierarchy": {"mask": 2}}
    policy = discreet.Policy.from_dict({"columns": roles, "sensitivity": TABLES})
    found = score(PUBLISHED, source=discreet.read(tmp_path / "9.csv", policy=policy))
    assert found.value == pytest.approx(1.224745, abs=1e-6)
    assert found.normalised is None


def test_counted_classes_are_a_source_without_the_sensitive_columns() -> None:
    classes = Classes.of(QUASI, [[row[name] for name in QUASI] for row in SOURCE])
    found = score(PUBLISHED, source=classes, sensitivity=F)
    assert found.value == pytest.approx(1.224745, abs=1e-6)
    assert found.normalised is None
    assert found.to_dict()["normalised"] is None


def test_a_table_with_a_policy_needs_nothing_else(tmp_path: Path) -> None:
    frames(SOURCE, tmp_path)
    roles = {name: {"role": "quasi"} for name in QUASI} | {name: {"role": "sensitive"} for name in TABLES}
    policy = discreet.Policy.from_dict({"columns": roles, "sensitivity": TABLES})
    table = discreet.read(tmp_path / "9.csv", policy=policy)
    assert discreet.score(PUBLISHED, source=table).value == pytest.approx(1.224745, abs=1e-6)


def test_what_weighs_most_is_named_by_position_not_by_value() -> None:
    found = score(PUBLISHED, **PAPER)
    assert [heavy.row for heavy in found.top] == [0, 1, 2, 3, 4, 5]
    assert found.top[0].columns == ("account", "bill")
    assert found.top[1].columns == ("bill", "account")
    assert (found.top[0].record_score, found.top[0].crowd) == (0.5, 2)
    for shown in (repr(found), found._repr_html_(), str(found.to_dict())):
        assert not any(secret in shown for secret in ("Gold", "Bronze", "Lawyer", "600"))
    assert (
        "<script>"
        not in score(
            [{"<script>": 1}],
            source=[{"<script>": 1}],
            quasi=[],
            sensitivity=Sensitivity.from_dict({"<script>": {"otherwise": 1}}),
        )._repr_html_()
    )


def test_rows_with_other_keys_are_rows_with_missing_values() -> None:
    uneven = [{"job": "Lawyer", "account": "Gold"}, {"city": "NY", "account": "Gold"}]
    expected = brute.score(uneven, SOURCE, QUASI, F, 2.0)
    assert score(uneven, **PAPER).value == pytest.approx(expected)


@pytest.mark.parametrize("number", [FEW, FEW + 1])
def test_few_and_many_rows_are_scored_alike(number: int) -> None:
    table = (SOURCE * number)[:number]
    assert score(table, **PAPER).value == pytest.approx(brute.score(table, SOURCE, QUASI, F, 2.0))


@given(data=st.data())
def test_true_and_one_are_not_confused(data: st.DataObject) -> None:
    f = Sensitivity.from_dict({"a": {"values": {"true": 1.0, "1": 0.5, "0": 0.25}}})
    cells = data.draw(st.lists(st.sampled_from([True, False, 1, 0, 1.0, "1", None]), min_size=1))
    table = [{"a": cell} for cell in cells]
    found = score(Columns.of_rows(table), source=table, quasi=[], sensitivity=f)
    assert found.weighed.weights[0].tolist() == [f("a", cell) for cell in cells]


def test_asking_for_ever_new_columns_does_not_fill_the_memory() -> None:
    names = [f"q{place}" for place in range(6)]
    source = [{name: (row >> place) % 2 for place, name in enumerate(names)} for row in range(64)]
    prepared = prepare(source, names)
    for size in range(1, 7):
        for chosen in itertools.combinations(names, size):
            row = {**dict.fromkeys(chosen, 1), "account": "Gold"}
            assert score([row], source=prepared, sensitivity=F).record_score == 2.0 ** (size - 6)
    assert len(prepared._crowds) <= KEPT_CROWDS < 63


def test_equal_functions_share_what_was_prepared() -> None:
    prepared = prepare(SOURCE, QUASI)
    for _ in range(3):
        score(PUBLISHED, source=prepared, sensitivity=Sensitivity.from_dict(TABLES))
    assert len(prepared.scorers) == 1
    assert Sensitivity.from_dict(TABLES) == F != Sensitivity.from_dict({"account": TABLES["account"]})


def test_the_generated_cells_reach_every_case() -> None:
    assert set(CELLS) >= {*QUASI, *TABLES}


def test_an_empty_result_scores_nothing_with_an_entity_too() -> None:
    source = prepare([{"id": 1, "job": "Lawyer", "account": "Gold"}], ["job"], entity="id")
    assert score([], source=source, sensitivity=F, entity="id").value == 0
    with pytest.raises(ColumnError):
        score([{"job": "Lawyer"}], source=source, sensitivity=F, entity="id")
