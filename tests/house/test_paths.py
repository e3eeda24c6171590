"""Five paths through the package: how many files a reader meets on each, and that the architecture page names them."""

from __future__ import annotations

import inspect
import random
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg
import pytest

import discreet
from discreet.anonymity.lattice.native_engine import library
from discreet.cli.main import cli
from discreet.ledger import Ledger
from discreet.linkage.review import reveal as door
from discreet.linkage.review.assignments import assign, records_of
from discreet.people import write_demo
from tests.gateway.conftest import clinic, guard  # noqa: F401 - fixtures
from tests.linkage.conftest import folder, local  # noqa: F401 - fixtures
from tests.linkage.worlds import registered

SOURCE = Path(discreet.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "contribute" / "architecture.md"
MOST = {"assess": 34, "anonymise": 44, "release and trace": 125, "a governed SELECT": 71, "a reveal": 48}
"""Files that took part before the tree was planned again."""
NEARLY = 3
"""Files that may take part once more or once less: what a thread beside the path does is not always seen."""


class Walk:
    """The files whose functions are called in this thread and in those started later, in the order of their first call."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.recording = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith(
            "<"
        )  # no bodies of modules and classes
        if self.recording and event == "call" and function and code.co_filename.startswith(str(SOURCE)):
            self.files.setdefault(str(Path(code.co_filename).relative_to(SOURCE)))

    def __enter__(self) -> None:
        self.recording = True

    def __exit__(self, *_: object) -> None:
        self.recording = False


@pytest.fixture
def walk() -> Iterator[Walk]:
    walk, before = Walk(), sys.getprofile()
    threading.setprofile(walk)
    sys.setprofile(walk)
    try:
        yield walk
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def command(*words: object) -> None:
    with pytest.raises(SystemExit) as ended:
        cli([str(word) for word in words], standalone_mode=True)
    assert not ended.value.code


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place: Path = tmp_path_factory.mktemp("paths") / "state"
    write_demo(place, people=200_000, seed=1)
    return place


def listed(path: str) -> tuple[int, list[str]]:
    """How many files the page counts on a path, and those it names."""
    section = re.search(
        rf"^## Path: {re.escape(path)} \((\d+) files\)\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.M | re.S
    )
    assert section, f"{PAGE.name} has no section 'Path: {path}'"
    return int(section[1]), re.findall(r"`([a-z_/]+\.py)`", section[2])


def agree(path: str, walk: Walk) -> None:
    count, names = listed(path)
    if library() is None:  # where installing found no C compiler, nothing calls it
        names = [name for name in names if not name.endswith("/native_engine.py")]
    assert len(walk.files) < MOST[path]
    assert abs(count - len(walk.files)) <= NEARLY, sorted(walk.files)
    assert set(names) <= set(walk.files), sorted(set(names) - set(walk.files))
    assert len(names) >= 8


def test_assess(state: Path, walk: Walk) -> None:
    for recording in (nullcontext(), walk):  # once before, so that imports and what is cached do not count
        with recording:
            command("assess", state / "hospital.csv", "--policy", state / "policy.toml", "--json")
    agree("assess", walk)


def test_anonymise(state: Path, walk: Walk, tmp_path: Path) -> None:
    data = (state / "hospital.csv", "--policy", state / "policy.toml", "--k", 5)
    for recording, name in ((nullcontext(), "before.csv"), (walk, "after.csv")):
        with recording:
            command("anonymise", *data, "--out", tmp_path / name)
    agree("anonymise", walk)


def test_release_and_trace(state: Path, walk: Walk, tmp_path: Path) -> None:
    data = (state / "hospital.csv", "--policy", state / "policy.toml", "--population", state / "population.parquet")
    answers = (
        "--population-source", "generated", "--population-licence", "none", "--counts-only", "--sign-off", "DPO-1",
    )  # fmt: skip
    recipients = ("--recipient", "north", "--recipient", "south", "--suppression", 0.2, "--force", "--format", "csv")
    for recording, name in ((nullcontext(), "before"), (walk, "spring")):
        copies = tmp_path / name
        store = ("--store", tmp_path / f"{name}.db")  # a second release of a data set is planned in another way
        with recording:
            command("release", "make", *data, "--name", name, *recipients, *answers, "--out", copies, *store)
            command("trace", "leak", copies / "south" / "data.csv", "--release", name, *store)
    agree("release and trace", walk)


def test_a_governed_select(walk: Walk, guard: Callable[..., Any]) -> None:  # noqa: F811
    gateway = guard()
    with psycopg.connect(gateway.url("ann"), autocommit=True) as connection, walk:
        rows = connection.execute("SELECT zip, diagnosis FROM clinic.patients WHERE id = 7").fetchall()
    assert len(rows) == 1
    agree("a governed SELECT", walk)


def test_a_reveal(walk: Walk, local: Ledger, folder: Path) -> None:  # noqa: F811
    project = registered(local, folder)
    assign(local, project, ["ann"], actor="manager", rng=random.Random(1))
    with local.store.reading() as connection:
        number = min(records_of(connection, project))
    seen = door.view(local, project, "ann", number)
    with walk:
        door.reveal(local, project, "ann", number, project.attributes[0], key="k", seen=seen.version)
    agree("a reveal", walk)


@pytest.mark.parametrize("page", ["architecture.md", "where-to-change.md"])
def test_every_file_that_a_page_for_engineers_names_is_there(page: str) -> None:
    text = (PAGE.parent / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+(?:\.py)?)`", text))
    assert len(named) > 20
    assert {name for name in named if not (SOURCE / name).exists() and not (PAGE.parents[2] / name).exists()} == set()
