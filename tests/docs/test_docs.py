"""Docs are tested like code: what exists is documented, links lead somewhere, examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import discreet
from discreet import errors, linkage, misuse
from discreet.cli.main import cli
from discreet.linkage.spec import link_schema
from discreet.misuse import Sensitivity
from discreet.policy import json_schema
from discreet.report import project
from discreet.report.project import ProjectFile
from tests.docs.pages import DOCS, PAGES, ROOT, blocks
from tests.swift import PYTHON

COMMANDS = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
POLICY = (DOCS / "reference" / "policy-file.md").read_text(encoding="utf-8")


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for verb in command.list_commands(context):
            found = command.get_command(context, verb)
            assert found is not None
            yield from commands(found, f"{name} {verb}")
    else:
        yield name, command


@pytest.mark.parametrize(("name", "command"), list(commands(cli, "discreet")))
def test_every_command_and_option_is_documented(name: str, command: click.Command) -> None:
    heading = f"## {name}\n"
    assert heading in COMMANDS
    section = COMMANDS.split(heading)[1].split("\n## ")[0]
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert f"`{parameter.opts[0]}`" in section, f"{parameter.opts[0]} of {name}"


def settings(schema: dict[str, Any], part: dict[str, Any], prefix: str) -> Iterator[str]:
    for name, setting in part.get("properties", {}).items():
        inner = str(setting.get("$ref") or next((one.get("$ref", "") for one in setting.get("anyOf", [])), ""))
        each = setting.get("additionalProperties")
        if inner:
            yield from settings(schema, schema["$defs"][inner.rpartition("/")[2]], f"{prefix}{name}.")
        elif not prefix and isinstance(each, dict) and "$ref" in each:
            yield from settings(schema, schema["$defs"][each["$ref"].rpartition("/")[2]], f"{name}.NAME.")
        else:
            yield f"{prefix}{name}"


@pytest.mark.parametrize("setting", list(settings(json_schema(), json_schema(), "")))
def test_every_policy_setting_is_documented(setting: str) -> None:
    assert f"`{setting}`" in POLICY


LINK_SETTINGS = [
    *(name for name in settings(link_schema(), link_schema(), "") if not name.endswith("identifying")),
    "linkage.identifying.NAME.kind",
    "linkage.identifying.NAME.formats",
]


@pytest.mark.parametrize("setting", LINK_SETTINGS)
def test_every_setting_of_a_link_file_is_documented(setting: str) -> None:
    assert f"`{setting}`" in (DOCS / "reference" / "link-file.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", linkage.__all__)
def test_every_public_name_of_the_linkage_room_is_documented(name: str) -> None:
    pages = [DOCS / "reference" / "python.md", *sorted((DOCS / "how-to").glob("*.md"))]
    assert any(re.search(rf"`{name}[`(]", page.read_text(encoding="utf-8")) for page in pages)


@pytest.mark.parametrize("key", sorted(ProjectFile.__dataclass_fields__.keys() - {"file"}))
def test_every_key_of_a_project_file_is_documented(key: str) -> None:
    assert f"| `{key}` |" in (DOCS / "reference" / "project-file.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", project.__all__)
def test_every_public_name_of_a_project_report_is_documented(name: str) -> None:
    assert re.search(rf"`{name}[`(]", (DOCS / "reference" / "python.md").read_text(encoding="utf-8"))


def test_the_settings_were_really_found() -> None:
    found = set(settings(json_schema(), json_schema(), ""))
    assert {
        "data.count",
        "columns.NAME.role",
        "limits.at_risk",
        "economics.adversary_gain",
        "sensitivity.NAME.bins",
    } <= found


@pytest.mark.parametrize("name", discreet.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `{name}[`(]", page, re.MULTILINE)


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_is_documented_with_its_exit_code(name: str) -> None:
    page = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    assert f"| `{name}` | {getattr(errors, name).exit_code} |" in page
    assert re.search(rf"{name}\s+{getattr(errors, name).exit_code} ", errors.__doc__ or "")


def test_every_key_of_the_json_is_documented() -> None:
    page = (DOCS / "reference" / "json.md").read_text(encoding="utf-8")
    found = discreet.assess(discreet.Classes.of(["x"], [("a",)]), population=10).to_dict()
    for key in [*found, *found["population_uniqueness"], *found["limit"], *found["prosecutor"]]:
        assert f"`{key}`" in page, key


def test_every_key_of_a_misuse_score_is_documented() -> None:
    page = (DOCS / "reference" / "json.md").read_text(encoding="utf-8").split("## discreet misuse score")[1]
    f = Sensitivity.from_dict({"a": {"otherwise": 1.0}})
    found = discreet.score([{"a": 1}], source=[{"a": 1}], quasi=[], sensitivity=f).to_dict()
    for key in [*found, *found["top"][0], "limit", "exceeded"]:
        assert f"`{key}`" in page, key


@pytest.mark.parametrize("name", misuse.__all__)
def test_every_public_name_of_the_misuse_room_is_documented(name: str) -> None:
    pages = [DOCS / "reference" / "python.md", *sorted((DOCS / "how-to").glob("*.md"))]
    assert any(f"`{name}" in page.read_text(encoding="utf-8") for page in pages)


def test_every_event_outcome_and_key_of_the_ledger_is_documented() -> None:
    from discreet.ledger import EVENTS, OUTCOMES, verifier
    from discreet.ledger.entry import Charge

    page = (DOCS / "reference" / "ledger.md").read_text(encoding="utf-8")
    for code, meaning in [*EVENTS.items(), *OUTCOMES.items()]:
        assert f"| `{code}` | {meaning} |" in page
    for key in [*verifier.ENTRY_KEYS, *verifier.HEAD_KEYS, *Charge.__dataclass_fields__]:
        assert f"`{key}`" in page, key


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demo data that examples speak of."""
    folder = tmp_path_factory.mktemp("docs")
    run(folder, "discreet demo-data --people 100000 --seed 1 --out demo")
    return folder


def run(folder: Path, command: str) -> int:
    path = f"{Path(PYTHON).parent}:{Path(sys.executable).parent}:/usr/bin:/bin"
    shell = ["/bin/sh", "-c", command]
    return subprocess.run(shell, cwd=folder, capture_output=True, check=False, env={"PATH": path}).returncode


@pytest.mark.parametrize(("page", "block"), blocks("python"))
def test_python_examples_run(page: str, block: str, playground: Path) -> None:
    assert run(playground, f"python - <<'END'\n{block}\nEND") == 0, page


@pytest.mark.parametrize(("page", "block"), blocks("toml"))
def test_toml_examples_are_policies_link_or_project_files(page: str, block: str, tmp_path: Path) -> None:
    if block.startswith("title"):
        assert ProjectFile.parse(block).title
        return
    if block.startswith("[linkage]"):
        assert linkage.LinkageSpec.parse(block).names
        return
    (tmp_path / "diagnosis.csv").write_text("flu;*\n", encoding="utf-8")
    (tmp_path / "zip.csv").write_text("10115;*\n", encoding="utf-8")
    (tmp_path / "policy.toml").write_text(block, encoding="utf-8")
    discreet.Policy.load(tmp_path / "policy.toml")


def test_the_changelog_speaks_of_this_version() -> None:
    assert f"## {discreet.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
