"""Other distinguishing factors than k: l-diversity and (alpha, k), held against counting by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.kernel.hierarchy import text
from discreet.misuse import Sensitivity, prepare, reduce_cells, reduce_rows, score
from discreet.misuse.reduction import generalised
from tests.misuse.paper import PUBLISHED, QUASI, SOURCE, F
from tests.misuse.strategies import XS, results, rows

FACTORS = st.sampled_from(["l-diversity", "alpha-k"])


def by_hand(row: dict[str, Any], result: list[dict[str, Any]], source: list[dict[str, Any]], factor: str) -> float:
    """D of a row, by looking at everybody of the source who looks alike."""
    names = [name for name in QUASI if name in row]
    if not names:
        return len(result)
    alike = [other for other in source if all(text(other[name]) == text(row[name]) for name in names)]
    sensitive = [name for name in F.columns if name in row]
    if not sensitive:
        return max(len(alike), 1)
    found = []
    for name in sensitive:
        counted = Counter(text(other[name]) for other in alike if text(other[name]) is not None)
        most = max(counted.values(), default=1)
        found.append(len(counted) if factor == "l-diversity" else len(alike) / most)
    return max(1.0, min(found))


@given(source=rows(least=1, most=12), result=results(), x=XS, factor=FACTORS)
def test_each_row_is_divided_by_its_factor(
    source: list[dict[str, Any]], result: list[dict[str, Any]], x: float, factor: str
) -> None:
    found = score(result, source=prepare(source, QUASI, factor=factor), sensitivity=F, x=x)
    assert list(map(float, found.weighed.crowds)) == pytest.approx(
        [by_hand(row, result, source, factor) for row in result]
    )
    plain = score(result, source=prepare(source, QUASI), sensitivity=F, x=x)
    assert found.value >= plain.value - 1e-12, "values that look-alikes share hide nobody"
    if found.normalised is not None:
        assert 0 <= found.normalised <= 1


def test_a_value_that_all_look_alikes_share_is_known_of_each() -> None:
    """The common sensitive attribute problem that the paper names (Section 3.4)."""
    people = [{"job": "Lawyer", "account": "Gold"}] * 4
    f = Sensitivity.from_dict({"account": {"values": {"Gold": 1.0}}})
    given_out: dict[str, Any] = {"result": people[:1], "sensitivity": f}
    values = {
        factor: score(source=prepare(people, ["job"], factor=factor), **given_out).value
        for factor in ("k", "l-diversity", "alpha-k")
    }
    assert values == {"k": 0.25, "l-diversity": 1.0, "alpha-k": 1.0}


def test_reductions_keep_to_the_limit_by_the_same_factor() -> None:
    source = prepare([*SOURCE, *SOURCE[:1]], QUASI, factor="l-diversity")
    for reduce in (reduce_rows, reduce_cells):
        less = reduce(PUBLISHED, source=source, sensitivity=F, limit=0.6)
        assert score(less, source=source, sensitivity=F).value <= 0.6 + 1e-9
    with pytest.raises(UsageError, match="k only"):
        generalised(PUBLISHED, source=source, sensitivity=F, limit=1.0, rules={})


def test_what_is_no_factor_is_refused() -> None:
    with pytest.raises(UsageError, match="no distinguishing factor"):
        prepare(SOURCE, QUASI, factor="t-closeness")
    with pytest.raises(UsageError, match="several rows"):
        prepare(SOURCE, QUASI, entity="job", factor="alpha-k")
