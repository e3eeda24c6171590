"""Beginning is quick: what is heavy is imported by whoever needs it. The figures: python -m benchmarks.importing"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = (
    "alembic", "duckdb", "fastapi", "highspy", "jinja2", "numpy", "pandas", "polars", "psycopg", "pyarrow",
    "pydantic", "pyroaring", "pyspark", "rich", "scipy", "splink", "sqlalchemy", "sqlglot", "starlette", "uvicorn",
)  # fmt: skip
LIGHT = [
    "--version", "--help", "help", "assess --help", "profile --help", "policy --help", "policy init --help",
    "demo-data --help", "doctor --help", "gateway --help", "ledger show --help", "link pairs --help", "link review --help",
    "release list --help", "report init --help", "serve --help", "trace leak --help", "completion bash",
]  # fmt: skip
SCRIPT = """
import contextlib, io, json, sys
sys.argv[1:], heavy = sys.argv[2].split(), json.loads(sys.argv[1])
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    from discreet.cli import main
    main()
print(json.dumps(sorted({*heavy} & {*sys.modules})))
"""


def loaded(script: str, *words: str) -> list[str]:
    command = [sys.executable, "-c", script, json.dumps(HEAVY), *words]
    found: list[str] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


def test_importing_discreet_loads_nothing_heavy() -> None:
    assert loaded("import json, sys, discreet; print(sorted({*json.loads(sys.argv[1])} & {*sys.modules}))") == []


@pytest.mark.parametrize("words", LIGHT)
def test_help_and_completion_load_nothing_heavy(words: str) -> None:
    assert loaded(SCRIPT, words) == []


def test_a_risk_is_measured_without_what_extras_bring() -> None:
    """Counting needs the engine and numbers, and none of the packages that stand beside them."""
    script = SCRIPT.replace(
        "from discreet.cli import main\n    main()", "import discreet; discreet.read, discreet.assess"
    )
    assert set(loaded(script, "")) <= {"duckdb", "numpy", "pydantic"}


@pytest.mark.parametrize(
    ("room", "needed"),
    [
        ("gateway", {"numpy"}),
        ("releases", {"numpy", "pydantic"}),
        ("sources", {"numpy", "pydantic"}),
        ("anonymity", {"numpy", "pydantic"}),
        ("attacker", {"numpy"}),
    ],
)
def test_a_room_loads_what_it_needs_and_no_more(room: str, needed: set[str]) -> None:
    """A gateway starts without what reads policies; planning and tracing need no store, and reading no engine yet."""
    script = f"import json, sys, discreet.{room}; print(json.dumps([*{{*json.loads(sys.argv[1])}} & {{*sys.modules}}]))"
    assert {*loaded(script)} == needed


def test_the_check_finds_what_is_loaded() -> None:
    assert loaded(
        "import json, sys, numpy; print(json.dumps([name for name in json.loads(sys.argv[1]) if name in sys.modules]))"
    ) == ["numpy"]


def test_no_module_takes_the_place_of_a_public_name() -> None:
    """A module that is imported later than its room would replace the function of the same name in it."""
    check = """
import importlib, pkgutil, discreet
rooms = [importlib.import_module(f"discreet.{one.name}") for one in pkgutil.iter_modules(discreet.__path__) if one.ispkg]
public = {(room.__name__, name): getattr(room, name) for room in rooms for name in getattr(room, "__all__", ())}
for room in rooms:
    for one in pkgutil.iter_modules(room.__path__):
        if (room.__name__, one.name) in public:
            importlib.import_module(f"{room.__name__}.{one.name}")
            assert getattr(room, one.name) is public[room.__name__, one.name], f"{room.__name__}.{one.name}"
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
