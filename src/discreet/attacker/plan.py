"""What the planning adversary answers: plans, gambles, thresholds, and the single-shot model beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attacker.parameters import Floats
from discreet.kernel.hierarchy import Ints

Marks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Plan:
    """What the adversary does with targets whose group size he knows; one entry per size asked for."""

    sizes: Ints
    start_value: Floats
    """What the first exploit is worth once the tables are linked."""
    access_value: Floats
    """What having the external table is worth."""
    value_raw: Floats
    """What buying it is worth; he does so only if it is above 0."""
    accesses: Marks
    exploits: Ints
    """Exploits on the way on which he is never detected and never right, once access is paid; none if linking does not pay."""
    reidentification: Floats
    """Probability that he re-identifies the target."""
    expected_exploits: Floats
    expected_wrong: Floats
    """Expected number of innocent people exploited."""
    expected_penalties: Floats

    @property
    def value(self) -> Floats:
        """What the attack is worth to him."""
        return np.maximum(self.value_raw, 0)


@dataclass(frozen=True, eq=False)
class Gamble:
    """What he does with targets whose group size he only believes; one entry per target."""

    value_raw: Floats
    accesses: Marks
    reidentification: Floats
    expected_exploits: Floats
    expected_wrong: Floats
    expected_penalties: Floats

    @property
    def value(self) -> Floats:
        """What the attack is worth to him."""
        return np.maximum(self.value_raw, 0)


@dataclass(frozen=True)
class Thresholds:
    """Group sizes from which the adversary changes his mind; None where he never does."""

    stops_early: int | None
    """The smallest group in which he stops before the last candidate."""
    no_access: int | None
    """The smallest group for which he does not buy the external table."""
    no_exploit: int | None
    """The smallest group which he leaves alone even if he has the table."""


@dataclass(frozen=True, eq=False)
class Baseline:
    """The single-shot model (Wan et al. 2015): one random candidate, if that pays."""

    payoff: Floats
    attacks: Marks
    risk: Floats
