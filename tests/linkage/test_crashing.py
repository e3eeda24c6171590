"""A server that is killed while cells are opened: nothing was shown that is not charged, and no half state stays."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import numpy as np
import pytest

from discreet.ledger import Ledger
from discreet.linkage.project import Project
from discreet.linkage.review import reveal as door
from discreet.linkage.review.assignments import Limits, assign
from discreet.store.tables.linkage import CELL
from tests.linkage.review.test_reveal import consistent, owed, rows
from tests.linkage.worlds import PEOPLE, folder_of, registered
from tests.swift import PYTHON

pytestmark = pytest.mark.usefixtures("swift")


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.slow)])
def test_nothing_is_shown_that_is_not_charged(store_url: str, tmp_path: Path, kills: int) -> None:
    rng = np.random.default_rng(1)
    people = [{**PEOPLE[place % 8], "number": f"{rng.integers(10**9, 10**10)}"} for place in range(120)]
    home, _ = folder_of(tmp_path / "people", people, [(place, place + 1) for place in range(0, 120, 2)])
    with Ledger.open(store_url) as ledger:
        project = registered(ledger, home.path)
        assign(ledger, project, ["ann"], actor="manager", limits=Limits.of("0.9"), rng=random.Random(1))
    command = [PYTHON, "-m", "tests.linkage.killing", store_url, project.name, str(kills), "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["shown"] > 0
    assert (found["kills"], found["not charged"], found["inconsistent"]) == (kills, 0, 0)


@pytest.mark.parametrize("name", ["apply_change", "count_worker", "count_project", "write_cells"])
def test_a_write_that_fails_leaves_nothing_behind(
    ledger: Ledger, project: Project, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The process is as good as dead at every write of a reveal in turn: before it, and after it."""
    from discreet.linkage.review import held_pair, reveal

    place = reveal if name == "apply_change" else held_pair
    real = getattr(place, name)
    for late in (False, True):

        def fail(*words: object, late: bool = late, **more: object) -> None:
            if late:
                real(*words, **more)
            raise ZeroDivisionError

        monkeypatch.setattr(place, name, fail)
        with pytest.raises(ZeroDivisionError):
            door.reveal(ledger, project, "ann", 1, "sex", key="k")
        monkeypatch.undo()
        assert rows(ledger, CELL) == []
        assert owed(ledger, "ann") == ledger.budget(project.budget("ann")).spent == 0
        assert list(ledger.entries(event="linkage.revealed")) == []
    assert door.reveal(ledger, project, "ann", 1, "sex", key="k").cell("sex").mode == "full"
    assert consistent(ledger, project, "ann", "ben")
