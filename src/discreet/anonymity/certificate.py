"""Why nothing better exists, or how far the best found may be from it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from discreet.anonymity.lattice.search import Found


@dataclass(frozen=True)
class Certificate:
    """An account of a search that anybody can check by looking at the nodes themselves."""

    search: str
    nodes: int
    """Nodes of the lattice."""
    evaluated: int
    """Nodes whose classes were counted."""
    too_much_suppressed: int
    """Nodes ruled out because a coarser one already suppresses too much to be allowed or to be better."""
    too_costly: int
    """Nodes ruled out because their lower bound exceeds the loss of the result."""
    lower_bound: float
    """No allowed node costs less."""
    loss: float
    optimal: bool
    """Whether the result is proven to be the best there is."""

    @classmethod
    def of(cls, found: Found, search: str) -> Certificate:
        """From what a search found."""
        proven = found.complete and search != "ola"
        bound = found.loss if proven else 0.0 if search == "ola" else found.bound
        return cls(
            search,
            found.nodes,
            found.evaluated,
            found.too_much_suppressed,
            found.too_costly,
            bound if math.isfinite(bound) else 0.0,
            found.loss,
            proven,
        )

    def words(self) -> str:
        """The certificate as a sentence or two."""
        looked = f"Of {self.nodes:,} combinations of levels {self.evaluated:,} were counted"
        if self.search == "ola":
            return f"{looked}. This is the best of the minimal ones, as published; a better one may exist above them."
        if not self.optimal:
            return f"{looked} before the search was stopped. No combination costs less than {self.lower_bound:.6g}; this one costs {self.loss:.6g}."
        suppress = f"{self.too_much_suppressed:,} because a coarser one already suppresses too much"
        cost = f"{self.too_costly:,} because their lower bound exceeds the loss of this one"
        return f"{looked}; the others were ruled out: {suppress}, {cost}. Nothing better exists."

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "words": self.words()}
