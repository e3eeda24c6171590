"""What the planning adversary answers: plans, gambles, thresholds, and the single-shot model beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.kernel.serialise import card
from discreet.wording import brief_percent

SHOWN = 20
"""Groups that a notebook lists."""


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
    accesses: Flags
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

    def _repr_html_(self) -> str:
        columns = (self.sizes, self.exploits, self.reidentification, self.value)
        listed = zip(*(np.atleast_1d(column)[:SHOWN].tolist() for column in columns), strict=True)
        rows = [(f"{size:,}", tried, brief_percent(found), f"{worth:,.0f}") for size, tried, found, worth in listed]
        head = ("people who look alike", "candidates tried", "re-identified", "worth to the attacker")
        return card("What the adversary plans, by the size of the group.", rows, head=head)


@dataclass(frozen=True, eq=False)
class Gamble:
    """What he does with targets whose group size he only believes; one entry per target."""

    value_raw: Floats
    accesses: Flags
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
    """Group sizes from which the adversary changes his mind; None where he does not up to 8,192 people.

    Where every exploit risks the same, there is a closed form, and it is 1,048,576 people.
    """

    stops_early: int | None
    """The smallest group in which he stops before the last candidate."""
    no_access: int | None
    """The smallest group for which he does not buy the external table."""
    no_exploit: int | None
    """The smallest group which he leaves alone even if he has the table."""

    def _repr_html_(self) -> str:
        told = (("Stops early from", self.stops_early), ("Does not buy the list from", self.no_access),
                ("Does not start from", self.no_exploit))  # fmt: skip
        rows = [(words, "never" if size is None else f"{size:,}") for words, size in told]
        return card("How many people must look alike before the attacker decides otherwise:", rows)


@dataclass(frozen=True, eq=False)
class Baseline:
    """The single-shot model (Wan et al. 2015): one random candidate, if that pays."""

    payoff: Floats
    attacks: Flags
    risk: Floats
