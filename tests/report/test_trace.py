"""The report of a trace: well-formed, without scripts, in words, without a value of anybody."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.releases_world import World, world

from discreet.releases.tracing.result import Trace
from discreet.releases.tracing.trace import trace_claims, trace_leak
from discreet.report import traced_findings, traced_page
from discreet.report.trace import MOST_ROWS, recipients
from tests.report.documents import (
    check_landmarks_and_headings,
    check_that_names_and_links_meet,
    check_that_nothing_is_loaded_or_runs,
    drawn,
)
from tests.report.samples import HOSTILE, WHEN, Outline

COLUMNS = ("zip", "sex", "birth_year")


def traces() -> dict[str, Trace]:
    town: World = world(100_000, 0.1)
    marks = town.codebook.marks.labels
    held = np.flatnonzero(town.codebook.present[3])

    def rows(places: list[int]) -> list[dict[str, str | None]]:
        return [dict(zip(COLUMNS, marks[place], strict=True)) for place in places]

    leak = np.random.default_rng(1).binomial(town.sizes * town.copy(3), 0.5)
    names = tuple(f"{HOSTILE}{number}" for number in range(20))
    hostile = replace(town.traceable, release=HOSTILE, codebook=replace(town.codebook, recipients=names))
    return {
        "accused": trace_claims(town.traceable, rows(held[:20].tolist())),
        "nobody": trace_claims(town.traceable, rows(held[:2].tolist())),
        "nothing": trace_claims(town.traceable, [dict.fromkeys(COLUMNS, "x")]),
        "original": trace_claims(town.traceable, rows(np.flatnonzero(~town.codebook.marks.decoy)[:25].tolist())),
        "leak": trace_leak(town.traceable, town.file(leak), alpha=0.02),
        "hostile": trace_claims(hostile, rows(held[:20].tolist())),
    }


TRACES = traces()
PAGES = {
    name: traced_page(trace, created=WHEN, command="discreet trace claims claims.csv", version="0.1.0")
    for name, trace in TRACES.items()
}


@pytest.mark.parametrize("kind", PAGES)
def test_the_page_is_well_formed_and_loads_nothing(kind: str) -> None:
    outline = Outline(PAGES[kind])
    check_that_nothing_is_loaded_or_runs(outline)
    check_that_names_and_links_meet(outline)
    check_landmarks_and_headings(outline)


@pytest.mark.parametrize("kind", PAGES)
def test_every_picture_and_table_can_be_read_aloud(kind: str) -> None:
    outline = Outline(PAGES[kind])
    assert len(outline.all("desc")) == len(outline.all("svg"))
    assert len(outline.all("table")) == len(outline.all("caption"))


@pytest.mark.parametrize("kind", ["accused", "nobody", "leak"])
def test_every_recipient_is_a_bar_with_the_line_and_a_row(kind: str) -> None:
    trace = TRACES[kind]
    chart, table = drawn(recipients(trace))
    marks = [attributes for tag, attributes in chart.tags if tag == "line" and attributes.get("class") == "mark"]
    assert len(marks) == len(trace.standings) == 20
    assert len({attributes["x1"] for attributes in marks}) == 1
    striped = [attributes for attributes in chart.all("rect") if attributes.get("class") == "bar risk"]
    assert len(striped) == len(trace.accused)
    assert len(table.all("tr")) == 21
    line = float(str(marks[0]["x1"]).rstrip("%"))
    for bar in striped:
        assert float(str(bar["width"]).rstrip("%")) >= line - 0.01


def test_findings_say_who_and_on_what_evidence() -> None:
    first, _, rate, *_ = traced_findings(TRACES["accused"])
    assert "Partner 04 is accused" in first.headline
    assert "0.1 %" in rate.headline
    assert "Nobody is accused" in traced_findings(TRACES["nobody"])[0].headline
    assert any("original" in finding.headline for finding in traced_findings(TRACES["original"]))
    assert all(finding.next_step for trace in TRACES.values() for finding in traced_findings(trace))


@pytest.mark.parametrize("kind", PAGES)
def test_alternative_explanations_are_on_every_page(kind: str) -> None:
    for words in ("hacked", "not a verdict", "error rate", "manifest"):
        assert words in PAGES[kind]


@pytest.mark.parametrize("kind", ["accused", "nobody", "leak"])
def test_no_label_of_a_mark_is_on_the_page(kind: str) -> None:
    zips = {labels[0] for labels in world(100_000, 0.1).codebook.marks.labels}
    text = re.sub(r"<style>.*?</style>", "", PAGES[kind], flags=re.S)
    assert not [zip_ for zip_ in zips if str(zip_) in text]


def test_hostile_names_are_only_text() -> None:
    assert "&lt;b&gt;&quot;" in PAGES["hostile"]
    assert "<b>&quot;" not in PAGES["hostile"]
    assert "</script>" not in PAGES["hostile"]


def test_the_copy_of_the_accused_lights_up() -> None:
    trace = TRACES["accused"]
    first, *others = (trace.lights[standing.recipient] for standing in trace.standings)
    chart = traced_page(trace, created=WHEN, command="discreet trace", version="0.1.0")
    shown = trace.standings[:MOST_ROWS]
    lit = sum(sum(trace.lights[standing.recipient]) for standing in shown)
    assert chart.count('class="light on') == lit
    assert chart.count('class="light') == len(first) * len(shown)
    assert sum(first) > max(map(sum, others))


def test_passwords_of_addresses_are_hidden() -> None:
    command = "discreet trace claims c.csv --store postgresql://ann:secret@host/db"
    page = traced_page(TRACES["nobody"], created=WHEN, command=command, version="0.1.0")
    assert "secret" not in page
