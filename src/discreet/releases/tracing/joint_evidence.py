"""Joint e-value: evidence against one recipient, alone or with others who put their copies together.

Of each mark it is known how likely what was seen is if the leaked file shows the mark, and if it does not. Recipients who
put their copies together decide for each mark whether it is shown, by how many of them have it; how, is learnt.

**The e-value.** For recipient j and a coalition of c, the c - 1 others are those whose bits explain the file best. Mark
by mark, in a fixed order, what was seen is weighed by

    P(y | others + x_j) / sum over x of p(x) P(y | others + x),

where P is learnt from earlier marks only. The e-value is a weighted mean over c of the products.

**Null.** The recipient is innocent: given the secret probabilities, its bits were drawn independently of the file and of
the bits of all others.

**Why it is an e-value.** The others are chosen without looking at x_j. Given the file, the other bits and the earlier
bits of j, the next bit is 1 with probability p, so each factor has expectation 1 by construction, whatever P is; so has
their product, and so has the mean of such products. A wrong model costs power, never validity. By Markov's inequality an
innocent recipient reaches N/alpha with probability at most alpha/N.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.releases.tracing.likelihood import SharedCells

COALITIONS = (1, 2, 3, 4, 5, 6, 8, 10)
"""Sizes of coalitions that are tried."""
ALONE = 0.4
"""What a single leaker counts in the mean; the other sizes share the rest."""
CHANCES = np.array([0.0005, 0.005, 0.02, 0.08, 0.2, 0.35, 0.5, 0.65, 0.8, 0.92, 0.98, 0.995, 0.9995])
"""Chances with which a coalition may show a mark."""
SUSPECTS = 30
"""Recipients among whom a coalition is looked for, at most: those who fit best alone."""


@lru_cache(maxsize=32)
def beliefs(colluding: int) -> Floats:
    """How likely each chance is at first, as logarithms, by how many have a mark.

    What all have is mostly shown and what nobody has is not; between these anything may be, and more often all or nothing.
    """
    rows = []
    for have in range(colluding + 1):
        if have == 0:
            weights = 0.2 ** np.arange(len(CHANCES), dtype=np.float64)
        elif have == colluding:
            weights = 0.2 ** np.arange(len(CHANCES), dtype=np.float64)[::-1]
        else:
            weights = np.ones(len(CHANCES))
            weights[[0, -1]] = 3.0
            weights[int(np.argmin(np.abs(CHANCES - have / colluding)))] += 3.0
        rows.append(np.log(weights / weights.sum()))
    return np.array(rows)


@dataclass(frozen=True, eq=False)
class SeenMarks:
    """What a leaked file says of each mark."""

    probabilities: Floats
    """With which the mark is in a copy."""
    shown: Floats
    """The logarithm of how likely what was seen is if the file shows the mark."""
    hidden: Floats
    """The same if it does not."""

    def __len__(self) -> int:
        return len(self.probabilities)

    @cached_property
    def logs(self) -> Floats:
        """Per mark and chance of showing it, the logarithm of how likely what was seen is."""
        top = np.maximum(self.shown, self.hidden)[:, None]
        shown, hidden = np.exp(self.shown[:, None] - top), np.exp(self.hidden[:, None] - top)
        return np.asarray(np.log(np.maximum(CHANCES * shown + (1 - CHANCES) * hidden, 1e-300)))

    def fit(self, tally: Ints, colluding: int) -> float:
        """How well a coalition explains the file, given how many of it have each mark."""
        levels = np.zeros((colluding + 1, len(tally)))
        levels[tally, np.arange(len(tally))] = 1.0
        return float(np.logaddexp.reduce(beliefs(colluding) + levels @ self.logs, axis=1).sum())

    def factors(self, bits: Flags, others: Ints, colluding: int) -> float:
        """The logarithm of the product of one recipient's factors."""
        marks, own = np.arange(len(bits)), others + bits
        learnt = np.zeros((len(bits) + 1, colluding + 1, len(CHANCES)))
        learnt[marks + 1, own] = self.logs
        before = np.cumsum(learnt, axis=0)[:-1] + beliefs(colluding)
        held, missed = (
            np.logaddexp.reduce(log + self.logs, axis=1) - np.logaddexp.reduce(log, axis=1)
            for log in (before[marks, others + 1], before[marks, others])
        )
        whole = np.logaddexp(np.log(self.probabilities) + held, np.log1p(-self.probabilities) + missed)
        return float((np.where(bits, held, missed) - whole).sum())

    def log_e_values(self, present: Flags, shared: SharedCells | None = None, visible: Flags | None = None) -> Floats:
        """The natural logarithm of the joint e-value of each row of bits.

        `shared` are cells of further marks, `visible` the bits that these count theirs among; their factors multiply.
        """
        number = len(present)
        sizes = [size for size in COALITIONS if size <= number]

        def factor(place: int, others: Sequence[int], size: int) -> float:
            marks = self.factors(present[place], present[list(others)].sum(axis=0), size)
            if shared is None or visible is None:
                return marks
            return marks + shared.factor(visible[place], visible[list(others)].sum(axis=0), size)

        alone = np.array([factor(place, (), 1) for place in range(number)])
        ranked = np.argsort(-alone, kind="stable")[: SUSPECTS + 1].tolist()
        logs = np.full((number, len(sizes)), -np.inf)
        logs[:, 0] = alone
        # Most recipients have the same others: those that fit best of all. Only for these they are looked for again.
        common = self._coalition(present, ranked, sizes[-1] - 1)
        for place in ranked if len(sizes) > 1 else []:
            rest = common
            if place in common:
                head = common[: common.index(place)]
                rest = self._coalition(present, [one for one in ranked if one != place], sizes[-1] - 1, head)
            for column, size in enumerate(sizes[1:], start=1):
                logs[place, column] = factor(place, rest[: size - 1], size)
        weights = np.array([ALONE, *[(1 - ALONE) / max(len(sizes) - 1, 1)] * (len(sizes) - 1)])
        joint: Floats = np.logaddexp.reduce(logs + np.log(weights / weights.sum()), axis=1)
        return joint

    def _coalition(self, present: Flags, among: Sequence[int], most: int, head: Sequence[int] = ()) -> list[int]:
        """Recipients, each the one that explains most together with those before."""
        chosen = list(head)
        tally = present[chosen].sum(axis=0).astype(np.int64) if chosen else np.zeros(present.shape[1], dtype=np.int64)
        while len(chosen) < min(most, len(among)):
            left = [place for place in among if place not in chosen]
            fits = [self.fit(tally + present[place], len(chosen) + 1) for place in left]
            best = left[int(np.argmax(fits))]
            chosen.append(best)
            tally = tally + present[best]
        return chosen
