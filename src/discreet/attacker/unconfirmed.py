"""Unconfirmed success: the attacker cannot be sure that the person is the target.

Each exploit comes with an answer, yes or no. The target answers yes with the true-positive rate alpha, anybody else
with the false-positive rate beta. The attack ends at the first yes; the gain comes only if it was the target. Nobody is
asked twice. After i times no, the next candidate is the target with probability (Bayes)

    pi_i = 1 / (g/p - i + i (1 - alpha) / (1 - beta)),

because an untried candidate and an absent target have weight (1-beta)^i per head, a tried one (1-alpha) (1-beta)^(i-1).
With penalties distinguished as in the base model (detection does not depend on the answer):

    Q_j(i) = -C_e + gamma [alpha pi_i G - d_i C_p 1{j<n_f} + n_i ((1-d_i) W_j(i+1) + d_i W_min(j+1,n_f)(i+1))],
    n_i = 1 - alpha pi_i - beta (1 - pi_i).

With alpha = 1 and beta = 0 this is the base model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.attacker.parameters import probability
from discreet.attacker.planner import Planner
from discreet.kernel.arrays import Flags, Floats, Ints


@dataclass(frozen=True, eq=False)
class Unconfirmed:
    """What the attacker does with targets in groups of known size; one entry per size."""

    sizes: Ints
    start_value: Floats
    """What the first exploit is worth once the tables are linked."""
    value_raw: Floats
    """What buying the external table is worth."""
    accesses: Flags
    exploits: Ints
    """Exploits on the way without detection on which every answer is no; none if linking does not pay."""
    reidentification: Floats
    """Probability that the attack ends at the target."""
    mistaken: Floats
    """Probability that it ends at another person."""
    missed: Floats
    """Probability that the target is exploited and answers no."""
    expected_exploits: Floats
    expected_wrong: Floats
    """Expected number of innocent people exploited, including the one it ends at."""
    expected_penalties: Floats

    @property
    def value(self) -> Floats:
        """What the attack is worth to the attacker."""
        return np.maximum(self.value_raw, 0)


def plan_unconfirmed(
    attack: Planner, sizes: Sequence[int] | Ints, *, true_positive: float = 1.0, false_positive: float = 0.0
) -> Unconfirmed:
    """The plan against groups of these sizes when answers can be wrong.

    >>> from discreet.attacker import Attack
    >>> a = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000)
    >>> found = plan_unconfirmed(a, [5], true_positive=0.9, false_positive=0.1)
    >>> found.reidentification.round(4).tolist(), found.mistaken.round(4).tolist()
    ([0.4644], [0.2758])
    """
    remedy = "How often does the attacker take a person for the target?"
    alpha = probability(true_positive, "true_positive", remedy=remedy)
    beta = probability(false_positive, "false_positive", remedy=remedy)
    asked = attack.known(sizes).sizes
    # Being sure is never worth less: people left alone then are left alone now.
    groups, place = np.unique(attack.horizon.clipped(asked), return_inverse=True)
    most = int(groups.max(initial=0))
    p = attack.within(most)
    charged = p.chargeable[:, None]
    # What is ahead: the worth, then expectations that follow the plan undiscounted: exploits on the way without
    # detection or yes, exploits, and the chances and penalties below.
    ahead = np.zeros((7, p.levels, len(groups)))
    for left in range(1, most + 1):
        tried = np.maximum(groups - left, 0)
        # pi_i; where everybody answers yes, a no can only have come from the target, who is then found and gone.
        untried = np.maximum(groups / p.prior - tried, 1.0)
        if beta == 1:
            target = np.where(tried > 0, 0.0, 1 / untried)
        else:
            target = np.asarray(1 / (untried + tried * (1 - alpha) / (1 - beta)))
        right, mistaken, caught = alpha * target, beta * (1 - target), p.detection(tried)
        after = np.concatenate([ahead[:, 1:], ahead[:, -1:]], axis=1)
        then = np.maximum(1 - right - mistaken, 0.0) * ((1 - caught) * ahead + caught * after)
        worth = -p.exploit_cost + p.discount * (right * p.gain - caught * charged * p.penalty + then[0])
        now = (1.0, right, mistaken, (1 - alpha) * target, caught * charged)
        expected = [chance + later for chance, later in zip(now, then[2:], strict=True)]
        earlier = np.stack([worth, 1 + ahead[1], *expected]) * (worth > 0)
        ahead = np.where(groups < left, ahead, earlier)
    start, path, *parts = ahead[:, 0, place]
    access = np.maximum(0, -p.link_cost + p.discount * start) * (asked > 0)
    value = -p.access_cost + p.discount * access
    tries, right, mistaken, missed, penalties = (part * (value > 0) for part in parts)
    exploits, wrong = (path * (access > 0)).astype(np.int64), tries - right - missed
    return Unconfirmed(asked, start, value, value > 0, exploits, right, mistaken, missed, tries, wrong, penalties)
