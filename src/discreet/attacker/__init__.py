"""The planning adversary: whether re-identifying a record pays, how far they go, and what deters them."""

from discreet.attacker.attack import Attack
from discreet.attacker.bellman import Thresholds
from discreet.attacker.deterrence import deterring_penalties, deterring_prices
from discreet.attacker.optimal_plan import Baseline, Gamble, Plan
from discreet.attacker.population import Attacked, Outcome
from discreet.attacker.purchases import External, Shopping
from discreet.attacker.purchases import SharedPurchase as Shared
from discreet.attacker.uncertainty import (
    RiskDistribution,
    Simulated,
    Unconfirmed,
    from_quantiles,
    lognormal,
    normal,
    uniform,
)

__all__ = [
    "Attack",
    "Attacked",
    "Baseline",
    "External",
    "Gamble",
    "Outcome",
    "Plan",
    "RiskDistribution",
    "Shared",
    "Shopping",
    "Simulated",
    "Thresholds",
    "Unconfirmed",
    "deterring_penalties",
    "deterring_prices",
    "from_quantiles",
    "lognormal",
    "normal",
    "uniform",
]
