"""Whether decoys can be put into a table: how much room there is, how well they would be hit, and what that is worth."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.releases import Feasibility
from discreet.report.findings import Finding
from discreet.report.toolkit.words import agree, part, people, plural
from discreet.wording import measure, percent


def feasibility_findings(found: Feasibility) -> tuple[Finding, ...]:
    """The findings in words, the most important first."""
    return tuple(finding for _, finding in by_topic(found))


def by_topic(found: Feasibility) -> list[tuple[str, Finding]]:
    """Each with the key of the picture that shows it."""
    return list(_told(found))


def _told(found: Feasibility) -> Iterator[tuple[str, Finding]]:
    yield "factors", _room(found)
    if found.candidate_classes:
        yield "factors", _risk(found)
        yield "measured", _subjects(found)
    yield "measured", _table(found)
    if found.uncovered:
        yield "measured", _uncovered(found)


def _room(found: Feasibility) -> Finding:
    if not found.classes:
        return Finding(
            f"Nobody would be released at k = {found.k:,}.", "Allow less suppression, or lower `--k`, and look again."
        )
    crowd = f"everybody who is released has at least {plural(found.min_link, 'look-alike', 'look-alikes')} in the population"
    if not found.candidate_classes:
        return Finding(
            f"There is no room for decoys: {crowd}, and no other class of {found.k:,} or more people is smaller.",
            "Look at other limits with `--grid`: more suppression or a smaller k leaves more room.",
        )
    return Finding(
        f"There is room for decoys in {plural(found.candidate_classes, 'class', 'classes')} of the population: {crowd}, and "
        f"these have {found.k:,} to {found.min_link - 1:,} and are not released.",
        "Whoever re-identifies the riskiest people first meets decoys before real people.",
    )


def _risk(found: Feasibility) -> Finding:
    middle = found.quartiles[2]
    return Finding(
        f"A decoy is up to {measure(found.max_factor)} times as risky as the riskiest real person, and half of the "
        f"candidates at least {measure(middle)} times.",
        "An adversary who goes by risk takes the largest factors first: so should a plan.",
    )


def _subjects(found: Feasibility) -> Finding:
    free, many = found.candidates_without_subjects, found.candidate_classes
    held = many - free
    if not held:
        return Finding(
            "No candidate holds anybody of the data.", "A claim about a decoy is about nobody who was in the data."
        )
    return Finding(
        f"{held:,} of {plural(many, 'candidate', 'candidates')} "
        f"{agree(held, 'holds', 'hold')} people of the data who were left out; {free:,} {agree(free, 'does', 'do')} not.",
        "Use only the latter where a claim about somebody who was left out must not be taken for a decoy's.",
    )


def _table(found: Feasibility) -> Finding:
    return Finding(
        f"The table behind this releases {plural(found.classes, 'class', 'classes')} and leaves out "
        f"{part(found.suppressed, found.records) if found.suppressed else 'nobody'}; {found.close_to_k:,} "
        f"{agree(found.close_to_k, 'class is', 'classes are')} hardly larger than k (up to 1.1 k).",
        "Decoys of the size of such classes do not stand out by their size.",
    )


def _uncovered(found: Feasibility) -> Finding:
    share = percent(found.uncovered_records / max(found.records - found.suppressed, 1))
    return Finding(
        f"{plural(found.uncovered, 'released class', 'released classes')} ({people(found.uncovered_records)}, {share}) "
        f"{agree(found.uncovered, 'is', 'are')} not found in the population, and left out of the comparison.",
        "Above 1 % the population would be refused as the wrong one; look where it differs from the data.",
    )
