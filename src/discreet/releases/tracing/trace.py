"""Tracing: whose copy re-identified people or leaked rows came from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Floats, Ints
from discreet.ledger.entry import Detail
from discreet.releases.delivery.release import Release
from discreet.releases.delivery.service import Opened, Where, open_release, record_trace
from discreet.releases.marks.codebook import Codebook
from discreet.releases.tracing.case import Claimed, Given, Key, Sorted, Traceable
from discreet.releases.tracing.evidence import log_e_values, log_mean, origin_of, posterior, threshold
from discreet.releases.tracing.likelihood import Scoring, fitted
from discreet.releases.tracing.observed_marks import Sightings, sightings_of, sightings_of_decoys
from discreet.releases.tracing.result import ALPHA, PRIOR, RecipientEvidence, Trace

MOST_NAMED = 400
"""Characters of a list of names that an entry of the ledger holds."""


def trace(
    release: Release | Opened | str,
    *,
    claims: Any = None,
    leak: Any = None,
    version: int | None = None,
    store: Where = None,
    actor: str | None = None,
    **options: Any,
) -> Trace:
    """Hold claims of re-identification, or a leaked file, against every recipient of a release.

    `release` is a release or its name in the store. The other options are those of `trace_claims` (`exclude`, `earlier`)
    and `trace_leak` (`columns`, `original`), and for both `alpha`, `prior` and `family`.
    """
    if (claims is None) == (leak is None):
        raise UsageError("A trace starts from claims or from a leaked file.", remedy="Give claims=... or leak=...")
    where = release.store if isinstance(release, Release) and store is None else store
    opened = _opened(release, where, version)
    if claims is not None:
        found = trace_claims(opened.traceable, claims, **options)
    else:
        found = trace_leak(opened.traceable, leak, **options)
    record_trace(opened, where, details=about(found), actor=actor)
    return found


def about(found: Trace) -> dict[str, Detail]:
    """What the ledger says about a trace: counts and evidence, no value of anybody."""
    strongest = found.standings[0]
    return {
        "kind": found.kind,
        "source": "".join(letter for letter in found.source if letter.isprintable())[:MOST_NAMED],
        "accused": ", ".join(found.accused)[:MOST_NAMED],
        "marks_hit": len(found.hits),
        "rows": found.counts["rows"],
        "recipients": len(found.standings),
        "alpha": f"{found.alpha:g}",
        "needed_log10_e": f"{found.log10_needed:.2f}",
        "strongest_log10_e": f"{strongest.log10_e:.2f}",
        "smallest_p_value": None if strongest.p_value is None else f"{strongest.p_value:.3g}",
        "best_log10_e": f"{found.best_log10_e:.2f}",
    }


def _opened(release: Release | Opened | str, store: Where, version: int | None) -> Opened:
    """Opened anew, so that recipients who came later are there and the manifest is held against the ledger."""
    if isinstance(release, str):
        return open_release(release, store, version=version)
    if isinstance(release, (Release, Opened)):
        kept = release.opened.kept if isinstance(release, Release) else release.kept
        return open_release(kept.name, store, version=version or kept.version)
    raise UsageError(
        f"A trace is held against a release or its name, not a {type(release).__name__}.", remedy="Give its name."
    )


# `trace_claims`: whose copy were these people re-identified from?
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


# `trace_leak`: whose copy is this file?
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
        standings=_standings_leaks(traceable, found, scores, dummies, prior=prior, line=alpha / family),
        incidents=(tuple(found.seen.tolist()),),
        best_log10_e=float(soft_rank(np.array([best]), dummies)[0]) / LN10,
        counts=_counts_leaks(traceable, found),
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


def _standings_leaks(
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


def _counts_leaks(traceable: Traceable, found: Sightings) -> dict[str, int]:
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
