"""Habits of the house that a machine can check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
from tests.house.code import ROOT, SOURCES, parsed, text


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = [name for name in listed.stdout.split("\0") if name] or [str(path) for path in SOURCES]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def test_public_names_are_few_sorted_and_real() -> None:
    assert sorted(discreet.__all__) == discreet.__all__
    assert len(discreet.__all__) <= 16
    assert all(getattr(discreet, name) is not None for name in discreet.__all__)
    assert set(discreet.__all__) <= set(dir(discreet))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="anonymize"):
        _ = discreet.anonymize


def test_the_core_does_without_the_extras() -> None:
    check = """
import sys
for name in ('pyarrow', 'pandas', 'polars', 'psycopg', 'pyspark', 'scipy', 'pyroaring', 'sqlglot', 'sqlalchemy',
             'alembic', 'nacl'):
    sys.modules[name] = None
import discreet, tempfile, pathlib
folder = pathlib.Path(tempfile.mkdtemp())
(folder / 'a.csv').write_text('sex,age\\nF,1\\nM,2\\n')
table = discreet.read(folder / 'a.csv', policy=discreet.Policy.from_dict({'columns': {'sex': {'role': 'quasi'}}}))
assert discreet.assess(table).records == 2
from discreet.misuse import Sensitivity, score
weights = Sensitivity.from_dict({'age': {'otherwise': 1.0}})
assert score(folder / 'a.csv', source=folder / 'a.csv', quasi=['sex'], sensitivity=weights, x=1.0).value == 2.0
from discreet.people import State, generate
generate(State.of(2_000), seed=1, columns=('zip', 'sex')).write(folder / 'p.parquet')
assert discreet.read(folder / 'p.parquet').classes(['zip', 'sex']).records == 2_000
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_registry_host_and_no_path_of_a_machine() -> None:
    host, index = r"://[a-z0-9.-]+/(si[m]ple|pa[c]kages)/", r"in[d]ex-url"
    pattern = re.compile(rf'{host}|{index}|"res[o]lved": "http|(^|[^a-z.])/w[o]rk/', re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if pattern.search(line) and path != Path(__file__)
    ]
    assert found == []


ENGINE = "src/discreet/anonymity/lattice/engine.so"
"""What installing compiles, where there is a compiler."""


def test_no_source_is_left_out_of_version_control() -> None:
    """What git ignores is in no clone and in no wheel, and no linter looks at it."""
    asked = ["git", "ls-files", "--others", "--ignored", "--exclude-standard", "--", "src", "tests", "docs", "handbook"]
    left = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    assert [name for name in left if "__pycache__" not in name and name != ENGINE] == []


def test_shares_are_written_in_one_way() -> None:
    """By `discreet.wording`: with a space, and never 0.0 % for something."""
    assert [str(path) for path in SOURCES if re.search(r":[,.\d]*%}", text(path))] == []


def test_every_module_and_public_function_says_what_it_means() -> None:
    bare = []
    for path in SOURCES:
        tree = parsed(path)
        if ast.get_docstring(tree) is None:
            bare.append(str(path))
        for node in tree.body:
            named = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            if named and ast.get_docstring(node) is None:
                bare.append(f"{path}:{node.lineno}")
    assert bare == []


def test_requirements_are_hashed_and_hold_no_addresses() -> None:
    for path in [*ROOT.glob("requirements*.txt"), ROOT / "benchmarks" / "peers.txt"]:
        lines = path.read_text(encoding="utf-8")
        assert "://" not in lines
        pins = re.findall(r"^[a-z0-9][^\s]*==[^\s]+.*\\$", lines, re.MULTILINE | re.IGNORECASE)
        assert pins
        assert len(pins) == len(re.findall(r"^[a-z0-9]", lines, re.MULTILINE | re.IGNORECASE))
