"""Who can be singled out, and how many are at more risk than the limit allows."""

from __future__ import annotations

import math

from discreet.report.findings.finding import Finding
from discreet.report.toolkit.words import agree, attempts, columns, crowd, one_in, part, people, plural
from discreet.risk import Assessment
from discreet.wording import percent


def singled_out(assessment: Assessment, source: str) -> tuple[Finding, ...]:
    """Who is alone with their values, or how small the smallest class is."""
    if assessment.uniques == 0:
        return (_nobody_alone(assessment, source),)
    who = part(assessment.uniques, assessment.records, where=f" in {source}")
    headline = f"{who} can be singled out by {columns(assessment.columns)}: {_why_alone(assessment)}."
    return (Finding(headline, _out_of_sight(assessment)),)


def _why_alone(assessment: Assessment) -> str:
    if assessment.records == 1:
        return "there is nobody to hide among"
    if assessment.uniques == assessment.records:
        return "no two people look alike"
    whose = agree(assessment.uniques, "that person's", "their")
    return f"nobody else shares {whose} values"


def _out_of_sight(assessment: Assessment) -> str:
    if assessment.records == 1:
        return "Publish a statistic instead of a record, or wait for more people."
    others = plural(max(1, crowd(assessment.threshold) - 1), "other", "others")
    return (
        f"Make columns coarser (dates to years, places to regions) until everybody shares their values with at least "
        f"{others}, and leave out columns that the recipient does not need."
    )


def _nobody_alone(assessment: Assessment, source: str) -> Finding:
    everybody = f"each of the {people(assessment.records)} shares their values"
    others = plural(assessment.k - 1, "other person", "other people")
    return Finding(
        f"Nobody in {source} can be singled out by {columns(assessment.columns)}: {everybody} with at least {others}.",
        _keep_crowds(assessment),
    )


def _keep_crowds(assessment: Assessment) -> str:
    needed = crowd(assessment.threshold)
    smallest = f"the smallest class (people who look alike) has {people(assessment.k)}"
    asked = f"the threshold of {one_in(assessment.threshold)} asks for {needed:,}"
    if assessment.k < needed:
        return f"Make columns coarser still: {smallest}, but {asked}."
    return f"Assess again when a column is added. For now nothing needs to be coarser: {smallest}, and {asked}."


def above_threshold(assessment: Assessment, source: str) -> tuple[Finding, ...]:
    """How many people are at more risk than the threshold, held against the limit."""
    number = at_risk(assessment)
    who, verb = part(number, assessment.records), "have" if number > 1 else "has"
    verdict = "above" if assessment.exceeded else "within"
    headline = (
        f"{who} {verb} a risk above the threshold of {one_in(assessment.threshold)}. "
        f"The limit allows {allowed(assessment)}: the data are {verdict} the limit."
    )
    return (Finding(headline, f"{_to_limit(assessment)} {_binding(assessment)}"),)


def at_risk(assessment: Assessment) -> int:
    """People above the threshold, by the adversary that counts."""
    return round(assessment.binding.at_risk * assessment.records)


def allowed(assessment: Assessment) -> str:
    """How many people may be above the threshold."""
    # at_risk / records is compared with the limit, so the largest number that passes is rounded down.
    number = math.floor(assessment.allowed_at_risk * assessment.records + 1e-9)
    share = f" ({percent(assessment.allowed_at_risk)})" if assessment.allowed_at_risk else ""
    return f"{people(number)}{share}"


def _binding(assessment: Assessment) -> str:
    success = attempts(assessment.binding.success)
    if assessment.presence is not None:
        return (
            "The adversary here knows only that his target is in the population (the journalist); on average he picks "
            f"the right record in {success}."
        )
    return (
        "The adversary here knows that his target is in the data (the prosecutor); on average he picks the right "
        f"record in {success}."
    )


def _to_limit(assessment: Assessment) -> str:
    if not assessment.exceeded:
        return "Write the limit into the release decision, so that the next version is held against it too."
    needed = crowd(assessment.threshold)
    if assessment.records < needed:
        return f"Publish a statistic instead: so few people cannot form a class (people who look alike) of {needed:,}."
    return f"Anonymise with k = {needed:,}, so that no class (people who look alike) is smaller."
