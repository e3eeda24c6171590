"""One contract for every engine: the same table gives the same histogram wherever it lives."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pandas
import pyarrow
import pytest

import discreet
from discreet.errors import ColumnError, CountError, EmptySource, UsageError, WeightError
from tests.contract.readers import Reader

ROWS: list[dict[str, Any]] = [
    {
        "sex": "F",
        "zip": "01067",
        "year": 1964,
        "born": datetime.date(1964, 8, 9),
        "dose": Decimal("1.50"),
        "ok": True,
        "n": 3,
    },
    {
        "sex": "F",
        "zip": "01067",
        "year": 1964,
        "born": datetime.date(1964, 8, 9),
        "dose": Decimal("1.50"),
        "ok": True,
        "n": 2,
    },
    {
        "sex": "M",
        "zip": "01069",
        "year": 1971,
        "born": datetime.date(1971, 2, 28),
        "dose": Decimal("2.00"),
        "ok": False,
        "n": 1,
    },
    {"sex": "M", "zip": None, "year": 1971, "born": None, "dose": None, "ok": None, "n": 4},
    {
        "sex": None,
        "zip": "01069",
        "year": None,
        "born": datetime.date(2000, 2, 29),
        "dose": Decimal("10.00"),
        "ok": True,
        "n": 0,
    },
    {"sex": "x'\"`{}", "zip": "ünï;,", "year": -5, "born": None, "dose": None, "ok": None, "n": 1},
]
WEIRD = "na`m\"e {x}'"
"""A column name that every quoting must survive."""
SCHEMA = pyarrow.schema(
    [
        ("sex", pyarrow.string()),
        ("zip", pyarrow.string()),
        ("year", pyarrow.int32()),
        ("born", pyarrow.date32()),
        ("dose", pyarrow.decimal128(6, 2)),
        ("ok", pyarrow.bool_()),
        ("n", pyarrow.int64()),
        (WEIRD, pyarrow.string()),
    ]
)


def arrow_table(rows: list[dict[str, Any]]) -> pyarrow.Table:
    return pyarrow.Table.from_pylist([{**row, WEIRD: row["sex"]} for row in rows], schema=SCHEMA)


def counted(table: discreet.Table, by: list[str]) -> dict[tuple[str | None, ...], int]:
    classes = table.classes(by)
    return dict(zip(classes.tuples(), classes.sizes.tolist(), strict=True))


def test_text_columns_are_counted_with_missing_values_as_values(any_reader: Reader) -> None:
    assert counted(any_reader(arrow_table(ROWS), None), ["sex", "zip"]) == {
        ("F", "01067"): 2,
        ("M", "01069"): 1,
        ("M", None): 1,
        (None, "01069"): 1,
        ("x'\"`{}", "ünï;,"): 1,
    }


def test_numbers_dates_decimals_and_truth_values_have_one_spelling(any_reader: Reader) -> None:
    found = counted(any_reader(arrow_table(ROWS[:4]), None), ["year", "born", "ok"])
    assert found == {("1964", "1964-08-09", "true"): 2, ("1971", "1971-02-28", "false"): 1, ("1971", None, None): 1}


def test_decimals_lose_their_scale_except_in_text_files(any_reader: Reader) -> None:
    found = counted(any_reader(arrow_table(ROWS[:3]), None), ["dose"])
    assert found in ({("1.5",): 2, ("2",): 1}, {("1.50",): 2, ("2.00",): 1})


def test_hostile_column_names_are_quoted(any_reader: Reader) -> None:
    assert counted(any_reader(arrow_table(ROWS[:3]), None), [WEIRD]) == {("F",): 2, ("M",): 1}


def test_no_columns_means_everybody(reader: Reader) -> None:
    assert reader(arrow_table(ROWS), None).records == len(ROWS)


def test_a_count_column_says_how_many_people_a_row_stands_for(any_reader: Reader) -> None:
    policy = discreet.Policy.from_dict({"data": {"count": "n"}, "columns": {"sex": {"role": "quasi"}}})
    table = any_reader(arrow_table(ROWS), policy)
    assert counted(table, ["sex"]) == {("F",): 5, ("M",): 5, ("x'\"`{}",): 1}
    assert table.records == 11


@pytest.mark.parametrize("count", [None, "n"])
def test_columns_alone_are_counted_as_together(reader: Reader, count: str | None) -> None:
    policy = discreet.Policy.from_dict({"data": {"count": count} if count else {}})
    table = reader(arrow_table(ROWS), policy)
    names = ["sex", "zip", "year", "born", "ok", WEIRD]
    for name, tally in zip(names, table.tallies(names), strict=True):
        values = {value: size for (value,), size in counted(table, [name]).items()}
        assert (tally.people, tally.missing) == (sum(values.values()), values.pop(None, 0))
        assert (dict(tally.counts), tally.distinct) == (values, len(values))


def test_negative_counts_are_refused(reader: Reader) -> None:
    policy = discreet.Policy.from_dict({"data": {"count": "n"}, "columns": {"sex": {"role": "quasi"}}})
    rows = [*ROWS, {**ROWS[0], "n": -1}, {**ROWS[0], "n": None}]
    with pytest.raises(CountError, match="2 rows"):
        reader(arrow_table(rows), policy).classes()


def test_fields_are_named_in_order(any_reader: Reader) -> None:
    table = any_reader(arrow_table(ROWS), None)
    assert table.columns == ("sex", "zip", "year", "born", "dose", "ok", "n", WEIRD)


def test_an_empty_table_has_nobody_in_it(any_reader: Reader) -> None:
    with pytest.raises(EmptySource):
        any_reader(arrow_table([]), None).classes(["sex"])


def test_a_missing_column_is_named_with_the_nearest_one(any_reader: Reader) -> None:
    with pytest.raises(ColumnError, match="Did you mean 'year'"):
        any_reader(arrow_table(ROWS), None).classes(["yeer"])


def test_hierarchies_and_spreads_come_out_alike(reader: Reader) -> None:
    policy = discreet.Policy.from_dict(
        {
            "columns": {
                "zip": {"role": "quasi", "hierarchy": {"mask": 5}},
                "year": {"role": "quasi", "hierarchy": {"widths": [10]}},
                "sex": {"role": "sensitive"},
            }
        }
    )
    classes = reader(arrow_table(ROWS[:5]), policy).classes(sensitive=["sex"]).at({"zip": 2, "year": 1})
    assert dict(zip(classes.tuples(), classes.sizes.tolist(), strict=True)) == {
        ("010**", "[1960, 1970)"): 2,
        ("010**", "[1970, 1980)"): 1,
        ("010**", None): 1,
        (None, "[1970, 1980)"): 1,
    }
    assert classes.spreads["sex"].overall.tolist() == [2, 2, 1]


def test_assess_gives_the_same_numbers_everywhere(reader: Reader) -> None:
    policy = discreet.Policy.from_dict({"columns": {"sex": {"role": "quasi"}, "zip": {"role": "quasi"}}})
    found = discreet.assess(reader(arrow_table(ROWS), policy)).to_dict()
    assert (found["records"], found["classes"], found["uniques"], found["k"]) == (6, 5, 4, 1)


def test_pandas_integers_that_became_floats_read_as_integers() -> None:
    frame = pandas.DataFrame({"age": [39.0, float("nan"), 39.0]})
    assert counted(discreet.read(frame), ["age"]) == {("39",): 2, (None,): 1}


# survey weights

SURVEY = {"data": {"weight": "dose"}, "columns": {"sex": {"role": "quasi"}}}


def test_survey_weights_are_summed_per_class(reader: Reader) -> None:
    rows = [*ROWS[:3], {**ROWS[2], "dose": Decimal("0.25")}, {**ROWS[2], "dose": Decimal("1234.50")}]
    table = reader(arrow_table(rows), discreet.Policy.from_dict(SURVEY))
    classes = table.surveyed(table.classes())
    assert classes.survey is not None
    assert dict(zip(classes.tuples(), classes.survey.people(len(classes)), strict=True)) == {
        ("F",): 3.0,
        ("M",): 1236.75,
    }
    assert classes.sizes.tolist() == [2, 3]
    assert "dose" not in table.published  # a weight can tell people apart, and nobody gave it a role


def test_survey_weights_and_households_are_counted_together(reader: Reader) -> None:
    data = {"weight": "dose", "household": "zip"}
    rows = [*ROWS[:3], {**ROWS[3], "dose": Decimal("7.00")}, {**ROWS[3], "dose": Decimal("9.00")}]
    found = discreet.assess(reader(arrow_table(rows), discreet.Policy.from_dict({**SURVEY, "data": data}))).household
    assert found is not None
    assert (found.households, found.without_number, found.individual) == (4, 2, "weighted")


def test_survey_weights_must_be_positive_numbers(reader: Reader) -> None:
    rows = [*ROWS[:3], {**ROWS[2], "dose": Decimal("0.00")}, {**ROWS[2], "dose": Decimal("-1.50")}, ROWS[3]]
    with pytest.raises(WeightError, match="on 3 rows"):
        discreet.assess(reader(arrow_table(rows), discreet.Policy.from_dict(SURVEY)))
    with pytest.raises(WeightError, match="on 3 rows"):
        discreet.anonymise(reader(arrow_table(rows), discreet.Policy.from_dict(SURVEY)), k=1)


def test_only_sources_with_an_order_have_rows(any_reader: Reader) -> None:
    rows = [{"sex": sex, "zip": place} for sex, place in ("M1", "F1", "F1", "M2")]
    table = any_reader(
        arrow_table(rows), discreet.Policy.from_dict({"columns": {"sex": {"role": "quasi"}, "zip": {"role": "quasi"}}})
    )
    found = discreet.assess(table)
    if table.engine.ordered:
        assert found.records()["class_size"].tolist() == [1, 2, 2, 1]
    else:
        with pytest.raises(UsageError, match="no order that stays"):
            found.records()
