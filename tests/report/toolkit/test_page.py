"""The page builder: sections in order, those without content left out."""

from __future__ import annotations

from discreet.report.charts.bars import Bar, Group
from discreet.report.toolkit import page
from discreet.report.toolkit.page import Figure, Finding, Pill, Table
from tests.report.documents import check_landmarks_and_headings, check_that_names_and_links_meet
from tests.report.samples import HOSTILE, WHEN, Outline

ROWS = Table("Numbers", ("What", "Number"), (("a", "1"), ("b", "2")), (1,))
SHOWN = Figure("bars", "Two bars", "One and two.", ("Read it.",), (Group((Bar("a", "1", 0.5),)),), ROWS)


def built(*parts: page.Part) -> Outline:
    pills = [Pill("✓", "Fine", "good")]
    about = {"kicker": "Test", "title": HOSTILE, "about": ["people.csv", "2 people"], "pills": pills}
    return Outline(page.document(parts, **about, created=WHEN, version="0.1.0"))  # type: ignore[arg-type]


def test_a_section_without_content_is_left_out_of_page_and_contents() -> None:
    outline = built(page.section("a", "First", "Words."), page.section("b", "Second", None), page.evidence([]))
    assert [attributes["id"] for attributes in outline.all("section")] == ["a"]
    assert [attributes["href"] for attributes in outline.all("a")] == ["#a"]


def test_texts_are_paragraphs_and_tables_are_drawn() -> None:
    outline = built(page.section("a", "First", "3 % of `rows`.", ROWS, title="A longer title"))
    texts = [text for _, text in outline.texts]
    assert "A longer title" in texts
    assert "rows" in texts
    assert len(outline.all("caption")) == 1
    check_landmarks_and_headings(outline)


def test_findings_lead_to_their_figure_or_section_and_the_rest_is_listed() -> None:
    found = [("bars", Finding("Shown.", "Look.")), ("economics", Finding("Measured.", "Look."))]
    many = [("other", Finding(f"Finding {number}.", "Go on.")) for number in range(page.MOST_CARDS)]
    outline = built(
        page.findings([*found, *many], [SHOWN], elsewhere={"economics": "measured"}),
        page.evidence([SHOWN]),
        page.section("measured", "Measures", ROWS),
    )
    check_that_names_and_links_meet(outline)
    texts = [text for _, text in outline.texts]
    assert {"See figure 1", "See the measures", "Further findings"} <= set(texts)
    assert len([attributes for attributes in outline.all("li") if attributes.get("class") == "card"]) == page.MOST_CARDS
