"""Only one file turns masked cells into characters: the linter is told so, and this checks that it is."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
LINKAGE = ROOT / "src" / "discreet" / "linkage"


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found


def calls(path: Path) -> set[str]:
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.func.attr for node in tree if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)}


def test_only_the_door_opens_the_vault() -> None:
    guarded = {"discreet.linkage.review.vault", "discreet.linkage.review.rendering"}
    everything = sorted((ROOT / "src" / "discreet").rglob("*.py"))
    assert [path.name for path in everything if imported(path) & guarded] == ["reveal.py"]


def test_only_the_vault_reads_the_identifying_values_of_a_project() -> None:
    everything = sorted((ROOT / "src" / "discreet").rglob("*.py"))
    assert [path.name for path in everything if "identifying" in calls(path)] == ["vault.py"]


def test_the_linter_holds_the_same_rule() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    rule = next(one for one in contracts if one["type"] == "protected")
    assert rule["protected_modules"] == ["discreet.linkage.review.vault", "discreet.linkage.review.rendering"]
    assert rule["allowed_importers"] == ["discreet.linkage.review.reveal"]


def test_the_store_has_no_column_for_a_value() -> None:
    check = "from discreet.store.tables.linkage import PAIR; print(sorted(column.name for column in PAIR.columns))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['first', 'number', 'probability', 'project', 'second']"
