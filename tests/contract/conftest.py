"""Every engine in turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.readers import ENGINES, READERS, Reader


@pytest.fixture(params=ENGINES)
def reader(request: pytest.FixtureRequest, tmp_path: Path) -> Reader:
    """Puts an Arrow table onto one engine and reads it back through `discreet.read`."""
    return READERS[request.param](request, tmp_path)
