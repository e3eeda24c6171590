"""Room: the adversary as a planner. Will he bother, how far will he go, and what would deter him?"""

from discreet.attacker.attack import Attack, Baseline, Gamble, Plan, Thresholds

__all__ = ["Attack", "Baseline", "Gamble", "Plan", "Thresholds"]
