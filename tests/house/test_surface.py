"""What users rely on stays as it is: Python names, commands, pages and API, JSON, tables, codes, files.

The agreed lists are in `tests/house/surface/snapshot`. To change one on purpose, run this file with `DISCREET_RENEW_SURFACE=1`
and commit the list with the reason.
"""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import click
import pytest

from tests.house.surface import codes
from tests.house.surface.commands import commands, root, walked
from tests.house.surface.database import database
from tests.house.surface.documented import ROOT, documented
from tests.house.surface.files import formats, settings
from tests.house.surface.names import Names, leads_somewhere
from tests.house.surface.sample_project import COMMANDS, SampleProject, sample_project
from tests.house.surface.shapes import lines, shape, without_chance
from tests.house.surface.snapshot import FOLDER, VARIABLE, compare, difference, read, written
from tests.house.surface.web import web

REFERENCE = ROOT / "docs" / "reference"
WITHOUT_JSON = {"attack init", "report init"}
PRINTS_A_SCHEMA = {"policy schema"}
"""Its keys are those of the policy file."""


@pytest.fixture(scope="module")
def public() -> Names:
    """The public names."""
    return Names(documented(), read("python"))


@pytest.fixture(scope="module")
def project(public: Names, tmp_path_factory: pytest.TempPathFactory) -> SampleProject:
    """What commands print and write."""
    return sample_project(tmp_path_factory.mktemp("surface"), results(public))


def results(public: Names) -> dict[type, str]:
    """Public classes with a `to_dict()`, and their paths."""
    return {cls: path for cls, path in public.classes.items() if hasattr(cls, "to_dict")}


def test_public_names_and_their_signatures(public: Names) -> None:
    compare("python", public.items())


def test_members_of_what_public_names_return(public: Names) -> None:
    headline = "Classes that public names return have changed. They have no public path, but users get hold of them."
    compare("reached", public.reached(), headline=headline)


def test_commands_and_options() -> None:
    compare("commands", commands())


def test_pages_and_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    compare("web", web(tmp_path))


def test_json_of_commands_and_results(project: SampleProject) -> None:
    printed = {f"discreet {name} --json": content for name, content in project.printed.items()}
    returned = {f"{path}.to_dict()": content for path, content in project.results.items()}
    items: dict[str, str] = {}
    for name, content in {**printed, **returned}.items():
        items |= lines(name, content)
    compare("json", items, depends_on_data=True)


def test_tables_and_migrations() -> None:
    compare("database", database())


def test_events_and_keys_of_the_ledger() -> None:
    compare("ledger", codes.ledger())


def test_roles_and_permissions() -> None:
    compare("roles", codes.roles())


def test_errors_and_exit_codes() -> None:
    compare("errors", codes.exit_codes())


def test_environment_variables() -> None:
    compare("environment", codes.environment())


def test_files_that_people_write(project: SampleProject) -> None:
    compare("settings", settings(project.folder))


def test_files_that_commands_write(project: SampleProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_KEYS", str(project.folder / "store.keys"))
    compare("formats", formats(project.folder, project.inputs), depends_on_data=True)


def test_paths_that_the_documentation_names_lead_somewhere() -> None:
    assert [path for path in documented() if not leads_somewhere(path)] == []


def test_members_that_the_reference_names_are_listed() -> None:
    """Such as `.exceeded` in the row of a class: the lists have all of them, so none can be lost unnoticed."""
    listed = {name.rpartition(".")[2] for kind in ("python", "reached") for name in read(kind)}
    pages = [(REFERENCE / name).read_text(encoding="utf-8") for name in ("python.md", "deterrence.md", "ledger.md")]
    members = {member for page in pages for member in re.findall(r"`\.(\w+)", page)}
    assert len(members) > 200
    assert sorted(members - listed) == []


def test_every_command_that_prints_json_is_run() -> None:
    able = {
        path.removeprefix("discreet ")
        for path, command in walked(root(), "discreet")
        if any("--json" in option.opts for option in command.params if isinstance(option, click.Option))
    }
    assert able - PRINTS_A_SCHEMA == {re.split(r" (?:--|\()", name)[0] for name, _ in COMMANDS} - WITHOUT_JSON


def test_every_public_result_is_seen(public: Names, project: SampleProject) -> None:
    assert sorted(set(results(public).values()) - project.results.keys()) == []


def test_keys_in_the_reference_of_json_are_listed() -> None:
    """Every key in the first column of a table is in the list, under a command of the same first verb."""
    page, listed = (REFERENCE / "json.md").read_text(encoding="utf-8"), read("json")
    missing, keys = [], 0
    for title, section in re.findall(r"^## discreet (.+?) --json\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE):
        items = [name for name in listed if name.startswith(f"discreet {title.split()[0]} ")]
        for cell in re.findall(r"^\| (`.+?) \|", section, re.MULTILINE):
            for key in re.findall(r"`(\w+)`", cell):
                keys += 1
                if not any(re.search(rf"\.{key}(?!\w)", name) for name in items):
                    missing.append(f"{title}: {key}")
    assert keys > 150
    assert missing == []


@pytest.mark.parametrize("kind", sorted(path.stem for path in FOLDER.glob("*.txt")))
def test_a_list_is_sorted_and_names_everything_once(kind: str) -> None:
    assert written(read(kind)) == (FOLDER / f"{kind}.txt").read_text(encoding="utf-8")


def test_what_is_lost_changed_or_added_is_named() -> None:
    agreed, present = {"a": "1", "b": "2", "c": "3"}, {"b": "2", "c": "4", "d": "5"}
    assert "\n".join(difference(agreed, present)).split("\n") == [
        *("", "Lost (1):", "- a: 1"),
        *("", "Changed (1):", "  c", "      was 3", "      is  4"),
        *("", "Added (1):", "+ d: 5"),
    ]
    assert list(difference(agreed, agreed)) == []


def test_what_data_hide_is_no_difference_but_a_missing_key_is() -> None:
    agreed = lines("x", shape({"a": [{"b": 1}], "c": {"d": "e"}, "f": None, "g": 1.5}))
    hidden = lines("x", shape({"a": [], "c": None, "f": [{"h": 1}], "g": None}))
    assert list(difference(agreed, without_chance(hidden, agreed))) == []
    renamed = lines("x", shape({"a": [{"z": 1}], "c": {"d": 2}, "f": None, "g": 1}))
    assert list(difference(agreed, without_chance(renamed, agreed))) == [
        *("", "Lost (1):", "- x .a[].b: number"),
        *("", "Changed (1):", "  x .c.d\n      was string\n      is  number"),
        *("", "Added (1):", "+ x .a[].z: number"),
    ]


def test_a_difference_fails_and_says_how_to_renew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    items = read("errors")
    compare("errors", items)
    del items["StoreBusy"]
    with pytest.raises(pytest.fail.Exception, match=r"(?s)Lost \(1\):.*- StoreBusy: 69.*DISCREET_RENEW_SURFACE=1"):
        compare("errors", items)


@pytest.mark.parametrize("module", ["documented", "shapes", "spelling"])
def test_examples_run(module: str) -> None:
    assert doctest.testmod(import_module(f"tests.house.surface.{module}")).failed == 0
