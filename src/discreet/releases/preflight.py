"""What a release would carry, before it is made: in words for the custodian, and as numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.releases.decoys.detectability import REFUSE, WARN, either_way
from discreet.releases.marks.codebook import Law
from discreet.releases.marks.pairing import FEWEST_MARKS
from discreet.releases.marks.selection import Marking
from discreet.releases.power import ALPHA, POWER, claims_until_traced, coalition_supported, marks_needed
from discreet.wording import fine_percent, percent

ESCAPES = (
    "Other leaks escape: in trials a leaker who left out, filled up or relabelled the classes of doubtful size, about a tenth of "
    "the rows, was never named, and of three who showed what only a minority of them holds one was named in 46 % of cases."
)
"""What attacks on marked copies found that the figures of a plan do not cover."""
RECOGNISED = (
    "Other attacks find more: where columns follow from each other, have many decimals or round values, made-up rows were "
    "recognised with an AUC of up to 1.00 in trials."
)
"""The same about decoys."""


@dataclass(frozen=True)
class Preflight:
    """Marks, what they cost, and what they can prove, for a number of recipients."""

    recipients: int
    law: str
    pairs: int
    """Pairs of a real and an unreleased class that look alike."""
    marks: int
    needed: tuple[int | None, ...]
    """Marks it takes to name one leaker, one of two who collude, one of three; None if more than can be."""
    coalition: int
    """How many may collude by one of the strategies that are played, and still be traced from a leaked copy."""
    rows_lost: float
    most_lost: float
    largest_shift: float
    claims: float
    """Claims, the riskiest first, until one leaker is named in half of all cases."""
    claims_of_two: float
    """The same for two who claim only what both have."""
    auc: float
    floor: float

    @classmethod
    def of(cls, marking: Marking, *, recipients: int, law: Law) -> Preflight:
        """From the marks that were chosen."""
        marks, linked = marking.marks, marking.linked
        real = {label for label, decoy in zip(marks.labels, marks.decoy.tolist(), strict=True) if not decoy}
        unmarked = np.array([label not in real for label in linked.released.tuples()], dtype=bool)
        claims = [
            claims_until_traced(marks, marking.probabilities, linked.links[unmarked], recipients, colluding=colluding)
            for colluding in (1, 2)
        ]
        return cls(
            recipients=recipients,
            law=law.name,
            pairs=marking.pairs,
            marks=len(marks),
            needed=tuple(marks_needed(law, recipients, colluding) for colluding in (1, 2, 3)),
            coalition=coalition_supported(len(marks), law, recipients),
            rows_lost=marking.rows_lost,
            most_lost=marking.most_lost,
            largest_shift=max(marking.shifts.values(), default=0.0),
            claims=claims[0],
            claims_of_two=claims[1],
            auc=marking.gate.auc,
            floor=marking.gate.floor,
        )

    def words(self) -> tuple[str, ...]:
        """One sentence per thing that a custodian decides on."""
        return tuple(_sentences(self))

    def to_dict(self) -> dict[str, Any]:
        """For JSON; numbers that are never reached are null."""
        return {name: _finite(value) for name, value in self.__dict__.items()} | {"needed": list(self.needed)}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and math.isinf(value) else value


def _sentences(flight: Preflight) -> Iterator[str]:
    yield (
        f"{flight.pairs:,} pairs of a real and an unreleased class have about the same link count and size; "
        f"{flight.marks:,} classes become marks, half of them made up."
    )
    if flight.marks < FEWEST_MARKS:
        yield f"That is fewer than {FEWEST_MARKS}: a leak can hardly be traced."
    yield _coalition(flight)
    yield ESCAPES
    yield (
        f"Every copy lacks {fine_percent(flight.rows_lost)} of the released rows on average, and in fewer than one case in a million "
        f"more than {fine_percent(flight.most_lost)}, however many recipients there are. No value of any column changes its share by "
        f"more than {fine_percent(flight.largest_shift)} of all rows; a rare value may still lose most of its people."
    )
    yield (
        f"A leaker who re-identifies people, the riskiest first, is named after {_claims(flight.claims)}; two who claim only "
        f"what both have, after {_claims(flight.claims_of_two)}."
    )
    yield _gate(flight)
    yield RECOGNISED


def _coalition(flight: Preflight) -> str:
    sure = f"with at most {ALPHA:g} for all innocents together, and in {percent(POWER)} of cases"
    one, *_ = flight.needed
    if not flight.coalition:
        return f"From an unaltered copy nobody of {flight.recipients:,} can be named {sure}: that takes {one or 'more'} marks."
    who = (
        "a single leaker" if flight.coalition == 1 else f"up to {flight.coalition} who collude in a way that was played"
    )
    takes = ", ".join(_takes(number, needed) for number, needed in enumerate(flight.needed, start=1))
    return f"From an unaltered copy {who} of {flight.recipients:,} recipients can be traced, {sure} (marks needed: {takes})."


def _takes(colluding: int, needed: int | None) -> str:
    return f"{'more than there can be' if needed is None else f'{needed:,}'} for {colluding}"


def _claims(claims: float) -> str:
    return "more claims than there are classes" if math.isinf(claims) else f"{claims:.0f} claims in half of all cases"


def _gate(flight: Preflight) -> str:
    found = either_way(flight.auc)
    told = f"A classifier tells made-up classes from real ones with an AUC of {found:.2f}"
    scale = f"0.5 is guessing, up to {flight.floor:.2f} may be luck"
    if found > max(REFUSE, flight.floor):
        return f"{told} ({scale}): too well to be released."
    if found > max(WARN, flight.floor):
        return f"{told} ({scale}): better than it should."
    if found > WARN:
        return f"{told} ({scale}): there are too few marks to say whether it can."
    return f"{told} ({scale}): this one hardly can."
