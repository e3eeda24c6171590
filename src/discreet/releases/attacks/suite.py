"""All attacks, run by a custodian who knows the truth against adversaries who do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.kernel.arrays import Flags, Floats, Ints, Label
from discreet.releases.attacks import counting, fitting, joining, layout
from discreet.releases.attacks.held import Adversary
from discreet.releases.decoys.detectability import EITHER_WAY, auc, either_way, noise_floor

Rate = Callable[[Adversary, Ints], Floats]

ATTACKS: Mapping[str, tuple[Rate, int]] = {
    "link count": (counting.link_count, 1),
    "size": (counting.size, 1),
    "over-sampling": (counting.over_sampling, 1),
    "order": (layout.order, 1),
    "standing together": (layout.standing_together, 1),
    "row numbers": (layout.row_numbers, 1),
    "duplicates": (joining.duplicates, 1),
    "tuple join": (joining.tuple_join, 1),
    "classifier": (fitting.classifier, 1),
    "intersection": (counting.intersection, 2),
}
"""By name: how it rates classes, and how many copies it needs."""
TARGET = 0.60
OF_TEN = 2.81
"""The same for the best of ten."""


@dataclass(frozen=True)
class Outcome:
    """How well one attack told decoys from real classes, on average over the adversaries who played it."""

    attack: str
    auc: float
    """Whichever way the rating points: 0.5 is guessing, 1 tells all."""
    floor: float
    """What guessing reaches by luck in one of twenty cases."""
    precision: float
    """The share of decoys among the classes rated highest, as many as there are decoys."""
    guessing: float
    """The same for somebody who guesses."""

    @property
    def tells(self) -> bool:
        """Whether it beats the target by more than luck explains, ten attacks having been tried."""
        return self.auc > max(TARGET, 0.5 + (self.floor - 0.5) * OF_TEN / EITHER_WAY)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(self.__dict__)


@dataclass(frozen=True, eq=False)
class Case:
    """An adversary, and which of his classes are decoys: the truth that he does not see."""

    adversary: Adversary
    decoys: frozenset[tuple[Label, ...]]

    def asked(self) -> tuple[Ints, Flags]:
        """The classes he is asked about, and the truth: all decoys, and the real classes as risky as these.

        Real classes are as risky where their link counts are among those of decoys. Where there are none, as with bait,
        every real class is asked about.
        """
        truth = np.array([label in self.decoys for label in self.adversary.own.labels], dtype=bool)
        links = self.adversary.links
        if not truth.any():
            return np.arange(0), truth[:0]
        among = (links >= links[truth].min()) & (links <= links[truth].max())
        chosen = truth | among if (among & ~truth).any() else np.ones(len(truth), dtype=bool)
        return np.flatnonzero(chosen), truth[chosen]


def run(cases: Sequence[Case], *, attacks: Mapping[str, tuple[Rate, int]] = ATTACKS) -> list[Outcome]:
    """Every attack by every adversary who has enough copies for it."""
    asked = [case.asked() for case in cases]
    found = []
    for name, (rate, copies) in attacks.items():
        able = [number for number, case in enumerate(cases) if len(case.adversary.copies) >= copies]
        if able:
            found.append(_outcome(name, rate, [cases[number] for number in able], [asked[number] for number in able]))
    return found


def _outcome(name: str, rate: Rate, cases: Sequence[Case], asked: Sequence[tuple[Ints, Flags]]) -> Outcome:
    rated = [rate(case.adversary, places) for case, (places, _) in zip(cases, asked, strict=True)]
    truths = [truth for _, truth in asked]
    mean = float(np.mean([auc(scores, truth) for scores, truth in zip(rated, truths, strict=True)]))
    sign = 1.0 if mean >= 0.5 else -1.0
    precision = [_precision(sign * scores, truth) for scores, truth in zip(rated, truths, strict=True)]
    return Outcome(
        name,
        either_way(mean),
        float(np.mean([noise_floor(int(truth.sum()), int((~truth).sum())) for truth in truths])),
        float(np.mean(precision)),
        float(np.mean([truth.mean() if len(truth) else 0.0 for truth in truths])),
    )


def _precision(scores: Floats, truth: Flags) -> float:
    """The share of true ones among the highest scores; ties count in proportion."""
    wanted = int(truth.sum())
    if not wanted:
        return 0.0
    edge = np.sort(scores)[::-1][wanted - 1]
    above, at = scores > edge, scores == edge
    left = wanted - int(above.sum())
    return float((truth[above].sum() + left * truth[at].mean()) / wanted)
