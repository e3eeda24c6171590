"""The game of one decision, by hand and person by person."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.kernel.arrays import Ints
from discreet.risk import Economics, Payoffs
from tests.risk.strategies import crowds, few, some

USUAL = Economics(adversary_gain=300, adversary_cost=4, publisher_benefit=1200, publisher_loss=300)
amounts = st.floats(0, 2000)
games = st.builds(Economics, amounts, amounts, amounts, amounts)


def test_the_game_by_hand() -> None:
    # Crowds of 10 and 100: an attempt is worth 300/10 - 4 = 26 and 300/100 - 4 = -1, so the 2 people in the crowd of
    # 10 are attacked, 2/10 of a person is re-identified, and that costs the publisher 300 * 2/10 of his 5 * 1200.
    found = USUAL.play(np.array([2, 3]), np.array([10, 100]))
    assert found.attacked == 2
    assert found.reidentified == pytest.approx(0.2)
    assert found.adversary == pytest.approx(52)
    assert found.publisher == pytest.approx(5940)


def test_information_that_is_generalised_away_earns_nothing() -> None:
    found = USUAL.play(np.array([2, 3]), np.array([10, 100]), loss=0.25)
    assert found.publisher == pytest.approx(5 * 1200 * 0.75 - 60)


def test_an_attempt_that_only_breaks_even_is_not_made() -> None:
    game = Economics(adversary_gain=8, adversary_cost=2, publisher_benefit=1, publisher_loss=1)
    assert not game.pays(0.25)
    assert game.pays(0.2500001)
    assert game.play(np.array([4]), np.array([4])).attacked == 0


def test_one_record_by_hand() -> None:
    assert USUAL.adversary_payoff(0.1) == pytest.approx(26)
    assert USUAL.publisher_payoff(0.1) == pytest.approx(1170)
    assert USUAL.publisher_payoff(0.01) == pytest.approx(1200)
    assert USUAL.publisher_payoff(0.1, loss=0.5) == pytest.approx(570)


@some
@given(games, crowds(), st.floats(0, 1))
def test_a_table_is_the_sum_of_its_records(game: Economics, drawn: tuple[Ints, Ints], loss: float) -> None:
    risks = [1 / int(crowd) for size, crowd in zip(*drawn, strict=True) for _ in range(size)]
    tried = [risk for risk in risks if game.pays(risk)]
    found = game.play(*drawn, loss=loss)
    assert found.attacked == len(tried)
    assert found.reidentified == pytest.approx(math.fsum(tried))
    assert found.adversary == pytest.approx(math.fsum(game.adversary_payoff(risk) for risk in tried), abs=1e-6)
    assert found.publisher == pytest.approx(
        math.fsum(game.publisher_payoff(risk, loss=loss) for risk in risks), rel=1e-9, abs=1e-6
    )


@few
@given(games, crowds())
def test_an_adversary_who_may_stay_at_home_never_loses(game: Economics, drawn: tuple[Ints, Ints]) -> None:
    assert game.play(*drawn).adversary >= 0


@pytest.mark.parametrize("place", range(4))
def test_negative_amounts_are_refused(place: int) -> None:
    given_amounts = [1.0] * 4
    given_amounts[place] = -0.01
    with pytest.raises(UsageError, match="negative"):
        Economics(*given_amounts)


@pytest.mark.parametrize("amount", [math.nan, math.inf])
def test_amounts_that_are_no_numbers_are_refused(amount: float) -> None:
    with pytest.raises(UsageError):
        Economics(amount, 1, 1, 1)


def test_payoffs_go_into_json_under_their_names() -> None:
    assert Payoffs(2, 0.2, 52.0, 5940.0).to_dict() == {
        "attacked": 2,
        "reidentified": 0.2,
        "adversary": 52.0,
        "publisher": 5940.0,
    }
