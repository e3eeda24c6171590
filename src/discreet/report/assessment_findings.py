"""Findings of an assessment: a number, a comparison and a next step.

No sentence carries a person's value: findings count people and name columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from discreet.policy import Policy
from discreet.report.survey import survey_findings
from discreet.report.toolkit.page import Finding, topic
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
from discreet.risk import Assessment, Profile
from discreet.risk.table_profile import SEARCHED
from discreet.wording import percent

MODELS = {
    "pitman": "Pitman's model",
    "zayatz": "Zayatz's model",
    "snb": "the slide negative binomial model",
}


def findings(assessment: Assessment, *, source: str) -> tuple[Finding, ...]:
    """The findings in words, the most important first; at least three.

    >>> from discreet.kernel import Classes
    >>> from discreet.risk import assess
    >>> found = assess(Classes.of(["sex", "zip"], [("F", "1"), ("M", "1")], [1, 5]))
    >>> findings(found, source="people.csv")[0].headline
    "1 of 6 people in people.csv (16.7 %) can be singled out by sex and zip: nobody else shares that person's values."
    """
    return tuple(finding for _, finding in by_topic(assessment, source))


def by_topic(assessment: Assessment, source: str) -> Iterator[tuple[str, Finding]]:
    """The findings in order, each with the topic that its picture has too."""
    yield "crowd", singled_out(assessment, source)
    yield "adversaries", above_threshold(assessment)
    yield "population", in_population(assessment, source)
    for finding in inferred(assessment):
        yield "sensitive", finding
    for finding in survey_findings(assessment):
        yield "survey", finding
    game = assessment.economics
    if game is not None and game.attacked == 0:
        yield topic(
            "economics",
            f"Attacking pays against none of the {people(assessment.records)}: each attempt costs more than it brings.",
            f"Check the amounts again when the data gain value. The publisher keeps {amount(game.publisher)}.",
        )
    elif game is not None:
        yield topic(
            "economics",
            f"Attacking pays against {lowered(part(game.attacked, assessment.records))}: the adversary expects to "
            f"re-identify {about(game.reidentified)} and to gain {amount(game.adversary)}.",
            "Make attempts more expensive or classes larger, so that attacks pay less. The publisher is left with "
            f"{amount(game.publisher)}.",
        )


def singled_out(assessment: Assessment, source: str) -> Finding:
    """Who is alone with their values, or how small the smallest class is."""
    by, needed = columns(assessment.columns), crowd(assessment.threshold)
    if assessment.uniques == 0:
        everybody = f"each of the {people(assessment.records)} shares their values"
        others = plural(assessment.k - 1, "other person", "other people")
        smallest = f"the smallest class (people who look alike) has {people(assessment.k)}"
        asked = f"the threshold of {one_in(assessment.threshold)} asks for {needed:,}"
        return Finding(
            f"Nobody in {source} can be singled out by {by}: {everybody} with at least {others}.",
            f"Make columns coarser still: {smallest}, but {asked}."
            if assessment.k < needed
            else f"Assess again when a column is added. For now nothing needs to be coarser: {smallest}, and {asked}.",
        )
    others = plural(max(1, needed - 1), "other")
    step = (
        f"Make columns coarser (dates to years, places to regions) until everybody shares their values with at least "
        f"{others}, and leave out columns that the recipient does not need."
    )
    if assessment.records == 1:
        why = "there is nobody to hide among"
        step = "Publish a statistic instead of a record, or wait for more people."
    elif assessment.uniques == assessment.records:
        why = "no two people look alike"
    else:
        whose = agree(assessment.uniques, "that person's", "their")
        why = f"nobody else shares {whose} values"
    who = part(assessment.uniques, assessment.records, where=f" in {source}")
    return Finding(f"{who} can be singled out by {by}: {why}.", step)


def above_threshold(assessment: Assessment) -> Finding:
    """How many people are at more risk than the threshold, held against the limit."""
    number, needed = at_risk(assessment), crowd(assessment.threshold)
    if not assessment.exceeded:
        step = "Write the limit into the release decision, so that the next version is held against it too."
    elif assessment.records < needed:
        step = f"Publish a statistic instead: so few people cannot form a class (people who look alike) of {needed:,}."
    else:
        step = f"Anonymise with k = {needed:,}, so that no class (people who look alike) is smaller."
    knows = (
        "knows that the target is in the data (the prosecutor)"
        if assessment.presence is None
        else "knows only that the target is in the population (the journalist)"
    )
    return Finding(
        f"{part(number, assessment.records)} {'have' if number > 1 else 'has'} a risk above the threshold of "
        f"{one_in(assessment.threshold)}. The limit allows {allowed(assessment)}: the data are "
        f"{'above' if assessment.exceeded else 'within'} the limit.",
        f"{step} The adversary here {knows}; on average the right record is picked in {attempts(assessment.binding.success)}.",
    )


def at_risk(assessment: Assessment) -> int:
    """People above the threshold, by the adversary that counts."""
    return round(assessment.binding.at_risk * assessment.records)


def allowed(assessment: Assessment) -> str:
    """How many people may be above the threshold."""
    # at_risk / records is compared with the limit, so the largest number that passes is rounded down.
    number = math.floor(assessment.allowed_at_risk * assessment.records + 1e-9)
    share = f" ({percent(assessment.allowed_at_risk)})" if assessment.allowed_at_risk else ""
    return f"{people(number)}{share}"


def in_population(assessment: Assessment, source: str) -> Finding:
    """Unique people of the data who are unique in the population, too."""
    alone, uniques = assessment.population_uniques, assessment.uniques
    if alone is not None:
        # The population was given as a table.
        presence = assessment.presence
        population = f"the population of {people(assessment.population_size or 0)}"
        step = "Compare again when people move in or out: the population given covers everybody in the data."
        if presence is not None and presence.uncovered:
            step = (
                f"Check that the population is complete and coded alike: it shows too few people like "
                f"{people(presence.uncovered)} of the data, who were counted with the data's own number."
            )
        if alone == 0:
            k_map = assessment.k if presence is None else presence.k_map
            smallest = f"the smallest class there has {k_map:,}, against {assessment.k:,} in the data"
            return Finding(f"Nobody in {source} is alone in {population}: {smallest}.", step)
        return Finding(
            f"{part(alone, assessment.records, where=f' in {source}')} {agree(alone, 'is', 'are')} alone in "
            f"{population} too, of {uniques:,} who {agree(uniques, 'is', 'are')} alone in the data.",
            f"Protect them first: a register of the population finds them for certain. {step}",
        )
    estimate = assessment.population_uniqueness
    if estimate is None:
        seen = f"{people(uniques)} who {agree(uniques, 'is', 'are')} unique in the data"
        return Finding(
            f"With {seen if uniques else 'no unique people in the data'} and no population to compare, these "
            "figures are the worst case: an adversary who knows that the target is in the data.",
            "Give a table of the people the data were drawn from as population (`--population`), or just their number, to "
            "see how many are really unique.",
        )
    population = f"the {people(estimate.population)} of the population"
    seen = f"against {percent(assessment.uniques / assessment.records)} who are unique in {source}"
    step = "Give a table of the population (`--population`) to count instead of estimating."
    if estimate.dankar == 0:
        return Finding(f"An estimated 0 of {population} are unique, {seen}.", step)
    number = about(estimate.dankar * estimate.population)
    held = percent(estimate.sampling_fraction, below="less than ")
    return Finding(
        f"An estimated {percent(estimate.dankar)} of {population} ({number}) are unique, {seen}.",
        f"{step} The data hold {held} of the population, for which Dankar's rule chooses {MODELS[estimate.model]}.",
    )


def inferred(assessment: Assessment) -> Iterator[Finding]:
    """What the classes give away about each sensitive column, the worst first."""
    worst = sorted(assessment.inference.items(), key=lambda item: (item[1].distinct_l, -item[1].equal_t))
    for name, measures in worst:
        if measures.distinct_l > 1:
            gain = f"up to {decimal(measures.beta + 1, digits=1)} times as common as in the whole table"
            yield Finding(
                f"Nobody's value of {name} is certain: every class (people who look alike) has at least "
                f"{measures.distinct_l:,} values, but a value can be {gain}.",
                "Decide which distance from the whole table you accept, and make columns coarser until no class exceeds it: the furthest "
                f"class is at t = {decimal(measures.equal_t)} (0 = alike, 1 = nothing in common).",
            )
        elif measures.equal_t == 0:
            everybody = part(assessment.records, assessment.records)
            yield Finding(
                f"{everybody} {agree(assessment.records, 'has', 'have')} the same value of {name}: anyone known to be "
                "in the data is known to have it.",
                "Leave the column out, or say so in the description of the data instead: coarser columns do not help here.",
            )
        else:
            certain = lowered(part(measures.certain, assessment.records))
            yield Finding(
                f"For {certain} the value of {name} is certain: all who look like them have the same (distinct l = 1).",
                f"Make the other columns coarser until every class (people who look alike) has at least 2 values of {name}, or "
                "leave it out: recognising a person discloses it.",
            )


ROLES = {
    "identifier": "identifier",
    "quasi": "quasi\N{NON-BREAKING HYPHEN}identifier",
    "sensitive": "sensitive",
    "other": "other",
    "drop": "left out",
}


def role_in(policy: Policy, column: str) -> str:
    """The role that the policy gives a column, in words."""
    if column not in policy.roles:
        named = {policy.count: "number of people", policy.weight: "survey weight", policy.household: "household"}
        return named.get(column, "not declared")
    return ROLES[policy.roles[column]] + (", not confirmed" if column in policy.unconfirmed else "")


# What a profile means: identifiers, telling combinations, and what a person has to confirm.
def profile_findings(profile: Profile, policy: Policy | None = None) -> tuple[Finding, ...]:
    """The findings of a profile in words, the most telling first; by the policy's roles, where there is one."""
    return (*telling(profile), *roles(profile, policy))


def telling(profile: Profile) -> Iterator[Finding]:
    """The combination of columns that singles out most people."""
    if not profile.telling:
        return
    best = max(profile.telling, key=lambda combination: combination.unique)
    if profile.records > SEARCHED and profile.singling_out.largest == 1 < len(profile.columns):
        yield Finding(
            f"Columns were looked at one by one: the table has more than {SEARCHED:,} people.",
            "Search combinations of up to three columns (`--largest 3`); it takes longer and more memory.",
        )
    if best.unique == 0:
        reach = plural(profile.singling_out.largest, "column")
        yield Finding(
            f"No combination of up to {reach} singles out any of the {profile.records:,} people.",
            "Look at larger combinations before you rely on it (`--largest`).",
        )
        return
    names, only, single = listed(best.columns), len(best.columns) == 1, profile.telling[0]
    compared = (
        ""
        if only or len(single.columns) > 1
        else f"; the most telling column by itself, {single.columns[0]}, singles out {people(single.unique)}"
    )
    yield Finding(
        f"{names} {'alone singles' if only else 'together single'} out "
        f"{lowered(part(best.unique, profile.records))}{compared}.",
        f"Generalise {'it' if only else 'these'} first; an adversary needs nothing else than "
        f"{names} to recognise these people.",
    )


def roles(profile: Profile, policy: Policy | None) -> Iterator[Finding]:
    """Identifiers, minimal unique combinations, and columns whose role is not confirmed."""
    left_out = () if policy is None else policy.unpublished
    names = [column.name for column in profile.columns if column.role == "identifier" and column.name not in left_out]
    total = plural(len(profile.columns), "column")
    if not names and policy is not None:
        yield Finding(
            f"No column that would be published looks like an identifier; {plural(len(left_out), 'column')} of the policy "
            f"{agree(len(left_out), 'is', 'are')} never published.",
            "Confirm it: numbers given out by your own systems are easily overlooked.",
        )
    elif not names:
        yield Finding(
            f"None of the {total} looks like an identifier (a column that names a person by itself).",
            "Confirm it: numbers given out by your own systems are easily overlooked.",
        )
    else:
        verb = agree(len(names), "looks like an identifier", "look like identifiers")
        give = agree(len(names), 'Give the role "identifier"', 'Give each the role "identifier"')
        yield Finding(
            f"{len(names):,} of {total} {verb} (naming a person without any other column): {listed(names)}.",
            f"{give} in the policy, so that {agree(len(names), 'it is', 'they are')} never published.",
        )
    minimal = sorted(profile.minimal_unique, key=len)
    if not minimal:
        reach = plural(profile.singling_out.largest, "column")
        yield Finding(
            f"No combination of up to {reach} tells all {profile.records:,} people apart.",
            "Larger combinations may; assess the columns that an adversary can know together.",
        )
    else:
        yield Finding(
            f"{plural(len(minimal), 'combination')} of columns {agree(len(minimal), 'tells', 'tell')} all "
            f"{profile.records:,} people apart; the shortest is {listed(minimal[0])}.",
            "Never publish such a combination as it is: leave out or generalise one column of each.",
        )
    if policy is not None:
        if policy.unconfirmed:
            guessed = agree(len(policy.unconfirmed), "The role of {} is a guess", "The roles of {} are guesses")
            yield Finding(
                f"{guessed.format(listed(policy.unconfirmed))} that no person has confirmed. Until then, what would be "
                "published counts as a quasi-identifier.",
                "Correct what is wrong in the policy, then confirm it (`discreet policy confirm`).",
            )
        return
    doubtful = [column.name for column in profile.columns if column.role == "other"]
    many = len(profile.columns)
    guesses = f"The roles of all {many:,} columns are guesses" if many > 1 else "The role of the only column is a guess"
    nothing = f"; for {listed(doubtful)} nothing pointed to a role" if doubtful else ""
    yield Finding(
        f"{guesses} from names and values{nothing}.",
        "Confirm them in a policy (`discreet policy init` drafts one), and correct what an adversary could know.",
    )
