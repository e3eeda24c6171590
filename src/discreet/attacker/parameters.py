"""What the adversary gains, pays and risks."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.kernel.arrays import Floats

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
            self._check_number(field.name)
        if not SMALLEST <= self.prior <= 1:
            raise UsageError(
                "prior is a probability above 0 and up to 1.", remedy="How likely is the target in the external table?"
            )
        if not 0 < self.discount <= 1:
            raise UsageError(
                "discount lies above 0 and up to 1.", remedy="1 means that the adversary has all the time in the world."
            )
        for name in ("gain", "access_cost", "link_cost", "exploit_cost", "penalty"):
            if getattr(self, name) < 0:
                raise UsageError(f"{name} must not be negative.", remedy="Costs are given as positive numbers.")
        if self.max_penalties is not None and (self.max_penalties < 0 or self.max_penalties != int(self.max_penalties)):
            raise UsageError(
                "max_penalties is a whole number from 0 up, or None for no limit.",
                remedy="1 means: fined once at most.",
            )

    def _check_number(self, name: str) -> None:
        value: Any = getattr(self, name)
        if name == "max_penalties" and value is None:
            return
        a_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not a_number or not abs(value) <= LARGEST:
            raise UsageError(f"{name} must be a finite number.", remedy="Check the parameters of the attack.")

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
