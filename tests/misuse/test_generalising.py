"""Coarser quasi-identifiers until a result is within a limit."""

from __future__ import annotations

import itertools
from typing import Any

import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Policy, read
from discreet.errors import OutsideHierarchy, Refused, UsageError
from discreet.kernel import AnyValue, Mask, Rule, Tree
from discreet.misuse import reduce_by_generalising, score
from discreet.misuse.reduction import _coarsening
from discreet.misuse.score import scorer_for
from discreet.misuse.source.reading import columns_of
from tests.misuse import brute
from tests.misuse.paper import PUBLISHED, QUASI, SOURCE, F
from tests.misuse.strategies import XS

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
    coarsening = _coarsening(scorer, columns_of(result), RULES)
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
