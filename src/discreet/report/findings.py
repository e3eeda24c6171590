"""What an assessment means: sentences with a number, a comparison and a next step.

No sentence carries a person's value: findings count people and name columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from discreet.report.words import about, amount, columns, crowd, decimal, one_in, part, people, percent, plural, tries
from discreet.risk import Assessment, Inference, Payoffs, PopulationUniqueness

MODELS = {
    "pitman": "Pitman's model",
    "zayatz": "Zayatz' model",
    "snb": "the slide negative binomial model",
}


@dataclass(frozen=True)
class Finding:
    """A sentence that says what was found, and what to do about it."""

    headline: str
    next_step: str


def findings(assessment: Assessment, *, source: str) -> tuple[Finding, ...]:
    """The findings in words, the most important first; at least three.

    >>> from discreet.kernel import Classes
    >>> from discreet.risk import assess
    >>> found = assess(Classes.of(["sex", "zip"], [("F", "1"), ("M", "1")], [1, 5]))
    >>> findings(found, source="people.csv")[0].headline
    "1 of 6 people in people.csv (16.7 %) can be singled out by sex and zip: nobody else shares that person's values."
    """
    return tuple(finding for _, finding in by_topic(assessment, source))


def by_topic(assessment: Assessment, source: str) -> tuple[tuple[str, Finding], ...]:
    """The findings in order, each with the topic that its picture has too."""
    return tuple((topic, finding) for topic, tell in TOPICS for finding in tell(assessment, source))


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
    return f"nobody else shares {'that person' if assessment.uniques == 1 else 'their'}{_possessive(assessment)} values"


def _possessive(assessment: Assessment) -> str:
    return "'s" if assessment.uniques == 1 else ""


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
        f"The smallest class (people who look alike) has {people(assessment.k)}; {_against_crowd(assessment)}",
    )


def _against_crowd(assessment: Assessment) -> str:
    needed = crowd(assessment.threshold)
    asked = f"the threshold of {one_in(assessment.threshold)} asks for {needed:,}"
    if assessment.k < needed:
        return f"{asked}, so make columns coarser until no class is smaller."
    return f"{asked}, so nothing needs to be coarser. Assess again when a column is added."


def above_threshold(assessment: Assessment, source: str) -> tuple[Finding, ...]:
    """How many people are at more risk than the threshold, held against the limit."""
    number = at_risk(assessment)
    who, verb = part(number, assessment.records), "has" if number <= 1 else "have"
    verdict = "above" if assessment.exceeded else "within"
    headline = (
        f"{who} {verb} a risk above the threshold of {one_in(assessment.threshold)}. "
        f"The limit allows {allowed(assessment)}: the data are {verdict} the limit."
    )
    return (Finding(headline, f"{_binding(assessment)} {_to_limit(assessment)}"),)


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
    success = tries(assessment.binding.success)
    if assessment.presence is not None:
        return (
            "The adversary here knows only that his target is in the population (the journalist); on average he picks "
            f"the right record in {success} attempts."
        )
    return (
        "The adversary here knows that his target is in the data (the prosecutor); on average he picks the right "
        f"record in {success} attempts."
    )


def _to_limit(assessment: Assessment) -> str:
    if not assessment.exceeded:
        return "Write the limit into the release decision, so that the next version is held against it too."
    return f"Anonymise with k = {crowd(assessment.threshold):,}, so that no class (people who look alike) is smaller."


def in_population(assessment: Assessment, source: str) -> tuple[Finding, ...]:
    """How many of the people who are alone in the data are alone in the population."""
    if assessment.population_uniques is not None:
        return (_counted(assessment, source, assessment.population_uniques),)
    if assessment.population_uniqueness is not None:
        return (_estimated(assessment, source, assessment.population_uniqueness),)
    return (_unknown(assessment),)


def _counted(assessment: Assessment, source: str, alone: int) -> Finding:
    population = f"the population of {people(assessment.population_size or 0)}"
    if alone == 0:
        crowds = f"the smallest crowd there is {_k_map(assessment):,}, against {assessment.k:,} in the data"
        return Finding(f"Nobody in {source} is alone in {population}: {crowds}.", _coverage(assessment))
    return Finding(
        f"{part(alone, assessment.records, where=f' in {source}')} {'is' if alone == 1 else 'are'} alone in "
        f"{population} too, against {assessment.uniques:,} in the data alone.",
        "A register of the population finds them for certain: protect them first. " + _coverage(assessment),
    )


def _k_map(assessment: Assessment) -> int:
    return assessment.presence.k_map if assessment.presence else assessment.k


def _coverage(assessment: Assessment) -> str:
    missing = assessment.presence.uncovered if assessment.presence else 0
    if not missing:
        return "The population covers everybody in the data; use a newer one when people move in or out."
    return (
        f"The population shows too few people like {people(missing)} of the data, who were counted with the data's own "
        "number; check that both are coded alike and that the population is complete."
    )


def _estimated(assessment: Assessment, source: str, found: PopulationUniqueness) -> Finding:
    population = f"the {people(found.population)} of the population"
    seen = f"against {percent(assessment.uniques / assessment.records)} who are unique in {source}"
    step = "Give a table of the population with `--population` to count instead of estimating."
    if found.dankar == 0:
        return Finding(f"An estimated 0 of {population} are unique, {seen}.", step)
    number = about(found.dankar * found.population)
    return Finding(
        f"An estimated {percent(found.dankar)} of {population} (about {number}) are unique, {seen}.", _chosen(found, step)
    )


def _chosen(found: PopulationUniqueness, step: str) -> str:
    held = percent(found.sampling_fraction, below="less than ")
    return f"The data hold {held} of the population, for which Dankar's rule chooses {MODELS[found.model]}. {step}"


def _unknown(assessment: Assessment) -> Finding:
    if assessment.uniques:
        seen = f"{people(assessment.uniques)} who {'is' if assessment.uniques == 1 else 'are'} unique in the data"
    else:
        seen = "no unique people in the data"
    return Finding(
        f"With {seen} and no population to compare, these figures are the worst case: "
        "an adversary who knows that his target is in the data.",
        "Give `--population` a table of the people the data were drawn from, or just their number, to see how many are "
        "really unique.",
    )


def inferred(assessment: Assessment, source: str) -> tuple[Finding, ...]:
    """What the classes give away about each sensitive column, the worst first."""
    worst = sorted(assessment.inference.items(), key=lambda item: (item[1].distinct_l, -item[1].equal_t))
    return tuple(_inference(assessment, name, measures) for name, measures in worst)


def _inference(assessment: Assessment, name: str, measures: Inference) -> Finding:
    if measures.distinct_l > 1:
        return _uncertain(name, measures)
    if measures.equal_t == 0:
        return _constant(assessment, name)
    # Somebody alone is certain; without them, a class of one value has at least as many people as the smallest class.
    certain = part(assessment.uniques or assessment.k, assessment.records)
    return Finding(
        f"For at least {certain[0].lower()}{certain[1:]} the value of {name} is certain: all who look like them have "
        "the same (distinct l = 1).",
        f"Whoever is recognised gives it away. Make the other columns coarser until every class (people who look alike) "
        f"has at least 2 values of {name}, or leave it out.",
    )


def _constant(assessment: Assessment, name: str) -> Finding:
    everybody = part(assessment.records, assessment.records)
    return Finding(
        f"{everybody} {'has' if assessment.records == 1 else 'have'} the same value of {name}: whoever is known to be "
        "in the data is known to have it.",
        "Coarser columns do not help here. Leave the column out, or say so in the description of the data instead.",
    )


def _uncertain(name: str, measures: Inference) -> Finding:
    gain = f"up to {decimal(measures.beta + 1, digits=1)} times as common as in the whole table"
    return Finding(
        f"Nobody's value of {name} is certain: every class (people who look alike) has at least "
        f"{measures.distinct_l:,} values, but a value can be {gain}.",
        f"The class furthest from the whole table is at distance t = {decimal(measures.equal_t)} (0 = alike, 1 = nothing "
        "in common). Decide which distance you accept, and make columns coarser until it is kept.",
    )


def attacked(assessment: Assessment, source: str) -> tuple[Finding, ...]:
    """Whom it pays to attack, by the single-decision economics."""
    return () if assessment.economics is None else (_payoff(assessment, assessment.economics),)


def _payoff(assessment: Assessment, game: Payoffs) -> Finding:
    if game.attacked == 0:
        return Finding(
            f"Attacking pays against none of the {people(assessment.records)}: each attempt costs more than it brings.",
            f"The publisher keeps {amount(game.publisher)}. Check the amounts again when the data gain value.",
        )
    return Finding(
        f"Attacking pays against {_lower(part(game.attacked, assessment.records))}: the adversary expects to re-identify "
        f"{about(game.reidentified)} and to gain {amount(game.adversary)}.",
        f"The publisher is left with {amount(game.publisher)}. Dearer attempts or larger crowds make attacks pay less.",
    )


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


Teller = Callable[[Assessment, str], tuple[Finding, ...]]

TOPICS: tuple[tuple[str, Teller], ...] = (
    ("crowd", singled_out),
    ("adversaries", above_threshold),
    ("population", in_population),
    ("sensitive", inferred),
    ("economics", attacked),
)
