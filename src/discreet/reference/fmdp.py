"""The paper of Xia et al. on planning adversaries, gone through from beginning to end."""

from __future__ import annotations

from discreet.reference.carolina import Carolina
from discreet.reference.fmdp_figures import figures
from discreet.reference.fmdp_numbers import (
    REFERENCE,
    TITLE,
    FmdpStudy,
    data,
    figure_items,
    findings,
    sensitivity,
    thresholds,
)
from discreet.reference.items import Reproduction


def reproduce(*, quick: bool = False, seed: int = 1) -> Reproduction:
    """The whole paper."""
    study = FmdpStudy(Carolina.of(seed=seed), quick)
    items = (*thresholds(), *data(study), *figure_items(study), *findings(study), *sensitivity())
    return Reproduction(
        "fmdp", TITLE, REFERENCE, items, figures(study), setting=(*study.state.words(), *settings_words()), quick=quick
    )


def settings_words() -> tuple[str, ...]:
    """The adversary's amounts, and what the paper leaves out."""
    return (
        (
            "Section 6: prior 0.63, G = 8000, C_d = 100, C_c = 0, C_e = 10, C_p = 10000, h0 = -4.59. Settings: a) h1 = 0, "
            "n_f unlimited; b) n_f = 1; c) h1 = 0.18, n_f unlimited."
        ),
        "Section 7 (Figure 10): prior 1, G = 1000, C_p = 20000, C_e = 10, C_l = 0, C_a = 100.",
        "The paper prints no discount. Of the discounts 0.5, 0.55 ... 1 only 0.9 gives 48, 14 and 29 together; it is used.",
    )
