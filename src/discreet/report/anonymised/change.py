"""The crowds that people hide in and the risks they run, before and after."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.report.anonymised.case import Case
from discreet.report.assessment.charts import alike, inhabited, standing
from discreet.report.charts.bars import Bar, Fill, Group
from discreet.report.components import Figure, Table
from discreet.report.toolkit.words import one_in, people
from discreet.risk import Assessment, Band
from discreet.wording import brief_percent, fine_percent

ARROW = " → "
THIN = "Thin grey bars: before. Thick bars: as published."
Pair = tuple[Band, int]
"""A band as it was, and the people who are in it now."""


def crowds(case: Case) -> Figure:
    """People by the size of their class, before and after."""
    pairs = _pairs(case)
    bars = [_crowd(pair, case) for pair in pairs]
    return Figure(
        key="crowd",
        title="The crowd each person hides in",
        about=f"{people(case.before.uniques).capitalize()} alone before, {_alone_now(case)} after.",
        reading=tuple(_crowd_reading(case, striped=any(bar.fill != "plain" for bar in bars))),
        groups=(Group((*bars, _bar("left out", 0, case.suppressed, case))),),
        table=_crowd_table(case, pairs),
    )


def _alone_now(case: Case) -> str:
    return people(case.after.uniques if case.after else 0)


def _crowd_reading(case: Case, *, striped: bool) -> Iterator[str]:
    yield "A class is a set of people who look alike. The smaller it is, the surer a guess."
    yield THIN
    yield "The full width of a bar stands for everybody in the data."
    if striped and case.after is not None:
        yield f"Striped bars are people above the threshold of {one_in(case.after.threshold)} still."


def _pairs(case: Case) -> tuple[Pair, ...]:
    """Bands up to the largest class on either side."""
    before, after = case.before.bands, case.after.bands if case.after else ()
    now = {band.smallest: band.records for band in after}
    most = max(len(inhabited(before)), len(inhabited(after)))
    return tuple((band, now.get(band.smallest, 0)) for band in before[:most])


def _crowd(pair: Pair, case: Case) -> Bar:
    band, now = pair
    return _bar(alike(band), band.records, now, case, fill=_at_risk(band, case) if now else "plain")


def _at_risk(band: Band, case: Case) -> Fill:
    """By the prosecutor; to the journalist the size of a class in the data says nothing."""
    if case.after is None or _adversary(case) != "prosecutor":
        return "plain"
    return standing(band, case.after.threshold)


def _bar(label: str, before: int, now: int, case: Case, *, fill: Fill = "plain") -> Bar:
    value = f"{before:,}{ARROW}{now:,}"
    return Bar(label, value, now / case.records, fill=fill, before=before / case.records)


def _crowd_table(case: Case, pairs: tuple[Pair, ...]) -> Table:
    rows = [_row(alike(band), band.records, now, case.records) for band, now in pairs]
    gone = _row("left out", 0, case.suppressed, case.records)
    head = ("Class size", "People before", "Share", "People after", "Share")
    return Table("People by the size of their class, before and after", head, (*rows, gone), (1, 2, 3, 4))


def _row(label: str, before: int, now: int, everybody: int) -> tuple[str, ...]:
    return label, f"{before:,}", brief_percent(before / everybody), f"{now:,}", brief_percent(now / everybody)


def risks(case: Case, after: Assessment) -> Figure:
    """The highest and the average risk, and the people above the threshold, before and after."""
    bars = tuple(_risks(case, after))
    return Figure(
        key="risk",
        title="The risk that remains",
        about=f"{'; '.join(f'{bar.label}: {bar.value}' for bar in bars)}.",
        reading=_risk_reading(case, after),
        groups=(Group(bars, f"For the {_adversary(case)}"),),
        table=_risk_table(bars),
    )


def _adversary(case: Case) -> str:
    return case.views[0] if case.views else "prosecutor"


def _risk_reading(case: Case, after: Assessment) -> tuple[str, ...]:
    knows = {
        "prosecutor": "The prosecutor knows that his target is in the data, and guesses once among those who look alike.",
        "journalist": "The journalist knows that his target is in the population, and guesses once among those who look "
        "alike there.",
    }
    marks = f"Ticks mark the threshold of {one_in(after.threshold)}, and the share of people who may be above it"
    return (knows[_adversary(case)], THIN, f"{marks}; striped bars go beyond them.")


def _risks(case: Case, after: Assessment) -> Iterator[Bar]:
    _, then, now = case.views or ("", case.before.prosecutor, after.prosecutor)
    yield _risk("Highest risk of anybody", then.highest, now.highest, mark=after.threshold)
    yield _risk("Average risk", then.success, now.success)
    if case.same_threshold:
        yield _risk("People above the threshold", then.at_risk, now.at_risk, mark=case.before.allowed_at_risk)


def _risk(label: str, before: float, after: float, *, mark: float | None = None) -> Bar:
    fill: Fill = "risk" if mark is not None and after > mark else "plain"
    value = f"{fine_percent(before)}{ARROW}{fine_percent(after)}"
    return Bar(label, value, after, fill=fill, mark=mark, before=before)


def _risk_table(bars: tuple[Bar, ...]) -> Table:
    rows = tuple((bar.label, *bar.value.split(ARROW), _limit(bar)) for bar in bars)
    return Table("Risk before and after", ("Risk", "Before", "After", "Limit"), rows, (1, 2, 3))


def _limit(bar: Bar) -> str:
    return "none set" if bar.mark is None else brief_percent(bar.mark)
