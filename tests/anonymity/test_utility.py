"""Measures of utility against scipy, scikit-learn and brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.naive_bayes import CategoricalNB

import discreet
from discreet.anonymity import utility
from discreet.anonymity.utility import FOLDS, accuracy, cramer, numbers_of, spearman
from discreet.errors import ColumnError, UsageError
from discreet.kernel import AnyValue, Flat, Mask, Widths

CODES = st.lists(st.integers(0, 4), min_size=2, max_size=60)


@settings(max_examples=60, deadline=None)
@given(CODES, st.data())
def test_associations_are_those_of_scipy(first: list[int], data: st.DataObject) -> None:
    second = data.draw(st.lists(st.integers(0, 4), min_size=len(first), max_size=len(first)))
    one, two = np.array(first), np.array(second)
    several = len(set(first)) > 1 and len(set(second)) > 1
    rho, v = spearman(one.astype(float), two.astype(float)), cramer(one, two)
    if not several:
        assert v is None
        assert rho is None
        return
    assert rho == pytest.approx(stats.spearmanr(one, two).statistic, abs=1e-9)
    counted = pandas.crosstab(one, two).to_numpy()
    assert v == pytest.approx(stats.contingency.association(counted, method="cramer"), abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(0, 3))
def test_the_classifier_is_that_of_scikit_learn(seed: int, values: int, features: int) -> None:
    luck = np.random.default_rng(seed)
    target = np.concatenate([np.arange(values)] * 6 + [luck.integers(0, values, 50)])
    known = [(target + luck.integers(0, 3, len(target))) % 5 for _ in range(features)]
    folds, right = np.arange(len(target)) % FOLDS, 0
    for fold in range(FOLDS):
        train, test = folds != fold, folds == fold
        if not features:
            right += int((target[test] == np.bincount(target[train]).argmax()).sum())
            continue
        table = np.stack([np.unique(codes, return_inverse=True)[1] for codes in known], axis=1)
        peer = CategoricalNB(alpha=1.0, min_categories=table.max(axis=0) + 1).fit(table[train], target[train])
        right += int((peer.predict(table[test]) == target[test]).sum())
    assert accuracy(target, known) == pytest.approx(right / len(target))


def test_too_few_rows_are_not_classified() -> None:
    assert accuracy(np.array([0, 1]), []) is None


def test_numbers_and_codes_are_told_apart() -> None:
    many = [str(value) for value in range(12)]
    assert numbers_of(many, Flat()) is not None
    assert numbers_of(["1", "2"], Flat()) is None
    assert numbers_of(["1", "2"], Widths((5,))) is not None
    assert numbers_of(["01067", *many], AnyValue()) is None
    assert numbers_of(many, Mask(2)) is None
    assert numbers_of([*many, "x"], Flat()) is None
    found = numbers_of([*many, None, ""], Flat())
    assert found is not None
    assert np.isnan(found[-2:]).all()


@pytest.fixture
def people() -> pandas.DataFrame:
    luck = np.random.default_rng(1)
    age = luck.integers(20, 60, 600)
    return pandas.DataFrame(
        {
            "age": age,
            "sex": luck.choice(["F", "M"], 600),
            "income": age * 100 + luck.integers(0, 900, 600),
            "ill": np.where(age + luck.integers(0, 20, 600) > 50, "yes", "no"),
            "name": [f"n{row}" for row in range(600)],
        }
    )


POLICY: dict[str, Any] = {
    "columns": {
        "age": {"role": "quasi", "hierarchy": {"widths": [10]}},
        "sex": {"role": "quasi", "hierarchy": {"any": "*"}},
        "income": {"role": "sensitive"},
        "ill": {"role": "sensitive"},
        "name": {"role": "identifier"},
    }
}


def test_what_a_level_does_to_analyses(people: pandas.DataFrame) -> None:
    safe = discreet.anonymise(people, k=2, policy=POLICY, levels={"age": 1, "sex": 1})
    found = safe.measures(target="ill")
    assert (found.rows, found.published, found.sampled, found.left_out) == (600, 600, False, ())
    age, sex, income = (found.columns[name] for name in ("age", "sex", "income"))
    middle = people["age"] // 10 * 10 + 5
    assert age.mean is not None
    assert age.variance is not None
    assert (age.mean.before, age.mean.after) == pytest.approx((people["age"].mean(), middle.mean()))
    assert (age.variance.before, age.variance.after) == pytest.approx((people["age"].var(), middle.var()))
    # Shared out evenly over the ages of each interval that occur.
    shares = people["age"].value_counts(normalize=True)
    groups = people.groupby(people["age"] // 10)["age"]
    even = {value: len(group) / group.nunique() / 600 for _, group in groups for value in set(group)}
    assert age.distance == pytest.approx(sum(abs(shares[value] - even[value]) for value in even) / 2)
    assert sex.distance == pytest.approx(abs((people["sex"] == "F").mean() - 0.5))
    assert (income.distance, income.kind, sex.kind) == (0.0, "number", "category")
    pairs = {one.columns: one for one in found.associations}
    assert len(pairs) == 6
    together = pairs["age", "income"]
    assert together.measure == "spearman"
    assert together.change.before == pytest.approx(stats.spearmanr(people["age"], people["income"]).statistic)
    assert together.change.after == pytest.approx(stats.spearmanr(middle, people["income"]).statistic)
    assert (pairs["sex", "ill"].measure, pairs["sex", "ill"].change.after) == ("cramers_v", None)
    assert found.classifier is not None
    assert found.classifier.baseline.before == people["ill"].value_counts(normalize=True).max()
    assert (found.classifier.accuracy.after or 0) > (found.classifier.baseline.after or 0)
    shown = found.to_dict()
    assert shown["associations"][0]["difference"] is not None or shown["associations"][0]["after"] is None
    assert set(shown["classifier"]) == {"target", "before", "after", "difference", "baseline"}


def test_people_left_out_and_rows_that_are_several_people(people: pandas.DataFrame) -> None:
    rare = pandas.DataFrame([{"age": 99, "sex": "F", "income": 1, "ill": "no", "name": "last", "n": 3}])
    several = pandas.concat([people.assign(n=1), rare], ignore_index=True)
    policy = {**POLICY, "data": {"count": "n"}}
    found = discreet.anonymise(several, k=4, suppression=0.01, policy=policy, levels={"age": 1, "sex": 0}).measures()
    assert (found.rows, found.published) == (603, 600)
    assert "n" not in found.columns
    assert found.columns["income"].distance == pytest.approx(3 / 603)


def test_many_rows_are_sampled(people: pandas.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utility, "MOST_COLUMNS", 2)
    safe = discreet.anonymise(people, k=2, policy=POLICY, suppression=0.5)
    found = utility.utility_measures(safe.table, safe.recoding, rules={}, most=100)
    assert (found.rows, found.sampled, found.left_out) == (100, True, ("income", "ill"))


def test_class_by_class_is_measured_too(people: pandas.DataFrame) -> None:
    found = discreet.anonymise(people, k=5, policy=POLICY, search="local").measures(target="age")
    assert 0 < found.columns["age"].distance < 1
    assert found.classifier is not None


def test_what_cannot_be_measured_is_refused(people: pandas.DataFrame) -> None:
    safe = discreet.anonymise(people, k=2, policy=POLICY)
    for wrong in ("name", "nothing"):
        with pytest.raises(ColumnError, match="no column that is published"):
            safe.measures(target=wrong)
    with pytest.raises(UsageError, match="classes have none"):
        discreet.anonymise(safe.recoding.classes, k=2).measures()
