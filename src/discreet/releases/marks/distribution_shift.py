"""Distribution shift: how a value's share changes when rows come and go."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Floats

_ROUNDING = 1e-9


def shift(base: Mapping[Hashable, float], values: Sequence[Hashable], changes: Floats) -> float:
    """The largest change of the share of any value, given by how many rows each value gains or loses.

    >>> round(shift({"a": 10.0, "b": 10.0}, ["a", "b"], np.array([1.0, -1.0])), 6)
    0.05
    """
    return float(shifts_so_far(base, values, changes)[-1]) if len(values) else 0.0


def shifts_so_far(
    base: Mapping[Hashable, float], values: Sequence[Hashable], changes: Floats, *, at: Sequence[int] | None = None
) -> Floats:
    """The same after the first value, the first two, and so on; or only after those at the given places, which ascend."""
    index = {value: place for place, value in enumerate(dict.fromkeys([*base, *values]))}
    before = np.zeros(len(index))
    before[: len(base)] = list(base.values())
    after, shares, found, start = before.copy(), before / before.sum(), [], 0
    places = np.array([index[value] for value in values], dtype=np.int64)
    for last in range(len(values)) if at is None else at:
        np.add.at(after, places[start : last + 1], changes[start : last + 1])
        start = last + 1
        found.append(float(np.abs(after / after.sum() - shares).max()))
    return np.array(found)


@dataclass(frozen=True, eq=False)
class Balance:
    """The values of one column, and what a first and a second class of each pair would add to them or take away."""

    base: Floats
    values: NDArray[np.int64]
    """Per pair, the places of the values of both classes."""

    @classmethod
    def of(cls, base: Mapping[Hashable, float], first: Sequence[Hashable], second: Sequence[Hashable]) -> Balance:
        """From people per value, and the value of each pair's classes."""
        index = {value: place for place, value in enumerate(dict.fromkeys([*base, *first, *second]))}
        before = np.zeros(len(index))
        before[: len(base)] = list(base.values())
        places = [[index[value] for value in values] for values in (first, second)]
        return cls(before, np.array(places, dtype=np.int64).reshape(2, -1).T)


def balanced(columns: Sequence[Balance], changes: Floats, limit: float) -> NDArray[np.int64]:
    """The pairs, in their order, that can be taken one after another without any column shifting beyond the limit.

    A pair that would shift a column too far is passed over; a later one may shift it back.
    """
    tallies, kept = [ShiftTally.of(column) for column in columns], []
    for pair, (first, second) in enumerate(changes.tolist()):
        trials = []
        for tally in tallies:
            trials.append(tally.tried(pair, first, second, limit))
            if trials[-1].shift > limit:
                break
        else:
            for tally, trial in zip(tallies, trials, strict=True):
                tally.take(trial)
            kept.append(pair)
    return np.array(kept, dtype=np.int64)


@dataclass(frozen=True)
class Trial:
    """What a column would be with one more pair."""

    counts: dict[int, float]
    """The values that change."""
    people: float
    shift: float
    """How far any value has shifted at most."""


@dataclass(eq=False)
class ShiftTally:
    """The values of one column as pairs are added, and a bound on how far any of them has shifted.

    With another number of people every share changes, by no more than the number did. Only when such changes add up to
    more than the limit are all values looked at again.
    """

    counts: Floats
    shares: Floats
    values: list[list[int]]
    people: float
    bound: float = 0.0

    @classmethod
    def of(cls, column: Balance) -> ShiftTally:
        """Before any pair."""
        people = float(column.base.sum())
        return cls(column.base.copy(), column.base / people, column.values.tolist(), people)

    def tried(self, pair: int, first: float, second: float, limit: float) -> Trial:
        """With a pair whose classes change their values by so many rows."""
        one, other = self.values[pair]
        counts = {one: float(self.counts[one]) + first}
        counts[other] = counts.get(other, float(self.counts[other])) + second
        people = self.people + first + second
        moved = [abs(count / people - float(self.shares[place])) for place, count in counts.items()]
        shift = max(self.bound + abs(first + second) / people, *moved)
        return Trial(counts, people, shift) if shift <= limit - _ROUNDING else self._counted(counts)

    def _counted(self, changed: dict[int, float]) -> Trial:
        """The same with all values looked at."""
        counts = self.counts.copy()
        counts[list(changed)] = list(changed.values())
        people = counts.sum()
        return Trial(changed, float(people), float(np.abs(counts / people - self.shares).max()))

    def take(self, trial: Trial) -> None:
        """Add what was tried."""
        for place, count in trial.counts.items():
            self.counts[place] = count
        self.people, self.bound = trial.people, trial.shift
