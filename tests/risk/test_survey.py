"""Survey weights and households: individual risk against quadrature, global risk against plain loops."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special

import discreet
from discreet.errors import PolicyError, WeightError
from discreet.risk.survey import individual


def risk_of(f: int, weights: float) -> float:
    return float(individual(np.array([f]), np.array([weights]))[0])


# individual risk


@pytest.mark.parametrize("weight", [1.0001, 1.5, 2.0, 7.0, 120.5, 4e6])
def test_a_sample_unique_has_the_published_risk(weight: float) -> None:
    p = 1 / weight
    assert risk_of(1, weight) == pytest.approx(p / (1 - p) * math.log(1 / p), rel=1e-9)


@pytest.mark.parametrize("weight", [2.5, 5.0, 90.0, 1e5])
def test_two_and_three_people_have_the_closed_forms_of_franconi_and_polettini(weight: float) -> None:
    p = 2 / weight
    assert risk_of(2, weight) == pytest.approx(p / (1 - p) ** 2 * (p * math.log(p) + 1 - p), rel=1e-8)
    p = 3 / (weight + 3)
    by_hand = p / (2 * (1 - p) ** 3) * ((1 - p) * (3 * (1 - p) - 2) - 2 * p**2 * math.log(p))
    assert risk_of(3, weight + 3) == pytest.approx(by_hand, rel=1e-7)


@given(st.integers(1, 400), st.floats(1.0, 1e7))
def test_every_size_agrees_with_quadrature(f: int, factor: float) -> None:
    p = 1 / factor
    whole, _ = integrate.quad(
        lambda u: u ** (f - 1) / (p + (1 - p) * u),
        0,
        1,
        epsabs=0,
        epsrel=1e-12,
        limit=500,
        points=[p, min(1.0, 30 * p)],
    )
    assert risk_of(f, f * factor) == pytest.approx(p * whole, rel=1e-9)


@pytest.mark.parametrize("f", [1, 2, 5, 20, 21, 1000, 200_000])
@pytest.mark.parametrize("factor", [1.0, 1 + 1e-12, 1.01, 1.9, 2.0, 2.1, 5.0])
def test_every_size_agrees_with_the_hypergeometric_function(f: int, factor: float) -> None:
    p = 1 / factor
    assert risk_of(f, f * factor) == pytest.approx(p / f * float(special.hyp2f1(1, 1, f + 1, 1 - p)), rel=1e-9)


@given(st.integers(1, 60), st.floats(0.01, 1e6))
def test_the_risk_is_between_one_in_the_population_and_one_in_the_sample(f: int, weights: float) -> None:
    assert 1 / max(weights, f) <= risk_of(f, weights) * (1 + 1e-12)
    assert risk_of(f, weights) <= 1 / f


def test_weights_below_one_count_as_one() -> None:
    assert risk_of(4, 2.0) == 0.25


# whole tables


@st.composite
def samples(draw: st.DrawFn) -> pandas.DataFrame:
    row = st.tuples(
        st.sampled_from("abc"),
        st.sampled_from("xy"),
        st.one_of(st.none(), st.sampled_from(["1", "2", "3", "4"])),
        st.floats(0.5, 900),
    )
    return pandas.DataFrame(draw(st.lists(row, min_size=1, max_size=25)), columns=["town", "sex", "home", "w"])


def policy(**data: str) -> discreet.Policy:
    columns = {"town": {"role": "quasi"}, "sex": {"role": "quasi"}, "home": {"role": "identifier"}}
    return discreet.Policy.from_dict({"data": data, "columns": columns})


def by_loops(frame: pandas.DataFrame, *, weights: bool) -> list[float]:
    """The risk of every row, class by class."""
    classes = defaultdict(list)
    for row in frame.itertuples():
        classes[(row.town, row.sex)].append(row.w)
    risks = {key: risk_of(len(found), sum(found)) if weights else 1 / len(found) for key, found in classes.items()}
    return [risks[(row.town, row.sex)] for row in frame.itertuples()]


@given(samples())
def test_global_risk_is_the_sum_over_people(frame: pandas.DataFrame) -> None:
    found = discreet.assess(discreet.read(frame, policy=policy(weight="w"))).weighted
    risks = by_loops(frame, weights=True)
    assert found is not None
    assert found.highest == pytest.approx(max(risks))
    assert found.expected_reidentifications == pytest.approx(sum(risks))
    assert found.global_risk == pytest.approx(sum(risks) / len(risks))
    assert found.at_risk == pytest.approx(sum(risk > 0.2 for risk in risks) / len(risks))
    assert found.population == pytest.approx(frame.w.sum())


@given(samples(), st.booleans())
def test_a_household_is_at_risk_if_one_of_its_members_is(frame: pandas.DataFrame, weights: bool) -> None:
    data = {"household": "home", **({"weight": "w"} if weights else {})}
    # no product of small fractions is as large as this threshold, so that rounding decides nothing
    found = discreet.assess(discreet.read(frame, policy=policy(**data)), threshold=0.2137).household
    homes: dict[object, float] = defaultdict(lambda: 1.0)
    for place, (home, risk) in enumerate(zip(frame.home, by_loops(frame, weights=weights), strict=True)):
        homes[("alone", place) if pandas.isna(home) else home] *= 1 - risk
    risks = [1 - none for none in homes.values()]
    assert found is not None
    assert found.households == len(risks)
    assert found.highest == pytest.approx(max(risks))
    assert found.average == pytest.approx(sum(risks) / len(risks))
    assert found.expected_households == pytest.approx(sum(risks))
    assert found.at_risk == pytest.approx(sum(risk > 0.2137 for risk in risks) / len(risks))
    assert found.without_number == int(frame.home.isna().sum())
    assert found.individual == ("weighted" if weights else "prosecutor")


@given(samples(), st.data())
def test_people_with_several_rows_count_once_in_weights_and_households(
    frame: pandas.DataFrame, data: st.DataObject
) -> None:
    """Against loops: a person counts once per class, with the mean weight there, and with the highest risk of their rows."""
    frame["nr"] = [f"P{data.draw(st.integers(1, 6))}" for _ in range(len(frame))]
    frame["home"] = [None if nr == "P6" else f"H{int(nr[1:]) // 2}" for nr in frame.nr]
    by = policy(weight="w", household="home", person="nr")
    found = discreet.assess(discreet.read(frame, policy=by), threshold=0.2137)
    means = {key: rows.groupby("nr").w.mean() for key, rows in frame.groupby(["town", "sex"])}
    classes = {key: risk_of(len(weights), weights.sum()) for key, weights in means.items()}
    risks = {nr: max(classes[key] for key in zip(rows.town, rows.sex, strict=True)) for nr, rows in frame.groupby("nr")}
    assert found.weighted is not None
    assert found.weighted.highest == pytest.approx(max(risks.values()))
    assert found.weighted.expected_reidentifications == pytest.approx(sum(risks.values()))
    assert found.weighted.at_risk == pytest.approx(sum(risk > 0.2137 for risk in risks.values()) / len(risks))
    assert found.weighted.population == pytest.approx(sum(frame.groupby("nr").w.mean()))
    homes: dict[str, float] = defaultdict(lambda: 1.0)
    for nr, risk in risks.items():
        homes["alone" if nr == "P6" else f"H{int(nr[1:]) // 2}"] *= 1 - risk
    assert found.household is not None
    assert (found.household.households, found.household.without_number) == (len(homes), int("P6" in risks))
    assert found.household.expected_households == pytest.approx(sum(1 - none for none in homes.values()))
    assert found.household.highest == pytest.approx(max(1 - none for none in homes.values()))


def test_coarser_classes_carry_weights_and_households_along() -> None:
    frame = pandas.DataFrame({"town": list("aab"), "sex": list("xyx"), "home": ["1", "1", "2"], "w": [2.0, 3.0, 4.0]})
    table = discreet.read(frame, policy=policy(weight="w", household="home"))
    whole = table.surveyed(table.classes())
    for classes in (whole.project(["town"]), whole.keep(np.array([True, True, False]))):
        assert classes.survey is not None
        assert classes.survey.people(len(classes)).sum() == (9 if len(classes.names) == 1 else 5)
    found = discreet.assess(whole.project(["town"]))
    assert found.weighted is not None
    assert found.weighted.highest == pytest.approx(risk_of(1, 4.0))


def test_a_sample_without_weights_and_households_has_neither() -> None:
    frame = pandas.DataFrame({"town": ["a"], "sex": ["x"], "home": ["1"]})
    found = discreet.assess(discreet.read(frame, policy=policy())).to_dict()
    assert (found["weighted"], found["household"]) == (None, None)


@pytest.mark.parametrize("cell", ["0", "-1", "", "NaN", "inf", "1,5", "many"])
def test_weights_that_are_no_positive_numbers_are_refused_without_showing_them(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f'town;sex;home;w\na;x;1;2.5\na;y;1;"{cell}"\n')
    with pytest.raises(WeightError, match="on 1 rows"):
        discreet.assess(discreet.read(path, policy=policy(weight="w")))


def test_weights_and_counts_do_not_go_together() -> None:
    with pytest.raises(PolicyError, match="both weight and count"):
        policy(weight="w", count="n")


def test_what_remains_after_anonymising_is_weighted_too() -> None:
    frame = pandas.DataFrame(
        {"town": list("aabb"), "home": list("1122"), "w": [2.0, 3.0, 4.0, 50.0], "sex": list("xyxx")}
    )
    roles = {"town": {"role": "quasi", "hierarchy": {"any": "*"}}, "home": {"role": "drop"}, "sex": {"role": "drop"}}
    rules = discreet.Policy.from_dict({"data": {"weight": "w", "household": "home"}, "columns": roles})
    table = discreet.read(frame, policy=rules)
    for k, sums in ((2, [5.0, 54.0]), (3, [59.0])):
        found = discreet.anonymise(table, k=k)
        after = found.assess()
        size = 4 // len(sums)
        assert after.weighted is not None
        assert after.weighted.expected_reidentifications == pytest.approx(sum(size * risk_of(size, F) for F in sums))
        assert after.household is not None
        assert after.household.households == 2
        assert "w" not in found.columns  # a weight without a role is not published
