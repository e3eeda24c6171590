"""Uniques in the data, in the population, and by each model."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.report.charts.bars import Group
from discreet.report.charts.shares import share_bar
from discreet.report.components import Figure, Table
from discreet.report.findings.population import MODELS
from discreet.risk import Assessment, PopulationUniqueness
from discreet.wording import brief_percent, percent


def population(assessment: Assessment, found: PopulationUniqueness) -> Figure:
    """How many people who are alone in the data are alone in the population."""
    return Figure(
        key="population",
        title="Alone in the data, alone in the population",
        about=f"By the chosen estimate {percent(found.dankar)} of the population are unique.",
        reading=_population_reading(assessment, found),
        groups=tuple(_population_groups(assessment, found)),
        table=_population_table(assessment, found),
    )


def _population_reading(assessment: Assessment, found: PopulationUniqueness) -> tuple[str, ...]:
    chosen = (
        f"Dankar's rule chooses {MODELS[found.model]} at a sampling fraction of "
        f"{percent(found.sampling_fraction, below='less than ')}."
        if found.model in MODELS
        else "Nobody is unique in the data, so the models have nothing to extrapolate."
    )
    known = ("Counting in the population table beats any estimate; the models are shown to compare.",)
    unsure = ("Models assume that the data are a random sample of the population.",)
    return (
        "Somebody who is alone in the data may have look-alikes outside it.",
        chosen,
        *(known if assessment.population_uniques is not None else unsure),
    )


def _population_groups(assessment: Assessment, found: PopulationUniqueness) -> Iterator[Group]:
    alone = [share_bar("Alone in the data", assessment.uniques / assessment.records, fill="risk")]
    if assessment.population_uniques is not None:
        share = assessment.population_uniques / assessment.records
        alone.append(share_bar("Alone in the population as well", share, fill="risk"))
    yield Group(tuple(alone), "Counted", f"of {assessment.records:,}")
    models = tuple(share_bar(_model(name, found), share) for name, share in _estimates(found))
    yield Group(models, "Estimated for the population", f"of {found.population:,}")


def _estimates(found: PopulationUniqueness) -> tuple[tuple[str, float], ...]:
    every = (("zayatz", found.zayatz), ("pitman", found.pitman), ("snb", found.snb))
    return tuple((name, share) for name, share in every if share is not None)


def _model(name: str, found: PopulationUniqueness) -> str:
    return _named(name) + (" (chosen)" if name == found.model else "")


def _named(model: str) -> str:
    return {"zayatz": "Zayatz", "pitman": "Pitman", "snb": "Slide negative binomial"}[model]


def _population_table(assessment: Assessment, found: PopulationUniqueness) -> Table:
    rows = [
        (
            "Alone in the data",
            "counted",
            brief_percent(assessment.uniques / assessment.records),
            f"{assessment.records:,}",
        )
    ]
    if assessment.population_uniques is not None:
        share = assessment.population_uniques / assessment.records
        rows.append(("Alone in the population as well", "counted", brief_percent(share), f"{assessment.records:,}"))
    for name, share in _estimates(found):
        rows.append((_model(name, found), "estimated", brief_percent(share), f"{found.population:,}"))
    return Table("Unique people", ("Who", "How known", "Share", "Of"), tuple(rows), (2, 3))
