"""Every command of the documentation runs, ends as the page says, and prints what the page shows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from discreet.people import write_demo
from tests.conftest import scratch
from tests.docs.console import PORTS, Step, Terminal, shows, steps
from tests.docs.pages import blocks_of, name, stories
from tests.servers import free_port, fresh_database, postgres_server


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The people of `discreet demo-data --people 100000 --seed 1`, whom all pages speak of."""
    folder: Path = tmp_path_factory.mktemp("docs") / "demo"
    write_demo(folder, people=100_000, seed=1)
    return folder


@pytest.fixture
def ports() -> dict[str, str]:
    return {said: f"127.0.0.1:{free_port()}" for said in PORTS}


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of its own for pages that speak of $CLINIC; they make users, so the server is new, too."""
    story: list[Path] = request.getfixturevalue("story")
    if not any("$CLINIC" in page.read_text(encoding="utf-8") for page in story):
        yield ""
        return
    with scratch() as folder, postgres_server(folder) as server, fresh_database(server, name="clinic") as url:
        yield url


SELDOM = {"find-candidate-pairs.md"}
"""Half a minute of training models, which a lesson and the tests of linkage do as well: in long runs."""


def told() -> list[Any]:
    """The stories, those that take long marked so."""
    return [
        pytest.param(story, marks=pytest.mark.slow if {page.name for page in story} & SELDOM else ())
        for story in stories()
    ]


@pytest.mark.parametrize("story", told(), ids=lambda story: "+".join(map(name, story)))
def test_commands_run_and_print_what_is_shown(
    story: list[Path], tmp_path: Path, ports: dict[str, str], people: Path, database: str
) -> None:
    shutil.copytree(people, tmp_path / "demo")
    terminal = Terminal(tmp_path, ports, CLINIC=database)
    with ExitStack() as stack:
        for page in story:
            for block in blocks_of(page, "console"):
                for step in steps(block):
                    _try(step, name(page), terminal, stack)


def _try(step: Step, page: str, terminal: Terminal, stack: ExitStack) -> None:
    if step.left_out:
        return
    if step.in_background:
        code, output = 0, stack.enter_context(terminal.running(step))
    else:
        code, output = terminal.run(step)
    assert code == step.code, f"{page}: {step.command}\n{output}"
    missing = shows(output, step.seen)
    assert not missing, f"{page}: {step.command}\ndoes not print: {missing}\n{output}"


def test_what_is_not_printed_is_noticed() -> None:
    assert not shows("1 of 2\npeople  3", ["1 of 2 people", "3"])
    assert not shows("a 1 b", ["a ... b"])
    assert shows("3\n1", ["1", "3"]) == "3"
    assert shows("a 1 b", ["a 2"]) == "a2"


def test_steps_are_told_apart() -> None:
    first, second = steps("$ one  # exit 1\nseen\n$ two &\n")
    assert (first.command, first.code, first.seen) == ("one", 1, ["seen"])
    assert second.in_background
    assert not second.left_out
    assert next(steps("$ three   # not run here: it asks")).left_out


def test_pages_that_go_on_are_told_after_the_page_they_go_on_from() -> None:
    told = [list(map(name, story)) for story in stories()]
    assert sum(map(len, told)) == len({page for story in told for page in story})
    assert any(len(story) > 1 for story in told)
