"""Feasibility report as one HTML file."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from discreet.policy import Policy
from discreet.releases import Feasibility, FeasibilityGrid
from discreet.report.feasibility.charts import anonymised, candidates, decoys, factors, largest, measured, parameters
from discreet.report.toolkit.page import (
    Figure,
    Finding,
    Part,
    Pill,
    document,
    evidence_part,
    findings_part,
    method_part,
    remains_part,
    reproduce_part,
    section,
    table,
)
from discreet.report.toolkit.words import agree, part, people, plural
from discreet.wording import measure, percent

# Whether decoys can be put into a table, as one HTML file.
ELSEWHERE = {"measured": ("measured", "See the measures"), "factors": ("measured", "See the measures")}
"""Where a finding without a picture leads."""


def feasibility_page(
    found: Feasibility,
    *,
    title: str,
    source: str,
    population: str,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
    grid: FeasibilityGrid | None = None,
) -> str:
    """The report: findings, the picture behind each, measures, what remains, parameters, method, command."""
    figures = tuple(_pictures(found, grid))
    parts = [
        findings_part(by_topic(found), figures, elsewhere=ELSEWHERE),
        Part("evidence", "Evidence", evidence_part(figures).content if figures else None),
        Part("measured", "Measures", section("measured", "What was measured", table(measured(found)))),
        _grid(grid),
        remains_part("Room for decoys is not a guarantee:", remains(found)),
        Part("parameters", "Parameters", section("parameters", "Parameters", table(parameters(found, policy=policy)))),
        method_part(method(found, grid), REFERENCES),
        reproduce_part(command, policy),
    ]
    return document(
        parts,
        kicker="Can a release be traced?",
        title=title,
        about=[source, people(found.records), f"beside {population}, {people(found.population)}"],
        pills=[_pill(found)],
        created=created,
        version=version,
    )


def _pictures(found: Feasibility, grid: FeasibilityGrid | None) -> Iterator[Figure]:
    if found.candidate_classes:
        yield factors(found)
    if grid is not None and grid.feasible:
        yield candidates(grid)
        yield largest(grid)


def _grid(grid: FeasibilityGrid | None) -> Part:
    if grid is None:
        return Part("limits", "Other limits", None)
    content = section("limits", "Other limits", table(anonymised(grid)), table(decoys(grid)))
    return Part("limits", "Other limits", content)


def _pill(found: Feasibility) -> Pill:
    if found.candidate_classes:
        return Pill("✓", "There is room for decoys", "good")
    return Pill("▲", "No room for decoys", "danger")


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


# How room for decoys was counted, what it does not promise, and whose work it rests on.
REFERENCES = (
    (
        "Antonatos, S., Braghin, S., Holohan, N. & MacAonghusa, P. (2019). AnonTokens: tracing re-identification attacks through "
        "decoy records. arXiv:1906.09829."
    ),
    (
        "Samarati, P. & Sweeney, L. (1998). Protecting privacy when disclosing information: k-anonymity and its "
        "enforcement through generalization and suppression. SRI International."
    ),
)


def remains(found: Feasibility) -> tuple[str, ...]:
    """What room for decoys does not promise."""
    return tuple(_remains(found))


def _remains(found: Feasibility) -> Iterator[str]:
    yield (
        "Whoever owns a list of the population can count look-alikes too: candidates are rarer than every released class, so "
        "decoys chosen among them can be told from real classes by their link count alone."
    )
    yield (
        "Recipients who put their copies together see which classes only one of them has. Removing real classes hides "
        "decoys from those without a population list only."
    )
    yield "Who goes by anything but risk, or for one person he knows, may never meet a decoy."
    if found.candidates_without_subjects < found.candidate_classes:
        yield "Where people of the data were left out of a candidate class, a claim about it can be a true one."
    yield "The population is taken as it is: people it does not list make classes larger than they seem."


def method(found: Feasibility, grid: FeasibilityGrid | None) -> tuple[str, ...]:
    """How it was done."""
    return tuple(_method(found, grid))


def _method(found: Feasibility, grid: FeasibilityGrid | None) -> Iterator[str]:
    yield (
        f"The data are generalised to the least lossy combination of levels (`{found.loss_name}`) at which at most the "
        f"allowed share of people is in classes of fewer than {found.k:,}; these are left out (Samarati & Sweeney 1998)."
    )
    yield (
        "The population is counted at the same levels. The link count of a class is the number of people of the "
        "population in it. Candidates are classes that are not released, with at least k people and fewer than the least link "
        "count of a released class; their factor is that least link count divided by their own (Antonatos et al. 2019, "
        "Algorithm 1)."
    )
    if grid is not None and grid.counted is not None:
        yield (
            f"For the other limits {grid.counted:,} of {grid.nodes:,} combinations of levels were counted, each once for all "
            "of them, from the classes of a finer one."
        )
