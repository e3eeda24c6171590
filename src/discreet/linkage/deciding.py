"""The documented name of `discreet.linkage.review.decisions`."""

from discreet.linkage.review.decisions import decide, last_decided, next_pair, undo

__all__ = ["decide", "last_decided", "next_pair", "undo"]
