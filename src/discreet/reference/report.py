"""Report of the case study as one HTML file."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from discreet.policy import Policy
from discreet.reference.case_study import (
    CaseStudy,
)
from discreet.reference.charts import OWN, pictures
from discreet.report.attack import REFERENCES, method, parameters, remains
from discreet.report.attack_charts import Case, at_least
from discreet.report.toolkit import page
from discreet.report.toolkit.page import Finding, Pill, bullets
from discreet.report.toolkit.words import about, listed, people

THRESHOLD = 0.2


def case_study_page(
    study: CaseStudy,
    *,
    source: str,
    registry: str,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
) -> str:
    """The report: five statements and six figures; `registry` describes the list."""
    figures, case = pictures(study), Case(study.attacked, THRESHOLD)
    names = study.attacked.sample.names
    classes = f"{len(study.attacked.sample):,} classes by {listed(names, most=len(names) + 1)}"
    done = (
        f"{people(study.people)} in {classes}.",
        registry,
        (
            "Three adversaries with the published gain, costs and penalty: detection constant and penalties unlimited; one "
            "penalty only; detection rising with every exploit (h1 = 0.18)."
        ),
        (
            "One guess here is one random candidate for everybody. The paper's baseline is another: it stops attacking at a "
            "threshold of its own, so that it is never above the planning adversary."
        ),
        "The six figures are our own, and their numbers are not those of the paper's figures.",
        "What the paper prints, and what of it does not come out, is the page of discreet reproduce fmdp.",
    )
    parts = [
        page.findings(by_topic(study), figures),
        page.evidence(figures),
        page.section("done", "What was done", OWN, bullets(done)),
        page.remains("The adversaries are models:", remains(case)),
        page.parameters("What was assumed before planning", parameters(case), policy),
        page.method(method(case), REFERENCES),
        page.reproduce(command, note=page.policy_note(policy)),
    ]
    return page.document(
        parts,
        kicker="Case study",
        title="A planning adversary: a case study after a paper",
        about=[source, people(study.people), f"against a registry of {people(study.attacked.external_size)}"],
        pills=[Pill("○", "Not a reproduction", "plain")],
        created=created,
        version=version,
    )


# The five statements in words, each with the numbers that it rests on.
Numbers = Mapping[str, Any]
Teller = Callable[[Numbers], tuple[str, str]]
"""What a claim says, and what follows from it."""


def case_study_findings(study: CaseStudy) -> list[Finding]:
    """The findings in order."""
    return [finding for _, finding in by_topic(study)]


def by_topic(study: CaseStudy) -> Iterator[tuple[str, Finding]]:
    """The findings, each with the figure that shows it; one that these data do not show says so."""
    for claim in study.claims:
        topic, tell = TELLERS[claim.key]
        words, step = tell(claim.numbers)
        headline = f"{words[:1].upper()}{words[1:]}" if claim.holds else f"Not on these data: {words}"
        yield topic, Finding(headline, step)


def _size(size: int | None) -> str:
    return "no number" if size is None else f"{size:,}"


def ends(sizes: tuple[int, int] | None) -> str:
    """Group sizes from one to another.

    >>> ends((14, 28)), ends((3, 3)), ends(None)
    ('14 to 28', '3', 'no size')
    """
    if sizes is None:
        return "no size"
    first, last = sizes
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def one_guess(found: Numbers) -> tuple[str, str]:
    """One guess misjudges the risk both ways."""
    return (
        (
            f"the adversary tries all candidates, several, one or none. With the list in hand and rising detection: all up to "
            f"{_size(found['all_up_to'])}, several at {ends(found['several'])}, one at {ends(found['one'])}, none from "
            f"{_size(found['none_from'])} on. So exactly one guess is wrong both ways: too low for "
            f"{found['people_underestimated']:,} people of the data, too high for {found['people_overestimated']:,}."
        ),
        (
            f"Do not read one guess as the risk: by one each {about(found['one_guess'])} people are re-identified, by planning with "
            f"constant detection {about(found['reidentified'])}."
        ),
    )


def all_or_nothing(found: Numbers) -> tuple[str, str]:
    """Constant detection and unlimited penalties: in full or not at all."""
    return (
        (
            f"with constant detection and unlimited penalties it is all or nothing. {found['adversaries']:,} adversaries with "
            f"other gains and penalties, groups of 1 to {found['sizes']:,}: {found['attacks_in_part']:,} attacks stop part way. "
            f"In the data {found['people_in_full']:,} people are attacked in full, {found['people_in_part']:,} in part."
        ),
        "Look at one number only in this case: the smallest group that is left alone.",
    )


def part_way(found: Numbers) -> tuple[str, str]:
    """Rising detection ends attacks part way."""
    return (
        (
            f"with rising detection the adversary stops part way from {_size(found['stops_early'])} candidates on, does not buy the list from "
            f"{_size(found['no_access'])} on, and does not start from {_size(found['no_exploit'])} on even with the list in hand. In the data "
            f"{found['people_in_full']:,} people are attacked in full, {found['people_in_part']:,} in part."
        ),
        "Let repeated look-ups cost more or be noticed sooner: a look-up service that remembers its user stops an attack early.",
    )


def embolden(found: Numbers) -> tuple[str, str]:
    """A limit on the number of penalties emboldens."""
    once, unlimited = ("any size" if found[key] is None else f"{found[key] - 1:,}" for key in ("once", "unlimited"))
    return (
        (
            f"limiting the number of penalties emboldens the adversary. Fined once at most, the list is bought up to a group of "
            f"{once} instead of {unlimited}: {found['attacked_once']:,} people of the data "
            f"are attacked instead of {found['attacked_unlimited']:,}."
        ),
        "Agree on a penalty for each breach, not on one for the whole contract.",
    )


def deterrence(found: Numbers) -> tuple[str, str]:
    """Penalty and price deter."""
    if not found["reidentified"]:
        return "nobody is re-identified in the first place.", "No deterrent is needed: these groups are too large."
    size = f", or groups of at least {found['size']:,}" if found["size"] is not None else ""
    return (
        (
            f"penalty and price deter. Now {about(found['reidentified'])} people are re-identified in expectation; that falls in "
            f"steps to nobody at a penalty of {at_least(found['penalty'])}, or a list that costs {at_least(found['price'])} "
            f"(smallest group: {found['smallest_group']:,}){size}."
        ),
        "Ask which of the three is cheapest to have: a contract, a fee, or coarser values.",
    )


TELLERS: dict[str, tuple[str, Teller]] = {
    "one_guess_is_wrong": ("chance", one_guess),
    "all_or_nothing": ("exploits", all_or_nothing),
    "stops_part_way": ("exploits", part_way),
    "limits_embolden": ("people", embolden),
    "deterrence_works": ("penalty", deterrence),
}
