"""Options that several commands share: what is written is never anything that is read."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from discreet.cli.main import cli
from discreet.cli.options import TargetOption
from tests.cli.test_errors import SHIM

PEOPLE = "age,sex\n30,F\n30,F\n41,M\n41,M\n"
FILES = {
    "people.csv": PEOPLE,
    "everyone.csv": PEOPLE,
    "age.csv": "30;*\n41;*\n",
    "policy.toml": '[columns.age]\nrole = "quasi"\nhierarchy = "age.csv"\n[columns.sex]\nrole = "sensitive"\n',
    "levels.csv": '{"age": 1}',
    "attack.csv": "gain = 10\nfine = 5\n",
    "parts/one.csv": PEOPLE,
    "parts/two.csv": PEOPLE,
}
POLICY = ("--policy", "policy.toml")
ASSESS = ("assess", "people.csv", *POLICY, "--population", "everyone.csv", "--overwrite", "--records")
ANONYMISE = ("anonymise", "people.csv", *POLICY, "--k", "2", "--overwrite")


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in FILES:
        plain = name.replace("/", "-")
        (tmp_path / f"symbolic-{plain}").symlink_to(tmp_path / name)
        os.link(tmp_path / name, tmp_path / f"hard-{plain}")
    return tmp_path


def called(folder: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """A command in the folder of the files."""
    with (folder / given).open() if given else (folder / "policy.toml").open() as stdin:
        return subprocess.run([SHIM, *words], capture_output=True, text=True, check=False, cwd=folder, stdin=stdin)


@pytest.mark.parametrize(
    "words",
    [
        (*ASSESS, "people.csv"),
        (*ASSESS, "./parts/../people.csv"),
        (*ASSESS, "symbolic-people.csv"),
        (*ASSESS, "hard-people.csv"),
        (*ASSESS, "everyone.csv"),
        (*ASSESS, "hard-age.csv"),
        ("assess", "parts", *POLICY, "--overwrite", "--records", "parts/two.csv"),
        ("assess", "parts/*.csv", *POLICY, "--overwrite", "--records", "hard-parts-two.csv"),
        ("assess", "-", *POLICY, "--overwrite", "--records", "people.csv"),
        (*ANONYMISE, "--out", "age.csv"),
        (*ANONYMISE, "--out", "symbolic-age.csv"),
        (*ANONYMISE, "--levels", "levels.csv", "--out", "levels.csv"),
        (*ANONYMISE, "--attack", "attack.csv", "--max-risk", "0.9", "--out", "hard-attack.csv"),
        ("attack", "people.csv", *POLICY, "--external", "everyone.csv", "--classes", "everyone.csv"),
        ("attack", "people.csv", *POLICY, "--external", "everyone.csv", "--classes", "age.csv"),
    ],
)
def test_nothing_that_is_read_is_written_over(folder: Path, words: tuple[str, ...]) -> None:
    done = called(folder, *words, given="people.csv")
    assert done.returncode == 2
    assert "is read by this command, and would be lost" in done.stderr
    assert {name: (folder / name).read_text(encoding="utf-8") for name in FILES} == FILES


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_reports_replace_no_data_either(folder: Path, option: str) -> None:
    shutil.copy(folder / "people.csv", folder / "people.html")
    words = ("assess", "people.html") if option == "--out" else ("anonymise", "people.html", "--k", "2", "--dry-run")
    done = called(folder, *words, *POLICY, option, "people.html")
    assert (done.returncode, "would be lost" in done.stderr) == (2, True)
    assert (folder / "people.html").read_text(encoding="utf-8") == PEOPLE


def test_a_table_of_a_server_is_not_replaced_by_its_own_result(folder: Path) -> None:
    url = "postgresql://ann:secret@nowhere.invalid/db?table="
    words = ("anonymise", f"{url}people", *POLICY, "--k", "2", "--overwrite", "--out", f"{url}public.people")
    done = called(folder, *words)
    assert (done.returncode, "would be lost" in done.stderr, "secret" in done.stderr) == (2, True, False)


def test_a_ledger_is_not_replaced_by_its_own_export(folder: Path) -> None:
    for verb in ("head", "export"):
        done = called(folder, "ledger", verb, "--store", "sqlite:///people.csv", "--out", "hard-people.csv")
        assert (done.returncode, "would be lost" in done.stderr) == (2, True)
    assert (folder / "people.csv").read_text(encoding="utf-8") == PEOPLE


def test_other_files_are_replaced_when_asked(folder: Path) -> None:
    for words in ((*ANONYMISE, "--out"), ASSESS):
        (folder / "old.csv").write_text("old", encoding="utf-8")
        assert called(folder, *words, "old.csv").returncode in (0, 1)
        assert (folder / "old.csv").read_text(encoding="utf-8") != "old"


def _commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from _commands(inner, f"{path} {name}")


def test_every_option_that_names_what_is_written_is_known_as_that() -> None:
    for path, command in _commands(cli, "discreet"):
        for option in command.params:
            if not isinstance(option, click.Option) or option.is_flag:
                continue
            if "--out" in option.opts or (option.help or "").startswith("Write "):
                assert isinstance(option, TargetOption), f"{path} {option.opts[0]}"
