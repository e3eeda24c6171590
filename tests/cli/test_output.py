"""One protocol for results: each form is made only on demand, and every command ends the same way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from discreet.cli.main import cli
from discreet.cli.output import CommandResult, bullet, output, table
from discreet.errors import UsageError
from tests.house.surface.commands import walked


def words_of(made: list[str]) -> Iterator[str]:
    made.append("words")
    yield "3 people"


def command_of(made: list[str], *, exit_code: int = 0) -> click.Command:
    def data() -> dict[str, int]:
        made.append("data")
        return {"people": 3}

    def page(**stamp: Any) -> str:
        made.append("page")
        return f"<p>{sorted(stamp)}</p>"

    @click.command()
    @output("Print JSON.", report="--out")
    def measure() -> CommandResult:
        made.append("measured")
        return CommandResult(
            data, words_of(made), page=page, notes=["Note: few."], next_step="go on", exit_code=exit_code
        )

    return measure


def invoke(command: click.Command, *words: str) -> Any:
    return CliRunner().invoke(command, words, standalone_mode=False)


def test_only_the_form_that_is_asked_for_is_made() -> None:
    for words, forms in (((), ["measured", "words"]), (("--json",), ["measured", "data"])):
        made: list[str] = []
        invoke(command_of(made), *words)
        assert made == forms


def test_json_is_all_that_stdout_has_and_next_steps_are_for_people() -> None:
    shown = invoke(command_of([]), "--json")
    assert json.loads(shown.stdout) == {"people": 3}
    assert "Note: few." in shown.stderr
    assert "Next:" not in shown.stderr
    told = invoke(command_of([]))
    assert told.stdout == "3 people\n"
    assert told.stderr.splitlines() == ["", "Note: few.", "Next: go on"]


def test_the_exit_code_is_that_of_the_result() -> None:
    assert [invoke(command_of([], exit_code=code)).return_value for code in (0, 1, 6)] == [0, 1, 6]


def test_a_report_is_stamped_and_its_name_checked_first(tmp_path: Path) -> None:
    made: list[str] = []
    refused = invoke(command_of(made), "--out", str(tmp_path / "report.pdf"))
    assert isinstance(refused.exception, UsageError)
    assert made == []
    invoke(command_of(made), "--out", str(tmp_path / "new" / "report.html"))
    assert (tmp_path / "new" / "report.html").read_text(encoding="utf-8") == "<p>['command', 'created', 'version']</p>"


def test_names_are_not_broken_and_cannot_steer_the_terminal() -> None:
    assert "south-institute" in bullet(f"{'x' * 85} south-institute")
    assert "\x1b[31m" not in table(["na\x1b[31mme"], [["va\x1b[31mlue"]]).replace("\x1b[1m", "")


NO_JSON = {
    "account add",
    "account link",
    "attack init",
    "completion",
    "demo",
    "gateway",
    "gateway explain",
    "gateway grants",
    "help",
    "ledger rotate-key",
    "report init",
    "serve",
}
"""Commands that print a link, a draft, a script or a page, or that run until they are stopped."""


@pytest.mark.parametrize("path", [path for path, each in walked(cli, "discreet") if not isinstance(each, click.Group)])
def test_every_command_with_a_result_prints_json(path: str) -> None:
    command = dict(walked(cli, "discreet"))[path]
    options = {name for option in command.params for name in option.opts}
    assert ("--json" in options) == (path.removeprefix("discreet ") not in NO_JSON)
