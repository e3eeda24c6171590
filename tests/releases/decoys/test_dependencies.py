"""Which columns belong together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency
from scipy.stats.contingency import crosstab

from discreet.releases.decoys.dependencies import association, associations, blocks, determines
from discreet.releases.decoys.donors import DonorColumn


def test_association_is_cramers_v_without_its_bias() -> None:
    rng = np.random.default_rng(1)
    one = rng.integers(0, 4, 500)
    other = np.where(rng.random(500) < 0.4, one % 3, rng.integers(0, 3, 500))
    table = crosstab(one, other).count
    phi = chi2_contingency(table, correction=False).statistic / 500
    rows, columns = table.shape
    excess = max(0, phi - (rows - 1) * (columns - 1) / 499)
    room = min(rows - (rows - 1) ** 2 / 499, columns - (columns - 1) ** 2 / 499) - 1
    assert association(one, other) == pytest.approx(np.sqrt(excess / room))
    assert association(one, rng.integers(0, 3, 500)) < 0.1
    assert association(one, np.zeros(500, dtype=np.int64)) == 0.0


def test_a_column_determines_another_only_where_it_comes_often_enough() -> None:
    one = np.arange(60) % 6
    assert determines(one, one // 2)
    assert not determines(one // 2, one)
    assert not determines(np.arange(60), one)  # every value comes once: that proves nothing


def test_columns_that_hang_together_stay_together() -> None:
    rng = np.random.default_rng(2)
    school = rng.integers(0, 5, 400)
    years = (school * 2 + 8).tolist()
    columns = [
        DonorColumn.of("school", [f"s{one}" for one in school]),
        DonorColumn.of("pet", [f"p{one}" for one in rng.integers(0, 4, 400)]),
        DonorColumn.of("years", years),
    ]
    strength = associations(columns)
    assert strength[0, 2] == 1.0
    assert blocks(strength) == [[0, 2], [1]]
