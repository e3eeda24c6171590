"""What a population says about people who are alone in the data."""

from __future__ import annotations

from discreet.report.findings.finding import Finding
from discreet.report.toolkit.words import about, agree, part, people
from discreet.risk import Assessment, PopulationUniqueness
from discreet.wording import percent

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
