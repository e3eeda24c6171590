"""Attack report as one HTML file: outcomes, deterrence, method."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import numpy as np

from discreet.attacker import Attacked
from discreet.policy import Policy
from discreet.report.assessment.report import REFERENCES as MEASURES
from discreet.report.attack.charts import pictures
from discreet.report.attack.findings import Case, by_topic
from discreet.report.toolkit import page
from discreet.report.toolkit.components import Cell, Row, Table
from discreet.report.toolkit.html import element, join
from discreet.report.toolkit.words import amount, decimal, listed, one_in, people
from discreet.wording import brief_percent, measure, percent

ELSEWHERE = {"harmed": "measured", "loss": "measured"}
"""Where a finding without a picture leads."""
XIA = (
    "Xia, W., Kantarcioglu, M., Wan, Z., Heatherly, R., Vorobeychik, Y. & Malin, B. (2015). Process-driven data privacy. "
    "CIKM."
)
REFERENCES = (MEASURES["wan"], XIA)


def attack_page(
    struck: Attacked,
    *,
    title: str,
    source: str,
    threshold: float,
    exceeded: bool,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
) -> str:
    """The report: findings, the picture behind each, measures, what remains, parameters, method, command."""
    case = Case(struck, threshold)
    return page.document(
        attack_parts(case, source=source, command=command, policy=policy),
        kicker="Planning adversary",
        title=title,
        about=[source, people(case.records), f"against a list of {people(struck.external_size)}"],
        pills=[page.verdict(exceeded=exceeded)],
        created=created,
        version=version,
    )


def attack_parts(case: Case, *, source: str, command: str, policy: Policy | None = None) -> list[page.Part]:
    """The sections of the report, for pages that have a frame of their own."""
    figures = list(pictures(case))
    lead = "Amounts and numbers of people are expected values over the adversary's plan; people who look alike run the same risk."
    return [
        page.findings(by_topic(case, source), figures, elsewhere=ELSEWHERE),
        page.evidence(figures),
        page.section("measured", "Measures", lead, measures(case), title="What was measured"),
        page.remains("This adversary is a model:", remains(case)),
        page.section("parameters", "Parameters", parameters(case, policy=policy)),
        page.method(method(case), REFERENCES),
        page.reproduce(command, note=page.policy_note(policy)),
    ]


def measures(case: Case) -> Table:
    """Every number for both adversaries, with its meaning."""
    outcomes = [outcome.to_dict(case.threshold) for outcome in (case.struck.known, case.struck.unknown)]

    def written(value: float) -> str:
        if isinstance(value, int) or value >= 1000:
            return f"{value:,.0f}"
        return measure(value) if value else "0"

    def row(name: str, key: str, meaning: str) -> tuple[str, ...]:
        write = brief_percent if key in ("at_risk", "highest") else written
        return name, *(write(outcome[key]) for outcome in outcomes), meaning

    rows = (
        row("Attacked", "attacked", "people for whom any candidate is tried"),
        row("In full", "in_full", "of them, to the last candidate"),
        row("In part", "in_part", "of them, until it no longer pays"),
        row("Left alone", "not_at_all", "people for whom no candidate is tried"),
        row(
            "Above the threshold", "at_risk", f"people re-identified with a probability above {one_in(case.threshold)}"
        ),
        row("Highest risk", "highest", "probability of the most exposed person"),
        row("Re-identified", "reidentified", "people, expected"),
        row("Innocent people exploited", "people_harmed", "people of the list taken for another person, expected"),
        row("Exploits", "exploits", "candidates tried, expected"),
        row("Penalties", "penalties", "fines paid, expected"),
        row("Adversary's value", "adversary_value", "what all attacks are worth to the adversary, discounted"),
        row("Expected loss", "expected_loss", "what they cost the publisher"),
        row("Highest loss", "highest_loss", "what the most expensive person costs, expected"),
    )
    return Table("What the attack comes to", ("Measure", "Knows the groups", "Does not", "Meaning"), rows, (1, 2))


def parameters(case: Case, *, policy: Policy | None) -> Table:
    """Who the adversary is, and what is attacked."""
    attack, losses, names = case.attack, case.struck.known.losses, case.struck.sample.names
    most = attack.max_penalties
    often = {None: "for each detection", 1: "once at most"}.get(most, f"{most or 0:,} times at most")
    first, tenth = (float(chance) for chance in attack.detection(np.array([0, 9])))
    loss: Cell = f"{amount(float(losses.highest.max(initial=0.0)))} for each person"
    if losses.column is not None:
        loss = join("what column ", element("code", losses.column), " says of each person")
    rows: list[Row] = [
        ("In the list", f"{percent(attack.prior)}: how likely the target is in the list of named people at all"),
        ("Gain", f"{amount(attack.gain)} for a re-identification"),
        ("Price of the list", amount(attack.access_cost)),
        ("Cost of linking", amount(attack.link_cost)),
        ("Cost of an attempt", f"{amount(attack.exploit_cost)} for each candidate"),
        ("Fine", "never paid" if most == 0 else f"{amount(attack.penalty)}, {often}"),
        (
            "Detection",
            f"{decimal(first)} of first attempts, {decimal(tenth)} of tenth ones"
            if attack.detection_slope
            else f"{percent(first, below='less than ')} of attempts, whichever it is",
        ),
        ("Discount", f"{attack.discount:g}: what a step later is worth"),
        ("Loss", loss),
        ("Known columns", join(listed(names, most=len(names) + 1) or "none")),
        ("List of named people", people(case.struck.external_size)),
        ("Threshold", f"{case.threshold:g}: a probability above {one_in(case.threshold)} counts as at risk"),
    ]
    if policy is not None and policy.file:
        rows.append(("Policy", element("code", policy.file)))
    return Table("What was assumed before planning", ("Parameter", "Value"), tuple(rows))


def remains(case: Case) -> Iterator[str]:
    """What the model does not see."""
    yield (
        "The adversary is rational and acts only where it pays. One who acts out of spite, curiosity or for show does not "
        "count costs, and is not deterred by them."
    )
    yield (
        "The gain, the costs and the chance of detection are estimates. Vary them (`discreet attack sweep`) before a "
        "decision rests on them."
    )
    yield (
        "Each person is attacked on their own, and the list is paid for each time. An adversary who attacks many buys it once: then people "
        "whom nobody would attack alone can be attacked together."
    )
    yield (
        "An attempt is detected independently of the others and of whether it is right, with a probability that depends only "
        "on how many came before."
    )
    yield "The adversary knows at once whether a guess was right. One who cannot tell goes on longer, and harms more people."
    yield (
        "Only the columns named below count, and the list is taken as coded like the data. An adversary who knows more makes groups "
        "smaller than shown here."
    )
    if case.unlisted:
        yield (
            "People whom nobody in this list looks like are safe from this list only: another one may hold them under the "
            "same values."
        )


def method(case: Case) -> tuple[str, ...]:
    """How it was computed, with authors and years."""
    return (
        (
            "The attack is a sequence of decisions: buy the list of named people, link it, try one candidate after another, stop. "
            "It is a factored Markov decision process (Xia et al. 2015), solved exactly for every group size by one backward "
            "recursion; an action is taken only if it is worth more than stopping."
        ),
        (
            "With g candidates and i of them tried in vain, the next is right with probability 1/(g/p - i), where p is the "
            "probability that the target is in the list, and detected with probability 1/(1 + exp(-(h0 + h1 i))). Gain and fine "
            "arrive one step after the cost, and later steps are discounted."
        ),
        (
            "Knowing the group, the adversary buys if that is worth more than the price. Not knowing it, the number is taken as binomial, by "
            f"the share of the population that looks alike among {case.struck.external_size:,} people. The probability of a "
            "re-identification is that of the plan on the real group, not discounted."
        ),
        (
            "One guess each is the single-shot game (Wan et al. 2015): one random candidate where p/g times the gain exceeds all "
            "costs and the expected fine."
        ),
        (
            "The least fine, price and group size that deter all attacks are exact, found where what the attack is worth "
            "reaches nothing for the smallest group in the data."
        ),
    )
