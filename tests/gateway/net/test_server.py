"""The gateway runs on uvloop where that is installed, and on Python's own event loop where it is not."""

from __future__ import annotations

import asyncio
import importlib.util
from typing import Any

import pytest

from discreet.gateway.net.server import loop_factory, run


def kind_of_loop() -> str:
    found = []

    async def look() -> None:
        found.append(type(asyncio.get_running_loop()).__module__)

    run(look())
    return found[0].partition(".")[0]


def test_without_uvloop(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec

    def missing(name: str, *more: Any) -> Any:
        return None if name == "uvloop" else real(name, *more)

    monkeypatch.setattr(importlib.util, "find_spec", missing)
    assert loop_factory() is None
    assert kind_of_loop() == "asyncio"


def test_with_uvloop() -> None:
    pytest.importorskip("uvloop", reason="uvloop is not installed; the extra `gateway` brings it")
    assert kind_of_loop() == "uvloop"
