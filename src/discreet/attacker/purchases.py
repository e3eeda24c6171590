"""Purchases of external tables: one for all records, or several for sale.

A table bought once for all records is worth V0_raw = -C_d + gamma * sum over records of E[V_access(G_r)]. That is exact:
once it is there, the attacks run side by side, each with its own clock and its own penalties, so that none of them
changes what another is worth. Records that nobody would attack alone become attackable together.

Where several tables are for sale, N candidates look like the target, who is one of them with probability `prior`, each
as likely as another. Table j holds the candidates A_j at price c_j. In state (bought tables S, exploits made i) one may

- stop, which is worth 0;
- exploit an untried candidate of the union of what was bought, if i < |union(S)|: success s_i = 1/(N/p - i), detection
  d_i and penalties as in the base model. Candidates are all alike, so which one is taken makes no difference;
- buy a further table: -c_j + gamma V(S + j, i), also after every candidate at hand was wrong (in the base model, with
  nothing left to buy, that is the end).

With `links` each purchase is followed by a step of linking at `link_cost`, as in the base model, so that one table with
the whole class is the base model exactly; without, the formula is taken as it is. Where exploiting and buying are worth
the same, the exploit comes first; among tables worth the same, the one named first. `access_cost` plays no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.attacker.optimal_plan import Planner
from discreet.attacker.parameters import amount, group_sizes
from discreet.errors import UsageError
from discreet.kernel.arrays import Flags, Floats, Ints, whole


@dataclass(frozen=True, eq=False)
class SharedPurchase:
    """What the attacker does with all records together; arrays have one entry per kind of record."""

    access_cost: float
    counts: Ints
    """Records of each kind."""
    worth: Floats
    """What one record of the kind adds to the worth of the table, at the time of buying: gamma E[V_access]."""
    once_bought: Floats
    """Probability that a record of the kind is re-identified once the table is bought."""
    exploits_once_bought: Floats
    """Expected exploits for it then."""

    @property
    def deterring_price(self) -> float:
        """The least price of the external table at which it is not bought for all these records."""
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
        """Whether the table is bought."""
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
        """Kinds for one record of which the table would be bought."""
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

    The attacker knows the sizes, or has a belief about each as in `Attack.unknown`; then `sizes` are the real ones.

    >>> from discreet.attacker import Attack
    >>> a = Attack(prior=0.63, gain=8000, access_cost=20000, link_cost=0, exploit_cost=10, penalty=10000)
    >>> share(a, [10]).accesses, share(a, [10], [100]).accesses, share(a, [10], [100]).least_records
    (False, True, 11)
    """
    free = replace(attack, access_cost=0.0)
    known = free.known(sizes)
    try:
        many = np.ones(len(known.sizes), dtype=np.int64) if counts is None else np.asarray(counts)
    except ValueError:
        many = np.zeros((1, 1))  # lists of different lengths
    if many.shape != known.sizes.shape or (many.size and (many.dtype.kind not in "iu" or many.min() < 0)):
        raise UsageError("counts is one whole number of records per size.", remedy="Give as many counts as sizes.")
    if density is None and belief is None:
        worth = known.value_raw
    else:
        worth = free.unknown(density, external_size, known.sizes, belief=belief).value_raw
    return SharedPurchase(
        float(attack.access_cost), many.astype(np.int64), worth, known.reidentification, known.expected_exploits
    )


MOST_TABLES = 16
MOST_STATES = 2**23
"""States that are planned through: 2^tables * (candidates + 1) * numbers of penalties."""
STOP = -1


@dataclass(frozen=True)
class External:
    """An external table: its price, and which candidates (0 to N-1) it holds, listed or as the bits of a number."""

    price: float
    members: Iterable[int] | int


@dataclass(frozen=True, eq=False)
class Shopping:
    """What the attacker does."""

    value_raw: float
    """What the best first purchase is worth."""
    path: tuple[tuple[str, int], ...]
    """The tables in the order of purchase, without success or detection, and the exploits after each."""
    bought: Mapping[str, float]
    """Probability that each table is bought."""
    reidentification: float
    expected_exploits: float
    expected_penalties: float
    expected_spent: float
    """Expected prices paid."""

    @property
    def value(self) -> float:
        """What the attack is worth to the attacker."""
        return max(0.0, self.value_raw)

    @property
    def accesses(self) -> bool:
        """Whether anything is bought."""
        return self.value_raw > 0

    @property
    def expected_wrong(self) -> float:
        """Expected number of innocent people exploited."""
        return self.expected_exploits - self.reidentification


def shop(attack: Planner, candidates: int, tables: Mapping[str, External], *, links: bool = True) -> Shopping:
    """The optimal plan with several tables for sale.

    >>> from discreet.attacker import Attack
    >>> a = Attack(prior=0.9, gain=5000, access_cost=0, link_cost=0, exploit_cost=10, penalty=1000)
    >>> shop(a, 4, {"voters": External(1000, [0, 1, 2]), "phones": External(50, [3])}).path
    (('phones', 1), ('voters', 3))
    """
    candidates = whole(candidates, "candidates", remedy="How many people look like the target?")
    attack = attack.within(candidates)
    if not tables:
        raise UsageError(
            "No external table is for sale.", remedy="Give at least one; without any the attacker can do nothing."
        )
    given: Any = tables
    if not isinstance(given, Mapping) or not all(isinstance(table, External) for table in given.values()):
        raise UsageError(
            "tables maps names to external tables.",
            remedy='For example {"voters": External(price=1000, members=[0, 1])}.',
        )
    if len(tables) > MOST_TABLES or 2 ** len(tables) * (candidates + 1) * attack.levels > MOST_STATES:
        raise UsageError(
            f"{len(tables)} tables with {candidates:,} candidates are too many to plan through.",
            remedy=f"Take at most {MOST_TABLES} tables, fewer for large classes, or fewer penalties.",
        )
    prices = [amount(t.price, f"The price of table '{name}'", remedy="0 means free.") for name, t in tables.items()]
    # How many candidates each set of tables holds.
    unions = [0]
    for name, table in tables.items():
        members = _bits(name, table.members, candidates)
        unions += [union | members for union in unions]
    people = np.array([union.bit_count() for union in unions], dtype=np.int64)
    market = _Market(attack, candidates, np.array(prices), people, links)
    market.plan()
    return market.follow(tuple(tables))


def _bits(name: str, members: Iterable[int] | int, candidates: int) -> int:
    """The members of a table as the bits of a number."""
    if isinstance(members, int):
        bits = int(members)
    else:
        try:
            listed = group_sizes([*members]).tolist()
        except (TypeError, UsageError):
            raise UsageError(
                f"The members of table '{name}' are no list of candidates.",
                remedy=f"Give numbers from 0 to {candidates - 1}.",
            ) from None
        bits = sum(1 << member for member in set(listed)) if max(listed, default=0) < candidates else -1
    if bits < 0 or bits >> candidates:
        raise UsageError(
            f"Table '{name}' holds a person who is not a candidate.", remedy=f"Candidates are 0 to {candidates - 1}."
        )
    return bits


class _Market:
    """Worth and best action by (bought, tried, penalties charged)."""

    def __init__(self, attack: Planner, candidates: int, prices: Floats, people: Ints, links: bool) -> None:
        self.a, self.n, self.prices, self.people, self.links = attack, candidates, prices, people, links
        self.m = len(prices)
        tried = np.arange(candidates)
        self.right = 1 / np.maximum(candidates / attack.prior - tried, 1.0)
        self.caught = attack.detection(tried)
        self.charged = attack.chargeable
        shape = (2**self.m, candidates + 1, len(self.charged))
        self.worth, self.action = np.zeros(shape), np.full(shape, STOP, dtype=np.int8)
        self.first = 0.0

    def plan(self) -> None:
        """From everything bought down to nothing, and from the last candidate back to the first."""
        a, subsets = self.a, np.arange(2**self.m)
        sizes = np.array([int(subset).bit_count() for subset in subsets])
        for many in range(self.m, -1, -1):
            layer = subsets[sizes == many]
            # The best purchase from each state of the layer.
            buying = np.full((len(layer), *self.worth.shape[1:]), -np.inf)
            which = np.full(buying.shape, STOP, dtype=np.int8)
            for table, price in enumerate(self.prices.tolist()):
                free = np.flatnonzero(~layer >> table & 1)
                ahead = self.worth[layer[free] | 1 << table]
                if self.links:
                    ahead = np.maximum(0, -a.link_cost + a.discount * ahead)
                worth = -price + a.discount * ahead
                better = worth > buying[free]
                buying[free], which[free] = np.where(better, worth, buying[free]), np.where(better, table, which[free])
            for tried in range(self.n, -1, -1):
                exploiting = np.full_like(buying[:, tried], -np.inf)
                if tried < self.n:
                    # What the next exploit is worth, if a candidate is left.
                    ahead, right, caught = self.worth[layer, tried + 1], self.right[tried], self.caught[tried]
                    fined = np.concatenate([ahead[:, 1:], ahead[:, -1:]], axis=1)
                    then = (1 - right) * ((1 - caught) * ahead + caught * fined)
                    worth = -a.exploit_cost + a.discount * (right * a.gain - caught * self.charged * a.penalty + then)
                    exploiting = np.where((self.people[layer] > tried)[:, None], worth, -np.inf)
                best = np.maximum(buying[:, tried], exploiting)
                action = np.where(exploiting >= buying[:, tried], self.m, which[:, tried])
                self.worth[layer, tried] = np.maximum(0, best)
                self.action[layer, tried] = np.where(best > 0, action, STOP)
        self.first = float(buying[0, 0, 0])

    def follow(self, names: tuple[str, ...]) -> Shopping:
        """The plan's Markov chain, undiscounted, forward from nothing bought."""
        success = exploits = penalties = 0.0
        bought = np.zeros(self.m)
        reach: dict[tuple[int, int, int], float] = {(0, 0, 0): 1.0}
        while reach:
            ahead: dict[tuple[int, int, int], float] = {}
            for (subset, tried, level), chance in reach.items():
                action = int(self.action[subset, tried, level])
                if action == STOP:
                    continue
                if action < self.m:
                    bought[action] += chance
                    following = [((subset | 1 << action, tried, level), chance)]
                else:
                    right, caught = float(self.right[tried]), float(self.caught[tried])
                    success += chance * right
                    exploits += chance
                    penalties += chance * caught * bool(self.charged[level])
                    fails, more = chance * (1 - right), min(level + 1, len(self.charged) - 1)
                    following = [
                        ((subset, tried + 1, level), fails * (1 - caught)),
                        ((subset, tried + 1, more), fails * caught),
                    ]
                for state, odds in following:
                    ahead[state] = ahead.get(state, 0.0) + odds
            reach = ahead
        # The way on which they are never right and never detected.
        path: list[tuple[str, int]] = []
        subset = tried = 0
        while (action := int(self.action[subset, tried, 0])) != STOP:
            if action < self.m:
                path.append((names[action], 0))
                subset |= 1 << action
            else:
                path[-1] = (path[-1][0], path[-1][1] + 1)
                tried += 1
        probabilities = dict(zip(names, bought.tolist(), strict=True))
        spent = float(bought @ self.prices)
        return Shopping(self.first, tuple(path), probabilities, success, exploits, penalties, spent)
