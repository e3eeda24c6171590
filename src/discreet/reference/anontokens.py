"""The paper of Antonatos et al. on decoy records, gone through from beginning to end."""

from __future__ import annotations

from discreet.reference.anontokens_figures import figures, tables
from discreet.reference.anontokens_numbers import (
    REFERENCE,
    TITLE,
    collusion,
    examples,
    figure_2,
    figure_3,
    sampled,
    scalability,
    table_2,
    table_4,
    table_5,
)
from discreet.reference.items import Reproduction
from discreet.reference.states import SAMPLE
from discreet.wording import brief_percent


def reproduce(*, quick: bool = False, seed: int = 1) -> Reproduction:
    """The whole paper."""
    states = sampled(quick=quick, seed=seed)
    items = (*examples(), *table_2(states), *table_4(states), *table_5(states), *figure_2(states), *figure_3(states),
             *collusion(), *scalability(states, seed))  # fmt: skip
    number = states[0].found.samples
    setting = (
        (
            f"{number} uniform samples of {brief_percent(SAMPLE)} of each state; the paper has 50 and prints no size of its samples. Means with "
            "the standard deviation in parentheses. Optimum by the discernibility of all classes, suppressed ones included."
        ),
        *(
            f"{one.state.title}: {one.population.records:,} people in {len(one.population):,} classes (printed: {one.state.classes:,}), "
            f"{one.state.zips:,} ZIP codes in {one.state.areas} areas."
            for one in states
        ),
        (
            "The states are not disclosed. Ours are generated: people and classes as printed, ZIP codes so that Table 5 comes near. "
            "A cell reproduces if our mean is within one printed standard deviation; otherwise the undisclosed data leave it open."
        ),
    )
    return Reproduction("anontokens", TITLE, REFERENCE, items, figures(states), tables(states), setting, quick)
