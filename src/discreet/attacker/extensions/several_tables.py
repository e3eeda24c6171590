"""Several external tables for sale: which to buy, in which order, how far.

A class of N candidates look like the target; he is one of them with probability `prior`, each as likely as another.
Table j holds the candidates A_j at price c_j. In state (bought tables S, exploits made i) he may

- stop, which is worth 0;
- exploit an untried candidate of the union of what he bought, if i < |union(S)|: success s_i = 1/(N/p - i), detection
  d_i and penalties as in the base model. Candidates are all alike, so which one he takes makes no difference;
- buy a further table: -c_j + gamma V(S + j, i), also after every candidate he has was wrong (in the base model, with
  nothing left to buy, that is the end).

With `links` each purchase is followed by a step of linking at `link_cost`, as in the base model, so that one table with
the whole class is the base model exactly; without, the formula stands as it is. Where exploiting and buying are worth
the same he exploits first; among tables worth the same he buys the one named first. `access_cost` plays no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacker.parameters import amount, group_sizes, whole
from discreet.errors import UsageError
from discreet.kernel.arrays import Floats, Ints

if TYPE_CHECKING:
    from discreet.attacker.planner import Planner

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
    """What he does."""

    value_raw: float
    """What the best first purchase is worth."""
    path: tuple[tuple[str, int], ...]
    """The tables in the order in which he buys them while he is never right and never detected, and the exploits that
    he makes after each."""
    bought: Mapping[str, float]
    """Probability that each table is bought."""
    reidentification: float
    expected_exploits: float
    expected_penalties: float
    expected_spent: float
    """Expected prices paid."""

    @property
    def value(self) -> float:
        """What the attack is worth to him."""
        return max(0.0, self.value_raw)

    @property
    def accesses(self) -> bool:
        """Whether he buys anything."""
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
    prices, members = _checked(attack, candidates, tables)
    market = _Market(attack, candidates, prices, members, links)
    market.plan()
    return market.follow(tuple(tables))


class _Market:
    """Worth and best action by (bought, tried, penalties charged)."""

    def __init__(self, attack: Planner, candidates: int, prices: Floats, members: list[int], links: bool) -> None:
        self.a, self.n, self.prices, self.links = attack, candidates, prices, links
        self.m = len(members)
        self.held = _unions(members)
        tried = np.arange(candidates)
        self.right = 1 / np.maximum(candidates / attack.prior - tried, 1.0)
        self.caught = attack.detection(tried)
        charged = [True] if attack.max_penalties is None else [True] * int(attack.max_penalties) + [False]
        self.charged = np.array(charged)
        shape = (2**self.m, candidates + 1, len(charged))
        self.worth, self.action = np.zeros(shape), np.full(shape, STOP, dtype=np.int8)
        self.first = 0.0

    def plan(self) -> None:
        """From everything bought down to nothing, and from the last candidate back to the first."""
        subsets = np.arange(2**self.m)
        sizes = np.array([int(subset).bit_count() for subset in subsets])
        for many in range(self.m, -1, -1):
            layer = subsets[sizes == many]
            buying, table = self._buy(layer)
            self._settle(layer, self.n, buying[:, self.n], table[:, self.n], np.full_like(buying[:, self.n], -np.inf))
            for tried in range(self.n - 1, -1, -1):
                self._settle(layer, tried, buying[:, tried], table[:, tried], self._exploit(layer, tried))
        self.first = float(buying[0, 0, 0])

    def _buy(self, layer: Ints) -> tuple[Floats, NDArray[np.int8]]:
        """The best purchase from each state of a layer."""
        best = np.full((len(layer), *self.worth.shape[1:]), -np.inf)
        which = np.full(best.shape, STOP, dtype=np.int8)
        for table, price in enumerate(self.prices.tolist()):
            free = np.flatnonzero(~layer >> table & 1)
            ahead = self.worth[layer[free] | 1 << table]
            if self.links:
                ahead = np.maximum(0, -self.a.link_cost + self.a.discount * ahead)
            worth = -price + self.a.discount * ahead
            better = worth > best[free]
            best[free], which[free] = np.where(better, worth, best[free]), np.where(better, table, which[free])
        return best, which

    def _exploit(self, layer: Ints, tried: int) -> Floats:
        """What the next exploit is worth, if a candidate is left."""
        a, ahead = self.a, self.worth[layer, tried + 1]
        right, caught = self.right[tried], self.caught[tried]
        fined = np.concatenate([ahead[:, 1:], ahead[:, -1:]], axis=1)
        then = (1 - right) * ((1 - caught) * ahead + caught * fined)
        worth = -a.exploit_cost + a.discount * (right * a.gain - caught * self.charged * a.penalty + then)
        return np.where((self.held[layer] > tried)[:, None], worth, -np.inf)

    def _settle(self, layer: Ints, tried: int, buying: Floats, table: NDArray[np.int8], exploiting: Floats) -> None:
        best = np.maximum(buying, exploiting)
        action = np.where(exploiting >= buying, self.m, table)
        self.worth[layer, tried] = np.maximum(0, best)
        self.action[layer, tried] = np.where(best > 0, action, STOP)

    def follow(self, names: tuple[str, ...]) -> Shopping:
        """The plan's Markov chain, undiscounted, forward from nothing bought."""
        sums = dict.fromkeys(("success", "exploits", "penalties"), 0.0)
        bought = np.zeros(self.m)
        reach: dict[tuple[int, int, int], float] = {(0, 0, 0): 1.0}
        while reach:
            ahead: dict[tuple[int, int, int], float] = {}
            for state, chance in reach.items():
                for after, odds in self._step(state, chance, sums, bought):
                    ahead[after] = ahead.get(after, 0.0) + odds
            reach = ahead
        return Shopping(
            self.first,
            self._path(names),
            dict(zip(names, bought.tolist(), strict=True)),
            sums["success"],
            sums["exploits"],
            sums["penalties"],
            float(bought @ self.prices),
        )

    def _step(self, state: Any, chance: float, sums: dict[str, float], bought: Floats) -> list[tuple[Any, float]]:
        subset, tried, level = state
        action = int(self.action[state])
        if action == STOP:
            return []
        if action < self.m:
            bought[action] += chance
            return [((subset | 1 << action, tried, level), chance)]
        right, caught = float(self.right[tried]), float(self.caught[tried])
        sums["success"] += chance * right
        sums["exploits"] += chance
        sums["penalties"] += chance * caught * bool(self.charged[level])
        fails, more = chance * (1 - right), min(level + 1, len(self.charged) - 1)
        return [((subset, tried + 1, level), fails * (1 - caught)), ((subset, tried + 1, more), fails * caught)]

    def _path(self, names: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
        path: list[tuple[str, int]] = []
        subset = tried = 0
        while (action := int(self.action[subset, tried, 0])) != STOP:
            if action < self.m:
                path.append((names[action], 0))
                subset |= 1 << action
            else:
                path[-1] = (path[-1][0], path[-1][1] + 1)
                tried += 1
        return tuple(path)


def _unions(members: list[int]) -> Ints:
    """How many candidates each set of tables holds."""
    unions = [0]
    for held in members:
        unions += [union | held for union in unions]
    return np.array([union.bit_count() for union in unions], dtype=np.int64)


def _checked(attack: Planner, candidates: int, tables: Mapping[str, External]) -> tuple[Floats, list[int]]:
    given: Any = tables
    if not isinstance(given, Mapping) or not all(isinstance(table, External) for table in given.values()):
        raise UsageError(
            "tables maps names to external tables.",
            remedy='For example {"voters": External(price=1000, members=[0, 1])}.',
        )
    levels = 1 if attack.max_penalties is None else int(attack.max_penalties) + 1
    if len(tables) > MOST_TABLES or 2 ** len(tables) * (candidates + 1) * levels > MOST_STATES:
        raise UsageError(
            f"{len(tables)} tables with {candidates:,} candidates are too many to plan through.",
            remedy=f"Take at most {MOST_TABLES} tables, fewer for large classes, or fewer penalties.",
        )
    priced = [amount(t.price, f"The price of table '{name}'", remedy="0 means free.") for name, t in tables.items()]
    return np.array(priced), [_bits(name, table.members, candidates) for name, table in tables.items()]


def _bits(name: str, members: Iterable[int] | int, candidates: int) -> int:
    if isinstance(members, int):
        held = int(members)
    else:
        try:
            listed = group_sizes([*members]).tolist()
        except (TypeError, UsageError):
            raise UsageError(
                f"The members of table '{name}' are no list of candidates.",
                remedy=f"Give numbers from 0 to {candidates - 1}.",
            ) from None
        held = sum(1 << member for member in set(listed)) if max(listed, default=0) < candidates else -1
    if held < 0 or held >> candidates:
        raise UsageError(
            f"Table '{name}' holds a person who is not a candidate.", remedy=f"Candidates are 0 to {candidates - 1}."
        )
    return held
