"""The demo tells its story, the one that the README quotes, and leaves everybody else's files alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from discreet.demo.store_chapters import LEAKER
from tests.cli.test_commands import run

ROOT = Path(__file__).parents[2]
DRAWN = re.compile(r"\d+ of the \d+ observed marks")
"""What a secret drawn anew decides."""


@dataclass(frozen=True)
class Demo:
    """A demo that has run, as `make demo` runs it."""

    folder: Path
    elsewhere: Path
    """Where the user's own store and keys would be."""
    done: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    place = tmp_path_factory.mktemp("demo")
    own = {name: str(place / "own" / name) for name in ("DISCREET_STORE", "DISCREET_KEYS")}
    others = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}  # of a server of tests
    done = run("demo", "--out", "demo", cwd=place, env={**others, **own})
    return Demo(place / "demo", place / "own", done)


def test_the_demo_tells_its_story(demo: Demo) -> None:
    assert demo.done.returncode == 0
    assert demo.done.stderr == ""
    assert [int(line.partition(".")[0]) for line in demo.done.stdout.splitlines() if re.match(r"\d\. ", line)] == [
        *range(1, 10)
    ]
    for report in ("report.html", "project.html"):
        assert (demo.folder / report).stat().st_size < 2_000_000


def test_the_readme_quotes_what_the_demo_says(demo: Demo) -> None:
    """Lines may be broken elsewhere; `...` stands for what is left out, and counts of marks are drawn anew."""
    told = _plain(demo.done.stdout)
    for part in re.split(r"\n\n|\.\.\.\n", _quoted()):
        assert _plain(part) in told


def test_the_picture_of_the_readme_is_the_one_that_the_demo_draws(demo: Demo) -> None:
    """After a change of its figures: `discreet demo`, look at demo/story.svg, copy it to docs/pictures."""
    kept = ROOT / "docs" / "pictures" / "story.svg"
    assert kept.read_text(encoding="utf-8") == (demo.folder / "story.svg").read_text(encoding="utf-8")
    assert "docs/pictures/story.svg" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_demo_is_a_project_that_can_be_told_again(demo: Demo) -> None:
    again = run("report", demo.folder, "--json")
    assert again.returncode == 0, again.stderr
    assert all(json.loads(again.stdout)[part] for part in ("published", "releases", "linkage", "queries", "ledger"))


def test_the_demo_names_the_leaker_and_leaves_the_users_own_store_alone(demo: Demo) -> None:
    assert f"The trace accuses {LEAKER}:" in demo.done.stdout
    assert not demo.elsewhere.exists()
    assert {path.name for path in demo.folder.glob("store.db*")} >= {"store.db", "store.db.keys"}


def test_the_demo_does_not_replace_a_store_that_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"somebody's ledger")
    done = run("demo", "--people", "100000", "--out", tmp_path)
    assert done.returncode == 2
    assert "was not made by a demo" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


def _quoted() -> str:
    """The story in the README."""
    blocks = re.findall(r"```text\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    return next(block for block in blocks if block.startswith("1. The data"))


def _plain(text: str) -> str:
    return " ".join(DRAWN.sub("some marks", text).split())
