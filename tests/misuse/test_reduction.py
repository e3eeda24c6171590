"""Reducing a result until it is within a limit."""

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
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Policy, read
from discreet.errors import OutsideHierarchy, PolicyError, Refused, UsageError
from discreet.kernel import AnyValue, Coded, Mask, Rule, Tree
from discreet.misuse import Sensitivity, prepare, reduce_by_generalising, reduce_cells, reduce_rows, score
from discreet.misuse.input_tables import columns_of
from discreet.misuse.reduction import Coarsening, as_written
from discreet.misuse.scorer import scorer_for
from tests.examples import examples
from tests.misuse import brute
from tests.misuse.paper import PUBLISHED, QUASI, SOURCE, F
from tests.misuse.strategies import XS, columns, rows

PAPER: dict[str, Any] = {"source": SOURCE, "quasi": QUASI, "sensitivity": F}
LIMITS = st.sampled_from([0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, math.inf])
SMALL = columns().flatmap(lambda names: rows(names, most=6))


@given(source=rows(least=1, most=6), result=SMALL, x=XS, limit=LIMITS)
def test_the_largest_part_within_the_limit(source: Any, result: Any, x: float, limit: float) -> None:
    part = reduce_rows(result, source=source, quasi=QUASI, sensitivity=F, x=x, limit=limit)
    assert score(part, source=source, quasi=QUASI, sensitivity=F, x=x).value <= limit + 1e-9
    assert [row for row in result if any(row is kept for kept in part)] == part
    # The oracle adds up otherwise, so it may judge a part exactly at the limit differently.
    assert len(part) >= brute.largest_part(result, source, QUASI, F, x, limit * (1 - 1e-12))
    assert len(part) <= brute.largest_part(result, source, QUASI, F, x, limit * (1 + 1e-12))


TENTHS = st.lists(st.integers(1, 9), min_size=1, max_size=4).filter(lambda tenths: sum(tenths) < 10)


@given(TENTHS)
def test_a_row_exactly_at_the_limit_stays(tenths: list[int]) -> None:
    """A tenth and two tenths are three tenths, whatever floats make of their sum."""
    weights = {f"c{place}": {"values": {"v": tenth / 10}} for place, tenth in enumerate(tenths)}
    person: dict[str, Any] = {"job": "Lawyer", **dict.fromkeys(weights, "v")}
    asked: dict[str, Any] = {"source": [person], "quasi": ["job"], "sensitivity": Sensitivity.from_dict(weights)}
    limit = sum(tenths) / 10
    assert reduce_rows([person], limit=limit, **asked) == [person]
    assert reduce_cells([person], limit=limit, **asked) == [person]
    assert reduce_by_generalising([person], limit=limit, rules={"job": AnyValue()}, **asked) == [person]
    assert reduce_rows([person], limit=limit - 1e-6, **asked) == []


@settings(max_examples=examples(60))
@given(source=rows(least=1, most=6), result=columns().flatmap(lambda names: rows(names, most=4)), x=XS, limit=LIMITS)
def test_the_fewest_cells_within_the_limit(source: Any, result: Any, x: float, limit: float) -> None:
    left = reduce_cells(result, source=source, quasi=QUASI, sensitivity=F, x=x, limit=limit)
    assert score(left, source=source, quasi=QUASI, sensitivity=F, x=x).value <= limit + 1e-9
    emptied = 0
    for row, now in zip(result, left, strict=True):
        changed = [name for name in row if now[name] is not row[name]]
        assert all(now[name] is None and name in F.columns for name in changed)
        emptied += len(changed)
    assert emptied >= brute.fewest_cells(result, source, QUASI, F, x, limit * (1 + 1e-12))
    assert emptied <= brute.fewest_cells(result, source, QUASI, F, x, limit * (1 - 1e-12))


@settings(max_examples=examples(60))
@given(source=rows(least=1, most=6), result=SMALL, x=XS, limit=LIMITS, data=st.data())
def test_neither_order_nor_ties_between_rows_change_a_number(
    source: Any, result: Any, x: float, limit: float, data: st.DataObject
) -> None:
    """Which of equal rows is kept, or which of equal cells is emptied, may differ; how many and how bad may not."""
    common: dict[str, Any] = {"source": source, "quasi": QUASI, "sensitivity": F, "x": x}
    other = data.draw(st.permutations(result))
    assert score(result, **common).value == score(other, **common).value
    numbers = []
    for asked in (result, other):
        emptied = reduce_cells(asked, limit=limit, **common)
        missing = sum(value is None for row in emptied for value in row.values())
        numbers.append((len(reduce_rows(asked, limit=limit, **common)), missing))
    assert numbers[0] == numbers[1]


def test_the_table_of_the_paper() -> None:
    assert len(reduce_rows(PUBLISHED, limit=1.0, **PAPER)) == 5
    assert reduce_rows(PUBLISHED, limit=0.0, **PAPER) == []
    assert reduce_rows(PUBLISHED, limit=9.0, **PAPER) == PUBLISHED


def test_without_quasi_identifiers_more_rows_may_be_allowed_than_fewer() -> None:
    accounts = [{"account": "Gold"}] * 9
    assert score(accounts[:2], **PAPER).value > 0.4
    assert reduce_rows(accounts, limit=0.4, **PAPER) == accounts
    assert reduce_rows(accounts, limit=0.3, **PAPER) == []


def shapes(table: list[dict[str, Any]]) -> dict[str, Any]:
    names = list(table[0])
    return {
        "rows": table,
        "columns": {name: [row[name] for row in table] for name in names},
        "arrays": {name: np.array([row[name] for row in table]) for name in names},
        "coded": {name: Coded.of([row[name] for row in table]) for name in names},
        "pandas": pandas.DataFrame(table, index=range(10, 10 + len(table))),
        "polars": polars.DataFrame(table),
        "arrow": pyarrow.Table.from_pylist(table),
    }


def plain(table: Any) -> list[dict[str, Any]]:
    """Rows of text, whatever the shape."""
    if isinstance(table, pandas.DataFrame):
        table = table.astype(object).where(table.notna(), None).to_dict("records")
    elif isinstance(table, polars.DataFrame):
        table = table.to_dicts()
    elif isinstance(table, pyarrow.Table):
        table = table.to_pylist()
    elif isinstance(table, dict):
        cells = {
            name: [its.values[code] for code in its.codes]
            if isinstance(its, Coded)
            else list(its.tolist() if isinstance(its, np.ndarray) else its)
            for name, its in table.items()
        }
        table = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    return [{name: None if cell is None else str(cell) for name, cell in row.items()} for row in table]


@pytest.mark.parametrize("shape", ["rows", "columns", "arrays", "coded", "pandas", "polars", "arrow"])
def test_the_shape_is_kept(shape: str) -> None:
    given_as = shapes(PUBLISHED)[shape]
    fewer = reduce_rows(given_as, limit=1.0, **PAPER)
    assert type(fewer) is type(given_as)
    assert plain(fewer) == plain(reduce_rows(PUBLISHED, limit=1.0, **PAPER))
    masked = reduce_cells(given_as, limit=0.5, **PAPER)
    assert type(masked) is type(given_as)
    assert plain(masked) == plain(reduce_cells(PUBLISHED, limit=0.5, **PAPER))
    assert plain(given_as) == plain(PUBLISHED), "what was given is left alone"


def test_a_frame_keeps_its_index_and_its_whole_numbers() -> None:
    frame = pandas.DataFrame({"job": ["a", "b"], "bill": [2**60 + 1, 1]}, index=["x", "y"])
    masked = reduce_cells(frame, limit=0.1, source=[{"job": "a"}, {"job": "b"}], quasi=["job"], sensitivity=F)
    assert masked.index.tolist() == ["x", "y"]
    assert masked["bill"].isna().tolist() == [True, False] or masked["bill"].isna().tolist() == [True, True]
    other = reduce_cells(frame.iloc[::-1], limit=9.0, source=[{"job": "a"}], quasi=["job"], sensitivity=F)
    assert other["bill"].tolist() == [1, 2**60 + 1]


def test_a_file_comes_back_as_rows(tmp_path: Path) -> None:
    path = tmp_path / "result.csv"
    polars.DataFrame(PUBLISHED).write_csv(path)
    assert plain(reduce_rows(path, limit=1.0, **PAPER)) == plain(reduce_rows(PUBLISHED, limit=1.0, **PAPER))
    assert plain(reduce_cells(path, limit=0.5, **PAPER)) == plain(reduce_cells(PUBLISHED, limit=0.5, **PAPER))


@pytest.mark.parametrize("reduce", [reduce_rows, reduce_cells])
@pytest.mark.parametrize("limit", [-0.1, math.nan])
def test_a_limit_is_from_zero_up(reduce: Any, limit: float) -> None:
    with pytest.raises(UsageError, match="from 0 up"):
        reduce(PUBLISHED, limit=limit, **PAPER)


ANY: dict[str, Rule] = {name: AnyValue() for name in QUASI}
ZIPS = st.sampled_from(["111", "112", "121", "211", "212"])
PEOPLE = st.lists(
    st.fixed_dictionaries(
        {"zip": ZIPS, "sex": st.sampled_from(["F", "M"]), "account": st.sampled_from(["Gold", "White"])}
    ),
    min_size=1,
    max_size=7,
)
RULES: dict[str, Rule] = {"zip": Mask(3), "sex": AnyValue("*")}


def at(rows: list[dict[str, Any]], levels: tuple[int, int]) -> list[dict[str, Any]]:
    return [
        {**row, "zip": RULES["zip"].path(row["zip"])[levels[0]], "sex": RULES["sex"].path(row["sex"])[levels[1]]}
        for row in rows
    ]  # type: ignore[index]


@given(source=PEOPLE, result=PEOPLE, x=XS, limit=st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 2.0]))
def test_the_least_lossy_node_within_the_limit(source: Any, result: Any, x: float, limit: float) -> None:
    nodes = list(itertools.product(range(4), range(2)))
    values = {node: brute.score(at(result, node), at(source, node), ["zip", "sex"], F, x) for node in nodes}
    call: dict[str, Any] = {"source": source, "quasi": ["zip", "sex"], "sensitivity": F, "x": x}
    scorer = scorer_for(source, ["zip", "sex"], F, x)
    coarsening = Coarsening.of(scorer, columns_of(result), RULES)
    for node in nodes:
        assert brute.close(coarsening.score(node), values[node])
    allowed = [node for node in nodes if coarsening.score(node) <= limit]
    if not allowed:
        with pytest.raises(Refused):
            reduce_by_generalising(result, rules=RULES, limit=limit, **call)
        return
    written = reduce_by_generalising(result, rules=RULES, limit=limit, **call)
    chosen = next(node for node in nodes if at(result, node) == written)
    assert coarsening.loss(chosen) == min(coarsening.loss(node) for node in allowed)


@given(
    source=PEOPLE, strangers=PEOPLE, first=st.integers(0, 3), node=st.tuples(st.integers(0, 3), st.integers(0, 1)), x=XS
)
def test_a_coarse_value_is_scored_by_its_crowd(
    source: Any, strangers: Any, first: int, node: tuple[int, int], x: float
) -> None:
    """Written at any levels a result scores what it scored when it was generalised, and strangers no less."""

    def value(result: Any) -> float:
        like = as_written(prepare(source, ["zip", "sex"]), result, RULES, F)
        return score(result, source=like, sensitivity=F, x=x).value

    taken = at(source[: first + 1], node)
    assert brute.close(value(taken), brute.score(taken, at(source, node), ["zip", "sex"], F, x))
    others = at(strangers, node)
    assert value(others) >= brute.score(others, at(source, node), ["zip", "sex"], F, x) * (1 - 1e-9)


def test_the_share_of_the_whole_is_of_the_whole_at_the_same_levels() -> None:
    coarse = [{**row, "job": "*"} for row in SOURCE]
    like = as_written(prepare(SOURCE, QUASI), coarse, ANY, F)
    assert score(coarse, source=like, sensitivity=F).normalised == 1.0
    mixed = [{**SOURCE[0], "job": "*"}, SOURCE[1]]
    assert as_written(like, mixed, ANY, F) is like, "a column of several levels stays as it is"


def test_the_table_of_the_paper_in_every_shape() -> None:
    call: dict[str, Any] = {"source": SOURCE, "quasi": QUASI, "sensitivity": F, "rules": ANY, "limit": 0.6}
    expected = reduce_by_generalising(PUBLISHED, **call)
    assert {row["job"] for row in expected} == {"*"}
    assert [row["account"] for row in expected] == [row["account"] for row in PUBLISHED]
    frame = reduce_by_generalising(pandas.DataFrame(PUBLISHED), **call)
    assert isinstance(frame, pandas.DataFrame)
    assert frame.to_dict("records") == expected
    assert reduce_by_generalising(polars.DataFrame(PUBLISHED), **call).to_dicts() == expected
    assert reduce_by_generalising(pyarrow.Table.from_pylist(PUBLISHED), **call).to_pylist() == expected
    columns = {name: [row[name] for row in PUBLISHED] for name in PUBLISHED[0]}
    assert reduce_by_generalising(columns, **call)["job"] == ["*"] * 6


def test_nothing_is_coarsened_within_the_limit() -> None:
    same = reduce_by_generalising(PUBLISHED, source=SOURCE, quasi=QUASI, sensitivity=F, rules=ANY, limit=2.0)
    assert same == PUBLISHED


def test_the_rules_come_from_the_policy(tmp_path: Any) -> None:
    polars.DataFrame(SOURCE).write_csv(tmp_path / "source.csv")
    policy = Policy.from_dict({"columns": {name: {"role": "quasi", "hierarchy": {"any": "*"}} for name in QUASI}})
    table = read(tmp_path / "source.csv", policy=policy)
    assert reduce_by_generalising(PUBLISHED, source=table, sensitivity=F, limit=0.6)[0]["job"] == "*"
    with pytest.raises(UsageError, match="coarser"):
        reduce_by_generalising(PUBLISHED, source=SOURCE, quasi=QUASI, sensitivity=F, limit=0.6)


def test_what_cannot_be_reached_is_refused() -> None:
    with pytest.raises(Refused, match="coarsest"):
        reduce_by_generalising(PUBLISHED, source=SOURCE, quasi=QUASI, sensitivity=F, rules=ANY, limit=0.1)
    accounts = [{"account": "Gold"}]
    with pytest.raises(Refused):
        reduce_by_generalising(accounts, source=SOURCE, quasi=QUASI, sensitivity=F, rules=ANY, limit=0.1)
    assert score(accounts, source=SOURCE, quasi=QUASI, sensitivity=F).value == 1.0
    tree = Tree((("Lawyer", "*"), ("Teacher", "*")))
    with pytest.raises(OutsideHierarchy, match="job"):
        reduce_by_generalising(PUBLISHED, source=SOURCE, quasi=QUASI, sensitivity=F, rules={"job": tree}, limit=0.1)


def test_an_empty_result_stays_empty() -> None:
    assert reduce_by_generalising([], source=SOURCE, quasi=QUASI, sensitivity=F, rules=ANY, limit=0.0) == []


@pytest.mark.parametrize("reduce", [reduce_rows, reduce_cells, reduce_by_generalising])
def test_nothing_is_handed_out_by_guessed_roles(reduce: Any, tmp_path: Any) -> None:
    people = [{"zip": "10115", "illness": "flu"}, {"zip": "10117", "illness": "cold"}]
    (tmp_path / "people.csv").write_text("zip,illness\n10115,flu\n10117,cold\n", encoding="utf-8")
    columns = {"zip": {"role": "quasi?", "hierarchy": {"mask": 5}}, "illness": {"role": "sensitive?"}}
    guessed = Policy.from_dict({"columns": columns, "sensitivity": {"illness": {"otherwise": 0.5}}})
    with pytest.raises(PolicyError, match="not confirmed"):
        reduce(people, source=read(tmp_path / "people.csv", policy=guessed), limit=1.0)
    policy = guessed.confirm(*guessed.unconfirmed)
    assert reduce(people, source=read(tmp_path / "people.csv", policy=policy), limit=1.0) == people


def test_guessed_roles_are_scored_cautiously(tmp_path: Any) -> None:
    (tmp_path / "people.csv").write_text("zip,illness,age\n10115,flu,30\n10115,cold,40\n", encoding="utf-8")
    columns = {"zip": {"role": "quasi"}, "illness": {"role": "sensitive?"}, "age": {"role": "other?"}}
    guessed = Policy.from_dict({"columns": columns, "sensitivity": {"illness": {"otherwise": 0.5}}})
    scores = [
        score(tmp_path / "people.csv", source=read(tmp_path / "people.csv", policy=policy)).record_score
        for policy in (guessed, guessed.confirm("illness", "age"))
    ]
    assert scores == [0.5, 0.25]
