"""The documented name of `discreet.linkage.progress`."""

from discreet.linkage.progress import agreement_of_many, agreement_of_two

__all__ = ["agreement_of_many", "agreement_of_two"]
