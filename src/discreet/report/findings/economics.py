"""Whom it pays to attack."""

from __future__ import annotations

from discreet.report.findings.finding import Finding
from discreet.report.toolkit.words import about, amount, lowered, part, people
from discreet.risk import Assessment, Payoffs


def attacked(assessment: Assessment, source: str) -> tuple[Finding, ...]:
    """Whom it pays to attack, by the single-decision economics."""
    return () if assessment.economics is None else (_payoff(assessment, assessment.economics),)


def _payoff(assessment: Assessment, game: Payoffs) -> Finding:
    if game.attacked == 0:
        return Finding(
            f"Attacking pays against none of the {people(assessment.records)}: each attempt costs more than it brings.",
            f"Check the amounts again when the data gain value. The publisher keeps {amount(game.publisher)}.",
        )
    return Finding(
        f"Attacking pays against {lowered(part(game.attacked, assessment.records))}: the adversary expects to re-identify "
        f"{about(game.reidentified)} and to gain {amount(game.adversary)}.",
        f"Make attempts dearer or crowds larger, so that they pay less. The publisher is left with {amount(game.publisher)}.",
    )
