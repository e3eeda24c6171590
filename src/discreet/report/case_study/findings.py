"""The five statements in words, each with the numbers that it rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from discreet.reference.case_study import CaseStudy, Claim
from discreet.report.attack.findings import at_least
from discreet.report.case_study.words import ends
from discreet.report.toolkit.page import Finding
from discreet.report.toolkit.words import about

Numbers = Mapping[str, Any]
Teller = Callable[[Numbers], tuple[str, str]]
"""What a claim says, and what follows from it."""


def case_study_findings(study: CaseStudy) -> list[Finding]:
    """The findings in order."""
    return [finding for _, finding in by_topic(study)]


def by_topic(study: CaseStudy) -> tuple[tuple[str, Finding], ...]:
    """The findings, each with the figure that shows it."""
    return tuple(_finding(claim) for claim in study.claims)


def _finding(claim: Claim) -> tuple[str, Finding]:
    topic, tell = TELLERS[claim.key]
    words, step = tell(claim.numbers)
    headline = f"{words[:1].upper()}{words[1:]}" if claim.holds else f"Not on these data: {words}"
    return topic, Finding(headline, step)


def _one_guess(found: Numbers) -> tuple[str, str]:
    return (
        (
            f"he tries all candidates, several, one or none. With the list in hand and rising detection: all up to "
            f"{_size(found['all_up_to'])}, several at {ends(found['several'])}, one at {ends(found['one'])}, none from "
            f"{_size(found['none_from'])} on. So exactly one guess is wrong both ways: too low for "
            f"{found['people_underestimated']:,} people of the data, too high for {found['people_overestimated']:,}."
        ),
        (
            f"Do not read one guess as the risk: by one each {about(found['one_guess'])} people are re-identified, by planning with "
            f"constant detection {about(found['reidentified'])}."
        ),
    )


def _all_or_nothing(found: Numbers) -> tuple[str, str]:
    return (
        (
            f"with constant detection and unlimited penalties it is all or nothing. {found['adversaries']:,} adversaries with "
            f"other gains and penalties, groups of 1 to {found['sizes']:,}: {found['attacks_in_part']:,} attacks stop part way. "
            f"In the data {found['people_in_full']:,} people are attacked in full, {found['people_in_part']:,} in part."
        ),
        "Look at one number only in this case: the smallest group that he leaves alone.",
    )


def _part_way(found: Numbers) -> tuple[str, str]:
    return (
        (
            f"with rising detection he stops part way from {_size(found['stops_early'])} candidates on, does not buy the list from "
            f"{_size(found['no_access'])} on, and does not start from {_size(found['no_exploit'])} on even if he has it. In the data "
            f"{found['people_in_full']:,} people are attacked in full, {found['people_in_part']:,} in part."
        ),
        "Let repeated look-ups cost more or be noticed sooner: a lookup that remembers its user stops him early.",
    )


def _size(size: int | None) -> str:
    return "no number" if size is None else f"{size:,}"


def _embolden(found: Numbers) -> tuple[str, str]:
    return (
        (
            f"limiting the number of penalties emboldens him. Fined once at most he buys the list up to a group of "
            f"{_largest(found['once'])} instead of {_largest(found['unlimited'])}: {found['attacked_once']:,} people of the data "
            f"are attacked instead of {found['attacked_unlimited']:,}."
        ),
        "Agree on a penalty for each breach, not on one for the whole contract.",
    )


def _largest(first_spared: int | None) -> str:
    return "any size" if first_spared is None else f"{first_spared - 1:,}"


def _deterrence(found: Numbers) -> tuple[str, str]:
    if not found["reidentified"]:
        return "nobody is re-identified in the first place.", "Nothing has to deter him: these groups are too large."
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
    "one_guess_is_wrong": ("chance", _one_guess),
    "all_or_nothing": ("exploits", _all_or_nothing),
    "stops_part_way": ("exploits", _part_way),
    "limits_embolden": ("people", _embolden),
    "deterrence_works": ("penalty", _deterrence),
}
