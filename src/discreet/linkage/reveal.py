"""The documented name of `discreet.linkage.review.reveal`."""

from discreet.linkage.review.reveal import EVENT, Measured, measure, measure_opened, prepare, refusal, reveal, view

__all__ = ["EVENT", "Measured", "measure", "measure_opened", "prepare", "refusal", "reveal", "view"]
