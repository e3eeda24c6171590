"""The report about candidate pairs: well-formed, without scripts, and its numbers are those of the data."""

from __future__ import annotations

import re

import numpy as np
import pytest

from discreet.linkage import Blocking, Candidates, Model, Pairs, Rule, distribution, zones_by_capacity, zones_by_errors
from discreet.linkage.matching.thresholds import calibration
from discreet.report import pairs_findings, pairs_page
from discreet.report.linkage import errors_figure, zones_figure
from discreet.report.toolkit.page import figure
from tests.report.documents import (
    check_landmarks_and_headings,
    check_that_names_and_links_meet,
    check_that_nothing_is_loaded_or_runs,
    drawn,
)
from tests.report.samples import HOSTILE, WHEN, Outline


def candidates(weights: list[float], *, review: int | None = None, name: str = "surname") -> Candidates:
    pairs = Pairs.of(np.arange(len(weights)), np.arange(len(weights)) + 1000, weights)
    zones = zones_by_errors(pairs) if review is None else zones_by_capacity(pairs, review=review)
    rules = (Rule((name, "born"), pairs=7, recall=0.9), Rule((name, "given"), crossed=True, pairs=1))
    model = Model({"comparisons": []}, Blocking(rules, 0.9, {}, 10), 1, rules)
    return Candidates(pairs, zones.of(pairs), zones, model)


def unscored() -> Candidates:
    pairs = Pairs.of([0, 1], [5, 6], [np.nan, np.nan])
    return Candidates(pairs, np.ones(2, dtype=np.int8), None)


MANY = [*np.random.default_rng(1).normal(-15, 4, 3000), *np.random.default_rng(2).normal(12, 5, 400)]
CASES = {
    "many": candidates(MANY),
    "review": candidates(MANY, review=40),
    "one": candidates([3.0]),
    "alike": candidates([3.0] * 5),
    "nobody": candidates([-9.0, -8.0]),
    "hostile": candidates(MANY, name=HOSTILE),
    "unscored": unscored(),
}
PAGES = {
    kind: pairs_page(found, source=HOSTILE, created=WHEN, command="discreet link pairs p", version="0.1.0")
    for kind, found in CASES.items()
}


@pytest.mark.parametrize("kind", PAGES)
def test_the_page_keeps_the_promises_of_every_report(kind: str) -> None:
    outline = Outline(PAGES[kind])
    check_that_nothing_is_loaded_or_runs(outline)
    check_that_names_and_links_meet(outline)
    check_landmarks_and_headings(outline)
    assert "nan" not in re.sub(r"<[^>]*>", "", PAGES[kind]).split()
    assert HOSTILE not in PAGES[kind]


def test_bars_are_the_pairs_and_stripes_those_for_people() -> None:
    found = CASES["review"]
    assert found.zones is not None
    data = distribution(found.pairs, found.zones)
    chart, table = drawn(zones_figure(data))
    bars = [attributes for _, attributes in chart.tags if str(attributes.get("class", "")).startswith("bar")]
    assert len(bars) == sum(count > 0 for count in data.counts)
    assert 0 < sum("fill" in one and one["fill"] is not None for one in bars) < len(bars)
    assert len(table.all("tr")) == len(bars) + 1


def test_lines_are_the_expected_errors() -> None:
    found = CASES["many"]
    assert found.zones is not None
    data = distribution(found.pairs, found.zones)
    shown = Outline(str(figure(errors_figure(data), 1)))
    assert len(shown.all("path")) == 2
    assert len(shown.all("tr")) == len(data.thresholds) + 1


def test_findings_say_who_decides_and_whether_probabilities_were_checked() -> None:
    said = [finding.headline for finding in pairs_findings(CASES["review"])]
    assert "3,400 candidate pairs" in said[0]
    assert "40 go to people" in said[0]
    assert any("no labels" in one for one in said)
    found = CASES["many"]
    fitted = calibration(found.pairs.weight, found.pairs.weight > 0)
    known = Candidates(fitted.applied(found.pairs), found.decisions, found.zones, None, fitted)
    assert any("calibrated by 3,400 labels" in finding.headline for finding in pairs_findings(known))
    assert "people decide all of them" in pairs_findings(CASES["unscored"])[0].headline
