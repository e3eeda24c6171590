"""Shared purchase: the external table is bought once for all records.

V0_raw = -C_d + gamma * sum over records of E[V_access(G_r)]. That is exact: once the table is there, the attacks run
side by side, each with its own clock and its own penalties, so that none of them changes what another is worth.
Records that nobody would attack alone become attackable together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Flags, Floats, Ints

if TYPE_CHECKING:
    from discreet.attacker.planner import Planner


@dataclass(frozen=True, eq=False)
class SharedPurchase:
    """What he does with all records together; arrays have one entry per kind of record asked for."""

    access_cost: float
    counts: Ints
    """Records of each kind."""
    worth: Floats
    """What one record of the kind adds to the worth of the table, at the time of buying: gamma E[V_access]."""
    once_bought: Floats
    """Probability that a record of the kind is re-identified if he has the table."""
    exploits_once_bought: Floats
    """Expected exploits for it then."""

    @property
    def deterring_price(self) -> float:
        """The least price of the external table at which he does not buy it for all these records."""
        return float(self.counts @ self.worth)

    @property
    def value_raw(self) -> float:
        """What buying the table for all records is worth."""
        return self.deterring_price - self.access_cost

    @property
    def value(self) -> float:
        """What the whole attack is worth."""
        return max(0.0, self.value_raw)

    @property
    def accesses(self) -> bool:
        """Whether he buys the table."""
        return self.value_raw > 0

    @property
    def reidentification(self) -> Floats:
        """Probability that a record of the kind is re-identified."""
        return self.once_bought * self.accesses

    @property
    def expected_reidentified(self) -> float:
        """Expected number of records that are re-identified."""
        return float(self.counts @ self.reidentification)

    @property
    def expected_wrong(self) -> float:
        """Expected number of times that an innocent person is exploited."""
        return float(self.counts @ (self.exploits_once_bought - self.once_bought)) * self.accesses

    @property
    def alone(self) -> Flags:
        """Kinds for one record of which he would buy the table."""
        return self.worth > self.access_cost

    @property
    def only_together(self) -> Flags:
        """Kinds that are at risk only because the table is bought for all."""
        return (self.once_bought > 0) & ~self.alone & self.accesses

    @property
    def records_only_together(self) -> int:
        """Records at risk only because the table is bought for all."""
        return int(self.counts[self.only_together].sum())

    @cached_property
    def least_records(self) -> int | None:
        """How many records, the most valuable first, make the purchase pay; None if all together do not."""
        order = np.argsort(-self.worth, kind="stable")
        worth, counts = self.worth[order], self.counts[order]
        before = np.cumsum(counts * worth) - counts * worth
        for each, many, sum_before, records in zip(worth, counts, before, np.cumsum(counts) - counts, strict=True):
            if sum_before + many * each > self.access_cost:
                missing = int(np.floor((self.access_cost - sum_before) / each)) + 1
                return int(records) + min(int(many), missing)
        return None


def share(
    attack: Planner,
    sizes: Sequence[int] | Ints,
    counts: Sequence[int] | Ints | None = None,
    *,
    density: Sequence[float] | Floats | None = None,
    external_size: int | None = None,
    belief: Sequence[Sequence[float]] | Floats | None = None,
) -> SharedPurchase:
    """One purchase for records in groups of these sizes, `counts` of each.

    He knows the sizes, or has a belief about each as in `Attack.unknown`; then `sizes` are the real ones.

    >>> from discreet.attacker import Attack
    >>> a = Attack(prior=0.63, gain=8000, access_cost=20000, link_cost=0, exploit_cost=10, penalty=10000)
    >>> share(a, [10]).accesses, share(a, [10], [100]).accesses, share(a, [10], [100]).least_records
    (False, True, 11)
    """
    free = replace(attack, access_cost=0.0)
    known = free.known(sizes)
    many = np.ones(len(known.sizes), dtype=np.int64) if counts is None else _counts(counts, len(known.sizes))
    if density is None and belief is None:
        worth = known.value_raw
    else:
        worth = free.unknown(density, external_size, known.sizes, belief=belief).value_raw
    return SharedPurchase(float(attack.access_cost), many, worth, known.reidentification, known.expected_exploits)


def _counts(counts: Sequence[int] | Ints, kinds: int) -> Ints:
    try:
        many = np.asarray(counts)
    except ValueError:
        many = np.zeros((1, 1))  # lists of different lengths
    if many.shape != (kinds,) or (kinds and (many.dtype.kind not in "iu" or many.min() < 0)):
        raise UsageError("counts is one whole number of records per size.", remedy="Give as many counts as sizes.")
    return many.astype(np.int64)
