"""The documented name of `discreet.linkage.review.assignments`."""

from discreet.linkage.review.assignments import Limits, assign, bring_pairs, rebalance, withdraw

__all__ = ["Limits", "assign", "bring_pairs", "rebalance", "withdraw"]
