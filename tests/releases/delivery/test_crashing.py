"""Stopped or killed at any step, a release is whole or not there, and asking again finishes it."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from discreet.ledger import Ledger
from discreet.releases import Release, open_release, release
from discreet.releases.delivery.service import Registry
from tests.releases.world import SETTINGS, World, town
from tests.swift import PYTHON

pytestmark = pytest.mark.usefixtures("swift")
ROOT = Path(__file__).parents[3]
NAMES = ["north", "south", "west"]
STEPS = [
    ("pooled", ""),
    *((["written", "recorded", "put"][turn], name) for turn in range(3) for name in ("north", "west")),
]


class Stopped(BaseException):
    """Not an error that anybody would catch."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return town(tmp_path_factory.mktemp("town"))


def made(world: World, store: str | Path) -> Release:
    return release(world.again(), world.population, NAMES, name="spring", store=store, actor="ann", **SETTINGS)


def check_whole(store: Path, out: Path) -> None:
    """What is in its place was written down; nothing is half there; nothing lies about."""
    there = sorted(path.name for path in out.iterdir()) if out.exists() else []
    with Ledger.open(store) as ledger:
        told = {str(entry.details["file"]) for entry in ledger.entries(event="releases.delivered")}
        assert ledger.verify().holds
    for name in (name for name in there if not name.startswith(".")):
        assert sorted(path.name for path in (out / name).iterdir()) == ["AGREEMENT.md", "README.md", "data.parquet"]
        copy = open_release("spring", store).kept.copy(name)
        assert copy.state == "delivered"
        assert copy.file in told


def check_finished(world: World, store: Path, out: Path) -> None:
    done = made(world, store).write(out)
    assert [copy.recipient for copy in done] == NAMES
    assert sorted(path.name for path in out.iterdir()) == NAMES
    opened = open_release("spring", store)
    assert opened.kept.version == 1
    assert {copy.state for copy in opened.kept.copies} == {"delivered"}
    with Ledger.open(store) as ledger:
        assert len(list(ledger.entries(event="releases.sealed"))) == 1
        delivered = [entry.subject for entry in ledger.entries(event="releases.delivered")]
        assert len(set(delivered)) == len(NAMES)
    check_whole(store, out)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: "-".join(step).strip("-"))
def test_stopped_after_any_step_it_can_be_asked_again(world: World, store: Path, step: tuple[str, str]) -> None:
    out = store.parent / "out"

    def stop(*now: str) -> None:
        if now == step:
            raise Stopped

    with pytest.raises(Stopped):
        made(world, store).write(out, watch=stop)
    check_whole(store, out)
    assert not [path for path in out.iterdir() if path.name.startswith(".")]
    check_finished(world, store, out)


def test_stopped_before_sealing_nothing_is_there(world: World, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(Registry, "seal", stop)
        with pytest.raises(Stopped):
            made(world, store_url)
    with Ledger.open(store_url) as ledger:
        assert Registry(ledger).find("spring") is None
    assert made(world, store_url).version == 1


def test_the_state_and_its_entry_stand_or_fall_together(
    world: World, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.releases.delivery import repository

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(repository, "_add_copies", fail)
        with pytest.raises(ZeroDivisionError):
            made(world, store_url)
    with Ledger.open(store_url) as ledger:
        assert not list(ledger.entries(room="releases"))
        assert Registry(ledger).find("spring") is None
    spring = made(world, store_url)
    with monkeypatch.context() as patch:
        patch.setattr(repository, "change", fail)
        with pytest.raises(ZeroDivisionError):
            spring.write(tmp_path / "out")
    with Ledger.open(store_url) as ledger:
        assert not list(ledger.entries(event="releases.delivered"))
        assert Registry(ledger).require("spring").content is None
    assert not list((tmp_path / "out").iterdir())


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.releases.world import POLICY, SETTINGS, World, rows_of
from tests.releases.delivery.test_crashing import NAMES
from discreet.releases import release
from discreet.sources import read
import numpy as np
path, store, out, step, name = sys.argv[1:]
everybody, _ = rows_of(np.random.default_rng(1), 28, 14, 12)
def stop(*now):
    if now == (step, name):
        os.kill(os.getpid(), signal.SIGKILL)
made = release(read(path, policy=POLICY), everybody, NAMES, name="spring", store=store, actor="ann", **SETTINGS)
made.write(out, watch=stop)
"""


@pytest.mark.parametrize("step", [("pooled", ""), ("written", "south"), ("recorded", "south")], ids="-".join)
def test_killed_it_leaves_nothing_that_asking_again_does_not_clear(
    world: World, store: Path, step: tuple[str, str]
) -> None:
    out = store.parent / "out"
    command = [PYTHON, "-c", KILLED, str(world.path), str(store), str(out), *step]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = [path for path in out.iterdir() if path.name.startswith(".")]
    assert left
    assert all(path.stat().st_mode & 0o077 == 0 for path in left)  # what lies about, only its owner can open
    check_whole(store, out)
    check_finished(world, store, out)
