"""Killed at any moment, nothing that was confirmed is lost, and a restart needs neither time nor hands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def kill(url: str, times: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.ledger.killing", url, str(times), "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check(found: dict[str, Any], times: int) -> None:
    assert found["kills"] == times
    assert found["confirmed"] > times
    assert found["lost"] == found["broken"] == 0
    assert found["slowest_restart"] <= 2


def test_twenty_kills(store_url: str) -> None:
    check(kill(store_url, 20), 20)


@pytest.mark.slow
def test_a_thousand_kills(store_url: str) -> None:
    check(kill(store_url, 1000), 1000)
