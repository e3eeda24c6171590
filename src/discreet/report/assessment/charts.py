"""Charts of an assessment, each with the table of its numbers."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.report.assessment.findings import MODELS
from discreet.report.charts.bars import Bar, Fill, Group
from discreet.report.toolkit.page import Figure, Table
from discreet.report.toolkit.words import crowd, decimal, one_in, people, plural
from discreet.risk import Assessment, Band, Inference, PopulationUniqueness, Profile, Reidentification
from discreet.wording import brief_percent, percent


# The pictures of an assessment: what each shows, in which words, and the table of the same numbers.
def pictures(assessment: Assessment, profile: Profile | None) -> tuple[Figure, ...]:
    """Every figure that the numbers allow, in the order of the findings."""
    return tuple(_pictures(assessment, profile))


def _pictures(assessment: Assessment, profile: Profile | None) -> Iterator[Figure]:
    yield crowds(assessment)
    yield adversaries(assessment)
    if assessment.population_uniqueness is not None:
        yield population(assessment, assessment.population_uniqueness)
    if assessment.inference:
        yield sensitive(assessment)
    if profile is not None and profile.telling:
        yield combinations(profile)


PROSECUTOR = "Prosecutor"
JOURNALIST = "Journalist"
MARKETER = "Marketer"
STANDING: dict[Fill, str] = {"risk": "at risk", "partly": "partly at risk", "plain": "within the threshold"}


def crowds(assessment: Assessment) -> Figure:
    """How many people share their values with how many others."""
    shown = inhabited(assessment.bands)
    return Figure(
        key="crowd",
        title="The crowd each person hides in",
        about=f"{people(assessment.uniques).capitalize()} alone, out of {people(assessment.records)}, by class size.",
        reading=_crowd_reading(assessment),
        groups=tuple(_crowd_groups(assessment, shown)),
        table=_crowd_table(assessment, shown),
    )


def inhabited(bands: tuple[Band, ...]) -> tuple[Band, ...]:
    """Without the empty bands beyond the largest class."""
    last = max((place for place, band in enumerate(bands) if band.records), default=0)
    return bands[: last + 1]


def standing(band: Band, threshold: float) -> Fill:
    """Whether the people of a band are at risk, all or some of them."""
    if 1 / band.smallest <= threshold:
        return "plain"
    return "risk" if band.largest is not None and 1 / band.largest > threshold else "partly"


def _crowd_reading(assessment: Assessment) -> tuple[str, ...]:
    return (
        "A class is a set of people who look alike on the assessed columns. The smaller it is, the surer a guess.",
        _stripes(assessment.threshold),
        "The full width of a bar stands for everybody in the data.",
    )


def _stripes(threshold: float) -> str:
    if crowd(threshold) == 1:
        return "No risk can be above a threshold of 1, so no bar is striped."
    return f"Striped bars are people above the threshold of {one_in(threshold)}: fewer than {crowd(threshold):,} look alike."


def _crowd_groups(assessment: Assessment, shown: tuple[Band, ...]) -> Iterator[Group]:
    for fill, title in STANDING.items():
        bands = [band for band in shown if standing(band, assessment.threshold) == fill]
        if bands:
            total = people(sum(band.records for band in bands))
            yield Group(tuple(_crowd_bar(band, assessment) for band in bands), title.capitalize(), total)


def _crowd_bar(band: Band, assessment: Assessment) -> Bar:
    share = band.records / assessment.records
    value = f"{band.records:,} · {brief_percent(share)}"
    return Bar(alike(band), value, share, fill=standing(band, assessment.threshold))


def alike(band: Band) -> str:
    """The band in words."""
    return "alone" if band.largest == 1 else f"{band.label} alike"


def _crowd_table(assessment: Assessment, shown: tuple[Band, ...]) -> Table:
    rows = tuple(
        (
            alike(band),
            f"{band.classes:,}",
            f"{band.records:,}",
            brief_percent(band.records / assessment.records),
            STANDING[standing(band, assessment.threshold)],
        )
        for band in shown
    )
    return Table(
        "People by the size of their class", ("Class size", "Classes", "People", "Share", "Threshold"), rows, (1, 2, 3)
    )


def adversaries(assessment: Assessment) -> Figure:
    """What each adversary achieves with one guess per person."""
    return Figure(
        key="adversaries",
        title="Three adversaries, one guess each",
        about=_adversary_summary(assessment),
        reading=_adversary_reading(assessment),
        groups=tuple(_adversary_groups(assessment)),
        table=_adversary_table(assessment),
    )


def _adversary_summary(assessment: Assessment) -> str:
    views = " and ".join(f"{brief_percent(view.at_risk)} by the {name.lower()}" for name, view in _views(assessment))
    return f"People above the threshold: {views}; the marketer guesses {brief_percent(assessment.marketer)} right."


def _adversary_reading(assessment: Assessment) -> tuple[str, ...]:
    who = (
        "The prosecutor knows that his target is in the data; the journalist only that the target is in the population; the "
        "marketer links everybody and is content with a good share."
    )
    marks = "Ticks mark the limit and the threshold; striped bars go beyond them."
    if assessment.presence is None:
        return (who, "Without a table of the population the three coincide: the prosecutor's is the worst case.", marks)
    return (who, "Limits are held against the journalist, since the population is known.", marks)


def _views(assessment: Assessment) -> tuple[tuple[str, Reidentification], ...]:
    return ((PROSECUTOR, assessment.prosecutor), (JOURNALIST, assessment.journalist))


def _adversary_groups(assessment: Assessment) -> Iterator[Group]:
    views, limit, threshold = _views(assessment), assessment.allowed_at_risk, assessment.threshold
    success = [(name, view.success) for name, view in views] + [(MARKETER, assessment.marketer)]
    yield Group(tuple(share_bar(name, share) for name, share in success), "Right guesses on average")
    above = tuple(marked_bar(name, view.at_risk, limit) for name, view in views)
    yield Group(above, "People above the threshold", f"limit {brief_percent(limit)}")
    highest = tuple(marked_bar(name, view.highest, threshold) for name, view in views)
    yield Group(highest, "Highest risk of anybody", f"threshold {brief_percent(threshold)}")


def _adversary_table(assessment: Assessment) -> Table:
    rows = [
        (name, *(brief_percent(share) for share in (view.success, view.at_risk, view.highest)))
        for name, view in _views(assessment)
    ]
    limits = ("Limit", "none set", brief_percent(assessment.allowed_at_risk), brief_percent(assessment.threshold))
    head = ("Adversary", "Right guesses", "People above the threshold", "Highest risk")
    marketer = (MARKETER, brief_percent(assessment.marketer), "not defined", "not defined")
    return Table("Success of the adversaries", head, (*rows, marketer, limits), (1, 2, 3))


# Uniques in the data, in the population, and by each model.
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


# How far classes are from the table, per sensitive column.
def sensitive(assessment: Assessment) -> Figure:
    """How far classes are from the table, per sensitive column."""
    columns = assessment.inference
    least = min(measures.distinct_l for measures in columns.values())
    return Figure(
        key="sensitive",
        title="What classes give away",
        about=f"{plural(len(columns), 'sensitive column', 'sensitive columns')}; the least number of values is {least}.",
        reading=_reading(assessment),
        groups=tuple(_inference_group(name, measures) for name, measures in columns.items()),
        table=_inference_table(assessment),
    )


def _reading(assessment: Assessment) -> tuple[str, ...]:
    trees = any(measures.hierarchical_t is not None for measures in assessment.inference.values())
    return (
        "Distinct l is the least number of different values in a class: 1 means that for some people it is certain.",
        "t is the distance between the most unusual class and the whole table: 0 = alike, 1 = nothing in common.",
        *(["Along the hierarchy, near values count as less far apart."] if trees else []),
    )


def _inference_group(name: str, measures: Inference) -> Group:
    fill: Fill = "risk" if measures.distinct_l == 1 else "plain"
    bars = [_distance("Distance t", measures.equal_t, fill)]
    if measures.hierarchical_t is not None:
        bars.append(_distance("Distance t along the hierarchy", measures.hierarchical_t, fill))
    certain = ", certain for some" if measures.distinct_l == 1 else ""
    return Group(tuple(bars), name, f"distinct l = {measures.distinct_l:,}{certain}")


def _distance(label: str, share: float, fill: Fill) -> Bar:
    return Bar(label, decimal(share), share, fill=fill)


def _inference_table(assessment: Assessment) -> Table:
    rows = tuple((name, *_measures(one)) for name, one in assessment.inference.items())
    head = ("Column", "Distinct l", "Entropy l", "Recursive (c, l)", "t, equal", "t, hierarchy", "Beta")
    return Table("What classes give away about sensitive columns", head, rows, (1, 2, 3, 4, 5, 6))


def _measures(one: Inference) -> tuple[str, ...]:
    tree = "no hierarchy" if one.hierarchical_t is None else decimal(one.hierarchical_t)
    recursive = f"({decimal(one.recursive_c)}, {one.recursive_l})"
    return (f"{one.distinct_l:,}", decimal(one.entropy_l), recursive, decimal(one.equal_t), tree, decimal(one.beta))


# How few columns single people out.
def combinations(profile: Profile) -> Figure:
    """The most telling combination of each size."""
    best = profile.telling[-1]
    return Figure(
        key="combinations",
        title="How few columns single people out",
        about=f"With {plural(len(best.columns), 'column', 'columns')}, {percent(best.share)} of people are alone.",
        reading=(
            "Of all combinations of one, two or more columns, the one of each size that singles out most people.",
            _reach(profile),
        ),
        groups=(
            Group(
                tuple(_combination_bar(len(one.columns), one.columns, one.unique, one.share) for one in profile.telling)
            ),
        ),
        table=_combination_table(profile),
    )


def _reach(profile: Profile) -> str:
    tried = plural(profile.singling_out.largest, "column", "columns")
    return f"Combinations of up to {tried} were tried, without columns that are nearly unique by themselves."


def _combination_bar(size: int, columns: tuple[str, ...], unique: int, share: float) -> Bar:
    value = f"{unique:,} · {brief_percent(share)}"
    return Bar(plural(size, "column", "columns"), value, share, note=", ".join(columns))


def _combination_table(profile: Profile) -> Table:
    rows = tuple(
        (f"{len(one.columns):,}", ", ".join(one.columns), f"{one.unique:,}", brief_percent(one.share))
        for one in profile.telling
    )
    return Table(
        "The most telling combination of each size", ("Columns", "Which", "People alone", "Share"), rows, (0, 2, 3)
    )


# Bars of shares, alike in every chart.
def share_bar(label: str, share: float, *, mark: float | None = None, fill: Fill = "plain") -> Bar:
    """A share that is its own length."""
    return Bar(label, brief_percent(share), share, mark=mark, fill=fill)


def marked_bar(label: str, share: float, mark: float) -> Bar:
    """A share held against a limit."""
    return share_bar(label, share, mark=mark, fill="risk" if share > mark else "plain")
