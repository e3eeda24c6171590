"""Example notebooks run from the top, and what their cells end with shows itself without a value of a person.

Cells are run as a notebook does, but without its kernel: code cells hold plain Python, and the kernel would bring some
thirty packages for no more certainty.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.report.samples import Outline

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))
FEW = {"int", "str", "NoneType"}
"""What may stand at the end of a cell and show itself as plain text."""


def cells(notebook: Path) -> list[str]:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; gives the value of its last line if that is an expression."""
    tree = ast.parse(source)
    *before, last = tree.body
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - our own notebook
        return None
    exec(compile(ast.Module(before, []), "cell", "exec"), names)  # noqa: S102
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307


def test_there_are_notebooks() -> None:
    assert [notebook.stem for notebook in NOTEBOOKS] == ["first-look"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_results_show_themselves(notebook: Path) -> None:
    names: dict[str, Any] = {}
    shown = [run_cell(source, names) for source in cells(notebook)]
    results = [result for result in shown if type(result).__name__ not in FEW]
    kinds = {type(result).__name__ for result in results}
    assert kinds >= {
        "Policy",
        "Table",
        "Profile",
        "Classes",
        "Assessment",
        "Thresholds",
        "Attacked",
        "Anonymised",
        "Score",
    }
    surnames = surnames_of(names["files"].hospital)
    for result in results:
        markup = result._repr_html_()
        Outline(markup)
        assert re.match("<table[^>]*><caption", markup)
        assert not surnames & set(re.findall(r"\w+", markup))


def surnames_of(hospital: Path) -> set[str]:
    with hospital.open(encoding="utf-8", newline="") as file:
        return {row["surname"] for row in csv.DictReader(file)}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(notebook: Path) -> None:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
