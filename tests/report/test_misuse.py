"""The two reports: well-formed, without scripts, in words, and only text where names are hostile."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from discreet.misuse.anomalies import Anomalies, find_anomalies
from discreet.misuse.generated import generate_log, sample
from discreet.misuse.incidents import Incident, triage
from discreet.misuse.log import Scored
from discreet.report import anomalies_page, anomaly_findings, incident_findings, incidents_page
from tests.report.documents import check_that_names_and_links_meet, check_that_nothing_is_loaded_or_runs
from tests.report.samples import HOSTILE, WHEN, Outline


@cache
def results() -> tuple[Scored, ...]:
    return tuple(generate_log(np.random.default_rng(2), days=15).results)


def hostile() -> list[Scored]:
    return [replace(one, user=one.user.replace("nurse", HOSTILE), role=HOSTILE) for one in results()]


def anomalies(found: Anomalies, **more: str) -> str:
    told = {"source": "log.jsonl", "command": "discreet misuse anomalies log.jsonl", "version": "0.1.0", **more}
    return anomalies_page(found, created=WHEN, **told)


def incidents(found: list[Incident], **more: str) -> str:
    told = {"source": "log.jsonl", "command": "discreet misuse incidents log.jsonl", "version": "0.1.0", **more}
    return incidents_page(found, whole=len(found), frame=None, created=WHEN, **told)


@cache
def days() -> dict[str, Anomalies]:
    quiet = [sample(user=user, day=day, score=1 + day % 3) for user in "abc" for day in range(6)]
    return {
        "planted": find_anomalies(results()),
        "quiet": find_anomalies(quiet),
        "one": find_anomalies([sample()]),
        "nothing": find_anomalies([sample(score=0.0), sample(user="ben", score=0.0)]),
        "hostile": find_anomalies(hostile()),
    }


@cache
def taken_up() -> dict[str, list[Incident]]:
    return {
        "planted": triage(results()),
        "none": [],
        "vague": triage([replace(sample(), decision="alert")]),
        "hostile": triage(hostile()),
    }


KINDS = [
    *(f"days, {name}" for name in ("planted", "quiet", "one", "nothing", "hostile")),
    *(f"incidents, {name}" for name in ("planted", "none", "vague", "hostile")),
]


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    found = {f"days, {name}": anomalies(found) for name, found in days().items()} | {
        f"incidents, {name}": incidents(found) for name, found in taken_up().items()
    }
    assert list(found) == KINDS
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_well_formed_and_loads_nothing(pages: dict[str, str], kind: str) -> None:
    outline = Outline(pages[kind])
    check_that_nothing_is_loaded_or_runs(outline)


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_links_meet(pages: dict[str, str], kind: str) -> None:
    outline = Outline(pages[kind])
    check_that_names_and_links_meet(outline)
    assert all("nan" not in str(attributes.values()) for tag, attributes in outline.tags if tag in ("circle", "line"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_picture_and_table_can_be_read_aloud(pages: dict[str, str], kind: str) -> None:
    outline = Outline(pages[kind])
    assert len(outline.all("desc")) == len(outline.all("svg"))
    assert len(outline.all("table")) == len(outline.all("caption"))


@pytest.mark.parametrize("kind", ["days, hostile", "incidents, hostile"])
def test_hostile_names_are_only_text(pages: dict[str, str], kind: str) -> None:
    assert "&lt;b&gt;&quot;" in pages[kind]
    assert "<b>&quot;" not in pages[kind]
    assert "</script>" not in pages[kind]


def test_every_unusual_day_is_a_dot_and_a_row(pages: dict[str, str]) -> None:
    found = days()["planted"]
    assert found.unusual
    first = pages["days, planted"].split('id="days"')[1].split("</svg>")[0]
    assert len(re.findall(r'<circle[^>]*class="dot this"', first)) == len(found.unusual)
    for day in found.unusual:
        assert day.user in pages["days, planted"]


def test_findings_say_who_and_how_much() -> None:
    first, worst, *_ = anomaly_findings(days()["planted"])
    top = days()["planted"].unusual[0]
    assert f"{len(days()['planted'].unusual)} of" in first.headline
    assert top.user in worst.headline
    assert "None of" in anomaly_findings(days()["quiet"])[0].headline
    assert len(anomaly_findings(days()["quiet"])) == 1


def test_incidents_are_told_from_the_worst_on(pages: dict[str, str]) -> None:
    found = taken_up()["planted"]
    assert found[0].result.id in incident_findings(found)[0].headline
    assert f"rows {found[0].rows[0].row:,}" in incident_findings(found)[1].headline
    assert "none was named" in incident_findings([])[0].headline
    assert "at least" in pages["incidents, vague"]


def test_the_same_log_gives_the_same_page(pages: dict[str, str]) -> None:
    assert anomalies(find_anomalies(results())) == pages["days, planted"]
    assert incidents(triage(results())) == pages["incidents, planted"]


def test_the_command_is_repeated_and_the_memory_said(pages: dict[str, str]) -> None:
    assert "<code>discreet misuse anomalies log.jsonl</code>" in pages["days, planted"]
    page = incidents_page(
        taken_up()["planted"], whole=1, frame=90, source="a", created=WHEN, command="discreet", version="0.1.0"
    )
    assert "for 90 days" in page
    assert "for ever" in pages["incidents, planted"]
    assert datetime.date(2025, 3, 3) <= min(day.day for day in days()["planted"].days)
