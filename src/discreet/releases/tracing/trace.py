"""Tracing: whose copy re-identified people or leaked rows came from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.releases.marks.codebook import Codebook
from discreet.releases.tracing.case import ClaimedClasses, ClaimsByPlace, SuspectTable, Traceable
from discreet.releases.tracing.evidence import log_e_values, log_mean, origin_of, posterior, threshold
from discreet.releases.tracing.likelihood import Scoring, fitted
from discreet.releases.tracing.observed_marks import sightings_of, sightings_of_decoys
from discreet.releases.tracing.result import ALPHA, PRIOR, RecipientEvidence, Trace

if TYPE_CHECKING:
    from discreet.ledger.entry import Detail
    from discreet.releases.delivery.release import Release
    from discreet.releases.delivery.service import Opened, Where

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
    and `trace_leak` (`columns`, `count`, `original`), and for both `alpha`, `prior` and `family`.
    """
    # Only this needs the extra `store`: evidence against recipients is weighed without it.
    from discreet.releases.delivery.release import Release
    from discreet.releases.delivery.service import Opened, open_release, record_trace

    if (claims is None) == (leak is None):
        raise UsageError("A trace starts from claims or from a leaked file.", remedy="Give claims=... or leak=...")
    if not isinstance(release, (Release, Opened, str)):
        raise UsageError(
            f"A trace is held against a release or its name, not a {type(release).__name__}.", remedy="Give its name."
        )
    where = release.store if isinstance(release, Release) and store is None else store
    # Opened again, so that recipients who came later are there and the manifest is held against the ledger.
    if isinstance(release, str):
        opened = open_release(release, where, version=version)
    else:
        kept = release.opened.kept if isinstance(release, Release) else release.kept
        opened = open_release(kept.name, where, version=version or kept.version)
    if claims is not None:
        result = trace_claims(opened.traceable, claims, **options)
    else:
        result = trace_leak(opened.traceable, leak, **options)
    record_trace(opened, where, details=about(result), actor=actor)
    return result


def about(found: Trace) -> dict[str, Detail]:
    """What the ledger says about a trace: counts and evidence, no value of any person."""
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
    table, codebook = SuspectTable.of(claims), traceable.codebook
    claimed = ClaimedClasses.of(traceable, table)
    audited = not isinstance(exclude, (list, tuple)) or len(exclude) > 0
    own = ClaimedClasses.of(traceable, exclude).classes if audited else frozenset()
    places = ClaimsByPlace.of(traceable, claimed.classes - own)
    # The marks of each incident that none before it has hit.
    before = [marks for incident in earlier for marks in _marks_of_incident(traceable, incident)]
    seen = set(ClaimsByPlace.of(traceable, own).marks)
    incidents: list[tuple[int, ...]] = []
    logs, best = np.zeros(len(codebook.recipients)), 0.0
    for marks in [*before, places.marks]:
        incidents.append(tuple(sorted(set(marks) - seen)))
        seen.update(marks)
        hit = np.array(incidents[-1], dtype=np.int64)
        logs += log_e_values(codebook.probabilities[hit], codebook.present[:, hit])
        best += float(log_e_values(codebook.probabilities[hit], np.ones((1, len(hit)), dtype=bool))[0])
    decoys = int(codebook.marks.decoy[hit].sum())
    every = np.array(sorted(mark for marks in incidents for mark in marks), dtype=np.int64)
    return Trace(
        release=traceable.release,
        kind="claims",
        fingerprint=traceable.fingerprint,
        source=table.name,
        alpha=alpha,
        prior=prior,
        family=family,
        standings=_standings(codebook, every, logs, logs, logs >= threshold(family, alpha), prior),
        incidents=tuple(incidents),
        best_log10_e=best / LN10,
        counts={
            "rows": claimed.rows,
            "unusable": claimed.unusable,
            "outside": claimed.outside,
            "classes": len(claimed.classes),
            "excluded": len(claimed.classes & own),
            "everywhere": len(places.everywhere),
            "nowhere": places.nowhere,
            "repeated": len(places.marks) - len(hit),
            "marks": len(hit),
            "decoys": decoys,
            "real_marks": len(hit) - decoys,
        },
        origin=origin_of(traceable, places),
    )


def _standings(
    codebook: Codebook,
    seen: Ints,
    logs: Floats,
    scores: Floats,
    accused: Flags,
    prior: float,
    p_values: Floats | None = None,
) -> tuple[RecipientEvidence, ...]:
    """The evidence against each recipient, the highest score first; `seen` are the marks that came up."""
    hits, chances = codebook.present[:, seen].sum(axis=1), posterior(logs, prior)
    return tuple(
        RecipientEvidence(
            recipient=codebook.recipients[place],
            hits=int(hits[place]),
            misses=len(seen) - int(hits[place]),
            log10_e=float(logs[place]) / LN10,
            posterior=float(chances[place]),
            accused=bool(accused[place]),
            p_value=None if p_values is None else float(p_values[place]),
        )
        for place in np.argsort(-scores, kind="stable").tolist()
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


def _marks_of_incident(traceable: Traceable, incident: Any) -> list[Sequence[int]]:
    """The marks that an earlier incident hit, given as a trace, as marks or as claims."""
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
    if isinstance(incident, (list, tuple)) and all(isinstance(mark, int) for mark in incident):
        if any(not 0 <= mark < len(traceable.codebook.marks) for mark in incident):
            raise UsageError("An earlier incident names marks that this release does not have.")
        return [incident]
    return [ClaimsByPlace.of(traceable, ClaimedClasses.of(traceable, incident).classes).marks]


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
    count: str | None = None,
    original: Any = None,
    alpha: float = ALPHA,
    prior: float = PRIOR,
    family: int | None = None,
) -> Trace:
    """Hold a leaked file against every recipient: any rows, any of the columns, perhaps coarser than published.

    `columns` maps names of the file to names of the release; `count` names a column that says for how many people a row
    stands. Where the quasi-identifiers show no difference, decoys are
    looked for by their other columns; the `original` table then helps to know which tuples are decoys' alone. `family` is
    the number of recipients to share the error rate among if more are still to come.

    The p-value of a recipient is its rank among dummy recipients, drawn as real ones are. Were it innocent, its bits
    would be one more draw, independent of the file, and every rank equally probable; so the p-value is valid whatever the
    leaker did. The draws follow from the file and the secrets of the release, so a trace of the same file repeats. A file
    with one row less gives other draws: the error rate is that of one look, not of twenty.
    """
    family = checked(traceable, alpha=alpha, prior=prior, family=family)
    table = SuspectTable.of(leak).renamed(columns or {})
    table = table if count is None else table.weighted(count)
    observed = sightings_of(traceable, table)
    if not observed.telling or not observed.columns:
        observed = sightings_of_decoys(traceable, table, original)
    codebook, seen = traceable.codebook.only(observed.visible), observed.seen
    rates = fitted(observed, codebook.probabilities * observed.sizes[observed.visible])
    scoring = Scoring(observed, codebook.probabilities, rates)
    scores = scoring.scores(codebook.present)
    best = np.array([max(float(scores.max()), float(scoring.scores(scoring.ideal()).max()))])
    # The scores of recipients who never were, a chunk at a time. The seed is from the file and what only the custodian
    # knows; never from what recipients hold.
    secret = [traceable.fingerprint.encode(), observed.counts.tobytes(), observed.cells.tobytes()]
    generator = np.random.default_rng(int.from_bytes(sha256(b"".join(secret)).digest(), "big"))
    number, step = number_of(family, alpha), max(1, CHUNK // max(1, len(codebook.marks)))
    parts = [min(step, number - start) for start in range(0, number, step)]
    dummies = np.concatenate([scoring.scores(codebook.drawn(part, generator)) for part in parts])
    p_values, logs = ranks(scores, dummies), soft_rank(scores, dummies)
    decoys = int(traceable.codebook.marks.decoy[seen].sum())
    origin = None
    if observed.classes is not None:
        origin = origin_of(traceable, ClaimsByPlace.of(traceable, observed.classes))
    return Trace(
        release=traceable.release,
        kind="leak",
        fingerprint=traceable.fingerprint,
        source=table.name,
        alpha=alpha,
        prior=prior,
        family=family,
        standings=_standings(traceable.codebook, seen, logs, scores, p_values <= alpha / family, prior, p_values),
        incidents=(tuple(seen.tolist()),),
        best_log10_e=float(soft_rank(best, dummies)[0]) / LN10,
        counts={
            "rows": observed.rows,
            "matched": int(observed.counts.sum()),
            "foreign": observed.foreign,
            "left_out": observed.left_out,
            "visible": len(observed.visible),
            "marks": len(seen),
            "decoys": decoys,
            "real_marks": len(seen) - decoys,
        },
        origin=origin,
        best_p_value=float(ranks(best, dummies)[0]),
        dummies=len(dummies),
        columns=observed.columns,
        notes=observed.notes,
    )


def number_of(family: int, alpha: float) -> int:
    """Dummies that it takes to resolve the line alpha/N."""
    number = math.ceil(FINER * family / alpha)
    if number > MOST_DUMMIES:
        raise UsageError(
            f"alpha = {alpha:g} among {family:,} recipients needs {number:,} dummies; at most {MOST_DUMMIES:,} are drawn.",
            remedy=f"Use an alpha of {FINER * family / MOST_DUMMIES:.2g} or more.",
        )
    return number


def ranks(scores: Floats, dummies: Floats) -> Floats:
    """The p-value of each score: its rank among itself and all dummies, ties counted against it.

    >>> ranks(np.array([3.0, 1.0]), np.array([0.0, 1.0, 2.0])).tolist()
    [0.25, 0.75]
    """
    ordered = np.sort(dummies)
    room = SAME * np.maximum(1.0, np.abs(scores))
    as_bad = len(ordered) - np.searchsorted(ordered, scores - room, side="left")
    p_values: Floats = (1 + as_bad) / (1 + len(ordered))
    return p_values


def soft_rank(scores: Floats, dummies: Floats) -> Floats:
    """The logarithm of an e-value: the share of a score in those of itself and all dummies, times their number.

    Were a recipient innocent, its score would be one of exchangeable ones, and its share of their sum 1/(M + 1) on average.

    >>> np.exp(soft_rank(np.array([0.0]), np.array([0.0, 0.0]))).round(9).tolist()
    [1.0]
    """
    rest = float(log_mean(dummies)) + math.log(len(dummies))
    logs: Floats = math.log(1 + len(dummies)) + scores - np.logaddexp(scores, rest)
    return logs
