"""The paper on planning adversaries: its set-up, thresholds, findings and Figure 10."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.reference import fmdp_numbers as fmdp
from discreet.reference.fmdp import statements, unevenly_listed
from discreet.reference.fmdp_numbers import LISTED, POPULATION, RECORDS, Carolina
from discreet.reference.items import PrintedItem


@pytest.fixture(scope="module")
def study() -> fmdp.FmdpStudy:
    return fmdp.FmdpStudy(Carolina.of(adult=Path("not at hand.csv")), quick=True)


def by_id(items: tuple[PrintedItem, ...]) -> dict[str, PrintedItem]:
    return {item.id: item for item in items}


def test_the_set_up_is_the_printed_one(study: fmdp.FmdpStudy) -> None:
    state = study.state
    assert (POPULATION, LISTED, RECORDS) == (9_553_967, 6_018_999, 32_561)
    assert (state.population.sum(), state.listed.sum(), len(state.groups)) == (POPULATION, LISTED, RECORDS)
    assert (state.listed <= state.population).all()
    assert (state.listed < state.population).any(), "the list is a sample, not the population"
    assert (state.population[state.cells] > 0).all(), "every record is somebody"
    assert round(LISTED / POPULATION, 2) == 0.63
    inputs = [item for item in fmdp.data(study) if item.id in {"fmdp.population", "fmdp.external", "fmdp.records"}]
    assert [(item.verdict, item.printed == item.ours) for item in inputs] == [("cannot", True)] * 3, (
        "an input is no result"
    )


def test_records_have_the_proportions_of_the_census_table_where_it_is_at_hand(tmp_path: Path) -> None:
    table = tmp_path / "adult.csv"
    table.write_text("age;race;sex\n" + "90;White;Male\n" * 3 + "30;Black;Female\n")
    state = Carolina.of(adult=table)
    _, ages, races, genders = state.cells
    assert 0.70 < (races == 0).mean() < 0.80
    assert ((ages == 30) == (races == 1)).all()
    assert ((genders == 1) == (races == 1)).all()
    assert ages[races == 0].min() == 90
    assert len(np.unique(ages[races == 0])) > 5, "an age of 90 and more is spread"
    assert "UCI Adult" in state.origin


def test_thresholds() -> None:
    found = by_id(fmdp.thresholds())
    assert {key: found[key].ours for key in ("fmdp.k.nf1", "fmdp.k.slope", "fmdp.k2.slope", "fmdp.k.sunk")} == {
        "fmdp.k.nf1": 48,
        "fmdp.k.slope": 14,
        "fmdp.k2.slope": 29,
        "fmdp.k.sunk": 54,
    }
    assert found["fmdp.k.sunk"].verdict == "differs"
    assert found["fmdp.discount"].ours == 0.9


def test_figure_10_has_the_adversary_of_section_7() -> None:
    """Each group size looked at by itself, without the thresholds of the engine."""
    sizes = np.arange(1, 60)
    found = by_id(fmdp.sensitivity())
    others = {"a": {}, "b": {"max_penalties": 1}, "c": {"detection_slope": 0.18}}
    attack = fmdp.SENSITIVITY
    assert (attack.prior, attack.gain, attack.penalty) == (1.0, 1000, 20_000)
    for key, more in others.items():
        for penalty, printed in ((10_000, 9), (50_000, 2)):
            plan = replace(attack, penalty=penalty, **more).known(sizes)
            item = found[f"fmdp.fig10.penalty{penalty}.{key}"]
            assert (item.printed, item.ours) == (printed, int(sizes[~plan.accesses.astype(bool)][0]))
    ours = {key: [found[f"fmdp.fig10.penalty{penalty}.{key}"].ours for penalty in (10000, 50000)] for key in others}
    assert ours == {"a": [11, 3], "b": [12, 3], "c": [8, 3]}
    assert found["fmdp.fig10.detection"].ours == {"a": [0.013, 0.0148], "b": [0.0133, 0.0153], "c": None}
    for key, low in (("a", "0.0130"), ("b", "0.0133"), ("c", "No detection")):
        assert low in found[f"fmdp.fig10.penalty10000.{key}"].why, "the reason is that of this setting"


def test_findings(study: fmdp.FmdpStudy) -> None:
    found = by_id(fmdp.findings(study))
    assert [found[f"fmdp.finding{number}"].verdict for number in range(1, 6)] == [
        "reproduces",
        "reproduces",
        "differs",
        "reproduces",
        "reproduces",
    ]
    assert found["fmdp.finding3"].ours == {"h1": True, "n_f": False}


def test_people_whose_risk_differs_are_counted_both_ways(study: fmdp.FmdpStudy) -> None:
    """Finding 4 needs a list that is a sample; counted person by person."""
    struck = study.struck["b"]
    known, unknown = struck.known.reidentification, struck.unknown.reidentification
    assert struck.differs == {
        "lower": sum(u < k - 1e-9 for u, k in zip(unknown.tolist(), known.tolist(), strict=True)),
        "higher": sum(u > k + 1e-9 for u, k in zip(unknown.tolist(), known.tolist(), strict=True)),
    }
    assert min(struck.differs.values()) > 50
    lower = unknown < known - 1e-9
    assert (struck.groups[lower] < 48).all(), "he would have attacked these"


def test_beliefs_are_binomial() -> None:
    belief = fmdp.believed(0.001, 5_000)
    assert sum(belief.values()) == pytest.approx(1)
    assert sum(size * chance for size, chance in belief.items()) == pytest.approx(5)
    assert belief[0] == pytest.approx(0.999**5_000, rel=1e-6)


def test_what_the_text_says_of_solver_and_panels(study: fmdp.FmdpStudy) -> None:
    """Each statement is computed; those that differ are the two that rest on undisclosed data and on the sunk threshold."""
    found = by_id(statements(study))
    assert {name for name, item in found.items() if item.verdict == "differs"} == {
        "fmdp.fig9.shares",
        "fmdp.finding5.cause",
    }
    assert found["fmdp.finding5.cause"].ours[1] < found_sunk()
    uneven, even = found["fmdp.fig9.uneven"].ours, study.inconsistent
    assert uneven["lower"] > 2 * even["lower"], "an uneven list surprises more"
    assert all(list(item.ours.values()) == [True] * 3 for name, item in found.items() if name.startswith("fmdp.fig10"))


def found_sunk() -> int:
    """The group size that is left alone with the list in hand, size by size."""
    sizes = np.arange(1, 100)
    return int(sizes[fmdp.settings(fmdp.CASE)["b"].known(sizes).exploits == 0][0])


def test_an_uneven_list_has_as_many_people() -> None:
    state = Carolina.of(adult=Path("not at hand.csv"))
    uneven = unevenly_listed(state)
    assert (uneven.listed <= state.population).all()
    assert uneven.listed.sum() == pytest.approx(LISTED, rel=0.02)
