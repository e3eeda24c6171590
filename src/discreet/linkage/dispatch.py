"""The documented name of `discreet.linkage.review.assignments`."""

from discreet.linkage.review.assignments import Assigned, assign, bring_pairs, give, rebalance, withdraw

__all__ = ["Assigned", "assign", "bring_pairs", "give", "rebalance", "withdraw"]
