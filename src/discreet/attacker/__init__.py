"""The planning adversary: whether re-identifying a record pays, how far he goes, and what deters him."""

from discreet.attacker.attack import Attack
from discreet.attacker.attacked import Attacked, Outcome
from discreet.attacker.plan import Baseline, Gamble, Plan, Thresholds

__all__ = ["Attack", "Attacked", "Baseline", "Gamble", "Outcome", "Plan", "Thresholds"]
