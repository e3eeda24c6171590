"""The page of the case study: well-formed, small, six figures of its own, and no verdict on the paper."""

from __future__ import annotations

import re

import pytest

from discreet.kernel import Classes
from discreet.people import State, counted, generate
from discreet.reference.case_study import CaseStudy
from discreet.reference.charts import pictures
from discreet.report import case_study_findings, case_study_page
from discreet.report.toolkit.page import figure
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
    assert sections == ["findings", "evidence", "done", "remains", "parameters", "method", "reproduce"]
    assert page(study) == markup


def test_six_figures_with_numbers_of_their_own_each_with_a_table(study: CaseStudy, markup: str) -> None:
    texts = [text for _, text in Outline(markup).texts]
    assert [text for text in texts if re.fullmatch(r"Figure \d+", text)] == [
        f"Figure {number}" for number in range(1, 7)
    ]
    for shown in pictures(study):
        outline = Outline(str(figure(shown, 1)))
        assert len(outline.all("table")) == 1
        assert {len(row) for row in shown.table.rows} == {len(shown.table.head)}


def test_it_says_that_it_is_no_reproduction_and_gives_no_verdict(study: CaseStudy, markup: str) -> None:
    assert "our own case study" in markup
    assert "not a reproduction" in markup
    assert not re.search(r"findings? (\d )?(hold|does not hold)|of 5 findings", markup, re.IGNORECASE)
    assert len(case_study_findings(study)) == 5


def test_a_statement_that_these_data_do_not_show_says_so(study: CaseStudy) -> None:
    large = Classes.of(["a"], [("x",)], [5_000])
    other = CaseStudy.of(large, large)
    shown = [one.headline.startswith("Not on these data: ") for one in case_study_findings(other)]
    assert shown == [not claim.holds for claim in other.claims]
    assert shown.count(True) == 2
    Outline(page(other))
    assert not any(one.headline.startswith("Not on these data") for one in case_study_findings(study))
