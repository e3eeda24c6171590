"""One small state for all tests of the room."""

from __future__ import annotations

import pytest

from discreet.people import People, State, generate

SEED = 7


@pytest.fixture(scope="session")
def state() -> State:
    return State.of(60_000)


@pytest.fixture(scope="session")
def people(state: State) -> People:
    return generate(state, seed=SEED)
