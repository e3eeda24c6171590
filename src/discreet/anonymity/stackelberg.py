"""Stackelberg game: the publisher commits to levels and penalty, the attacker responds.

The publisher commits to a node of the lattice and to a penalty (a fine in the contract, say); the planning adversary
sees both and answers with the best plan. What the publisher minimises is

    worth * information loss + harm * expected re-identified people + penalty_cost * penalty.

At a given node the expected number of re-identified people is a falling step function of the penalty, so its best
penalty is the lowest one or one at which some group of people is left alone, or attacked less far. Those penalties are
known exactly for each group size (`discreet.attacker.piecewise`), so trying them at every node misses nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from discreet.anonymity.lattice.evaluate import ByClasses, BySize
from discreet.anonymity.lattice.problem import LatticeProblem, Node
from discreet.anonymity.limits import people_alike
from discreet.anonymity.losses import make_loss
from discreet.attacker import Attack
from discreet.attacker.parameters import amount, probability
from discreet.attacker.piecewise import Pieces, steps
from discreet.errors import UsageError
from discreet.kernel import Classes, Countable, count
from discreet.kernel.arrays import Floats, Ints, whole
from discreet.kernel.serialise import json_of

# Every node of a lattice for games on it: what it loses, and among how many people everybody hides.
MOST_NODES = 50_000


@dataclass(frozen=True, eq=False)
class AllowedNodes:
    """All allowed nodes: what each loses, and how many of its published people are in groups of each size."""

    names: tuple[str, ...]
    nodes: list[Node]
    losses: Floats
    suppressed: Ints
    groups: list[tuple[Ints, Ints]]
    """Per node, the sizes of its groups and the people in groups of each size."""
    sizes: Ints
    """All sizes that occur."""

    @classmethod
    def of(cls, classes: Classes, population: Classes | None, loss: str, k: int, suppression: float) -> AllowedNodes:
        problem = LatticeProblem.of(classes)
        if problem.nodes > MOST_NODES:
            raise UsageError(
                f"{problem.nodes:,} combinations of levels are too many to play through.",
                remedy="Choose fewer columns, or hierarchies of fewer levels.",
            )
        share = Fraction(str(probability(suppression, "suppression", remedy="0.05 means: at most 5 % of the people.")))
        measure = make_loss(loss, problem, smallest=k, by_size=classes.members is None)
        limit = math.floor(share * problem.people)
        evaluate: BySize | ByClasses = ByClasses(problem, violating=lambda classes: np.asarray(classes.sizes < k))
        if population is None and problem.packs:
            evaluate = BySize(problem, k=k)
        rows: list[tuple[Node, float, int, tuple[Ints, Ints]]] = []
        for node in product(*map(range, problem.shape)):
            outcome = evaluate(node)
            if outcome.suppressed > limit:
                continue
            if isinstance(evaluate, BySize):
                sizes = evaluate.counter.sizes(node)
                people = alike = sizes[sizes >= k]
            else:
                published = evaluate.classes.keep(evaluate.classes.sizes >= k)
                alike = people_alike(published, population)
                people = published.people_once(alike)
            sizes, place = np.unique(alike, return_inverse=True)
            groups = np.bincount(place, weights=people, minlength=len(sizes)).astype(np.int64)
            rows.append((problem.levels(node), measure.value(outcome), outcome.suppressed, (sizes, groups)))
        if not rows:
            raise UsageError(
                f"No combination of levels has at least {k} people in every class.", remedy="Allow more suppression."
            )
        nodes, losses, suppressed, by_node = map(list, zip(*rows, strict=True))
        every = np.unique(np.concatenate([sizes for sizes, _ in by_node]))
        return cls(classes.names, nodes, np.array(losses), np.array(suppressed), by_node, every)

    def people(self, sizes: Ints, first: int, last: int) -> Floats:
        """People in groups of each of some sizes, one row per node."""
        rows = np.zeros((last - first, len(sizes)))
        for row, (of_node, people) in enumerate(self.groups[first:last]):
            listed = np.isin(of_node, sizes, assume_unique=True)
            rows[row, np.searchsorted(sizes, of_node[listed])] = people[listed]
        return rows


MOST_PEOPLE = 2**11
"""The largest group that the adversary may find worth attacking at the lowest penalty."""
BLOCK = 2**22
"""Entries of nodes times penalties looked at together."""
UP = 1e-12
"""Penalties at which the attacker decides otherwise are rounded up by this share, so that rounding does not undo it."""


@dataclass(frozen=True)
class Offer:
    """A generalisation and a penalty, and what they come to."""

    levels: Mapping[str, int]
    penalty: float
    loss: float
    """Information lost."""
    suppressed: int
    reidentified: float
    """Expected number of people re-identified."""
    total: float
    """What the publisher minimises."""

    to_dict = json_of()


@dataclass(frozen=True, eq=False)
class Commitment:
    """The publisher's best commitment, and what the adversary does then."""

    best: Offer
    attack: Attack
    """The adversary under that penalty."""
    attacked: int
    """People for whom the attacker buys the external table."""
    expected_wrong: float
    """Expected number of times that an innocent person is exploited."""
    expected_penalties: float
    frontier: tuple[Offer, ...]
    """The best generalisation for every penalty: each entry holds up to the penalty of the next."""
    nodes: tuple[Offer, ...] = field(repr=False)
    """Every allowed generalisation with its best penalty."""


def stackelberg(
    table: Countable | Classes,
    attack: Attack,
    *,
    worth: float,
    harm: float,
    penalty_cost: float = 0.0,
    penalties: tuple[float, float] = (0.0, math.inf),
    candidates: Sequence[float] | None = None,
    loss: str = "loss",
    k: int = 1,
    suppression: float = 0.0,
    population: Countable | Classes | None = None,
) -> Commitment:
    """The best node and penalty: any penalty between two bounds, or one of some candidates.

    The attacker knows the size of each group: people of the population who look alike, or of the data without one.
    Classes of fewer than `k` people are suppressed, up to a share of all people. Ties go to the smaller node, then to
    the lower penalty.

    >>> from discreet.kernel import AnyValue
    >>> people = Classes.of(["sex"], [("F",), ("M",)], [3, 4], rules={"sex": AnyValue()})
    >>> a = Attack(prior=1, gain=100, access_cost=0, link_cost=0, exploit_cost=10, penalty=0, detection_intercept=0)
    >>> found = stackelberg(people, a, worth=4, harm=100, penalty_cost=0.1)
    >>> found.best.levels, round(found.best.penalty, 2), found.best.reidentified
    ({'sex': 1}, 23.05, 0.0)
    """
    given = {"worth": worth, "harm": harm, "penalty_cost": penalty_cost}
    weights = {name: amount(value, name, remedy="Say what it is worth to you.") for name, value in given.items()}
    offered: tuple[float, float] | Floats = penalties
    if candidates is not None:
        remedy = "Give the penalties to choose from."
        offered = np.unique([amount(penalty, "A penalty", remedy=remedy) for penalty in candidates])
        if not len(offered):
            raise UsageError("There is no penalty to choose.", remedy=remedy)
    elif not 0 <= penalties[0] <= penalties[1] or math.isinf(penalties[0]):
        raise UsageError("penalties are two bounds, the lower one first.", remedy="For example penalties=(0, 10_000).")
    classes = count(table)
    everybody = None if population is None else count(population, classes.names)
    board = AllowedNodes.of(classes, everybody, loss, whole(k, "k", remedy="1 suppresses nobody."), suppression)
    return _Game(board, attack, weights, *_risks(attack, board.sizes, offered)).play()


@dataclass(frozen=True, eq=False)
class _Game:
    """The board, the adversary, and the risk by group size (rows) and penalty (columns)."""

    board: AllowedNodes
    attack: Attack
    weights: dict[str, float]
    sizes: Ints
    penalties: Floats
    risks: Floats

    def play(self) -> Commitment:
        """Try every node with every penalty that can be best."""
        nodes, many = self.board.nodes, max(1, BLOCK // max(1, len(self.penalties)))
        offers: list[Offer] = []
        least = np.full(len(self.penalties), np.inf)
        which, harmed = np.zeros(len(least), dtype=np.int64), np.zeros(len(least))
        for first in range(0, len(nodes), many):
            last = min(first + many, len(nodes))
            people = self.board.people(self.sizes, first, last) @ self.risks
            fixed = self.weights["worth"] * self.board.losses[first:last, None]
            totals = np.asarray(fixed + self.weights["harm"] * people + self.weights["penalty_cost"] * self.penalties)
            for row in range(last - first):
                place = int(np.argmax(totals[row] <= totals[row].min() + _close(totals[row].min())))
                offers.append(self._offer(first + row, place, people[row, place], totals[row, place]))
                better = totals[row] < least - _close(least)
                least, which = np.where(better, totals[row], least), np.where(better, first + row, which)
                harmed = np.where(better, people[row], harmed)
        total = min(offer.total for offer in offers)
        best = next(offer for offer in offers if offer.total <= total + _close(total))
        # Where the best node, or what the attacker does there, changes.
        changes = np.flatnonzero((np.diff(which) != 0) | (np.diff(harmed) != 0)) + 1
        frontier = [
            self._offer(int(which[place]), place, harmed[place], least[place]) for place in [0, *changes.tolist()]
        ]
        # What the attacker does under the best offer.
        sizes, published = self.board.groups[nodes.index(tuple(best.levels.values()))]
        attack = replace(self.attack, penalty=best.penalty)
        plan = attack.known(sizes)
        return Commitment(
            best,
            attack,
            int(published[plan.accesses].sum()),
            float(published @ plan.expected_wrong),
            float(published @ plan.expected_penalties),
            tuple(frontier),
            tuple(offers),
        )

    def _offer(self, node: int, place: int, reidentified: float, total: float) -> Offer:
        board = self.board
        levels = dict(zip(board.names, board.nodes[node], strict=True))
        loss, suppressed = float(board.losses[node]), int(board.suppressed[node])
        return Offer(levels, float(self.penalties[place]), loss, suppressed, float(reidentified), float(total))


def _risks(attack: Attack, sizes: Ints, offered: tuple[float, float] | Floats) -> tuple[Ints, Floats, Floats]:
    """The sizes that are ever attacked, the penalties that can be best, and the risk of each size under each."""
    lowest = replace(attack, penalty=float(offered[0]))
    tempting = sizes[lowest.known(sizes).accesses]
    if tempting.max(initial=0) > MOST_PEOPLE:
        raise UsageError(
            f"At the lowest penalty the attacker would attack groups of more than {MOST_PEOPLE:,} people.",
            remedy="Raise the lowest penalty, or the attacker's costs.",
        )
    if not isinstance(offered, tuple):
        pairs = np.repeat(tempting, len(offered)), np.tile(offered, len(tempting))
        return tempting, offered, Pieces.of(attack, pairs[0], at=pairs[1]).risk.reshape(len(tempting), len(offered))
    low, high = map(float, offered)
    by_size = steps(attack, tempting, "penalty", start=low)
    starts = np.unique(np.concatenate([np.array([low]), *(risks.starts[1:] for risks in by_size)]))
    penalties = np.where(starts > low, starts * (1 + UP), low)
    allowed = penalties <= high
    risks = np.array([risks.at(starts[allowed]) for risks in by_size]).reshape(len(tempting), int(allowed.sum()))
    return tempting, penalties[allowed], risks


def _close(total: Any) -> Any:
    """Totals that differ by less are the same but for rounding."""
    return np.where(np.isfinite(total), 1e-9 * np.maximum(1.0, np.abs(np.where(np.isfinite(total), total, 0.0))), 0.0)
