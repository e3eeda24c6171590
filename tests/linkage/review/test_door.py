"""Only one file turns masked cells into characters: the linter is told so, and this checks that it is."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

from discreet.linkage.review import reveal
from tests.house.code import ROOT, SOURCE, SOURCES, nodes, text

LINKAGE = ROOT / "src" / "discreet" / "linkage"


def imported(path: Path) -> set[str]:
    """The names of linkage that a file imports."""
    found: set[str] = set()
    if "discreet.linkage" not in text(path):
        return found
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found


def named_members(path: Path) -> set[str]:
    return {node.attr for node in nodes(path) if isinstance(node, ast.Attribute)}


def calls(path: Path, method: str) -> bool:
    methods = (node.func for node in nodes(path) if isinstance(node, ast.Call)) if method in text(path) else ()
    return any(isinstance(called, ast.Attribute) and called.attr == method for called in methods)


def modules() -> dict[str, Path]:
    return {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in SOURCES}


def test_only_the_door_looks_records_up_in_an_index() -> None:
    known = {name for name, path in modules().items() if "discreet.linkage.masking.index" in imported(path)}
    public = {
        "discreet.linkage.__init__",
        "discreet.linkage.masking.kapr",
    }  # for the records that users bring themselves
    assert known == {"discreet.linkage.review.reveal", *public}


def test_only_public_names_of_the_door_are_used_elsewhere() -> None:
    door, public = "discreet.linkage.review.reveal", set(reveal.__all__)
    for name, path in modules().items():
        names = imported(path)
        taken = {one.removeprefix(f"{door}.") for one in names if one.startswith(f"{door}.")}
        assert taken <= public, name
        if {door, "discreet.linkage.review"} & names and name != door:
            private = {one for one in named_members(path) if one.startswith("_") and not one.startswith("__")}
            assert not private & set(vars(reveal)), name


def test_only_the_door_reads_the_identifying_values_of_a_project() -> None:
    assert [name for name, path in modules().items() if calls(path, "identifying")] == [
        "discreet.linkage.review.reveal"
    ]


def test_the_linter_holds_the_same_rule() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    rule = next(one for one in contracts if "review/reveal.py" in one["name"])
    assert rule["forbidden_modules"] == ["discreet.linkage.masking.index"]
    rooms = {f"discreet.linkage.{path.stem}" for path in LINKAGE.glob("*.py")} - {"discreet.linkage.__init__"}
    review = {f"discreet.linkage.review.{path.stem}" for path in (LINKAGE / "review").glob("*.py")}
    others = {"discreet.linkage.matching", *rooms, *review} - {
        f"discreet.linkage.review.{name}" for name in ("__init__", "reveal")
    }
    assert {one for one in others if one not in rule["source_modules"]} == set()


def test_the_store_has_no_column_for_a_value() -> None:
    check = "from discreet.store.tables.linkage import PAIR; print(sorted(column.name for column in PAIR.columns))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['first', 'gold', 'number', 'probability', 'project', 'second']"
