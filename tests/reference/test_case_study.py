"""The five statements of the case study on generated people."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.attacker import Attack
from discreet.kernel import Classes
from discreet.people import State, counted, generate
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
