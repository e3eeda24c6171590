"""Power of a trace: marks and claims needed to name a recipient, by simulation with a fixed seed.

Recipients who collude decide mark by mark what the leaked copy shows, from how many of them have the mark. Where all of
them have it, or none, they have no choice. A recipient is named when the odds that their copy is behind the leak, over
those of an innocent one, reach N/alpha; by Markov's inequality an innocent is then named with probability alpha at most.

Five strategies are played. There are others that need more marks, such as showing what only a minority of them has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.releases.marks.codebook import Law, Marks

ALPHA = 1e-3
POWER = 0.95
TRIALS = 600
MOST_MARKS = 4_000
MOST_COLLUDING = 8
_SEED = 1_847
_FIRST_CLAIMS = 512
CERTAIN, SHARES = 0.98, (2, 3)
"""How sure a lone leaker's claim is taken to come from their copy; sizes of coalitions that also count."""


def strategies(colluding: int) -> dict[str, tuple[float, ...]]:
    """What a coalition is played to do: the chance that the leaked copy shows a mark that 0, 1, ... of them have.

    >>> strategies(2)["intersection"], strategies(2)["coin"]
    ((0.0, 0.0, 1.0), (0.0, 0.5, 1.0))
    """
    between = range(1, colluding)
    choices = {
        "intersection": [0.0 for _ in between],
        "union": [1.0 for _ in between],
        "coin": [0.5 for _ in between],
        "one of them": [have / colluding for have in between],
        "majority": [0.5 if 2 * have == colluding else float(2 * have > colluding) for have in between],
    }
    return {name: (0.0, *middle, 1.0) for name, middle in choices.items()}


@lru_cache(maxsize=256)
def marks_needed(
    law: Law, recipients: int, colluding: int, *, alpha: float = ALPHA, power: float = POWER, most: int = MOST_MARKS
) -> int | None:
    """Marks with which one of those who collude is named, by the worst of `strategies`; None if it takes more than `most`.

    >>> from discreet.releases.marks.codebook import DEFAULT
    >>> 15 <= (marks_needed(DEFAULT, 20, 1) or 0) <= 27
    True
    """
    threshold = math.log(recipients / alpha)
    worst, dice = 0, Dice(law, colluding)
    for choice in dict.fromkeys(strategies(colluding).values()):
        # First with few marks, since that is quick.
        marks = min(64, most)
        while True:
            short = np.flatnonzero(dice.game(marks).named(choice, threshold) < power)
            needed = int(short[-1]) + 2 if len(short) else 1
            if not len(short) or needed - 1 < 0.8 * marks:
                break
            if marks == most:
                return None
            marks = min(2 * marks, most)
        worst = max(worst, needed)
    return worst


@dataclass(frozen=True, eq=False)
class Game:
    """Who has which marks in every trial, whatever they then do."""

    law: Law
    kinds: NDArray[np.int16]
    """Which of the law's probabilities each mark has, trial by trial."""
    have: Sequence[Flags]
    """The marks of each who colludes."""
    luck: Floats
    """One number per mark, by which it is decided whether those who have a choice show it."""

    @classmethod
    def drawn(cls, law: Law, colluding: int, marks: int) -> Game:
        """By dice of a fixed seed."""
        generator = np.random.default_rng(_SEED)
        kinds = law.kinds(generator.random((TRIALS, marks))).astype(np.int16)
        chance = np.asarray(law.values)[kinds]
        have = [generator.random((TRIALS, marks)) < chance for _ in range(colluding)]
        return cls(law, kinds, have, generator.random((TRIALS, marks)))

    @cached_property
    def holders(self) -> NDArray[np.int16]:
        """How many have each mark."""
        return np.asarray(np.sum(self.have, axis=0, dtype=np.int16))

    def named(self, choice: tuple[float, ...], threshold: float) -> Floats:
        """The share of trials in which one of the coalition is named after the first mark, the first two, and so on."""
        # How much likelier each recipient is in the coalition than not, as a logarithm: by the probability of the mark,
        # whether they have it, and whether it was shown.
        chance, others = np.asarray(self.law.values), len(choice) - 2
        ways = [comb(others, have) * chance**have * (1 - chance) ** (others - have) for have in range(others + 1)]
        with_mark = sum(way * choice[have + 1] for have, way in enumerate(ways))
        without = sum(way * choice[have] for have, way in enumerate(ways))
        innocent = (chance * with_mark + (1 - chance) * without)[:, None]
        guilty = np.stack([without, with_mark], axis=1)
        ratios = [(1 - guilty) / np.maximum(1 - innocent, 1e-300), guilty / np.maximum(innocent, 1e-300)]
        odds = np.log(np.maximum(np.stack(ratios, axis=2), 1e-12)).ravel()
        shown = self.luck < np.asarray(choice)[self.holders]
        cells = 4 * self.kinds + shown
        best = np.full(shown.shape, -np.inf)
        for marks in self.have:
            np.maximum(best, np.cumsum(odds[cells + 2 * marks], axis=1), out=best)
        return np.asarray((best >= threshold).mean(axis=0))


@dataclass(frozen=True, eq=False)
class Dice:
    """Games with a number who collude, each drawn once for all that they can do."""

    law: Law
    colluding: int
    games: dict[int, Game] = field(default_factory=dict)

    def game(self, marks: int) -> Game:
        """With so many marks."""
        if marks not in self.games:
            self.games[marks] = Game.drawn(self.law, self.colluding, marks)
        return self.games[marks]


def coalition_supported(marks: int, law: Law, recipients: int, *, alpha: float = ALPHA, power: float = POWER) -> int:
    """The largest number of recipients who may collude, by any of `strategies`, and be traced with so many marks."""
    supported = 0
    for colluding in range(1, min(recipients, MOST_COLLUDING) + 1):
        needed = marks_needed(law, recipients, colluding, alpha=alpha, power=power, most=max(marks, 1))
        if needed is None or needed > marks:
            break
        supported = colluding
    return supported


def claims_until_traced(
    marks: Marks, probabilities: Floats, unmarked: Ints, recipients: int, *, colluding: int = 1, alpha: float = ALPHA
) -> float:
    """Claims, the riskiest first, until a recipient is named in half of all cases; infinite if never.

    Recipients who collude claim only what all of them have. `unmarked` are the link counts of released classes without a mark.
    """
    generator = np.random.default_rng(_SEED)
    if not len(marks):
        return math.inf
    links = np.concatenate([marks.links, unmarked]).astype(np.float64)
    gains = np.zeros((1 + len(SHARES), len(links)))
    gains[:, : len(marks)] = [
        np.log(CERTAIN / probabilities),
        *(np.log1p((1 - probabilities) / (share * probabilities)) for share in SHARES),
    ]
    wanted = math.log(recipients / alpha) + math.log(len(gains))
    ranked = np.argsort(links, kind="stable")
    needed = []
    for _ in range(TRIALS // 2):
        shared = (generator.random((colluding, len(marks))) < probabilities).all(axis=0)
        in_copy = np.concatenate([shared, np.ones(len(unmarked), dtype=bool)])
        luck = np.empty(len(links))
        luck[in_copy] = generator.random(int(in_copy.sum()))
        # The sum of e-values over the sizes of coalitions mostly reaches the line within the riskiest classes. So these
        # come first: so many of them, and all others with the link count of the last; eight times as many if that fails.
        count, reached = _FIRST_CLAIMS, np.arange(0)
        while not len(reached):
            last = links[ranked[min(count, len(ranked)) - 1]]
            head = ranked[: int(np.searchsorted(links, last, side="right", sorter=ranked))]
            claimed = head[in_copy[head]]
            order = claimed[np.lexsort([luck[claimed], links[claimed]])]
            evidence: Floats = np.logaddexp.reduce(np.cumsum(gains[:, order], axis=1), axis=0)
            reached = np.flatnonzero(evidence >= wanted)
            if len(head) == len(ranked):
                break
            count *= 8
        needed.append(float(reached[0]) + 1 if len(reached) else math.inf)
    return float(np.median(needed))
