"""The reference is made from code: a table that does not say what the code says is stale."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from discreet.cli.main import cli
from handbook.reference import PART, REFERENCE, command, fresh, rows, signature
from tests.docs.pages import name
from tests.docs.test_docs import COMMANDS, commands

PAGES = sorted(REFERENCE.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_generated_tables_say_what_the_code_says(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert fresh(text) == text, "stale: run `make reference`"


def test_every_kind_of_table_is_generated_somewhere() -> None:
    found = {part[2] for page in PAGES for part in PART.finditer(page.read_text(encoding="utf-8"))}
    assert found == {
        "options",
        "errors",
        "events",
        "outcomes",
        "roles",
        "permissions",
        "operations",
        "settings",
        "names",
    }


@pytest.mark.parametrize("said", [said for said, _ in commands(cli, "discreet")])
def test_every_command_with_options_has_a_generated_table(said: str) -> None:
    if any(isinstance(one, click.Option) for one in command(said).params):
        assert f"<!-- generated: options of {said} -->" in COMMANDS


@pytest.mark.parametrize("said", [said for said, _ in commands(cli, "discreet")])
def test_a_usage_line_names_options_that_exist_and_all_that_are_required(said: str) -> None:
    usage = COMMANDS.split(f"## {said}\n")[1].lstrip().split("\n")[0]
    options = [one for one in command(said).params if isinstance(one, click.Option)]
    assert set(re.findall(r"--[\w-]+", usage)) <= {spelling for one in options for spelling in one.opts}
    assert all(one.opts[0] in usage for one in options if one.required)


def test_a_stale_table_is_made_anew_and_words_are_kept() -> None:
    kept = "| `--policy` | X | words by hand | none |\n| `--gone` | | an option that is no more | |\n"
    page = f"# A\n\n<!-- generated: options of discreet assess -->\n\n| a |\n|---|\n{kept}\n<!-- end -->\n\nB\n"
    now = fresh(page)
    assert "| `--policy` | FILE | words by hand | required |" in now
    assert "| `--json` |  | print the figures as JSON |  |" in now
    assert "--gone" not in now
    assert now.startswith("# A\n")
    assert now.endswith("\nB\n")
    assert fresh(now) == now


def test_signatures_are_written_as_one_would_type_them() -> None:
    def example(
        a: int, *rest: int, b: str = "x", c: tuple[str, ...] = ("y",), d: object = object(), **more: int
    ) -> None:
        raise NotImplementedError

    assert signature(example) == '(a, *rest, b="x", c=("y",), d=..., ...)'
    assert signature(lambda a, *, b=None: None) == "(a, *, b=None)"


def test_rows_are_found_by_their_first_name() -> None:
    assert rows("| `read(a, b=1)`, `other` | words |\n") == {"read": ["`read(a, b=1)`, `other`", "words"]}
