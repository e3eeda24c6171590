"""Random adversaries."""

from __future__ import annotations

from hypothesis import strategies as st

from discreet.attacker import Attack

PUBLISHED = {
    "prior": 0.63,
    "gain": 8000,
    "access_cost": 100,
    "link_cost": 0,
    "exploit_cost": 10,
    "penalty": 10000,
    "detection_intercept": -4.59,
    "discount": 0.9,
}


@st.composite
def attacks(draw: st.DrawFn) -> Attack:
    """Any adversary with amounts that matter to one another."""
    amount = st.floats(0, 1000)
    return Attack(
        prior=draw(st.floats(0.05, 1)),
        gain=draw(st.floats(0, 5000)),
        access_cost=draw(st.floats(0, 200)),
        link_cost=draw(st.floats(0, 50)),
        exploit_cost=draw(st.floats(0, 100)),
        penalty=draw(amount),
        max_penalties=draw(st.sampled_from([None, 0, 1, 2, 3])),
        detection_intercept=draw(st.floats(-6, 1)),
        detection_slope=draw(st.sampled_from([0.0, 0.1, 0.5, -0.2])),
        discount=draw(st.floats(0.3, 1)),
    )


@st.composite
def wavering(draw: st.DrawFn) -> Attack:
    """Adversaries who change their minds many times as the penalty rises: detection rises, a fined one fears less."""
    return Attack(
        prior=draw(st.sampled_from([0.5, 0.9, 1.0])),
        gain=draw(st.floats(300, 3000)),
        access_cost=draw(st.sampled_from([0.0, 20.0])),
        link_cost=0.0,
        exploit_cost=draw(st.floats(0, 40)),
        penalty=draw(st.floats(0, 2000)),
        max_penalties=draw(st.sampled_from([None, 1, 2, 3])),
        detection_intercept=draw(st.floats(-4, -1)),
        detection_slope=draw(st.floats(0.2, 1)),
        discount=draw(st.sampled_from([0.9, 1.0])),
    )
