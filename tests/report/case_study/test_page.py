"""The page of the case study: well-formed, small, six figures numbered as those they redraw."""

from __future__ import annotations

import re

import pytest

from discreet.attacker.case_study import CaseStudy
from discreet.kernel import Classes
from discreet.people import State, counted, generate
from discreet.report import case_study_findings, case_study_page
from discreet.report.case_study.page import pictures
from discreet.report.components import figure
from tests.report.documents import check_that_names_and_links_meet, check_that_nothing_is_loaded_or_runs
from tests.report.samples import WHEN, Outline


@pytest.fixture(scope="module")
def study() -> CaseStudy:
    everybody = generate(State.of(40_000), seed=1, columns=("zip", "sex", "birth_year"))
    return CaseStudy.of(counted(everybody.sample(0.05, seed=1)), counted(everybody))


def page(study: CaseStudy) -> str:
    return case_study_page(
        study,
        source="people.csv",
        registry="The registry is made up.",
        created=WHEN,
        command="discreet attack case-study",
        version="0.1.0",
    )


@pytest.fixture(scope="module")
def markup(study: CaseStudy) -> str:
    return page(study)


def test_the_page_is_well_formed_and_small(study: CaseStudy, markup: str) -> None:
    outline = Outline(markup)
    assert len(markup.encode()) < 300_000
    check_that_nothing_is_loaded_or_runs(outline)
    check_that_names_and_links_meet(outline)
    sections = [attributes["id"] for attributes in outline.all("section")]
    assert sections == ["findings", "evidence", "misses", "done", "remains", "parameters", "method", "reproduce"]
    assert page(study) == markup


def test_figures_5_to_10_each_with_a_table(study: CaseStudy, markup: str) -> None:
    texts = [text for _, text in Outline(markup).texts]
    assert [text for text in texts if re.fullmatch(r"Figure \d+", text)] == [
        f"Figure {number}" for number in range(5, 11)
    ]
    for shown in pictures(study):
        outline = Outline(str(figure(shown, 5)))
        assert len(outline.all("table")) == 1
        assert {len(row) for row in shown.table.rows} == {len(shown.table.head)}


def test_every_finding_says_whether_it_holds(study: CaseStudy, markup: str) -> None:
    found = case_study_findings(study)
    assert [one.headline.partition(":")[0] for one in found] == [f"Finding {number} holds" for number in range(1, 6)]
    assert "5 of 5 findings hold" in markup


def test_a_finding_that_fails_is_said_to_fail() -> None:
    large = Classes.of(["a"], [("x",)], [5_000])
    other = CaseStudy.of(large, large)
    assert "Finding 1 does not hold" in case_study_findings(other)[0].headline
    markup = page(other)
    Outline(markup)
    assert "3 of 5 findings hold" in markup


def test_what_does_not_reproduce_is_told_with_its_numbers(markup: str) -> None:
    texts = " ".join(text for _, text in Outline(markup).texts)
    for words in (
        "prints 51",
        "The model gives 54",
        "is 45 and 13",
        "0.0688 to 0.0778",
        "only 0.9",
        "but not 48 and 29",
    ):
        assert words in texts
    assert "51 / 45 / 51" in texts
