"""Parameters of an attack: gain, cost, penalty; the publisher's losses; the attack file."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError, PolicyError, UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Floats, Ints, total
from discreet.kernel.serialise import json_of
from discreet.wording import reason

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 1e-200
"""A probability below which nothing can be told from 0."""


@dataclass(frozen=True)
class Parameters:
    """The parameters of the planning adversary (Xia et al. 2015)."""

    prior: float
    """Probability that the target is in the external table at all."""
    gain: float
    """What a re-identification brings him."""
    access_cost: float
    """What the external table costs."""
    link_cost: float
    """What linking it costs."""
    exploit_cost: float
    """What trying one candidate costs."""
    penalty: float
    """What he pays when he is detected."""
    max_penalties: int | None = None
    """How often he can be made to pay: None without limit, 0 never."""
    detection_intercept: float = -4.59
    detection_slope: float = 0.0
    """The i-th exploit is detected with probability 1/(1 + exp(-(intercept + slope * i)))."""
    discount: float = 0.9
    """What a step later is worth."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value: Any = getattr(self, field.name)
            unlimited = field.name == "max_penalties" and value is None
            if not unlimited and not (_is_number(value) and abs(value) <= LARGEST):
                raise UsageError(f"{field.name} must be a finite number.", remedy="Check the parameters of the attack.")
        if not SMALLEST <= self.prior <= 1:
            raise UsageError(
                "prior is a probability above 0 and up to 1.", remedy="How likely is the target in the external table?"
            )
        if not 0 < self.discount <= 1:
            raise UsageError(
                "discount must be above 0 and at most 1.",
                remedy="1 means that the attacker does not discount the future.",
            )
        for name in ("gain", "access_cost", "link_cost", "exploit_cost", "penalty"):
            if getattr(self, name) < 0:
                raise UsageError(f"{name} must not be negative.", remedy="Costs are given as positive numbers.")
        if self.max_penalties is not None and (self.max_penalties < 0 or self.max_penalties != int(self.max_penalties)):
            raise UsageError(
                "max_penalties is a whole number from 0 up, or None for no limit.",
                remedy="1 means: fined once at most.",
            )

    def within(self, size: int) -> Self:
        """The same adversary in groups of at most so many people, where a limit beyond their number is none.

        >>> his = Parameters(0.63, 8000, 100, 0, 10, 10_000, max_penalties=1_000_000)
        >>> his.within(10).max_penalties is None, his.within(2_000_000).max_penalties
        (True, 1000000)
        """
        return replace(self, max_penalties=None) if self.max_penalties and self.max_penalties >= size else self

    @cached_property
    def levels(self) -> int:
        """Numbers of penalties that must be told apart: one where they never stop, or never come."""
        return 1 if not self.max_penalties else int(self.max_penalties) + 1

    @cached_property
    def chargeable(self) -> NDArray[np.bool_]:
        """Whether a detection is charged, by penalties already charged."""
        if not self.max_penalties:
            return np.array([self.max_penalties is None])
        return np.arange(self.levels) < self.max_penalties

    @cached_property
    def penalties(self) -> Floats:
        """What a detection costs, by penalties already charged."""
        return np.asarray(self.chargeable * float(self.penalty), dtype=np.float64)

    @property
    def risks_the_same_at_every_exploit(self) -> bool:
        """Whether neither the attempts made nor the penalties charged change what an exploit risks."""
        return self.levels == 1 and (self.detection_slope == 0 or not self.penalties[0])

    def detection(self, attempts: NDArray[np.int64] | Floats) -> Floats:
        """Probability that an exploit is detected after so many earlier ones."""
        with np.errstate(over="ignore"):
            odds = np.clip(self.detection_intercept + self.detection_slope * attempts, -700.0, 700.0)
        return np.asarray(1 / (1 + np.exp(-odds)))


# What a re-identification costs the publisher: the same for everybody, or what a column says.
@dataclass(frozen=True, eq=False)
class Losses:
    """The loss per person, by class of people who look alike."""

    mean: Floats
    highest: Floats
    column: str | None = None
    """Where it was read; None if it is the same for everybody."""

    @classmethod
    def of(cls, loss: float | str, sample: Classes) -> Losses:
        """From a number, or the name of a column that was counted along."""
        if not isinstance(loss, str):
            each = amount(loss, "The loss per record", remedy="Give 0 or more, or the name of a column.")
            return cls(np.full(len(sample), each), np.full(len(sample), each))
        if loss not in sample.spreads:
            raise UsageError(
                f"The losses in column '{loss}' were not counted with these classes.",
                remedy="Give a table, or classes counted with that column: table.classes(sensitive=[...]).",
            )
        spread = sample.spreads[loss]
        numbers = np.full(len(spread.values), np.nan)
        for code, value in enumerate(spread.values):
            with suppress(ValueError):
                numbers[code] = float(str(value))
        bad = ~np.isfinite(numbers) | (numbers < 0)
        if people := int(spread.overall[bad].sum()):
            raise DataError(
                f"Column '{loss}' should hold what a re-identification costs, but for {people:,} people it holds no number from 0 up.",
                remedy="Fill or correct these cells, or give one loss for everybody.",
            )
        amounts = numbers[spread.codes]
        sums = np.bincount(spread.owners, weights=amounts * spread.counts, minlength=len(sample))
        highest = np.zeros(len(sample))
        np.maximum.at(highest, spread.owners, amounts)
        return cls(sums / np.maximum(total(spread.owners, spread.counts, len(sample)), 1), highest, loss)

    to_dict = json_of("column", highest=lambda self: float(self.highest.max(initial=0.0)))


# The file in which an adversary is written down: one section [attack] with what he gains, pays and risks.
def read_attack(file: Path) -> dict[str, Any]:
    """The parameters in a file, as `Attack.from_dict` takes them."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise PolicyError(
            f"{file} cannot be read ({reason(error)}).", remedy=f"discreet attack init --out {file} writes one."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyError(f"{file} is not TOML: {error}", remedy="discreet attack init writes a correct one.") from None
    section = content.pop("attack", None)
    if not isinstance(section, dict) or content:
        extra = f"; '{next(iter(content))}' does not belong there" if content else ""
        raise PolicyError(
            f"{file} needs one section [attack]{extra}.", remedy="discreet attack init writes a correct one."
        )
    return dict(section)


# What callers ask with: probabilities, whole numbers, group sizes.
MOST_PEOPLE = 2**53
"""Numbers of people up to which a float counts each."""
PLANNED = 2**16
"""The largest group that is gone through candidate by candidate."""


def probability(value: Any, name: str, *, remedy: str) -> float:
    """A number between 0 and 1.

    >>> probability(0.2, "max_risk", remedy="")
    0.2
    """
    if not _is_number(value) or not 0 <= value <= 1:
        raise UsageError(f"{name} must be between 0 and 1.", remedy=remedy)
    return float(value)


def number(value: Any, name: str, *, remedy: str) -> float:
    """Any number, infinite ones included."""
    if not _is_number(value):
        raise UsageError(f"{name} must be a number.", remedy=remedy)
    return float(value)


def amount(value: Any, name: str, *, remedy: str) -> float:
    """A finite number that is not negative."""
    if not _is_number(value) or not 0 <= value < np.inf:
        raise UsageError(f"{name} must be a number and not negative.", remedy=remedy)
    return float(value)


def group_sizes(sizes: Any) -> Ints:
    """Whole numbers from 0 up, in one list; or one number.

    >>> group_sizes([3, 5]), group_sizes(4)
    (array([3, 5]), array([4]))
    """
    try:
        groups = np.atleast_1d(np.asarray(sizes))
    except ValueError:
        groups = np.zeros((1, 1))  # lists of different lengths
    whole = groups.dtype.kind in "iu" or not groups.size
    if groups.ndim != 1 or not whole or groups.min(initial=0) < 0 or groups.max(initial=0) > MOST_PEOPLE:
        raise UsageError(
            "Group sizes are whole numbers from 0 up, in one list.",
            remedy="Give how many people look like each target.",
        )
    return groups.astype(np.int64)


def planned_through(size: Any) -> Ints:
    """One group, not so large that going through it candidate by candidate would take too long."""
    group = group_sizes(size)
    if len(group) != 1 or group[0] > PLANNED:
        raise UsageError(
            f"size is the number of people in one group, up to {PLANNED:,}.", remedy="Ask about one group at a time."
        )
    return group


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
