"""`Attack`: will a rational adversary bother, how far will he go, and with what probability does he succeed?

The attack is a sequence of decisions (buy the external table, link it, try one candidate after another, stop) with
costs, a gain, a chance of detection and a penalty: a factored Markov decision process after Xia et al.,
"Process-Driven Data Privacy" (CIKM 2015). An action is taken only if it is worth strictly more than stopping.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.attacker.belief import believe
from discreet.attacker.bellman import Horizon
from discreet.attacker.parameters import Parameters, group_sizes
from discreet.attacker.plan import Baseline, Gamble, Plan, Thresholds
from discreet.attacker.population import Attacked, strike
from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Floats, Ints
from discreet.kernel.notebook import card

if TYPE_CHECKING:
    from discreet.attacker.extensions.several_tables import External, Shopping
    from discreet.attacker.extensions.shared_purchase import Shared
    from discreet.attacker.extensions.uncertain import Distribution, RiskDistribution, Sampler, Simulated
    from discreet.attacker.extensions.unconfirmed import Unconfirmed


@dataclass(frozen=True)
class Attack(Parameters):
    """A planning adversary.

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

    def known(self, sizes: Sequence[int] | Ints) -> Plan:
        """The plan for targets in groups of these sizes."""
        asked = group_sizes(sizes)
        table = self.horizon.plans(asked)
        value = -self.access_cost + self.discount * table.access
        accesses = value > 0
        found, exploits, penalties = (part * accesses for part in (table.success, table.tries, table.penalties))
        return Plan(
            asked,
            table.start,
            table.access,
            value,
            accesses,
            table.exploits,
            found,
            exploits,
            exploits - found,
            penalties,
        )

    def unknown(
        self,
        density: Sequence[float] | Floats | None = None,
        external_size: int | None = None,
        sizes: Sequence[int] | Ints | None = None,
        *,
        belief: Sequence[Sequence[float]] | Floats | None = None,
    ) -> Gamble:
        """What he does when he learns a group's size only after buying the table.

        He believes that it is Binomial(external_size, density), or whatever `belief` says: one row per target, the
        probability of each size from 0 on. `sizes` are the real ones, on which the risk depends.
        """
        if sizes is None:
            raise UsageError(
                "The real group sizes are needed.", remedy="Give sizes=: the people in the external table per target."
            )
        actual = group_sizes(sizes)
        beliefs = believe(density, external_size, belief, targets=len(actual))
        possible = beliefs.sizes(self.horizon.nobody_starts_from)
        value = -self.access_cost + self.discount * beliefs.expectation(possible, self.horizon.plans(possible).access)
        accesses = value > 0
        table = self.horizon.plans(actual)
        goes_on = accesses & (table.access > 0)
        found, exploits, penalties = (part * goes_on for part in (table.success, table.tries, table.penalties))
        return Gamble(value, accesses, found, exploits, exploits - found, penalties)

    def thresholds(self) -> Thresholds:
        """The group sizes from which he stops early, does not buy, does not start."""
        return self.horizon.thresholds()

    def baseline(self, sizes: Sequence[int] | Ints) -> Baseline:
        """One random candidate: (p/g) G - C_d - C_e - d_0 C_p, tried if it is above 0."""
        groups = group_sizes(sizes)
        chance = np.where(groups > 0, self.prior / np.maximum(groups, 1), 0.0)
        caught = float(self.detection(np.array(0)))
        payoff = chance * self.gain - self.access_cost - self.exploit_cost - caught * self.penalty
        attacks = payoff > 0
        return Baseline(payoff, attacks, np.where(attacks, chance, 0.0))

    @cached_property
    def horizon(self) -> Horizon:
        """His plans, made as far as they are asked for and kept."""
        return Horizon(self)

    def deterring_penalty(self, size: int, max_risk: float = 0.0) -> float:
        """The least penalty at which the risk in a known group of this size is at most `max_risk`; infinite if none."""
        from discreet.attacker.deterrence import deterring_penalty

        return deterring_penalty(self, size, max_risk)

    def deterring_price(self, size: int | None = None, max_risk: float = 0.0, **belief: Any) -> float:
        """The least access cost at which it is, for a known group or a belief (`density=, external_size=`, `belief=`)."""
        from discreet.attacker.deterrence import deterring_price

        return deterring_price(self, size, max_risk, **belief)

    def least_size(self, max_risk: float = 0.0) -> int | None:
        """The least group size from which on the risk is at most `max_risk`; None if there is none."""
        from discreet.attacker.deterrence import least_size

        return least_size(self, max_risk)

    def shared(self, sizes: Sequence[int] | Ints, counts: Sequence[int] | Ints | None = None, **belief: Any) -> Shared:
        """What he does when one purchase of the external table serves all records."""
        from discreet.attacker.extensions.shared_purchase import share

        return share(self, sizes, counts, **belief)

    def several(self, candidates: int, tables: Mapping[str, External], *, links: bool = True) -> Shopping:
        """What he does when several external tables, each with some of the candidates, are for sale."""
        from discreet.attacker.extensions.several_tables import shop

        return shop(self, candidates, tables, links=links)

    def uncertain(self, size: int, **amount: Distribution) -> RiskDistribution:
        """The exact distribution of the risk when his gain, or the penalty, has a distribution."""
        from discreet.attacker.extensions.uncertain import risk_distribution

        return risk_distribution(self, size, **amount)

    def simulated(self, size: int, random: np.random.Generator, draws: int = 10_000, **amounts: Sampler) -> Simulated:
        """The distribution of the risk when several amounts have distributions, by Monte Carlo."""
        from discreet.attacker.extensions.uncertain import simulate

        return simulate(self, size, random, draws, **amounts)

    def unconfirmed(
        self, sizes: Sequence[int] | Ints, *, true_positive: float = 1.0, false_positive: float = 0.0
    ) -> Unconfirmed:
        """What he does when he cannot be sure that he found the right person."""
        from discreet.attacker.extensions.unconfirmed import unconfirmed

        return unconfirmed(self, sizes, true_positive=true_positive, false_positive=false_positive)
