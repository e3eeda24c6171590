"""Commands that start at once."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def at_once(swift: None) -> None:
    """Every test here calls commands."""
