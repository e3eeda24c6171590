"""Room: one copy per recipient, decoys inside, and a trace with a stated error rate."""

from discreet.releases.linked import Candidates, Linked

__all__ = ["Candidates", "Linked"]
