"""The five statements of the case study on generated people, and printed thresholds that do not come out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from discreet.attacker import Attack
from discreet.kernel import Classes
from discreet.people import State, counted, generate
from discreet.reference import case_study
from discreet.reference.case_study import CONSTANT, ONCE, RISING, SETTINGS, CaseStudy
from tests.attacker.strategies import PUBLISHED


@pytest.fixture(scope="module")
def study() -> CaseStudy:
    everybody = generate(State.of(60_000), seed=1, columns=("zip", "sex", "birth_year"))
    return CaseStudy.of(counted(everybody.sample(0.05, seed=1)), counted(everybody))


def numbers(study: CaseStudy, key: str) -> tuple[bool, dict[str, object]]:
    claim = next(claim for claim in study.claims if claim.key == key)
    return claim.holds, dict(claim.numbers)


def test_the_parameters_are_the_published_ones() -> None:
    assert SETTINGS[CONSTANT] == Attack(**PUBLISHED)
    assert SETTINGS[ONCE] == Attack(**PUBLISHED, max_penalties=1)
    assert SETTINGS[RISING] == Attack(**PUBLISHED, detection_slope=0.18)


def test_all_candidates_several_one_or_none_are_tried(study: CaseStudy) -> None:
    holds, found = numbers(study, "one_guess_is_wrong")
    assert holds
    assert (found["all_up_to"], found["several"], found["one"], found["none_from"]) == (13, (14, 39), (40, 45), 46)
    struck = study.attacked
    planned, guess = struck.known.reidentification, 0.63 / struck.groups
    assert found["people_underestimated"] == struck.people[planned > guess + 1e-9].sum() > 0
    assert found["people_overestimated"] == struck.people[planned < guess - 1e-9].sum() > 0


def test_constant_detection_is_all_or_nothing(study: CaseStudy) -> None:
    holds, found = numbers(study, "all_or_nothing")
    assert holds
    assert found["people_in_full"] == study.attacked.people[study.attacked.groups < 45].sum()
    rising = SETTINGS[RISING].known(np.arange(1, 40))
    assert ((rising.exploits > 0) & (rising.exploits < rising.sizes)).any(), "the check can fail"


def test_rising_detection_ends_attacks_part_way(study: CaseStudy) -> None:
    holds, found = numbers(study, "stops_part_way")
    assert holds
    assert (found["stops_early"], found["no_access"], found["no_exploit"]) == (14, 29, 46)
    struck = study.struck[RISING]
    inside = (struck.groups >= 14) & (struck.groups < 29)
    assert found["people_in_part"] == struck.people[inside].sum() > 0


def test_a_limit_to_penalties_emboldens(study: CaseStudy) -> None:
    holds, found = numbers(study, "limits_embolden")
    assert holds
    assert (found["unlimited"], found["once"]) == (45, 48)
    assert found["attacked_once"] >= found["attacked_unlimited"]  # type: ignore[operator]


def test_penalty_and_price_deter(study: CaseStudy) -> None:
    holds, found = numbers(study, "deterrence_works")
    assert holds
    attack, targets = SETTINGS[CONSTANT], study.targets
    for field, key in (("penalty", "penalty"), ("access_cost", "price")):
        amount = float(found[key])  # type: ignore[arg-type]
        assert targets.expected(replace(attack, **{field: amount})).known == 0
        assert targets.expected(replace(attack, **{field: amount * 0.999})).known > 0
    assert found["size"] == 45


def test_a_statement_can_fail() -> None:
    large = Classes.of(["a"], [("x",)], [5_000])
    study = CaseStudy.of(large, large)
    assert not numbers(study, "one_guess_is_wrong")[0]
    assert not numbers(study, "deterrence_works")[0]


def test_everything_is_told_in_json(study: CaseStudy) -> None:
    found = study.to_dict()
    assert found["records"] == study.people
    assert set(found["settings"]) == {CONSTANT, ONCE, RISING}
    assert [claim["holds"] for claim in found["findings"]] == [True] * 5


def test_the_threshold_of_one_penalty_is_54_not_51() -> None:
    assert case_study.sunk() == (54, 51)


def varied(penalty: float, **other: float) -> Attack:
    """The adversary of the paper's sensitivity analysis, as its Section 7 prints him."""
    return Attack(
        **{
            "prior": 1,
            "gain": 1000,
            "access_cost": 100,
            "link_cost": 0,
            "exploit_cost": 10,
            "penalty": penalty,
            **other,
        }
    )


def first_spared(attack: Attack) -> int:
    """The smallest group for which the list is not bought, size by size."""
    sizes = np.arange(1, 100)
    return int(sizes[~attack.known(sizes).accesses.astype(bool)][0])


def test_the_pair_of_figure_10_is_that_of_the_adversary_of_figure_10() -> None:
    others = {CONSTANT: {}, ONCE: {"max_penalties": 1}, RISING: {"detection_slope": 0.18}}
    played = {key: tuple(first_spared(varied(fine, **more)) for fine in (1e4, 5e4)) for key, more in others.items()}
    assert played == {CONSTANT: (11, 3), ONCE: (12, 3), RISING: (8, 3)}
    assert case_study.by_setting() == played
    assert case_study.pairs()[0].computed == played[CONSTANT]
    assert case_study.to_dict()["pair_by_setting"] == played


def test_the_printed_pair_does_not_come_out() -> None:
    assert case_study.detection() == pytest.approx(0.01005, abs=1e-5)
    for pair in case_study.pairs():
        assert pair.computed != (9, 2)


def pair_at(chance: float) -> tuple[int, ...]:
    """The smallest groups for which the list is not bought, at the two penalties."""
    intercept = math.log(chance / (1 - chance))
    return tuple(first_spared(varied(penalty, detection_intercept=intercept)) for penalty in (1e4, 5e4))


def test_which_detection_would_give_the_pair() -> None:
    common = case_study.pairs()[0].common
    assert common == (pytest.approx(0.0129, abs=1e-4), pytest.approx(0.0149, abs=1e-4))
    assert common is not None
    low, high = common
    assert pair_at(low + 1e-5) == pair_at(high - 1e-5) == (9, 2)
    assert pair_at(low - 1e-5) != (9, 2)
    assert pair_at(high + 1e-5) != (9, 2)


def test_readings_that_no_detection_gives() -> None:
    found = {pair.reading: pair.common is not None for pair in case_study.pairs()}
    assert found == {
        "smallest group for which the list is not bought": True,
        "largest group for which the list is bought": False,
        "smallest group that is left alone with the list in hand": True,
        "largest group that is tried with the list in hand": False,
    }


def test_only_a_discount_of_nine_tenths_gives_the_printed_thresholds() -> None:
    found = case_study.discounts()
    assert [one.discount for one in found] == pytest.approx(np.arange(0.5, 1.01, 0.05))
    assert [one.discount for one in found if one.agrees] == [0.9]
    by_discount = {one.discount: one.thresholds for one in found}
    assert by_discount[0.85][ONCE].no_exploit == 51
    assert by_discount[0.85][ONCE].no_access == 42
