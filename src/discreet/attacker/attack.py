"""`Attack`: does an attack pay, how far does a rational attacker go, and with what probability of success?"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

import numpy as np

from discreet.attacker import deterrence
from discreet.attacker.extensions.several_tables import External, Shopping, shop
from discreet.attacker.extensions.shared_purchase import SharedPurchase, share
from discreet.attacker.extensions.uncertain import (
    Distribution,
    RiskDistribution,
    Sampler,
    Simulated,
    risk_distribution,
    simulate,
)
from discreet.attacker.extensions.unconfirmed import Unconfirmed, unconfirmed
from discreet.attacker.planner import Planner
from discreet.attacker.population import Attacked, strike
from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Ints
from discreet.kernel.serialise import card


@dataclass(frozen=True)
class Attack(Planner):
    """A planning attacker.

    >>> fined_once = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000,
    ...                     max_penalties=1)
    >>> fined_once.thresholds()
    Thresholds(stops_early=54, no_access=48, no_exploit=54)
    """

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Attack:
        """From names and numbers, such as a TOML file holds; `max_penalties = "unlimited"` is None."""
        if not isinstance(given, Mapping):
            raise UsageError(
                "An attack is a mapping from parameters to numbers.", remedy="For example {'prior': 0.63}."
            )
        names = [field.name for field in fields(cls)]
        for name in given:
            if name not in names:
                close = difflib.get_close_matches(name, names, n=1)
                advice = f"Did you mean '{close[0]}'?" if close else f"Known are {', '.join(names)}."
                raise UsageError(f"An attack has no parameter '{name}'.", remedy=advice)
        missing = [field.name for field in fields(cls) if field.default is MISSING and field.name not in given]
        if missing:
            raise UsageError(
                f"The attack lacks {', '.join(missing)}.", remedy="discreet attack init writes a file with all of them."
            )
        most = given.get("max_penalties")
        return cls(**{**given, "max_penalties": None if most == "unlimited" else most})

    def _repr_html_(self) -> str:
        rows = [
            (one.name, "unlimited" if getattr(self, one.name) is None else f"{getattr(self, one.name):g}")
            for one in fields(self)
        ]
        words = f"An adversary who can gain {self.gain:,.0f} and risks a fine of {self.penalty:,.0f}."
        return card(words, rows)

    def on(
        self, sample: Classes, external: Classes, *, population: Classes | None = None, loss: float | str = 1.0
    ) -> Attacked:
        """What he would do to every class of people in a table, `external` being the table that names people."""
        return strike(self, sample, external, population=population, loss=loss)

    def deterring_penalty(self, size: int, max_risk: float = 0.0) -> float:
        """The least penalty at which the risk in a known group of this size is at most `max_risk`; infinite if none."""
        return deterrence.deterring_penalty(self, size, max_risk)

    def deterring_price(self, size: int | None = None, max_risk: float = 0.0, **belief: Any) -> float:
        """The least access cost at which it is, for a known group or a belief (`density=, external_size=`, `belief=`)."""
        return deterrence.deterring_price(self, size, max_risk, **belief)

    def least_size(self, max_risk: float = 0.0) -> int | None:
        """The least group size from which on the risk is at most `max_risk`; None if there is none."""
        return deterrence.least_size(self, max_risk)

    def shared(
        self, sizes: Sequence[int] | Ints, counts: Sequence[int] | Ints | None = None, **belief: Any
    ) -> SharedPurchase:
        """What he does when one purchase of the external table serves all records."""
        return share(self, sizes, counts, **belief)

    def several(self, candidates: int, tables: Mapping[str, External], *, links: bool = True) -> Shopping:
        """What he does when several external tables, each with some of the candidates, are for sale."""
        return shop(self, candidates, tables, links=links)

    def uncertain(self, size: int, **amount: Distribution) -> RiskDistribution:
        """The exact distribution of the risk when his gain, or the penalty, has a distribution."""
        return risk_distribution(self, size, **amount)

    def simulated(self, size: int, random: np.random.Generator, draws: int = 10_000, **amounts: Sampler) -> Simulated:
        """The distribution of the risk when several amounts have distributions, by Monte Carlo."""
        return simulate(self, size, random, draws, **amounts)

    def unconfirmed(
        self, sizes: Sequence[int] | Ints, *, true_positive: float = 1.0, false_positive: float = 0.0
    ) -> Unconfirmed:
        """What he does when he cannot be sure that he found the right person."""
        return unconfirmed(self, sizes, true_positive=true_positive, false_positive=false_positive)
