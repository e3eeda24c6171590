"""`trace_claims`: whose copy were these people re-identified from?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Floats, Ints
from discreet.releases.marks.codebook import Codebook
from discreet.releases.tracing.case import Claimed, Given, Key, Sorted, Traceable
from discreet.releases.tracing.evidence import log_e_values, origin_of, posterior, threshold
from discreet.releases.tracing.result import ALPHA, PRIOR, RecipientEvidence, Trace

LN10 = math.log(10)


def trace_claims(
    traceable: Traceable,
    claims: Any,
    *,
    exclude: Any = (),
    earlier: Iterable[Any] = (),
    alpha: float = ALPHA,
    prior: float = PRIOR,
    family: int | None = None,
) -> Trace:
    """Weigh claims that people were re-identified against every recipient.

    `claims` are rows with the quasi-identifiers, raw or as they were published: a path, a frame, a table, or
    dictionaries. `exclude` are rows of the same kind whose classes do not count: the owner's own audits. `earlier` are
    incidents of the same release: traces, marks (as `Trace.incidents` holds them) or claims; evidence multiplies, and a
    class counts once. `family` is the number of recipients to share the error rate among if more are still to come.
    """
    family = checked(traceable, alpha=alpha, prior=prior, family=family)
    given = Given.of(claims)
    claimed = Claimed.of(traceable, given)
    own = Claimed.of(traceable, exclude).classes if len_of(exclude) else frozenset()
    found = Sorted.of(traceable, claimed.classes - own)
    incidents = _incidents(traceable, earlier, found, own)
    logs, best = _weighed(traceable.codebook, incidents)
    hits = np.array(incidents[-1], dtype=np.int64)
    return Trace(
        release=traceable.release,
        kind="claims",
        fingerprint=traceable.fingerprint,
        source=given.name,
        alpha=alpha,
        prior=prior,
        family=family,
        standings=_standings(traceable.codebook, incidents, logs, prior=prior, least=threshold(family, alpha)),
        incidents=incidents,
        best_log10_e=best / LN10,
        counts=_counts(traceable, claimed, own, found, hits),
        origin=origin_of(traceable, found),
    )


def checked(traceable: Traceable, *, alpha: float, prior: float, family: int | None) -> int:
    """The number of recipients to share the error rate among, or why these numbers cannot be used."""
    for name, value in (("alpha", alpha), ("prior", prior)):
        if not 0 < value < 1:
            raise UsageError(f"{name} is a probability above 0 and below 1; got {value:g}.")
    recipients = len(traceable.recipients)
    if not recipients:
        raise UsageError("Nobody ever had a copy of this release.", remedy="Name one that was delivered.")
    if family is not None and family < recipients:
        raise UsageError(
            f"This release has {recipients} recipients, more than the {family} to share the error rate among.",
            remedy="Give the largest number of recipients that the release will ever have.",
        )
    return family or recipients


def len_of(table: Any) -> int:
    """Whether there is anything to read: an empty list is no table."""
    return len(table) if isinstance(table, (list, tuple)) else 1


def _incidents(
    traceable: Traceable, earlier: Iterable[Any], found: Sorted, own: frozenset[Key]
) -> tuple[tuple[int, ...], ...]:
    """The marks of each incident that none before it has hit."""
    audits = set(Sorted.of(traceable, own).marks)
    every = [marks for one in earlier for marks in _marks(traceable, one)]
    seen: set[int] = set(audits)
    fresh = []
    for marks in [*every, found.marks]:
        fresh.append(tuple(sorted(set(marks) - seen)))
        seen.update(marks)
    return tuple(fresh)


def _marks(traceable: Traceable, incident: Any) -> list[Sequence[int]]:
    if isinstance(incident, Trace):
        if incident.kind != "claims":
            raise UsageError(
                "Only traces of claims add up.",
                remedy="A leaked file looks at all marks at once: report it beside the claims, not multiplied with them.",
            )
        if incident.fingerprint != traceable.fingerprint:
            raise UsageError(
                "The earlier trace is of another release, or of another version of this one.",
                remedy="Give its claims instead of the trace: they are brought to the classes of this version.",
            )
        return list(incident.incidents)
    if isinstance(incident, (list, tuple)) and all(isinstance(one, int) for one in incident):
        if any(not 0 <= one < len(traceable.codebook.marks) for one in incident):
            raise UsageError("An earlier incident names marks that this release does not have.")
        return [incident]
    return [Sorted.of(traceable, Claimed.of(traceable, incident).classes).marks]


def _weighed(codebook: Codebook, incidents: Sequence[Sequence[int]]) -> tuple[Floats, float]:
    """The logarithm of the e-value of each recipient over all incidents, and the largest that there could be."""
    logs, best = np.zeros(len(codebook.recipients)), 0.0
    for marks in incidents:
        hit = np.array(marks, dtype=np.int64)
        probabilities = codebook.probabilities[hit]
        logs += log_e_values(probabilities, codebook.present[:, hit])
        best += float(log_e_values(probabilities, np.ones((1, len(hit)), dtype=bool))[0])
    return logs, best


def _standings(
    codebook: Codebook, incidents: Sequence[Sequence[int]], logs: Floats, *, prior: float, least: float
) -> tuple[RecipientEvidence, ...]:
    every = np.array(sorted(mark for marks in incidents for mark in marks), dtype=np.int64)
    held = codebook.present[:, every].sum(axis=1)
    chances = posterior(logs, prior)
    found = [
        RecipientEvidence(
            recipient=name,
            hits=int(held[place]),
            misses=len(every) - int(held[place]),
            log10_e=float(logs[place]) / LN10,
            posterior=float(chances[place]),
            accused=bool(logs[place] >= least),
        )
        for place, name in enumerate(codebook.recipients)
    ]
    return tuple(sorted(found, key=lambda one: -one.log10_e))


def _counts(traceable: Traceable, claimed: Claimed, own: frozenset[Key], found: Sorted, hits: Ints) -> dict[str, int]:
    decoys = int(traceable.codebook.marks.decoy[hits].sum())
    return {
        "rows": claimed.rows,
        "unusable": claimed.unusable,
        "outside": claimed.outside,
        "classes": len(claimed.classes),
        "excluded": len(claimed.classes & own),
        "everywhere": len(found.everywhere),
        "nowhere": found.nowhere,
        "repeated": len(found.marks) - len(hits),
        "marks": len(hits),
        "decoys": decoys,
        "real_marks": len(hits) - decoys,
    }
