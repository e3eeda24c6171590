"""The plan of the house: which module may know which, and where a seam is."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from statistics import median

import pytest

from tests.house import code
from tests.house.code import ROOT, SOURCE, nodes, parsed, text

ENGINES = SOURCE / "discreet" / "sources"
ALLOWED: set[tuple[str, str]] = set()
"""Imports of an engine from outside that have a reason."""
Graph = Mapping[str, set[str]]


def modules(folder: Path, package: str = "discreet") -> dict[str, Path]:
    """Every module of a package below a folder of sources, by its name."""
    found = {}
    for path in sorted((folder / package).rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """What a module imports, also inside functions and for types only; the parents of a module do not count."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            base = ".".join(part for part in (above, node.module) if part)
            whole = {f"{base}.{alias.name}" for alias in node.names}
            yield from whole & known.keys()
            if base in known and not whole <= known.keys():
                yield base


@cache
def graph(folder: Path, package: str = "discreet") -> Graph:
    """Which module imports which."""
    known = modules(folder, package)
    return {name: set(imports(name, path, known)) - {name} for name, path in known.items()}


def cycles(of: Graph) -> list[list[str]]:
    """Modules that import each other in a circle: the strongly connected components (Tarjan), without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []
    for root in of:
        work = [] if root in index else [(root, iter(sorted(of[root])))]
        if work:
            index[root] = low[root] = len(index)
            path.append(root)
        while work:
            name, left = work[-1]
            following = next(left, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    start = path.index(name)
                    component, path[start:] = path[start:], []
                    found += [sorted(component)] if len(component) > 1 else []
            elif following not in index:
                index[following] = low[following] = len(index)
                path.append(following)
                work.append((following, iter(sorted(of[following]))))
            elif following in path:
                low[name] = min(low[name], index[following])
    return sorted(found)


def engine_packages() -> dict[str, Path]:
    """The packages of `discreet.sources` that say what they open."""
    return {
        path.parent.name: path.parent
        for path in ENGINES.glob("*/__init__.py")
        if any(isinstance(node, ast.FunctionDef) and node.name == "opens" for node in parsed(path).body)
    }


def engine_classes() -> set[str]:
    """Classes that count people: they have `count_each`, which nothing else has."""
    return {
        node.name
        for folder in engine_packages().values()
        for path in folder.glob("*.py")
        for node in nodes(path)
        if isinstance(node, ast.ClassDef)
        and any(isinstance(member, ast.FunctionDef) and member.name == "count_each" for member in node.body)
    }


def asked_for_class(tree: Iterable[ast.AST], classes: set[str]) -> list[int]:
    """Lines that ask which engine it is: by `isinstance`, by a `case`, or by what it happens to have."""
    lines = []
    for node in tree:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
            named = {word.id for word in ast.walk(node.args[1]) if isinstance(word, ast.Name)}
            named |= {word.attr for word in ast.walk(node.args[1]) if isinstance(word, ast.Attribute)}
            about_engine = ast.unparse(node.args[0]).rpartition(".")[2] == "engine"
            by_class = node.func.id in ("isinstance", "issubclass") and named & classes
            by_member = node.func.id in ("hasattr", "getattr") and about_engine
            lines += [node.lineno] if by_class or by_member else []
        elif isinstance(node, ast.MatchClass) and ast.unparse(node.cls).rpartition(".")[2] in classes:
            lines.append(node.lineno)
    return lines


def test_engines_have_the_same_files() -> None:
    packages = engine_packages()
    assert {"duckdb", "postgres", "spark"} <= packages.keys()
    wanted = {"__init__.py", "engine.py", "rows.py"}
    assert {name: {path.name for path in folder.glob("*.py")} for name, folder in packages.items()} == dict.fromkeys(
        packages, wanted
    )


def test_nothing_outside_an_engine_imports_it() -> None:
    """What is DuckDB, PostgreSQL or Spark as such is in `duckdb_desk`, `server` and `cluster`; engines are found by asking."""
    inside = tuple(f"discreet.sources.{name}" for name in engine_packages())
    known = {
        (name, target)
        for name, targets in graph(SOURCE).items()
        for target in targets
        for package in inside
        if f"{target}.".startswith(f"{package}.") and not f"{name}.".startswith(f"{package}.")
    }
    assert known == ALLOWED


def test_nothing_outside_an_engine_asks_which_one_it_is() -> None:
    classes, packages = engine_classes(), engine_packages()
    assert {"DuckDBEngine", "PostgresEngine", "SparkEngine"} <= classes
    asking = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in modules(SOURCE).values()
        if path.parent not in packages.values()
        for line in asked_for_class(nodes(path), classes)
    ]
    assert asking == []


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(engine, SparkEngine)",
        "isinstance(engine, (spark.SparkEngine, str))",
        "hasattr(table.engine, 'frame')",
        "getattr(engine, 'frame', None)",
        "match engine:\n    case SparkEngine():\n        pass",
    ],
)
def test_a_question_for_the_engine_is_found(code: str) -> None:
    assert len(asked_for_class(ast.walk(ast.parse(code)), {"SparkEngine"})) == 1
    assert asked_for_class(ast.walk(ast.parse("isinstance(engine, str)")), {"SparkEngine"}) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions and for types only count as well."""
    assert cycles(graph(SOURCE)) == []


def test_cycles_are_found_wherever_the_import_is_written(tmp_path: Path) -> None:
    house = {
        "__init__": "",
        "a": "def f():\n    from house.b import x\n",
        "b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house import c\n",
        "c": "from . import a\n",
        "d": "import house.a\nfrom house.e import y\n",
        "e": "from .c import z\n",
        "f": "import house.g\n",
        "g": "from house import f as other\n",
    }
    (tmp_path / "house").mkdir()
    for name, content in house.items():
        (tmp_path / "house" / f"{name}.py").write_text(content, encoding="utf-8")
    assert cycles(graph(tmp_path, "house")) == [["house.a", "house.b", "house.c"], ["house.f", "house.g"]]


def test_a_path_without_a_circle_is_no_cycle() -> None:
    assert cycles({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) == []
    assert cycles({"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"b"}}) == [["a", "b", "c", "d"]]


MOST_MODULES, MOST_LINES = 17, 450
"""Modules of a folder, and lines of a module."""
FILES, LINES, CALLED_ONCE = 495, 108_000, 0.40
"""Files and lines of the package, and the share of private functions that are used once.

Moves and merges make them smaller; a feature that needs a module of its own raises FILES in its own commit.
"""
MEDIAN, VERBAL = range(170, 230), 15
"""Lines of the module in the middle, and how many modules may be named by a verb's form."""
WORDS, WORDY, REMARKS = 14, 0.22, 0.009
"""Words of a docstring's first line, the share of docstrings that take more, and the least share of lines that are comments.

WORDY and REMARKS say how far it is; 0 and 0.015 are where it should be.
"""
DOUBLED = {
    "Case", "Frame", "Group", "Limits", "Loss", "Plan", "Pool", "Rule", "State", "Statement", "Table",
}  # fmt: skip
"""Class names that several rooms need for the same word of the field."""
OF_THE_FIELD = {
    "blocking", "framing", "masking", "matching", "numbering", "onboarding", "pairing", "reading", "recoding", "rendering", "staging", "tracing",
    "wording",
}  # fmt: skip
DOCUMENTED = {"adjudicating", "deciding", "exporting", "generated"}
"""Names that users may have written down; the first three only lead to where things are."""
SOURCES = [path for path in code.SOURCES if "migrations" not in path.parts]


def test_a_folder_can_be_taken_in_at_a_glance() -> None:
    folders = {path.parent for path in SOURCES}
    assert [folder for folder in folders if len([*folder.glob("*.py")]) - 1 > MOST_MODULES] == []


def test_a_module_is_a_chapter_and_no_book() -> None:
    lines = {path: len(text(path).splitlines()) for path in SOURCES}
    assert [str(path) for path, count in lines.items() if count > MOST_LINES] == []
    assert len([*(SOURCE / "discreet").rglob("*.py")]) <= FILES
    assert sum(lines.values()) <= LINES
    assert int(median(len(text(path).splitlines()) for path in code.SOURCES)) in MEDIAN


def test_a_module_is_named_by_a_noun_of_the_field() -> None:
    names = {path.stem for path in SOURCES} | {path.parent.name for path in SOURCES}
    verbal = {name for name in names if name.endswith(("ing", "ed"))}
    assert verbal - OF_THE_FIELD - DOCUMENTED == set()
    assert len({path for path in SOURCES if path.stem.endswith(("ing", "ed"))}) <= VERBAL


def test_a_docstring_begins_with_a_short_line() -> None:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    written = (ast.get_docstring(node) for path in SOURCES for node in nodes(path) if isinstance(node, kinds))
    first = [len(words.splitlines()[0].split()) for words in written if words]
    assert sum(count > WORDS for count in first) <= WORDY * len(first)


def test_comments_say_why() -> None:
    lines = [line.strip() for path in SOURCES for line in text(path).splitlines()]
    assert sum(line.startswith("#") for line in lines) >= REMARKS * len(lines)


def test_a_class_has_a_name_of_its_own() -> None:
    names = Counter(node.name for path in SOURCES for node in nodes(path) if isinstance(node, ast.ClassDef))
    assert {name for name, count in names.items() if count > 1} == DOUBLED


def test_helpers_are_more_than_a_line_moved_away() -> None:
    private = once = 0
    for path in SOURCES:
        words = Counter(re.findall(r"\w+", text(path)))
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and re.match("_[^_]", node.name):
                private += 1
                once += words[node.name] == 2
    assert once <= CALLED_ONCE * private
