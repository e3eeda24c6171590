"""Every engine in turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.readers import ENGINES, HOLDERS, READERS, Reader


@pytest.fixture(params=HOLDERS)
def reader(request: pytest.FixtureRequest, tmp_path: Path) -> Reader:
    """Puts an Arrow table onto one engine and reads it back through `discreet.read`."""
    return READERS[request.param](request, tmp_path)


@pytest.fixture(params=ENGINES)
def any_reader(request: pytest.FixtureRequest, tmp_path: Path) -> Reader:
    """The same for whatever can be read, though DuckDB counts most of it."""
    return READERS[request.param](request, tmp_path)
