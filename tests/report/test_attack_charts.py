"""Pictures of an attack: every number that a chart marks is in its table, and nothing depends on colour."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from discreet.report.attack_charts import bins_of, by_fine, by_price, fates_by_size, pictures
from discreet.report.toolkit.page import Figure, figure
from tests.report.attack_samples import KINDS, case_of
from tests.report.samples import Outline


@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_can_be_read_aloud_has_its_table_and_stays_inside(kind: str) -> None:
    for shown in pictures(case_of(kind)):
        outline = Outline(str(figure(shown, 1)))
        _check_that_it_can_be_read_aloud(shown, outline)
        _check_that_everything_drawn_lies_inside(outline)


def _check_that_it_can_be_read_aloud(shown: Figure, outline: Outline) -> None:
    image = outline.all("svg")[0]
    assert image["role"] == "img"
    named = [attributes["id"] for attributes in outline.all("title", "desc")]
    assert (image["aria-labelledby"] or "").split() == named
    assert shown.table.rows
    assert len({len(row) for row in shown.table.rows} | {len(shown.table.head)}) == 1
    assert re.search(r"\d", shown.about)


def _check_that_everything_drawn_lies_inside(outline: Outline) -> None:
    for attributes in outline.all("rect", "line", "text"):
        for name in ("x", "x1", "x2"):
            value = attributes.get(name) or "0"
            if value.endswith("%"):
                assert 0 <= float(value[:-1]) <= 100
    for attributes in outline.all("path"):
        numbers = [float(number) for number in re.findall(r"[\d.]+", attributes["d"] or "")]
        assert all(0 <= number <= 1000 for number in numbers)


def test_figures_in_order() -> None:
    assert [shown.key for shown in pictures(case_of("constant"))] == ["strip", "chance", "fates", "fine", "price"]
    assert "fine" not in [shown.key for shown in pictures(case_of("never fined"))]


@pytest.mark.parametrize("kind", KINDS)
def test_the_strip_counts_everybody_once(kind: str) -> None:
    case, bins = case_of(kind), bins_of(case_of(kind))
    assert sum(one.people for one in bins) + case.unlisted == case.records
    known = case.struck.known
    by_fate = {fate: sum(one.people for one in bins if one.fate == fate) for fate in ("risk", "partly")}
    assert by_fate == {"risk": known.in_full, "partly": known.in_part}
    assert all(one.last + 1 == after.first for one, after in itertools.pairwise(bins))


def test_the_strip_changes_at_the_thresholds() -> None:
    assert fates_by_size(case_of("rising").attack, 400) == [(1, "risk"), (14, "partly"), (29, "plain")]
    assert fates_by_size(case_of("constant").attack, 10**6) == [(1, "risk"), (45, "plain")]
    assert fates_by_size(case_of("fearless").attack, 10**6) == [(1, "risk")]


def test_the_thresholds_are_marked_in_words() -> None:
    texts = [text for _, text in Outline(str(figure(next(pictures(case_of("rising"))), 1))).texts]
    for words in ("14: stops early", "29: does not buy the list", "46: does not even start"):
        assert words in texts
    same = [text for _, text in Outline(str(figure(next(pictures(case_of("constant"))), 1))).texts]
    assert "51: stops early, does not even start" in same


def test_the_sweeps_agree_with_the_attack_itself() -> None:
    case = case_of("rising")
    fine, price = by_fine(case), by_price(case)
    assert fine is not None
    present = [row for row in price.table.rows if row[0] == "100"]
    assert float(str(present[0][1])) == pytest.approx(case.struck.known.reidentified, rel=0.01)
    assert float(str(fine.table.rows[-1][1])) == 0
    known = [float(str(row[1]).replace(",", "")) for row in fine.table.rows]
    assert (np.diff(known) <= 0).all()


def test_lines_differ_by_stroke_and_words() -> None:
    price = by_price(case_of("constant"))
    outline = Outline(str(figure(price, 1)))
    strokes = {attributes["class"] for attributes in outline.all("path")}
    legend = {attributes["class"] for attributes in outline.all("line") if "stroke" in (attributes["class"] or "")}
    assert strokes == legend == {"stroke one", "stroke two"}


@pytest.mark.parametrize("kind", KINDS)
def test_how_to_read_a_figure_is_short(kind: str) -> None:
    """A probability of 1e-304 is not written with three hundred zeros."""
    for shown in pictures(case_of(kind)):
        assert all(len(text) < 300 for text in (shown.about, *shown.reading))
