"""`Attack`: does an attack pay, how far does a rational attacker go, and with what probability of success?"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from discreet.attacker import deterrence
from discreet.attacker.optimal_plan import Planner
from discreet.attacker.population import strike
from discreet.attacker.purchases import SharedPurchase, share, shop
from discreet.attacker.uncertainty import plan_unconfirmed, risk_distribution, simulate
from discreet.errors import UsageError
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
        if missing := [field.name for field in fields(cls) if field.default is MISSING and field.name not in given]:
            raise UsageError(
                f"The attack lacks {', '.join(missing)}.", remedy="discreet attack init writes a file with all of them."
            )
        most = given.get("max_penalties")
        return cls(**{**given, "max_penalties": None if most == "unlimited" else most})

    def _repr_html_(self) -> str:
        amounts = [(field.name, getattr(self, field.name)) for field in fields(self)]
        rows = [(name, "unlimited" if value is None else f"{value:g}") for name, value in amounts]
        return card(f"An adversary who can gain {self.gain:,.0f} and risks a fine of {self.penalty:,.0f}.", rows)

    # What the attacker does to every class of a table; to all records with one purchase of the external table; with
    # several tables for sale; when an amount has a distribution, exactly or by Monte Carlo; when success is uncertain.
    on = strike
    several = shop
    uncertain = risk_distribution
    simulated = simulate
    unconfirmed = plan_unconfirmed
    least_size = deterrence.least_size

    def shared(
        self, sizes: Sequence[int] | Ints, counts: Sequence[int] | Ints | None = None, **belief: Any
    ) -> SharedPurchase:
        """The plan when one purchase of the external table serves all records."""
        return share(self, sizes, counts, **belief)

    def deterring_penalty(self, size: int, max_risk: float = 0.0) -> float:
        """The least penalty at which the risk in a known group of this size is at most `max_risk`; infinite if none."""
        return float(deterrence.deterring_penalties(self, [size], max_risk)[0])

    def deterring_price(self, size: int | None = None, max_risk: float = 0.0, **belief: Any) -> float:
        """The least access cost at which it is, for a known group or a belief (`density=, external_size=`, `belief=`)."""
        rows = {name: [belief[name]] for name in ("density", "belief") if belief.get(name) is not None}
        sizes = None if size is None else [size]
        return float(deterrence.deterring_prices(self, sizes, max_risk, **{**belief, **rows})[0])
