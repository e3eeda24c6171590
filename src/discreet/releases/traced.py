"""What a trace found: how much speaks for and against each recipient, who is accused, and what the error rate is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from discreet.kernel.notebook import card
from discreet.releases.tracing.evidence import Origin

ALPHA = 1e-3
"""Probability that anybody at all is accused though all are innocent."""
PRIOR = 0.5
"""Probability that one of the recipients is the source before the evidence is looked at, if nobody says otherwise."""


@dataclass(frozen=True)
class Standing:
    """One recipient: marks that speak for and against it being the source, and how strongly."""

    recipient: str
    hits: int
    """Marks that came up and are in its copy."""
    misses: int
    """Marks that came up and are not."""
    log10_e: float
    """The e-value as a power of ten."""
    posterior: float
    accused: bool
    p_value: float | None = None
    """Of a leaked file: how often somebody who never had a copy would look as bad."""


@dataclass(frozen=True)
class Trace:
    """The outcome of a trace. It holds no value of any person: marks are numbers.

    `accused` are the recipients against whom the evidence reaches the line; were all innocent, anybody would be
    accused with probability at most `alpha`.
    """

    release: str
    kind: Literal["claims", "leak"]
    fingerprint: str
    """Tells to which list of marks the numbers belong."""
    source: str
    alpha: float
    prior: float
    family: int
    """Recipients among whom the error rate is shared."""
    standings: tuple[Standing, ...]
    """The strongest evidence first."""
    incidents: tuple[tuple[int, ...], ...]
    """Per incident, the numbers of the marks that were hit for the first time; the last one is this one."""
    best_log10_e: float
    """What the evidence against somebody who holds every mark that came up would be."""
    counts: Mapping[str, int]
    """Rows, classes and marks, by what became of them."""
    origin: Origin | None = None
    best_p_value: float | None = None
    dummies: int | None = None
    columns: Mapping[str, int] = field(default_factory=dict)
    """Of a leaked file: the columns that were used, and how many levels above the published one they stand."""
    notes: tuple[str, ...] = ()
    """What a reader should know about how the table was read."""

    @property
    def accused(self) -> tuple[str, ...]:
        """The recipients who are accused, the strongest evidence first."""
        return tuple(one.recipient for one in self.standings if one.accused)

    @property
    def hits(self) -> tuple[int, ...]:
        """The numbers of the marks that came up in this incident for the first time."""
        return self.incidents[-1]

    @property
    def log10_needed(self) -> float:
        """The e-value from which on a recipient is accused, N/alpha, as a power of ten."""
        return math.log10(self.family) - math.log10(self.alpha)

    @property
    def possible(self) -> bool:
        """Whether anybody could have been accused, had his copy held every mark that came up."""
        if self.best_p_value is not None:
            return self.best_p_value <= self.alpha / self.family
        return self.best_log10_e >= self.log10_needed

    def words(self) -> str:
        """All of it in sentences."""
        from discreet.releases.tracing.result import told

        return "\n".join(f"{one.says} {one.then}".strip() for one in told(self))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "release": self.release,
            "kind": self.kind,
            "fingerprint": self.fingerprint,
            "source": self.source,
            "accused": list(self.accused),
            "alpha": self.alpha,
            "prior": self.prior,
            "family": self.family,
            "log10_needed": self.log10_needed,
            "possible": self.possible,
            "best_log10_e": self.best_log10_e,
            "best_p_value": self.best_p_value,
            "dummies": self.dummies,
            "recipients": [asdict(one) for one in self.standings],
            "counts": dict(self.counts),
            "incidents": [list(marks) for marks in self.incidents],
            "origin": None if self.origin is None else asdict(self.origin),
            "columns": dict(self.columns),
            "notes": list(self.notes),
            "words": self.words(),
        }

    def _repr_html_(self) -> str:
        rows = [
            (one.recipient, f"{one.hits:,}", f"{one.misses:,}", "yes" if one.accused else "no")
            for one in self.standings
        ]
        head = ("recipient", "marks for", "marks against", "accused")
        return card(self.words(), rows, head=head)

    def __repr__(self) -> str:
        who = ", ".join(self.accused) or "nobody"
        return f"Trace({self.kind} against {self.release}: {who} accused of {len(self.standings)})"
