"""The documented name of what was decided, in `discreet.linkage.review.decisions`."""

from discreet.linkage.review.decisions import answers_of, labels_of

__all__ = ["answers_of", "labels_of"]
