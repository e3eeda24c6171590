"""`discreet.trace`: whose copy people or rows came from, recorded before it is answered."""

from __future__ import annotations

from typing import Any

from discreet.errors import UsageError
from discreet.ledger.entry import Detail
from discreet.releases.delivery.release import Release
from discreet.releases.delivery.service import Opened, Where, open_release, record_trace
from discreet.releases.tracing.claims import trace_claims
from discreet.releases.tracing.result import Trace

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
        from discreet.releases.tracing.leaks import trace_leak

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
