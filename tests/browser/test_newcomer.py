"""A scripted newcomer: from the first start of the server to a finished report, by what is visible on the pages alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks.newcomer import SECONDS, TARGET, Newcomer, from_first_start_to_report
from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
SLOW_MACHINE = 120.0
"""Seconds that the machine may take while others use it too."""
QUIET_MACHINE = 40.0
"""Seconds that are left for it where nobody else does; a quarter of that is usual."""


def test_from_the_first_start_to_a_report_in_five_minutes(chromium: Browser, tmp_path: Path) -> None:
    walk = from_first_start_to_report(chromium, tmp_path)
    sys.stdout.write("\n".join(walk.lines()) + "\n")
    newcomer = walk.newcomer
    assert newcomer.pages[0] == "Make the first account · Discreet"
    assert newcomer.pages[-1] == "Risk of people.csv · Discreet"
    assert any("by birth_year, sex, zip, plan" in text.lower() for text in newcomer.read)
    assert len(newcomer.pages) <= 5
    assert newcomer.interactions <= 8
    assert newcomer.acting + newcomer.reading < TARGET - QUIET_MACHINE
    assert walk.machine < SLOW_MACHINE


def test_the_model_adds_up() -> None:
    newcomer = Newcomer(page=None)
    newcomer.operators.update("MPBBHKKKH")
    newcomer.words = 238
    assert newcomer.acting == pytest.approx(1.35 + 1.1 + 0.2 + 0.4 + 3 * 0.28 + 0.4)
    assert newcomer.reading == pytest.approx(60)
    assert set(SECONDS) == set("KPBHM")
