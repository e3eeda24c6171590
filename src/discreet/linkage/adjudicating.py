"""The documented name of `discreet.linkage.review.decisions`."""

from discreet.linkage.review.decisions import adjudicate, disputes

__all__ = ["adjudicate", "disputes"]
