"""What the model promises of every adversary, each fact against random ones or a literal enumeration."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.attacker import Attack
from tests.attacker.brute import Brute
from tests.attacker.strategies import attacks, wavering
from tests.examples import examples

some = settings(max_examples=examples(80), deadline=None)


@some
@given(attack=attacks() | wavering(), size=st.integers(1, 5), slope=st.sampled_from([0.0, 0.2, 0.8]))
def test_people_harmed(attack: Attack, size: int, slope: float) -> None:
    """Every place of the target, every series of detections: how many innocent people are exploited?"""
    attack = replace(attack, detection_slope=slope, exploit_cost=attack.exploit_cost / 20)
    brute, plan = Brute(attack, size), attack.known([size])
    assume(brute.closest() > 1e-9)
    outcome = brute.outcome()
    assert plan.expected_wrong[0] == pytest.approx(float(outcome.wrong), abs=1e-9)
    assert outcome.wrong == outcome.exploits - outcome.success
    assert plan.reidentification[0] == pytest.approx(float(outcome.success), abs=1e-9)
    assert plan.expected_exploits[0] == pytest.approx(float(outcome.exploits), abs=1e-9)
    if attack.penalty > 0:
        assert plan.expected_penalties[0] == pytest.approx(float(outcome.penalties), abs=1e-9)


def test_a_fined_adversary_goes_on_and_harms_more() -> None:
    """Finite penalties and rising detection: success is not simply exploits * p / g."""
    attack = Attack(
        prior=0.5, gain=1100, access_cost=0, link_cost=0, exploit_cost=6, penalty=450, max_penalties=1,
        detection_intercept=-1.0, detection_slope=0.3,
    )  # fmt: skip
    plan, outcome = attack.known([5]), Brute(attack, 5).outcome()
    assert plan.expected_wrong[0] == pytest.approx(float(outcome.wrong), abs=1e-12)
    assert plan.reidentification[0] > plan.exploits[0] * attack.prior / 5 + 0.01


@some
@given(attacks())
def test_a_larger_group_is_never_worth_more(attack: Attack) -> None:
    worths = [float(Brute(attack, size).start) for size in range(1, 12)]
    assert attack.known(np.arange(1, 12)).start_value == pytest.approx(worths, abs=1e-6)
    assert all(one >= other for one, other in itertools.pairwise(worths))


@some
@given(attack=attacks(), n=st.integers(50, 5000))
def test_the_densities_at_which_he_buys_are_one_interval(attack: Attack, n: int) -> None:
    """V_access falls from 1 on and is 0 at 0; the binomial kernel lessens changes of sign, so there are two at most."""
    attack = replace(attack, exploit_cost=attack.exploit_cost + 40)
    density = np.concatenate([[0.0], np.geomspace(1e-3, n, 400) / n])
    buys = attack.unknown(density=density, external_size=n, sizes=np.ones(401, dtype=int)).accesses
    assert (np.diff(np.flatnonzero(buys)) == 1).all()
    assert not buys[0]


@some
@given(attack=attacks() | wavering(), size=st.integers(1, 5), more=st.floats(1.01, 3))
def test_more_gain_never_lessens_and_more_penalty_never_raises_the_risk(attack: Attack, size: int, more: float) -> None:
    now = Brute(attack, size).risk()
    assert Brute(attack, size, gain=attack.gain * more).risk() >= now
    assert Brute(attack, size, penalty=attack.penalty * more).risk() <= now


@some
@given(attack=attacks(), sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_all_or_nothing(attack: Attack, sizes: list[int]) -> None:
    """Finding 2: with constant detection and unlimited penalties he tries everybody or nobody."""
    plan = replace(attack, detection_slope=0.0, max_penalties=None).known(sizes)
    assert ((plan.exploits == 0) | (plan.exploits == plan.sizes)).all()
    assert plan.reidentification == pytest.approx(np.where(plan.accesses, attack.prior, 0.0))


def test_every_public_name_of_the_room_is_documented() -> None:
    folder = Path(__file__).parents[2] / "docs" / "reference"
    pages = "".join(page.read_text(encoding="utf-8") for page in folder.glob("*.md"))
    methods = (
        "deterring_penalty",
        "deterring_price",
        "least_size",
        "shared",
        "several",
        "uncertain",
        "simulated",
        "unconfirmed",
    )
    for name in (*methods, "External", "RiskDistribution", "Shared", "Shopping", "Simulated", "Unconfirmed"):
        assert f"`{name}" in pages, name
