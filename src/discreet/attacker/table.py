"""The plan for many group sizes at once: the reduced Bellman recursion as one table.

With g candidates, i of them tried and j penalties charged (one due now included), the next exploit is worth
Q_j(i) = -C_e + gamma [s_i G - d_i C_p 1{j<n_f} + (1-s_i)((1-d_i) W_j(i+1) + d_i W_min(j+1,n_f)(i+1))] with
s_i = 1/(g/p - i), W = max(0, Q) and W_j(g) = 0. Columns of the table are group sizes; it is filled by candidates
that remain, r = g - i, so that one step of numpy serves all sizes of at least r.

Where every exploit risks the same fine, the recursion has a closed form (`_all_or_nothing`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from discreet.attacker.parameters import Parameters
from discreet.attacker.sums import detections, discounted
from discreet.kernel.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class PlanTable:
    """What the adversary does once he has linked, for each of some group sizes."""

    sizes: Ints
    start: Floats
    """V_start: what the first exploit is worth, 0 if he does not try."""
    access: Floats
    """V_access: what having the external table is worth, 0 for an empty group."""
    exploits: Ints
    """Exploits on the way on which he is never detected and never right; none if linking does not pay."""
    success: Floats
    """Probability that the plan, once begun, ends in success."""
    tries: Floats
    """Expected exploits."""
    penalties: Floats
    """Expected penalties."""

    @classmethod
    def of(cls, parameters: Parameters, sizes: Ints) -> PlanTable:
        """Plan for these sizes, which rise."""
        parameters = parameters.within(int(sizes.max(initial=0)))
        plan = _all_or_nothing if parameters.risks_the_same_at_every_exploit else _backwards
        start, path, success, tries, penalties = plan(parameters, sizes)
        access = np.maximum(0, -parameters.link_cost + parameters.discount * start) * (sizes > 0)
        return cls(sizes, start, access, (path * (access > 0)).astype(np.int64), success, tries, penalties)

    def at(self, places: Ints) -> PlanTable:
        """Some of its columns."""
        return PlanTable(*(getattr(self, field.name)[places] for field in fields(self)))


def _all_or_nothing(p: Parameters, sizes: Ints) -> tuple[Floats, ...]:
    """The plan where each exploit risks the same: he tries everybody or nobody.

    After i failures he is still there with probability 1 - i p/g, so that m exploits are worth
    sum_{i<m} gamma^i (1 - i p/g) [gamma (s_i G - d C_p) - C_e]. The bracket rises with i, so the best m is 0 or g.
    """
    plain, rising = discounted(p.discount, sizes)
    share = p.prior / np.maximum(sizes, 1)
    caught = float(p.detection(np.zeros(1, dtype=np.int64))[0])
    burden = p.exploit_cost + p.discount * caught * float(p.penalties[0])
    worth = p.discount * share * p.gain * plain - burden * (plain - share * rising)
    goes = worth > 0
    tries: Floats = goes * (sizes - share * (sizes * (sizes - 1.0) / 2))
    charged: Floats = caught * tries
    if p.detection_slope != 0:
        seen, later = detections(p, sizes)
        charged = np.where(goes, seen - share * later, 0.0)
    if p.max_penalties is not None:
        charged = np.zeros(len(sizes))
    path: Floats = np.where(goes, sizes, 0).astype(np.float64)
    success: Floats = np.where(goes, p.prior, 0.0)
    return np.maximum(worth, 0), path, success, tries, charged


def _backwards(p: Parameters, sizes: Ints) -> tuple[Floats, ...]:
    """The recursion from the last candidate on; the expectations follow the plan undiscounted (equation 5)."""
    most = int(sizes.max(initial=0))
    worth = np.zeros((p.levels, len(sizes)))
    ahead = np.zeros((4, p.levels, len(sizes)))  # path, success, tries, penalties
    detection, fine = p.detection(np.arange(most)), p.penalties[:, None]
    charged = p.chargeable[:, None]
    first = np.searchsorted(sizes, np.arange(most + 1))
    for left in range(1, most + 1):
        inside = slice(first[left], None)
        tried = sizes[inside] - left
        right, caught = 1 / (sizes[inside] / p.prior - tried), detection[tried]
        now = right * p.gain - caught * fine + _then(worth[:, inside], right, caught)
        now = p.discount * now - p.exploit_cost
        reached = _then(ahead[1:, :, inside], right, caught)
        reached[0] += right
        reached[1] += 1
        reached[2] += caught * charged
        acts = now > 0
        ahead[0, :, inside] = (ahead[0, :, inside] + 1) * acts
        ahead[1:, :, inside] = reached * acts
        worth[:, inside] = np.maximum(now, 0)
    return worth[0], *ahead[:, 0]


def _then(ahead: Floats, right: Floats, caught: Floats) -> Floats:
    """What is ahead after a failure: undetected, or detected with one more penalty charged."""
    if ahead.shape[-2] == 1:
        return np.asarray((1 - right) * ahead)
    after = np.concatenate([ahead[..., 1:, :], ahead[..., -1:, :]], axis=-2)
    return np.asarray((1 - right) * (ahead + caught * (after - ahead)))
