"""The soak of benchmarks/gateway_soak.py, for seconds in place of minutes."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from benchmarks.gateway_scoring import server
from benchmarks.gateway_soak import soak

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def test_twenty_seconds_of_mixed_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    monkeypatch.delenv("PGUSER", raising=False)
    with ExitStack() as stack:
        folder, url = server(stack)
        assert soak(20, folder, url) == []
