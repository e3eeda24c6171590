"""Power of a trace: marks and claims needed to name a recipient, by simulation.

Recipients who collude decide mark by mark what the leaked copy shows, from how many of them have the mark, or whose copy
they take it from. Where all of them have it, or none, they have no choice (the marking assumption of Boneh and Shaw 1998).
Eight strategies are played against the joint e-value that a trace uses. There are others; what takes most marks of these
is what is stated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.releases.marks.codebook import Law, Marks
from discreet.releases.tracing.joint_evidence import SeenMarks

ALPHA = 1e-3
POWER = 0.95
TRIALS = 600
NEEDED = {1: 45, 2: 120, 3: 220, 4: 400, 5: 700, 6: 1_000, 8: 2_000, 10: 3_000}
"""Marks with which one of so many is named from a whole file, of 20 recipients with ALPHA, whatever is played.

`python -m benchmarks.releases_tracing power` plays all strategies with these numbers.
"""
NEEDED_OF_A_TENTH = {1: 900, 2: 3_000}
"""The same from a tenth of the rows, drawn; 1,600 marks are too few for two who collude."""
ALSO = math.log(4)
"""What a trace pays: half of alpha is that of the first file of a release, and rows by themselves count half of the evidence."""
MEASURED_FOR = 20
STRATEGIES = ("minority", "interleaving", "coin", "union", "intersection", "majority", "turns", "mixed")
_SEED = 1_847
_FIRST_CLAIMS = 512
CERTAIN, SHARES = 0.98, (2, 3)
"""How sure a lone leaker's claim is taken to come from their copy; sizes of coalitions that also count."""


def shown_by(copies: Flags, strategy: str, random: np.random.Generator) -> Flags:
    """Which marks a coalition's file shows; `copies` are the bits of its members.

    >>> both = np.array([[True, True, False], [True, False, False]])
    >>> shown_by(both, "union", np.random.default_rng(1)).tolist()
    [True, True, False]
    """
    colluding, marks = copies.shape
    have, luck = copies.sum(axis=0), np.asarray(random.random(marks))
    some, every = have > 0, have == colluding
    turns = copies[random.integers(0, colluding, marks), np.arange(marks)]
    half = luck < 0.5
    shown = {
        "union": some,
        "intersection": every,
        "coin": every | (some & half),
        "majority": np.where(2 * have == colluding, half, 2 * have > colluding),
        "minority": every | (some & np.where(2 * have == colluding, half, 2 * have < colluding)),
        "interleaving": every | (some & (have % 2 == 1)),
        "turns": turns,
        "mixed": np.choose((3 * luck).astype(np.int64), [some, every, turns]),
    }
    return np.asarray(shown[strategy], dtype=bool)


def named(
    law: Law,
    marks: int,
    colluding: int,
    strategy: str,
    random: np.random.Generator,
    *,
    recipients: int = MEASURED_FOR,
    part: float = 1.0,
) -> tuple[bool, int]:
    """Whether one of a coalition is named from a file, and how many innocents."""
    chances = law.probabilities(random.random(marks))
    present = random.random((recipients, marks)) < chances
    shown = shown_by(present[:colluding], strategy, random) & (random.random(marks) < part)
    there, doubt = part * CERTAIN, part * (1 - CERTAIN)
    seen = SeenMarks(
        chances,
        np.where(shown, math.log(there), math.log1p(-there)),
        np.where(shown, math.log(doubt), math.log1p(-doubt)),
    )
    accused = seen.log_e_values(present) - ALSO >= math.log(recipients / ALPHA)
    return bool(accused[:colluding].any()), int(accused[colluding:].sum())


def marks_needed(
    recipients: int, colluding: int, *, alpha: float = ALPHA, measured: Mapping[int, int] = NEEDED
) -> int | None:
    """Marks that it takes to name one of a coalition; None where not measured.

    Evidence grows with every mark as the line does with the logarithm of recipients over alpha.

    >>> marks_needed(20, 2), marks_needed(20, 12)
    (120, None)
    """
    least = next((measured[size] for size in sorted(measured) if size >= colluding), None)
    if least is None:
        return None
    return math.ceil(least * max(1.0, math.log(recipients / alpha) / math.log(MEASURED_FOR / ALPHA)))


def coalition_supported(
    marks: int, recipients: int, *, alpha: float = ALPHA, measured: Mapping[int, int] = NEEDED
) -> int:
    """The largest coalition of which one is named, as `measured`.

    >>> [coalition_supported(marks, 20) for marks in (10, 60, 1_400)]
    [0, 1, 6]
    """
    supported = 0
    for colluding in range(1, min(recipients, max(measured)) + 1):
        needed = marks_needed(recipients, colluding, alpha=alpha, measured=measured)
        if needed is None or needed > marks:
            break
        supported = colluding
    return supported


def claims_until_traced(
    marks: Marks, probabilities: Floats, unmarked: Ints, recipients: int, *, colluding: int = 1, alpha: float = ALPHA
) -> float:
    """Claims, the riskiest first, until a recipient is named in half of all cases; infinite if never.

    Recipients who collude claim only what all of them have. `unmarked` are the link counts of released classes without a mark.
    """
    generator = np.random.default_rng(_SEED)
    if not len(marks):
        return math.inf
    links = np.concatenate([marks.links, unmarked]).astype(np.float64)
    gains = np.zeros((1 + len(SHARES), len(links)))
    gains[:, : len(marks)] = [
        np.log(CERTAIN / probabilities),
        *(np.log1p((1 - probabilities) / (share * probabilities)) for share in SHARES),
    ]
    wanted = math.log(recipients / alpha) + math.log(len(gains))
    ranked = np.argsort(links, kind="stable")
    needed = []
    for _ in range(TRIALS // 2):
        shared = (generator.random((colluding, len(marks))) < probabilities).all(axis=0)
        in_copy = np.concatenate([shared, np.ones(len(unmarked), dtype=bool)])
        luck = np.empty(len(links))
        luck[in_copy] = generator.random(int(in_copy.sum()))
        # The sum of e-values over the sizes of coalitions mostly reaches the line within the riskiest classes. So these
        # come first: so many of them, and all others with the link count of the last; eight times as many if that fails.
        count, reached = _FIRST_CLAIMS, np.arange(0)
        while not len(reached):
            last = links[ranked[min(count, len(ranked)) - 1]]
            head = ranked[: int(np.searchsorted(links, last, side="right", sorter=ranked))]
            claimed = head[in_copy[head]]
            order = claimed[np.lexsort([luck[claimed], links[claimed]])]
            evidence: Floats = np.logaddexp.reduce(np.cumsum(gains[:, order], axis=1), axis=0)
            reached = np.flatnonzero(evidence >= wanted)
            if len(head) == len(ranked):
                break
            count *= 8
        needed.append(float(reached[0]) + 1 if len(reached) else math.inf)
    return float(np.median(needed))
