"""Findings about candidate pairs."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.linkage.matching.blocking import Blocking
from discreet.linkage.matching.candidate_pairs import UNCALIBRATED, Candidates
from discreet.report.toolkit.page import Finding
from discreet.report.toolkit.words import agree, plural
from discreet.wording import brief_percent, percent

TRIED = (
    "Where relatives, twins or namesakes were in the tables, 5 to 16 % of the pairs called the same were wrong in trials, and two to "
    "three times as many true ones were missed as stated."
)
"""What trials on other tables found, where a stated error is only as good as the model."""


def pairs_findings(found: Candidates) -> tuple[Finding, ...]:
    """The findings without their topics."""
    return tuple(finding for _, finding in by_topic(found))


def by_topic(found: Candidates) -> Iterator[tuple[str, Finding]]:
    """Findings with the figure that proves each."""
    yield "zones", _decisions(found)
    if found.zones is not None:
        yield "errors", _errors(found)
        yield "method", _size(found)
    if found.model is not None:
        yield "rules", _blocking(found.model.blocking)


def _decisions(found: Candidates) -> Finding:
    counts = found.counts
    if found.zones is None:
        return Finding(
            f"{plural(len(found.pairs), 'pair', 'pairs')} came without a score: people decide all of them.",
            "Import them with a score, or let `discreet link pairs` find and score pairs.",
        )
    return Finding(
        f"Of {plural(len(found.pairs), 'candidate pair', 'candidate pairs')} the machine calls {counts['same']:,} the same "
        f"and {counts['different']:,} different; {counts['people']:,} {agree(counts['people'], 'goes', 'go')} to people.",
        "More or fewer go to people with `--review N`, or with other shares of errors.",
    )


def _errors(found: Candidates) -> Finding:
    zones = found.zones
    assert zones is not None  # noqa: S101 - asked before
    by = "By the model's own guess the" if found.calibration is None else "For pairs like those that were labelled the"
    return Finding(
        f"{by} machine is expected to call {zones.false_same:,.1f} pairs the same that are not "
        f"({brief_percent(zones.false_same_share)} of those it calls the same), and to miss {zones.missed:,.1f} "
        f"({brief_percent(zones.missed_share)} of the true candidate pairs). {TRIED}",
        "Let people look at a sample of the pairs that the machine decides. Lower either share with `--false-same` and `--missed`; "
        "people will see more pairs.",
    )


def _size(found: Candidates) -> Finding:
    if found.calibration is None:
        return Finding(
            UNCALIBRATED, "Label some pairs and give them with `--labels`; then probabilities are calibrated by them."
        )
    return Finding(
        f"Probabilities are calibrated by {plural(found.calibration.labels, 'label', 'labels')}.",
        "Calibrate anew when people have decided more pairs.",
    )


def _blocking(blocking: Blocking) -> Finding:
    return Finding(
        f"{plural(len(blocking.rules), 'rule', 'rules')} {agree(len(blocking.rules), 'makes', 'make')} the candidate "
        f"pairs; by the model's guess {percent(blocking.recall)} of all true pairs are among them. In a trial it said 94.6 % where "
        "73.5 % was true: pairs that agree on no whole value are not counted.",
        "Allow more pairs with `--most-pairs` to find more.",
    )
