"""Unconfirmed success: the attacker cannot be sure that the person is the target.

Each exploit comes with an answer, yes or no. The target answers yes with the true-positive rate alpha, anybody else
with the false-positive rate beta. At the first yes he stops; the gain comes only if it was the target. Nobody is asked
twice. After i times no, the next candidate is the target with probability (Bayes)

    pi_i = 1 / (g/p - i + i (1 - alpha) / (1 - beta)),

because an untried candidate and an absent target have weight (1-beta)^i per head, a tried one (1-alpha) (1-beta)^(i-1).
With penalties told apart as in the base model (detection does not depend on the answer):

    Q_j(i) = -C_e + gamma [alpha pi_i G - d_i C_p 1{j<n_f} + n_i ((1-d_i) W_j(i+1) + d_i W_min(j+1,n_f)(i+1))],
    n_i = 1 - alpha pi_i - beta (1 - pi_i).

With alpha = 1 and beta = 0 this is the base model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.attacker.parameters import probability
from discreet.kernel.arrays import Flags, Floats, Ints

if TYPE_CHECKING:
    from discreet.attacker.planner import Planner


@dataclass(frozen=True, eq=False)
class Unconfirmed:
    """What he does with targets in groups of known size; one entry per size."""

    sizes: Ints
    start_value: Floats
    """What the first exploit is worth once the tables are linked."""
    value_raw: Floats
    """What buying the external table is worth."""
    accesses: Flags
    exploits: Ints
    """Exploits on the way on which he is never detected and always told no; none if linking does not pay."""
    reidentification: Floats
    """Probability that he stops at the target."""
    mistaken: Floats
    """Probability that he stops at somebody else."""
    missed: Floats
    """Probability that he exploits the target and is told no."""
    expected_exploits: Floats
    expected_wrong: Floats
    """Expected number of innocent people exploited, the one he stops at included."""
    expected_penalties: Floats

    @property
    def value(self) -> Floats:
        """What the attack is worth to him."""
        return np.maximum(self.value_raw, 0)


def unconfirmed(
    attack: Planner, sizes: Sequence[int] | Ints, *, true_positive: float = 1.0, false_positive: float = 0.0
) -> Unconfirmed:
    """The plan against groups of these sizes when answers can be wrong.

    >>> from discreet.attacker import Attack
    >>> a = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000)
    >>> found = unconfirmed(a, [5], true_positive=0.9, false_positive=0.1)
    >>> found.reidentification.round(4).tolist(), found.mistaken.round(4).tolist()
    ([0.4644], [0.2758])
    """
    remedy = "How often does the attacker take a person for the target?"
    alpha = probability(true_positive, "true_positive", remedy=remedy)
    beta = probability(false_positive, "false_positive", remedy=remedy)
    asked = attack.known(sizes).sizes
    # Being sure is never worth less: whom he would not try if he were, he does not try now.
    groups, place = np.unique(attack.horizon.clipped(asked), return_inverse=True)
    most = int(groups.max(initial=0))
    his = attack.within(most)
    ahead = np.zeros((len(PARTS), his.levels, len(groups)))
    for left in range(1, most + 1):
        ahead = _before(his, groups, left, (alpha, beta), ahead)
    return _bought(his, asked, dict(zip(PARTS, ahead[:, 0, place], strict=True)))


PARTS = ("worth", "path", "tries", "right", "mistaken", "missed", "penalties")
"""What lies ahead: the worth to him, and expectations that follow his plan undiscounted."""


def _before(p: Planner, sizes: Ints, left: int, rates: tuple[float, float], ahead: Floats) -> Floats:
    """One candidate earlier."""
    tried = np.maximum(sizes - left, 0)
    alpha, beta = rates
    # pi_i; where everybody answers yes, a no can only have come from the target, who is then found and gone.
    untried = np.maximum(sizes / p.prior - tried, 1.0)
    if beta == 1:
        target = np.where(tried > 0, 0.0, 1 / untried)
    else:
        target = np.asarray(1 / (untried + tried * (1 - alpha) / (1 - beta)))
    right, mistaken = alpha * target, beta * (1 - target)
    caught, charged = p.detection(tried), _charged(p)
    after = np.concatenate([ahead[:, 1:], ahead[:, -1:]], axis=1)
    then = np.maximum(1 - right - mistaken, 0.0) * ((1 - caught) * ahead + caught * after)
    worth = -p.exploit_cost + p.discount * (right * p.gain - caught * charged * p.penalty + then[0])
    now = (1.0, right, mistaken, (1 - alpha) * target, caught * charged)
    expected = [one + later for one, later in zip(now, then[2:], strict=True)]
    found = np.stack([worth, 1 + ahead[1], *expected]) * (worth > 0)
    return np.where(sizes < left, ahead, found)


def _charged(p: Planner) -> Floats:
    """1 where a detection is charged, by penalties charged before."""
    if p.max_penalties is None:
        return np.ones((1, 1))
    return (np.arange(p.levels) < p.max_penalties).astype(np.float64)[:, None]


def _bought(p: Planner, sizes: Ints, ahead: dict[str, Floats]) -> Unconfirmed:
    access = np.maximum(0, -p.link_cost + p.discount * ahead["worth"]) * (sizes > 0)
    value = -p.access_cost + p.discount * access
    accesses = value > 0
    right, mistaken, missed, tries, penalties = (
        ahead[part] * accesses for part in ("right", "mistaken", "missed", "tries", "penalties")
    )
    wrong, path = tries - right - missed, (ahead["path"] * (access > 0)).astype(np.int64)
    return Unconfirmed(sizes, ahead["worth"], value, accesses, path, right, mistaken, missed, tries, wrong, penalties)
