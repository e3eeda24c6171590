"""Findings of an assessment: a number, a comparison and a next step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from discreet.report.toolkit.page import Finding
from discreet.report.toolkit.words import (
    about,
    agree,
    amount,
    attempts,
    columns,
    crowd,
    decimal,
    listed,
    lowered,
    one_in,
    part,
    people,
    plural,
)
from discreet.risk import Assessment, Combination, Inference, Payoffs, PopulationUniqueness, Profile
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


# What a population says about people who are alone in the data.
MODELS = {
    "pitman": "Pitman's model",
    "zayatz": "Zayatz's model",
    "snb": "the slide negative binomial model",
}


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
        f"{part(alone, assessment.records, where=f' in {source}')} {agree(alone, 'is', 'are')} alone in "
        f"{population} too, of {assessment.uniques:,} who {agree(assessment.uniques, 'is', 'are')} alone in the data.",
        "Protect them first: a register of the population finds them for certain. " + _coverage(assessment),
    )


def _k_map(assessment: Assessment) -> int:
    return assessment.presence.k_map if assessment.presence else assessment.k


def _coverage(assessment: Assessment) -> str:
    missing = assessment.presence.uncovered if assessment.presence else 0
    if not missing:
        return "Compare again when people move in or out: the population given covers everybody in the data."
    return (
        f"Check that the population is complete and coded alike: it shows too few people like {people(missing)} of the "
        "data, who were counted with the data's own number."
    )


def _estimated(assessment: Assessment, source: str, found: PopulationUniqueness) -> Finding:
    population = f"the {people(found.population)} of the population"
    seen = f"against {percent(assessment.uniques / assessment.records)} who are unique in {source}"
    step = "Give a table of the population with `--population` to count instead of estimating."
    if found.dankar == 0:
        return Finding(f"An estimated 0 of {population} are unique, {seen}.", step)
    number = about(found.dankar * found.population)
    return Finding(
        f"An estimated {percent(found.dankar)} of {population} ({number}) are unique, {seen}.",
        _chosen(found, step),
    )


def _chosen(found: PopulationUniqueness, step: str) -> str:
    held = percent(found.sampling_fraction, below="less than ")
    return f"{step} The data hold {held} of the population, for which Dankar's rule chooses {MODELS[found.model]}."


def _unknown(assessment: Assessment) -> Finding:
    if assessment.uniques:
        seen = f"{people(assessment.uniques)} who {agree(assessment.uniques, 'is', 'are')} unique in the data"
    else:
        seen = "no unique people in the data"
    return Finding(
        f"With {seen} and no population to compare, these figures are the worst case: "
        "an adversary who knows that his target is in the data.",
        "Give `--population` a table of the people the data were drawn from, or just their number, to see how many are "
        "really unique.",
    )


# What the classes give away about sensitive columns.
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


# Whom it pays to attack.
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


# What results mean: sentences with a number, a comparison and a next step.
#
# No sentence carries a person's value: findings count people and name columns.
Teller = Callable[[Assessment, str], tuple[Finding, ...]]

TOPICS: tuple[tuple[str, Teller], ...] = (
    ("crowd", singled_out),
    ("adversaries", above_threshold),
    ("population", in_population),
    ("sensitive", inferred),
    ("economics", attacked),
)


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


# What a profile means: identifiers, telling combinations, and what a person has to confirm.
def profile_findings(profile: Profile) -> tuple[Finding, ...]:
    """The findings of a profile in words, the most telling first."""
    return (*_telling(profile), _identifiers(profile), _minimal(profile), _confirm(profile))


def _telling(profile: Profile) -> tuple[Finding, ...]:
    if not profile.telling:
        return ()
    best = max(profile.telling, key=lambda one: one.unique)
    if best.unique == 0:
        reach = plural(profile.singling_out.largest, "column", "columns")
        return (
            Finding(
                f"No combination of up to {reach} singles out any of the {profile.records:,} people.",
                "Look at larger combinations before you rely on it: `--largest`.",
            ),
        )
    return (Finding(f"{_singles_out(best, profile.records)}{_compared(profile, best)}.", _first(best)),)


def _singles_out(one: Combination, records: int) -> str:
    return f"{_together(one.columns)} {lowered(part(one.unique, records))}"


def _together(columns: Sequence[str]) -> str:
    return f"{listed(columns)} {'alone singles' if len(columns) == 1 else 'together single'} out"


def _compared(profile: Profile, best: Combination) -> str:
    single = profile.telling[0]
    if len(best.columns) == 1 or len(single.columns) > 1:
        return ""
    return f"; the most telling column by itself, {single.columns[0]}, singles out {people(single.unique)}"


def _first(best: Combination) -> str:
    return (
        f"Generalise {'it' if len(best.columns) == 1 else 'these'} first; an adversary needs nothing else than "
        f"{listed(best.columns)} to recognise these people."
    )


def _identifiers(profile: Profile) -> Finding:
    names = [column.name for column in profile.columns if column.role == "identifier"]
    total = plural(len(profile.columns), "column", "columns")
    if not names:
        return Finding(
            f"None of the {total} looks like an identifier (a column that names a person by itself).",
            "Confirm it: numbers given out by your own systems are easily overlooked.",
        )
    verb = "looks like an identifier" if len(names) == 1 else "look like identifiers"
    return Finding(
        f"{len(names):,} of {total} {verb} (naming a person without any other column): {listed(names)}.",
        'Give the role "identifier" in the policy, so that it is never published.'
        if len(names) == 1
        else 'Give each the role "identifier" in the policy, so that they are never published.',
    )


def _minimal(profile: Profile) -> Finding:
    found = sorted(profile.minimal_unique, key=len)
    reach = plural(profile.singling_out.largest, "column", "columns")
    if not found:
        return Finding(
            f"No combination of up to {reach} tells all {profile.records:,} people apart.",
            "Larger combinations may; assess the columns that an adversary can know together.",
        )
    number = plural(len(found), "combination", "combinations")
    return Finding(
        f"{number} of columns {'tells' if len(found) == 1 else 'tell'} all {profile.records:,} people apart; the "
        f"shortest is {listed(found[0])}.",
        "Never publish such a combination as it is: leave out or generalise one column of each.",
    )


def _confirm(profile: Profile) -> Finding:
    doubtful = [column.name for column in profile.columns if column.role == "other"]
    many = len(profile.columns)
    roles = f"The roles of all {many:,} columns are guesses" if many > 1 else "The role of the only column is a guess"
    counted = f"; for {listed(doubtful)} nothing pointed to a role" if doubtful else ""
    return Finding(
        f"{roles} from names and values{counted}.",
        "Confirm them: draft a policy with `discreet policy init`, and correct what an adversary could know.",
    )
