"""The planning adversary: whether re-identifying a record pays, how far he goes, and what deters him."""

from discreet.attacker.attack import Attack
from discreet.attacker.deterrence import deterring_penalties, deterring_prices
from discreet.attacker.extensions.several_tables import External, Shopping
from discreet.attacker.extensions.shared_purchase import SharedPurchase as Shared
from discreet.attacker.extensions.uncertain import (
    RiskDistribution,
    Simulated,
    from_quantiles,
    lognormal,
    normal,
    uniform,
)
from discreet.attacker.extensions.unconfirmed import Unconfirmed
from discreet.attacker.plan import Baseline, Gamble, Plan, Thresholds
from discreet.attacker.population import Attacked, Outcome

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
