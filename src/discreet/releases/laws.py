"""The documented name of `discreet.releases.marks.codebook`."""

from discreet.releases.marks.codebook import DEFAULT, MOST_COLLUDING, Law

__all__ = ["DEFAULT", "MOST_COLLUDING", "Law"]
