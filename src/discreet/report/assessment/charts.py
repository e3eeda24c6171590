"""Charts of an assessment, each with the table of its numbers."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.report.assessment.findings import MODELS
from discreet.report.charts.bars import Bar, Fill, Group, count_bar, share_bar
from discreet.report.toolkit.components import Figure, Table
from discreet.report.toolkit.words import crowd, decimal, one_in, people, plural
from discreet.risk import Assessment, Band, PopulationUniqueness, Profile
from discreet.wording import brief_percent, percent

STANDING: dict[Fill, str] = {"risk": "at risk", "partly": "partly at risk", "plain": "within the threshold"}
ESTIMATORS = {"zayatz": "Zayatz", "pitman": "Pitman", "snb": "Slide negative binomial"}


def pictures(assessment: Assessment, profile: Profile | None) -> Iterator[Figure]:
    """Every figure that the numbers allow, in the order of the findings."""
    yield crowds(assessment)
    yield adversaries(assessment)
    if assessment.population_uniqueness is not None:
        yield population(assessment, assessment.population_uniqueness)
    if assessment.inference:
        yield sensitive(assessment)
    if profile is not None and profile.telling:
        yield combinations(profile)


def inhabited(bands: tuple[Band, ...]) -> tuple[Band, ...]:
    """Without the empty bands beyond the largest class."""
    last = max((place for place, band in enumerate(bands) if band.records), default=0)
    return bands[: last + 1]


def standing(band: Band, threshold: float) -> Fill:
    """Whether the people of a band are at risk, all or some of them."""
    if 1 / band.smallest <= threshold:
        return "plain"
    return "risk" if band.largest is not None and 1 / band.largest > threshold else "partly"


def alike(band: Band) -> str:
    """The band in words."""
    return "alone" if band.largest == 1 else f"{band.label} alike"


def crowds(assessment: Assessment) -> Figure:
    """How many people share their values with how many others."""
    records, threshold, needed = assessment.records, assessment.threshold, crowd(assessment.threshold)
    bands = [(band, standing(band, threshold)) for band in inhabited(assessment.bands)]
    groups = []
    for fill, title in STANDING.items():
        mine = [band for band, kind in bands if kind == fill]
        if mine:
            bars = tuple(count_bar(alike(band), band.records, records, fill=fill) for band in mine)
            groups.append(Group(bars, title.capitalize(), people(sum(band.records for band in mine))))
    rows = tuple(
        (alike(band), f"{band.classes:,}", f"{band.records:,}", brief_percent(band.records / records), STANDING[fill])
        for band, fill in bands
    )
    return Figure(
        key="crowd",
        title="How many people look alike",
        about=f"{people(assessment.uniques).capitalize()} alone, out of {people(records)}, by class size.",
        reading=(
            "A class is a set of people who look alike on the assessed columns. The smaller it is, the surer a guess.",
            "No risk can be above a threshold of 1, so no bar is striped."
            if needed == 1
            else f"Striped bars are people above the threshold of {one_in(threshold)}: fewer than {needed:,} look alike.",
            "The full width of a bar is everybody in the data.",
        ),
        chart=tuple(groups),
        table=Table(
            "People by the size of their class",
            ("Class size", "Classes", "People", "Share", "Threshold"),
            rows,
            (1, 2, 3),
        ),
    )


def adversaries(assessment: Assessment) -> Figure:
    """What each adversary achieves with one guess per person."""
    views = (("Prosecutor", assessment.prosecutor), ("Journalist", assessment.journalist))
    limit, threshold, marketer = assessment.allowed_at_risk, assessment.threshold, assessment.marketer
    above = " and ".join(f"{brief_percent(view.at_risk)} by the {name.lower()}" for name, view in views)
    success = [share_bar(name, view.success) for name, view in views]
    rows = [
        (name, *(brief_percent(share) for share in (view.success, view.at_risk, view.highest))) for name, view in views
    ]
    return Figure(
        key="adversaries",
        title="Three adversaries, one guess each",
        about=f"People above the threshold: {above}; the marketer guesses {brief_percent(marketer)} right.",
        reading=(
            (
                "The prosecutor knows that the target is in the data; the journalist only that the target is in the population; the "
                "marketer links everybody and is content with a good share."
            ),
            "Without a table of the population the three coincide: the prosecutor's is the worst case."
            if assessment.presence is None
            else "Limits are held against the journalist, since the population is known.",
            "Ticks mark the limit and the threshold; striped bars go beyond them.",
        ),
        chart=(
            Group((*success, share_bar("Marketer", marketer)), "Right guesses on average"),
            Group(
                tuple(share_bar(name, view.at_risk, limit=limit) for name, view in views),
                "People above the threshold",
                f"limit {brief_percent(limit)}",
            ),
            Group(
                tuple(share_bar(name, view.highest, limit=threshold) for name, view in views),
                "Highest risk of anybody",
                f"threshold {brief_percent(threshold)}",
            ),
        ),
        table=Table(
            "Success of the adversaries",
            ("Adversary", "Right guesses", "People above the threshold", "Highest risk"),
            (
                *rows,
                ("Marketer", brief_percent(marketer), "not defined", "not defined"),
                ("Limit", "none set", brief_percent(limit), brief_percent(threshold)),
            ),
            (1, 2, 3),
        ),
    )


def population(assessment: Assessment, estimate: PopulationUniqueness) -> Figure:
    """How many people who are alone in the data are alone in the population: counted, and by each model."""
    records = assessment.records
    alone = [share_bar("Alone in the data", assessment.uniques / records, fill="risk")]
    if assessment.population_uniques is not None:
        share = assessment.population_uniques / records
        alone.append(share_bar("Alone in the population as well", share, fill="risk"))
    models = [
        share_bar(name + (" (chosen)" if key == estimate.model else ""), share)
        for key, name in ESTIMATORS.items()
        if (share := getattr(estimate, key)) is not None
    ]
    fraction = percent(estimate.sampling_fraction, below="less than ")
    return Figure(
        key="population",
        title="Alone in the data, alone in the population",
        about=f"By the chosen estimate {percent(estimate.dankar)} of the population are unique.",
        reading=(
            "A person who is alone in the data may have look-alikes outside it.",
            f"Dankar's rule chooses {MODELS[estimate.model]} at a sampling fraction of {fraction}."
            if estimate.model in MODELS
            else "Nobody is unique in the data, so the models have nothing to extrapolate.",
            "Models assume that the data are a random sample of the population."
            if assessment.population_uniques is None
            else "Counting in the population table beats any estimate; the models are shown to compare.",
        ),
        chart=(
            Group(tuple(alone), "Counted", f"of {records:,}"),
            Group(tuple(models), "Estimated for the population", f"of {estimate.population:,}"),
        ),
        table=Table(
            "Unique people",
            ("Who", "How known", "Share", "Of"),
            (
                *((bar.label, "counted", bar.value, f"{records:,}") for bar in alone),
                *((bar.label, "estimated", bar.value, f"{estimate.population:,}") for bar in models),
            ),
            (2, 3),
        ),
    )


def sensitive(assessment: Assessment) -> Figure:
    """How far classes are from the table, per sensitive column."""
    columns = assessment.inference
    least = min(measures.distinct_l for measures in columns.values())
    trees = any(measures.hierarchical_t is not None for measures in columns.values())
    groups, rows = [], []
    for name, measures in columns.items():
        fill: Fill = "risk" if measures.distinct_l == 1 else "plain"
        bars = [Bar("Distance t", decimal(measures.equal_t), measures.equal_t, fill=fill)]
        tree = "no hierarchy"
        if measures.hierarchical_t is not None:
            tree = decimal(measures.hierarchical_t)
            bars.append(Bar("Distance t along the hierarchy", tree, measures.hierarchical_t, fill=fill))
        certain = ", certain for some" if measures.distinct_l == 1 else ""
        groups.append(Group(tuple(bars), name, f"distinct l = {measures.distinct_l:,}{certain}"))
        recursive = f"({decimal(measures.recursive_c)}, {measures.recursive_l})"
        distances = (decimal(measures.equal_t), tree, decimal(measures.beta))
        rows.append((name, f"{measures.distinct_l:,}", decimal(measures.entropy_l), recursive, *distances))
    return Figure(
        key="sensitive",
        title="What classes give away",
        about=f"{plural(len(columns), 'sensitive column')}; the least number of values is {least}.",
        reading=(
            "Distinct l is the least number of different values in a class: 1 means that for some people it is certain.",
            "t is the distance between the most unusual class and the whole table: 0 = alike, 1 = nothing in common.",
            *(["Along the hierarchy, near values count as less far apart."] if trees else []),
        ),
        chart=tuple(groups),
        table=Table(
            "What classes give away about sensitive columns",
            ("Column", "Distinct l", "Entropy l", "Recursive (c, l)", "t, equal", "t, hierarchy", "Beta"),
            tuple(rows),
            (1, 2, 3, 4, 5, 6),
        ),
    )


def combinations(profile: Profile) -> Figure:
    """How few columns single people out: the most telling combination of each size."""
    best = profile.telling[-1]
    bars, rows = [], []
    for telling in profile.telling:
        size, names, share = len(telling.columns), ", ".join(telling.columns), brief_percent(telling.share)
        value = f"{telling.unique:,} · {share}"
        bars.append(Bar(plural(size, "column"), value, telling.share, note=names))
        rows.append((f"{size:,}", names, f"{telling.unique:,}", share))
    tried = plural(profile.singling_out.largest, "column")
    return Figure(
        key="combinations",
        title="How few columns single people out",
        about=f"With {plural(len(best.columns), 'column')}, {percent(best.share)} of people are alone.",
        reading=(
            "Of all combinations of one, two or more columns, the one of each size that singles out most people.",
            f"Combinations of up to {tried} were tried, without columns that are nearly unique by themselves.",
        ),
        chart=(Group(tuple(bars)),),
        table=Table(
            "The most telling combination of each size",
            ("Columns", "Which", "People alone", "Share"),
            tuple(rows),
            (0, 2, 3),
        ),
    )
