"""Unconfirmed success against every place of the target, every series of answers and every series of detections."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.attacker import Attack
from discreet.errors import UsageError
from tests.attacker.brute import Brute
from tests.attacker.strategies import PUBLISHED, attacks, wavering
from tests.examples import examples

some = settings(max_examples=examples(60), deadline=None)
rates = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])


def posterior(size: int, prior: Fraction, tried: int, alpha: Fraction, beta: Fraction) -> Fraction | None:
    """P(the next candidate is the target | so many said no): enumerate places and answers, then condition."""
    told_no = target_next = Fraction(0)
    places: list[tuple[int | None, Fraction]] = [(None, 1 - prior), *((place, prior / size) for place in range(size))]
    for place, chance in places:
        for answers in itertools.product((False, True), repeat=tried):
            weight = chance
            for candidate, yes in enumerate(answers):
                rate = alpha if candidate == place else beta
                weight *= rate if yes else 1 - rate
            if not any(answers):
                told_no += weight
                target_next += weight * (place == tried)
    return target_next / told_no if told_no else None


@pytest.mark.parametrize("prior", [Fraction(1, 3), Fraction(63, 100), Fraction(1)])
@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1, 2), Fraction(9, 10), Fraction(1)])
@pytest.mark.parametrize("beta", [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1)])
def test_the_formula_is_the_posterior(prior: Fraction, alpha: Fraction, beta: Fraction) -> None:
    for size in (1, 2, 4):
        for tried in range(size):
            expected = posterior(size, prior, tried, alpha, beta)
            if beta < 1:
                assert expected == 1 / (size / prior - tried + tried * (1 - alpha) / (1 - beta))
            elif tried:
                assert expected in (0, None)


class Unsure(Brute):
    """The literal adversary who may be told wrong: his belief is conditioned, not taken from a formula."""

    def __init__(self, attack: Any, size: int, alpha: float, beta: float) -> None:
        super().__init__(attack, size)
        self.alpha, self.beta = Fraction(alpha), Fraction(beta)
        self.target = [posterior(size, self.prior, i, self.alpha, self.beta) or Fraction(0) for i in range(size)]
        self.worth = cache(self._worth)

    def _worth(self, tried: int, charges: int) -> Fraction:
        target, caught = self.target[tried], self.caught[tried]
        now = self.alpha * target * self.gain - caught * self.fine * self.charged(charges)
        later = Fraction(0)
        if tried + 1 < self.size:
            fined = charges + (self.most is not None and self.charged(charges))
            one, other = (max(Fraction(0), self.worth(tried + 1, level)) for level in (charges, fined))
            told_no = target * (1 - self.alpha) + (1 - target) * (1 - self.beta)
            later = told_no * ((1 - caught) * one + caught * other)
        return -self.exploit + self.discount * (now + later)

    def outcomes(self) -> dict[str, float]:
        total = dict.fromkeys(("right", "mistaken", "missed", "exploits", "wrong", "penalties"), Fraction(0))
        for place, chance in self.places():
            flips = itertools.product(itertools.product((False, True), repeat=self.size), repeat=2)
            for answers, coins in flips:
                weight = chance
                for candidate in range(self.size):
                    rate = self.alpha if candidate == place else self.beta
                    caught = self.caught[candidate]
                    weight *= (rate if answers[candidate] else 1 - rate) * (caught if coins[candidate] else 1 - caught)
                if weight:
                    for name, count in self.run(place, answers, coins).items():
                        total[name] += weight * count
        return {name: float(value) for name, value in total.items()}

    def run(self, place: int | None, answers: tuple[bool, ...], coins: tuple[bool, ...]) -> dict[str, int]:
        seen = dict.fromkeys(("right", "mistaken", "missed", "exploits", "wrong", "penalties"), 0)
        if self.raw <= 0:
            return seen
        charges = 0
        for tried in range(self.size):
            if self.worth(tried, charges) <= 0:
                break
            seen["exploits"] += 1
            seen["wrong"] += place != tried
            if coins[tried] and self.charged(charges):
                seen["penalties"] += 1
                charges += self.most is not None
            if answers[tried]:
                seen["right" if place == tried else "mistaken"] += 1
                break
            seen["missed"] += place == tried
        return seen


@settings(max_examples=examples(80), deadline=None)
@given(attack=attacks() | wavering(), size=st.integers(1, 4), alpha=rates, beta=rates)
def test_against_brute_force(attack: Attack, size: int, alpha: float, beta: float) -> None:
    brute = Unsure(attack, size, alpha, beta)
    found = attack.unconfirmed([size], true_positive=alpha, false_positive=beta)
    scale = max(1.0, attack.gain)
    assert found.value_raw[0] == pytest.approx(float(brute.raw), abs=1e-9 * scale)
    assert found.start_value[0] == pytest.approx(float(brute.start), abs=1e-9 * scale)
    assume(brute.closest() > 1e-9)
    expected = brute.outcomes()
    assert found.reidentification[0] == pytest.approx(expected["right"], abs=1e-9)
    assert found.mistaken[0] == pytest.approx(expected["mistaken"], abs=1e-9)
    assert found.missed[0] == pytest.approx(expected["missed"], abs=1e-9)
    assert found.expected_exploits[0] == pytest.approx(expected["exploits"], abs=1e-9)
    assert found.expected_wrong[0] == pytest.approx(expected["wrong"], abs=1e-9)
    assert found.expected_penalties[0] == pytest.approx(expected["penalties"], abs=1e-9)


@some
@given(attack=attacks(), sizes=st.lists(st.integers(0, 40), max_size=6))
def test_a_sure_answer_is_the_base_model(attack: Attack, sizes: list[int]) -> None:
    found, base = attack.unconfirmed(np.array(sizes, dtype=int)), attack.known(np.array(sizes, dtype=int))
    for name in ("sizes", "value_raw", "accesses", "reidentification", "expected_exploits", "start_value", "value"):
        np.testing.assert_allclose(getattr(found, name), getattr(base, name), rtol=1e-12, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(found.expected_wrong, base.expected_wrong, atol=1e-9)
    np.testing.assert_allclose(found.mistaken, 0)
    np.testing.assert_allclose(found.missed, 0)
    assert (found.exploits == base.exploits).all()


@some
@given(attack=attacks(), size=st.integers(1, 20), alpha=rates, beta=rates)
def test_doubt_never_helps_him(attack: Attack, size: int, alpha: float, beta: float) -> None:
    sure = attack.known([size]).value_raw[0]
    unsure = attack.unconfirmed([size], true_positive=alpha, false_positive=beta).value_raw[0]
    assert unsure <= sure + 1e-9 * max(1.0, attack.gain)


@pytest.mark.parametrize("wrong", [{"true_positive": 1.1}, {"false_positive": -0.1}, {"false_positive": math.nan},
                                   {"true_positive": True}])  # fmt: skip
def test_rates_are_probabilities(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Attack(**PUBLISHED).unconfirmed([3], **wrong)
