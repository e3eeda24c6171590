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


AT_ONCE = 1_000_000
"""Marks of recipients, by chance of showing, that are looked at in one step."""


def log_sum(logs: Floats) -> Floats:
    """The logarithm of the sum over the last axis."""
    top: Floats = logs.max(axis=-1)
    return np.asarray(top + np.log(np.exp(logs - top[..., None]).sum(axis=-1)))


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

    def only(self, chosen: Flags) -> SeenMarks:
        """What it says of some marks."""
        return SeenMarks(self.probabilities[chosen], self.shown[chosen], self.hidden[chosen])

    @cached_property
    def logs(self) -> Floats:
        """Per mark and chance of showing it, the logarithm of how likely what was seen is."""
        top = np.maximum(self.shown, self.hidden)[:, None]
        shown, hidden = np.exp(self.shown[:, None] - top), np.exp(self.hidden[:, None] - top)
        return np.asarray(np.log(np.maximum(CHANCES * shown + (1 - CHANCES) * hidden, 1e-300)))

    def fits(self, tallies: Ints, colluding: int) -> Floats:
        """How well coalitions explain the file, given how many have each mark."""
        levels = tallies[:, None, :] == np.arange(colluding + 1)[:, None]
        return np.asarray(log_sum(beliefs(colluding) + levels.astype(np.float64) @ self.logs).sum(axis=1))

    def factors(self, bits: Flags, others: Ints, colluding: int) -> Floats:
        """Per recipient, the logarithm of the product of its factors beside the same others."""
        here = self.logs[None]
        # What marks before each one say of the chances with which it is shown: if the recipient has it, and if not.
        if_held, if_missed = (np.zeros((*bits.shape, len(CHANCES))) for _ in range(2))
        for have, weights in enumerate(beliefs(colluding)):
            learnt = np.where((others + bits == have)[:, :, None], here, 0.0)
            before = np.cumsum(learnt, axis=1) - learnt + weights
            if_held[:, others + 1 == have] = before[:, others + 1 == have]
            if_missed[:, others == have] = before[:, others == have]
        held, missed = (log_sum(log + here) - log_sum(log) for log in (if_held, if_missed))
        whole = np.logaddexp(np.log(self.probabilities) + held, np.log1p(-self.probabilities) + missed)
        return np.asarray((np.where(bits, held, missed) - whole).sum(axis=1))

    def log_e_values(self, present: Flags, shared: SharedCells | None = None, visible: Flags | None = None) -> Floats:
        """The natural logarithm of the joint e-value of each row of bits.

        `shared` are cells of further marks, `visible` the bits that these count theirs among; their factors multiply.
        """
        number = len(present)
        sizes = [size for size in COALITIONS if size <= number]

        def factors(places: Sequence[int], others: Sequence[int], size: int) -> Floats:
            found = np.zeros(len(places))
            rest = present[list(others)].sum(axis=0)
            step = max(1, AT_ONCE // max(1, len(rest) * len(CHANCES)))
            for start in range(0, len(places), step):
                some = list(places[start : start + step])
                found[start : start + step] = self.factors(present[some], rest, size)
            if shared is not None and visible is not None:
                seen = visible[list(others)].sum(axis=0)
                found += [shared.factor(visible[place], seen, size) for place in places]
            return found

        alone = factors(range(number), (), 1)
        ranked = np.argsort(-alone, kind="stable")[: SUSPECTS + 1].tolist()
        logs = np.full((number, len(sizes)), -np.inf)
        logs[:, 0] = alone
        # Most recipients have the same others: those that fit best of all. Only for these they are looked for again.
        common = self._coalition(present, ranked, sizes[-1] - 1)
        rests = {
            place: self._coalition(
                present,
                [one for one in ranked if one != place],
                sizes[-1] - 1,
                common[: common.index(place)],
            )
            for place in common
        }
        for column, size in enumerate(sizes[1:], start=1):
            groups: dict[tuple[int, ...], list[int]] = {}
            for place in ranked:
                groups.setdefault(tuple(rests.get(place, common)[: size - 1]), []).append(place)
            for others, places in groups.items():
                logs[places, column] = factors(places, others, size)
        weights = np.array([ALONE, *[(1 - ALONE) / max(len(sizes) - 1, 1)] * (len(sizes) - 1)])
        joint: Floats = np.logaddexp.reduce(logs + np.log(weights / weights.sum()), axis=1)
        return joint

    def _coalition(self, present: Flags, among: Sequence[int], most: int, head: Sequence[int] = ()) -> list[int]:
        """Recipients, each the one that explains most together with those before."""
        chosen = list(head)
        tally = present[chosen].sum(axis=0).astype(np.int64) if chosen else np.zeros(present.shape[1], dtype=np.int64)
        while len(chosen) < min(most, len(among)):
            left = [place for place in among if place not in chosen]
            best = left[int(np.argmax(self.fits(tally + present[left], len(chosen) + 1)))]
            chosen.append(best)
            tally = tally + present[best]
        return chosen
