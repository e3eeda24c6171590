"""The crowds people hide in, and what three adversaries make of them."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.report.charts.bars import Bar, Fill, Group
from discreet.report.charts.shares import marked_bar, share_bar
from discreet.report.components import Figure, Table
from discreet.report.toolkit.words import crowd, one_in, people
from discreet.risk import Assessment, Band, Reidentification
from discreet.wording import brief_percent

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
