"""`trace_leak`: whose copy is this file?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Floats
from discreet.releases.marks.codebook import Codebook
from discreet.releases.tracing.case import Given, Sorted, Traceable
from discreet.releases.tracing.claims import LN10, checked
from discreet.releases.tracing.evidence import log_mean, origin_of, posterior
from discreet.releases.tracing.likelihood import Scoring, fitted
from discreet.releases.tracing.observed_marks import Sightings, sightings_of, sightings_of_decoys
from discreet.releases.tracing.result import ALPHA, PRIOR, RecipientEvidence, Trace

FINER = 3
"""The line alpha/N is this many times the smallest p-value that the dummies can show."""
MOST_DUMMIES = 2_000_000
CHUNK = 4_000_000
"""Bits of dummies held at once."""
SAME = 1e-9
"""Relative difference of scores that rounding could make: counted as a tie, and ties count against an accusation."""


def trace_leak(
    traceable: Traceable,
    leak: Any,
    *,
    columns: Mapping[str, str] | None = None,
    original: Any = None,
    alpha: float = ALPHA,
    prior: float = PRIOR,
    family: int | None = None,
) -> Trace:
    """Hold a leaked file against every recipient: any rows, any of the columns, perhaps coarser than published.

    `columns` maps names of the file to names of the release. Where the quasi-identifiers tell nothing, decoys are looked
    for by their other columns; the `original` table then helps to know which tuples are decoys' alone. `family` is the
    number of recipients to share the error rate among if more are still to come.

    The p-value of a recipient is its rank among dummy recipients, drawn as real ones are. Were it innocent, its bits
    would be one more draw, independent of the file, and every rank equally probable; so the p-value is valid whatever the
    leaker did. The draws follow from the file and the secrets of the release, so a trace of the same file repeats. A file
    with one row less gives other draws: the error rate is that of one look, not of twenty.
    """
    family = checked(traceable, alpha=alpha, prior=prior, family=family)
    given = Given.of(leak).renamed(columns or {})
    found = _sightings(traceable, given, original)
    codebook = traceable.codebook.only(found.visible)
    scoring = Scoring(found, codebook.probabilities, fitted(found, codebook.probabilities * found.sizes[found.visible]))
    scores = scoring.scores(codebook.present)
    best = max(float(scores.max()), float(scoring.scores(scoring.ideal()).max()))
    dummies = _dummies(traceable, codebook, scoring, number_of(family, alpha))
    origin = None if found.classes is None else origin_of(traceable, Sorted.of(traceable, found.classes))
    return Trace(
        release=traceable.release,
        kind="leak",
        fingerprint=traceable.fingerprint,
        source=given.name,
        alpha=alpha,
        prior=prior,
        family=family,
        standings=_standings(traceable, found, scores, dummies, prior=prior, line=alpha / family),
        incidents=(tuple(found.seen.tolist()),),
        best_log10_e=float(soft_rank(np.array([best]), dummies)[0]) / LN10,
        counts=_counts(traceable, found),
        origin=origin,
        best_p_value=float(ranks(np.array([best]), dummies)[0]),
        dummies=len(dummies),
        columns=found.columns,
        notes=found.notes,
    )


def number_of(family: int, alpha: float) -> int:
    """Dummies from whom the line alpha/N can be told."""
    number = math.ceil(FINER * family / alpha)
    if number > MOST_DUMMIES:
        raise UsageError(
            f"alpha = {alpha:g} among {family:,} recipients needs {number:,} dummies; at most {MOST_DUMMIES:,} are drawn.",
            remedy=f"Use an alpha of {FINER * family / MOST_DUMMIES:.2g} or more.",
        )
    return number


def _sightings(traceable: Traceable, given: Given, original: Any) -> Sightings:
    found = sightings_of(traceable, given)
    return found if found.telling and found.columns else sightings_of_decoys(traceable, given, original)


def _dummies(traceable: Traceable, codebook: Codebook, scoring: Scoring, number: int) -> Floats:
    """The scores of recipients who never were, a chunk at a time."""
    generator = np.random.default_rng(_seed(traceable, scoring.sightings))
    step = max(1, CHUNK // max(1, len(codebook.marks)))
    parts = [min(step, number - start) for start in range(0, number, step)]
    return np.concatenate([scoring.scores(codebook.drawn(part, generator)) for part in parts])


def _seed(traceable: Traceable, found: Sightings) -> int:
    """From the file and what only the custodian knows; never from what recipients hold."""
    parts = [traceable.fingerprint.encode(), found.counts.tobytes(), found.cells.tobytes()]
    return int.from_bytes(sha256(b"".join(parts)).digest(), "big")


def ranks(scores: Floats, dummies: Floats) -> Floats:
    """The p-value of each score: its rank among itself and all dummies, ties counted against it.

    >>> ranks(np.array([3.0, 1.0]), np.array([0.0, 1.0, 2.0])).tolist()
    [0.25, 0.75]
    """
    ordered = np.sort(dummies)
    room = SAME * np.maximum(1.0, np.abs(scores))
    as_bad = len(ordered) - np.searchsorted(ordered, scores - room, side="left")
    found: Floats = (1 + as_bad) / (1 + len(ordered))
    return found


def soft_rank(scores: Floats, dummies: Floats) -> Floats:
    """The logarithm of an e-value: the share of a score in those of itself and all dummies, times their number.

    Were a recipient innocent, its score would be one of exchangeable ones, and its share of their sum 1/(M + 1) on average.

    >>> np.exp(soft_rank(np.array([0.0]), np.array([0.0, 0.0]))).round(9).tolist()
    [1.0]
    """
    rest = float(log_mean(dummies)) + math.log(len(dummies))
    logs: Floats = math.log(1 + len(dummies)) + scores - np.logaddexp(scores, rest)
    return logs


def _standings(
    traceable: Traceable, found: Sightings, scores: Floats, dummies: Floats, *, prior: float, line: float
) -> tuple[RecipientEvidence, ...]:
    p_values, logs = ranks(scores, dummies), soft_rank(scores, dummies)
    held = traceable.codebook.present[:, found.seen].sum(axis=1)
    chances = posterior(logs, prior)
    standings = [
        RecipientEvidence(
            recipient=name,
            hits=int(held[place]),
            misses=len(found.seen) - int(held[place]),
            log10_e=float(logs[place]) / LN10,
            posterior=float(chances[place]),
            accused=bool(p_values[place] <= line),
            p_value=float(p_values[place]),
        )
        for place, name in enumerate(traceable.recipients)
    ]
    order = np.argsort(-scores, kind="stable")
    return tuple(standings[place] for place in order.tolist())


def _counts(traceable: Traceable, found: Sightings) -> dict[str, int]:
    decoys = int(traceable.codebook.marks.decoy[found.seen].sum())
    return {
        "rows": found.rows,
        "matched": int(found.counts.sum()),
        "foreign": found.foreign,
        "left_out": found.left_out,
        "visible": len(found.visible),
        "marks": len(found.seen),
        "decoys": decoys,
        "real_marks": len(found.seen) - decoys,
    }
