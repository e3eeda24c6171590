"""What the classes give away about sensitive columns."""

from __future__ import annotations

from discreet.report.findings.finding import Finding
from discreet.report.toolkit.words import agree, decimal, lowered, part
from discreet.risk import Assessment, Inference


def inferred(assessment: Assessment, source: str) -> tuple[Finding, ...]:
    """What the classes give away about each sensitive column, the worst first."""
    worst = sorted(assessment.inference.items(), key=lambda item: (item[1].distinct_l, -item[1].equal_t))
    return tuple(_inference(assessment, name, measures) for name, measures in worst)


def _inference(assessment: Assessment, name: str, measures: Inference) -> Finding:
    if measures.distinct_l > 1:
        return _uncertain(name, measures)
    if measures.equal_t == 0:
        return _constant(assessment, name)
    certain = lowered(part(measures.certain, assessment.records))
    return Finding(
        f"For {certain} the value of {name} is certain: all who look like them have the same (distinct l = 1).",
        f"Make the other columns coarser until every class (people who look alike) has at least 2 values of {name}, or "
        "leave it out: whoever is recognised gives it away.",
    )


def _constant(assessment: Assessment, name: str) -> Finding:
    everybody = part(assessment.records, assessment.records)
    return Finding(
        f"{everybody} {agree(assessment.records, 'has', 'have')} the same value of {name}: whoever is known to be "
        "in the data is known to have it.",
        "Leave the column out, or say so in the description of the data instead: coarser columns do not help here.",
    )


def _uncertain(name: str, measures: Inference) -> Finding:
    gain = f"up to {decimal(measures.beta + 1, digits=1)} times as common as in the whole table"
    return Finding(
        f"Nobody's value of {name} is certain: every class (people who look alike) has at least "
        f"{measures.distinct_l:,} values, but a value can be {gain}.",
        "Decide which distance from the whole table you accept, and make columns coarser until it is kept: the furthest "
        f"class is at t = {decimal(measures.equal_t)} (0 = alike, 1 = nothing in common).",
    )
