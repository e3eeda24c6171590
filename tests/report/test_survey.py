"""Weighted and household risk in a report: findings, figure, measures, method."""

from __future__ import annotations

from discreet.report.survey import survey_figure, survey_findings, survey_measures, survey_method
from discreet.risk import assess
from tests.report.samples import crowds, surveyed

SAMPLE = assess(surveyed(1, 6, 2))


def test_findings_count_people_and_households() -> None:
    weighted, household = survey_findings(SAMPLE)
    assert "the 9 people represent about 112 in the population" in weighted.headline
    assert "--records" in weighted.next_step
    assert "of 4 households" in household.headline
    assert "2 people without a household number count as households of one" in household.next_step


def test_what_is_not_declared_is_not_reported() -> None:
    plain = assess(crowds(1, 6))
    assert [*survey_findings(plain), *survey_measures(plain), *survey_method(plain)] == []


def test_the_figure_shows_people_and_households() -> None:
    figure = survey_figure(SAMPLE)
    assert [row[0] for row in figure.table.rows] == [
        "People, by the data alone",
        "People, by survey weights",
        "Households",
    ]
    assert SAMPLE.weighted is not None
    measures = {name: value for name, value, _ in survey_measures(SAMPLE)}
    assert measures["Sum of weights"] == "112"
    assert measures["Households"] == "4"
    assert measures["Without household number"] == "2"


def test_the_method_names_its_authors() -> None:
    words = " ".join(survey_method(SAMPLE))
    assert "Benedetti & Franconi 1998" in words
    assert "individual risk by survey weights" in words
