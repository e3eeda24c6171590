"""The engine seam: what an engine is made of, and how one is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import polars
import pyarrow
import pytest

import discreet
from discreet.errors import UsageError
from discreet.sources.engine import Engine
from tests.contract.memory.engine import MemoryEngine
from tests.contract.memory.rows import MemoryRows
from tests.contract.readers import READERS
from tests.house.test_layout import imports

PEOPLE = pyarrow.table({"sex": ["F", "M", "F"], "n": [1, 2, 3]})
FOLDER = Path(__file__).parents[1] / "contract" / "memory"


def public(cls: type) -> set[str]:
    names = {name for base in cls.__mro__ for name in {*vars(base), *getattr(base, "__annotations__", ())}}
    return {name for name in names if not name.startswith("_")}


def test_an_engine_is_its_protocol_and_nothing_else() -> None:
    """The fourth engine runs the whole contract with these members, so no other is asked for."""
    assert public(MemoryEngine) == public(Engine)


def test_the_fourth_engine_knows_no_other() -> None:
    known = {f"discreet.sources.{name}": FOLDER for name in ("duckdb", "postgres", "spark")}
    named = {f"{package}.{file}": FOLDER for package in known for file in ("engine", "rows")}
    assert [
        name for path in FOLDER.glob("*.py") for name in imports("tests.contract.memory.x", path, {**known, **named})
    ] == []


def test_an_engine_is_found_by_its_folder(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="A MemoryRows cannot be read as a table"):
        discreet.read(MemoryRows.of(PEOPLE))
    table = READERS["memory"](request, tmp_path)(PEOPLE, None)
    assert type(table.engine) is MemoryEngine
    assert table.classes(["sex"]).sizes.tolist() == [2, 1]
    assert discreet.read(PEOPLE).classes(["sex"]).sizes.tolist() == [2, 1], "the others are still there"


@pytest.mark.parametrize("convert", [lambda table: table, polars.from_arrow, lambda _: "people.csv", MemoryRows.of])
def test_a_table_or_query_goes_with_a_server(convert: Any, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    READERS["memory"](request, tmp_path)
    for chosen in ({"table": "people"}, {"query": "SELECT 1"}):
        with pytest.raises(UsageError, match="go with a PostgreSQL URL") as caught:
            discreet.read(convert(PEOPLE), **chosen)
        assert caught.value.exit_code == 2


def test_a_server_needs_a_table_or_a_query() -> None:
    for chosen in ({}, {"table": "people", "query": "SELECT 1"}):
        with pytest.raises(UsageError, match="which table or which query"):
            discreet.read("postgresql://host/db", **chosen)


def test_an_engine_that_is_not_needed_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("sex\nF\n", encoding="utf-8")
    check = f"""
import sys, discreet
assert discreet.read({str(tmp_path / "people.csv")!r}).records == 1
loaded = {{f"discreet.sources.{{name}}.engine" for name in ("duckdb", "postgres", "spark")}} & sys.modules.keys()
assert loaded == {{"discreet.sources.duckdb.engine"}}, loaded
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
