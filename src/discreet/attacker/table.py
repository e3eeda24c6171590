"""The plan for every group size at once: the reduced Bellman recursion as one table.

With g candidates, i of them tried and j penalties charged (one due now included), the next exploit is worth
Q_j(i) = -C_e + gamma [s_i G - d_i C_p 1{j<n_f} + (1-s_i)((1-d_i) W_j(i+1) + d_i W_min(j+1,n_f)(i+1))] with
s_i = 1/(g/p - i), W = max(0, Q) and W_j(g) = 0. Rows of the table are group sizes; it is filled by candidates that
remain, r = g - i, so that one step of numpy serves all sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from discreet.attacker.parameters import Floats, Parameters
from discreet.kernel.hierarchy import Ints

FIRST = 64
"""Sizes in the first table; it is doubled until nobody starts."""
MOST = 2**11
"""Beyond this many candidates sizes are planned one by one."""


@dataclass(frozen=True, eq=False)
class PlanTable:
    """What the adversary does once he has linked, for each of some group sizes."""

    sizes: Ints
    start: Floats
    """V_start: what the first exploit is worth, 0 if he does not try."""
    access: Floats
    """V_access: what having the external table is worth, 0 for an empty group."""
    exploits: Ints
    """Exploits on the way on which he is never detected and never right."""
    success: Floats
    """Probability that the plan, once begun, ends in success."""
    tries: Floats
    """Expected exploits."""
    penalties: Floats
    """Expected penalties."""

    @classmethod
    def of(cls, parameters: Parameters, sizes: Ints) -> PlanTable:
        """Plan for these sizes, backwards from the last candidate."""
        ahead = _Ahead.nothing(parameters.levels, len(sizes))
        for left in range(1, int(sizes.max(initial=0)) + 1):
            ahead = ahead.before(parameters, sizes, left)
        start = ahead.worth[0]
        access = np.maximum(0, -parameters.link_cost + parameters.discount * start) * (sizes > 0)
        return cls(
            sizes, start, access, ahead.path[0].astype(np.int64), ahead.success[0], ahead.tries[0], ahead.penalties[0]
        )

    def at(self, places: Ints) -> PlanTable:
        """Some of its rows."""
        return PlanTable(*(getattr(self, field.name)[places] for field in fields(self)))


@dataclass(frozen=True, eq=False)
class _Ahead:
    """What lies ahead with so many candidates left, by penalties charged and size."""

    worth: Floats
    path: Floats
    success: Floats
    tries: Floats
    penalties: Floats

    @classmethod
    def nothing(cls, levels: int, sizes: int) -> _Ahead:
        """No candidate is left."""
        return cls(*(np.zeros((levels, sizes)) for _ in range(5)))

    def before(self, p: Parameters, sizes: Ints, left: int) -> _Ahead:
        """One candidate earlier; the expectations follow the plan undiscounted (equation 5 of the paper)."""
        tried = np.maximum(sizes - left, 0)
        right = 1 / np.maximum(sizes / p.prior - tried, 1.0)
        caught, fine = p.detection(tried), p.penalties[:, None]
        worth = -p.exploit_cost + p.discount * (right * p.gain - caught * fine + _then(self.worth, right, caught))
        acts = (worth > 0) & (sizes >= left)
        outside = sizes < left
        return _Ahead(
            np.where(outside, self.worth, np.maximum(worth, 0)),
            np.where(outside, self.path, acts * (1 + self.path)),
            np.where(outside, self.success, acts * (right + _then(self.success, right, caught))),
            np.where(outside, self.tries, acts * (1 + _then(self.tries, right, caught))),
            np.where(outside, self.penalties, acts * (caught * (fine > 0) + _then(self.penalties, right, caught))),
        )


def _then(ahead: Floats, right: Floats, caught: Floats) -> Floats:
    """What is ahead after a failure: undetected, or detected with one more penalty charged."""
    after = np.concatenate([ahead[1:], ahead[-1:]])
    return np.asarray((1 - right) * ((1 - caught) * ahead + caught * after))
