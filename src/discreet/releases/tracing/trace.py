"""Tracing: whose copy re-identified people or leaked rows came from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.releases.marks.codebook import Codebook, Marks
from discreet.releases.tracing.case import ClaimedClasses, ClaimsByPlace, SuspectTable, Traceable
from discreet.releases.tracing.evidence import log_e_values, log_mean, origin_of, posterior, threshold
from discreet.releases.tracing.joint_evidence import ALONE, SeenMarks
from discreet.releases.tracing.likelihood import (
    SMALLEST_VARIANCE,
    Rates,
    SharedCells,
    dispersion,
    fitted,
    lone_marks,
)
from discreet.releases.tracing.observed_marks import RowsSeen, Sightings, rows_seen, sightings_of, sightings_of_decoys
from discreet.releases.tracing.result import ALPHA, MOST_LIGHTS, PRIOR, RecipientEvidence, Trace, share_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from discreet.releases.delivery.release import Release
    from discreet.releases.delivery.service import Opened, Registry, Where


def trace(
    release: Release | Opened | str,
    *,
    claims: Any = None,
    leak: Any = None,
    version: int | None = None,
    store: Where = None,
    actor: str | None = None,
    accumulate: bool = True,
    alpha: float | None = None,
    **options: Any,
) -> Trace:
    """Hold claims of re-identification, or a leaked file, against every recipient of a release.

    `release` is a release or its name in the store. The other options are those of `trace_claims` (`exclude`, `earlier`)
    and `trace_leak` (`columns`, `count`, `original`), and for both `prior` and `family`. The ledger knows earlier traces:
    claims add to those before, unless `accumulate` is false, and files share `alpha`, which the first trace fixes.
    """
    # Only this needs the extra `store`: evidence against recipients is weighed without it.
    from discreet.releases.delivery.release import Release
    from discreet.releases.delivery.service import Opened, record_trace, registry_of
    from discreet.releases.tracing.register import about

    if (claims is None) == (leak is None):
        raise UsageError("A trace starts from claims or from a leaked file.", remedy="Give claims=... or leak=...")
    if not isinstance(release, (Release, Opened, str)):
        raise UsageError(
            f"A trace is held against a release or its name, not a {type(release).__name__}.", remedy="Give its name."
        )
    where = release.store if isinstance(release, Release) and store is None else store
    if not isinstance(release, str):
        kept = release.opened.kept if isinstance(release, Release) else release.kept
        release, version = kept.name, version or kept.version
    # Opened again, so that recipients who came later are there and the manifest is held against the ledger.
    with registry_of(where) as registry:
        kept = registry.require(release, version)
        opened = Opened(kept, registry.open(kept))

        def record(found: Trace, check: Callable[[Connection], None]) -> None:
            record_trace(opened, registry.ledger, details=about(found), actor=actor, along=check)

        return traced(registry, opened, record, claims=claims, leak=leak, accumulate=accumulate, alpha=alpha, **options)


def traced(
    registry: Registry,
    opened: Opened,
    record: Callable[[Trace, Callable[[Connection], None]], object],
    *,
    claims: Any = None,
    leak: Any = None,
    accumulate: bool = True,
    alpha: float | None = None,
    earlier: Iterable[Any] = (),
    **options: Any,
) -> Trace:
    """A trace beside all earlier ones; `record` writes it down before it is shown."""
    from discreet.releases.tracing.register import next_trace

    def marks_of(version: int) -> Marks:
        return registry.open(registry.require(opened.name, version)).codebook.marks

    with next_trace(registry.ledger, opened.name) as (register, check):
        level = register.alpha(alpha)
        if leak is not None:
            found = trace_leak(opened.traceable, leak, number=register.number_of, alpha=level, **options)
        else:
            number = None if accumulate else register.number_of
            marks, version = opened.manifest.codebook.marks, opened.kept.version
            before = register.hits(marks, marks_of, version=version) if accumulate else []
            every = [*before, *earlier]
            found = trace_claims(opened.traceable, claims, earlier=every, number=number, alpha=level, **options)
        record(found, check)
        return found


Number = int | Callable[[str], int]
"""Which of the traced files of a release one is, or what says so, given the digest of what it shows."""
ROUNDED = 6
"""Decimals up to which evidence is the same."""


# `trace_claims`: whose copy were these people re-identified from?
LN10 = math.log(10)


def trace_claims(
    traceable: Traceable,
    claims: Any,
    *,
    exclude: Any = (),
    earlier: Iterable[Any] = (),
    number: Number | None = None,
    alpha: float = ALPHA,
    prior: float = PRIOR,
    family: int | None = None,
) -> Trace:
    """Weigh claims that people were re-identified against every recipient.

    `claims` are rows with the quasi-identifiers, raw or as they were published: a path, a frame, a table, or
    dictionaries. `exclude` are rows of the same kind whose classes do not count: the owner's own audits. `earlier` are
    incidents of the same release: traces, marks (as `Trace.incidents` holds them) or claims; all marks count together,
    each once, however they are grouped. `family` is the number of recipients to share the error rate among if more are
    still to come. Claims that are weighed by themselves although there are others share alpha with traced files: `number`
    says which of these they are.
    """
    family = checked(traceable, alpha=alpha, prior=prior, family=family)
    table, codebook = SuspectTable.of(claims), traceable.codebook
    claimed = ClaimedClasses.of(traceable, table)
    audited = not isinstance(exclude, (list, tuple)) or len(exclude) > 0
    own = ClaimedClasses.of(traceable, exclude).classes if audited else frozenset()
    places = ClaimsByPlace.of(traceable, claimed.classes - own)
    # The marks of each incident that none before it has hit. What counted once is not left out later.
    audits = set(ClaimsByPlace.of(traceable, own).marks)
    incidents: list[tuple[int, ...]] = []
    seen: set[int] = set()
    for marks in [marks for incident in earlier for marks in _marks_of_incident(traceable, incident, audits)]:
        if further := set(marks) - seen:  # an earlier look at the same claims is no further incident
            incidents.append(tuple(sorted(further)))
        seen.update(marks)
    incidents.append(tuple(sorted(set(places.marks) - seen - audits)))
    hit = np.array(incidents[-1], dtype=np.int64)
    decoys = int(codebook.marks.decoy[hit].sum())
    every = np.array(sorted(mark for marks in incidents for mark in marks), dtype=np.int64)
    logs = log_e_values(codebook.probabilities[every], codebook.present[:, every])
    best = float(log_e_values(codebook.probabilities[every], np.ones((1, len(every)), dtype=bool))[0])
    file = sha256(every.tobytes()).hexdigest()
    look = number(file) if callable(number) else number
    line = threshold(family, alpha * share_of(look))
    return Trace(
        release=traceable.release,
        kind="claims",
        fingerprint=traceable.fingerprint,
        source=table.name,
        alpha=alpha,
        prior=prior,
        family=family,
        standings=_standings(codebook, every, logs, logs, logs >= line, prior),
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
        number=look,
        lights=_lights(codebook, every),
        file=file,
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


def _lights(codebook: Codebook, seen: Ints) -> dict[str, tuple[bool, ...]]:
    """Per recipient, which of the marks that came up its copy has."""
    some = seen[np.unique(np.linspace(0, len(seen) - 1, min(len(seen), MOST_LIGHTS)).astype(np.int64))]
    return {
        name: tuple(held) for name, held in zip(codebook.recipients, codebook.present[:, some].tolist(), strict=True)
    }


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


def _marks_of_incident(traceable: Traceable, incident: Any, audits: set[int]) -> list[Sequence[int]]:
    """The marks that an earlier incident hit; audits among claims do not count."""
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
    hit = ClaimsByPlace.of(traceable, ClaimedClasses.of(traceable, incident).classes).marks
    return [[mark for mark in hit if mark not in audits]]


# `trace_leak`: whose copy is this file?
FEWEST_BITS = 0.002
"""What a row must say on average by its other columns for these to be used."""


def trace_leak(
    traceable: Traceable,
    leak: Any,
    *,
    columns: Mapping[str, str] | None = None,
    count: str | None = None,
    original: Any = None,
    number: Number = 1,
    alpha: float = ALPHA,
    prior: float = PRIOR,
    family: int | None = None,
) -> Trace:
    """Hold a leaked file against every recipient: any rows, any of the columns, perhaps coarser than published.

    `columns` maps names of the file to names of the release; `count` names a column that says for how many people a row
    stands. Single rows and decoys are looked for by all other columns, whatever quasi-identifiers are left. In releases
    of the first design decoys are looked for by other columns only where quasi-identifiers show no difference; the
    `original` table then helps to know which tuples are decoys' alone. `family` is the number of recipients to share the
    error rate among if more are still to come.

    A recipient is accused where the joint e-value reaches N/alpha (see `joint_evidence`); the p-value is one over it,
    which is valid whatever the leaker did. Of alpha the file has the share of its `number` among all traced files of the
    release; a function is asked for the number of this file, given a digest of what it says of the marks.
    """
    family = checked(traceable, alpha=alpha, prior=prior, family=family)
    table = SuspectTable.of(leak).renamed(columns or {})
    table = table if count is None else table.weighted(count)
    observed = sightings_of(traceable, table)
    rows = rows_seen(traceable, table, observed.columns) if count is None else None
    if rows is None and (not observed.telling or not observed.columns):
        observed = sightings_of_decoys(traceable, table, original)
    evidence = LeakEvidence.of(traceable, observed, rows)
    book, seen = traceable.codebook, evidence.found
    if traceable.dealt:
        # Bits that were dealt depend on those of others: hits alone count, as for claims, and no coalition is looked for.
        logs = log_e_values(book.probabilities[seen], book.present[:, seen])
        best = float(log_e_values(book.probabilities[seen], np.ones((1, len(seen)), dtype=bool))[0])
    else:
        logs, best = evidence.log_e_values(traceable.present)
    of_classes = seen[seen < len(book.marks)]
    decoys = int(book.marks.decoy[of_classes].sum())
    origin = None
    if observed.classes is not None:
        origin = origin_of(traceable, ClaimsByPlace.of(traceable, observed.classes))
    whole = Codebook(book.marks, traceable.probabilities, book.recipients, traceable.present)
    p_values = np.exp(-np.maximum(logs, 0.0))
    look = number(evidence.digest) if callable(number) else number
    line = threshold(family, alpha * share_of(look))
    return Trace(
        release=traceable.release,
        kind="leak",
        fingerprint=traceable.fingerprint,
        source=table.name,
        alpha=alpha,
        prior=prior,
        family=family,
        standings=_standings(whole, seen, logs, logs, logs >= line, prior, p_values),
        incidents=(tuple(of_classes.tolist()),),
        best_log10_e=best / LN10,
        counts={
            "rows": observed.rows,
            "matched": int(observed.counts.sum()),
            "foreign": observed.foreign,
            "left_out": observed.left_out,
            "visible": len(evidence.places) + len(evidence.shared.marks),
            "marks": len(seen),
            "decoys": decoys,
            "real_marks": len(of_classes) - decoys,
            "row_marks": len(seen) - len(of_classes),
        },
        origin=origin,
        best_p_value=math.exp(-max(best, 0.0)),
        columns=observed.columns,
        notes=(*observed.notes, *evidence.notes),
        number=look,
        lights=_lights(whole, seen),
        file=evidence.digest,
    )


@dataclass(frozen=True, eq=False)
class LeakEvidence:
    """What a leaked file says of every mark."""

    places: Ints
    """The marks of which it says something by themselves, those of classes and then those of rows."""
    marks: SeenMarks
    shared: SharedCells
    visible: Ints
    """The marks that `shared` counts its own among."""
    classes: int
    """Marks of classes in the release: places from here on are those of rows."""
    notes: tuple[str, ...]

    @classmethod
    def of(cls, traceable: Traceable, observed: Sightings, rows: RowsSeen | None) -> LeakEvidence:
        """By cells, and by rows where that says more."""
        number, visible = len(traceable.codebook.marks), observed.visible
        chances = traceable.probabilities[visible]
        expected = chances * observed.sizes[visible]
        rates = fitted(observed, expected)
        spread = dispersion(observed, rates, expected)
        shown, hidden = np.zeros(len(traceable.probabilities)), np.zeros(len(traceable.probabilities))
        alone, notes = np.zeros(len(shown), dtype=bool), []
        alone[visible[observed.lone]] = True
        shown[visible[observed.lone]], hidden[visible[observed.lone]] = lone_marks(observed, chances, rates)
        if rows is not None and rows.evidence.bits > FEWEST_BITS:
            if rows.evidence.bits > bits_of_counts(observed, rates, spread):
                alone[number:] = True
                shown[number:], hidden[number:] = rows.of_marks()
                notes.append(f"Single rows were looked for by their other columns, {rows.evidence.by}.")
            by_rows = ~alone[:number] & traceable.codebook.marks.decoy
            on, off = rows.of_classes(number)
            shown[:number][by_rows], hidden[:number][by_rows] = on[by_rows], off[by_rows]
            alone[:number] |= by_rows
        places = np.flatnonzero(alone)
        seen = SeenMarks(traceable.probabilities[places], shown[places], hidden[places])
        shared = SharedCells.of(observed, chances, rates, ~alone[visible], spread)
        return cls(places, seen, shared, visible, number, tuple(notes))

    @property
    def digest(self) -> str:
        """All that the file says, as one hash: files that say the same are one look."""
        shared = self.shared
        parts = [self.places, self.visible, shared.marks, shared.cells, shared.sizes, shared.counts, shared.base]
        logs = [self.marks.shown - self.marks.hidden, np.array([shared.rates.share, shared.rates.unreached])]
        rounded = [np.round(part, ROUNDED) + 0.0 for part in logs]
        return sha256(b"|".join(np.ascontiguousarray(part).tobytes() for part in [*parts, *rounded])).hexdigest()

    @property
    def found(self) -> Ints:
        """Places of the marks that the file rather shows than not."""
        return self.places[self.marks.shown > self.marks.hidden]

    def log_e_values(self, present: Flags) -> tuple[Floats, float]:
        """Log e-values of the recipients, and the largest any copy could have.

        A leaker may have left out or filled the classes of doubtful size, so rows by themselves count as much as all marks
        together: a mean of e-values is one.
        """
        own = present[:, self.places]
        logs = self.marks.log_e_values(own, self.shared, present[:, self.visible])
        single = self.places >= self.classes
        if single.any() and not single.all():
            logs = log_mean(np.stack([logs, self.marks.only(single).log_e_values(own[:, single])], axis=1))
        ideal = (self.marks.shown > self.marks.hidden)[None, :]
        best = float(self.marks.log_e_values(ideal)[0]) + self.shared.best() + math.log(ALONE)
        return logs, max(best, float(logs.max()))


def bits_of_counts(observed: Sightings, rates: Rates, spread: float) -> float:
    """How much the rows in a cell say of a row mark, at best 1."""
    cells = observed.cells[observed.visible][~observed.lone]
    if not len(cells):
        return 0.0
    share, held = rates.overall, np.bincount(cells, minlength=len(observed.counts))[cells]
    variance = spread * share * (observed.base[cells] + held / 2) + SMALLEST_VARIANCE + share**2 * (held - 1) / 4
    return float(np.mean(np.minimum(1.0, share**2 / (8 * math.log(2) * variance))))
