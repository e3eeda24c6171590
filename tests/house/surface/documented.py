"""Paths of modules and names that the documentation, the examples and the handbook import or name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.house.surface.names import ROOMS, leads_somewhere

ROOT = Path(__file__).parents[3]
PATH = re.compile(r"(?<![\w/@.-])discreet(?:\.[A-Za-z_]\w*)+")
IMPORT = re.compile(r"from (discreet[\w.]*) import (\([^)]*\)|[^\n;\"\\]+)")
SECTION = re.compile(r"<!-- generated: names of ([\w.]+) -->(.*?)<!-- end -->", re.DOTALL)
MODULE_ROW = re.compile(rf"^\| `((?:{'|'.join(ROOMS)})\.\w+)`: (.*)$", re.MULTILINE)
NAME = re.compile(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)[`(]")
HOSTS = ("discreet.example",)
"""Host names in examples."""


def pages() -> list[Path]:
    """All that explains how to use the package, without the changelog, which is about the past."""
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb"), *ROOT.glob("*.md")]
    pages += [*(ROOT / "examples").glob("*.py"), *(ROOT / "handbook").glob("*.py")]
    return sorted(page for page in pages if page.name != "CHANGELOG.md")


def documented() -> list[str]:
    """All documented paths, sorted, whether they lead somewhere or not."""
    return sorted({path for page in pages() for path in paths_in(page.read_text(encoding="utf-8"))})


def paths_in(text: str) -> Iterator[str]:
    r"""The paths that a text names.

    >>> sorted(paths_in("from discreet.misuse import (\n  join,\n  score as s,\n)\nSee `discreet.store.Store`, discreet.example"))
    ['discreet.misuse', 'discreet.misuse.join', 'discreet.misuse.score', 'discreet.store.Store']
    """
    yield from (path for path in PATH.findall(text) if path not in HOSTS)
    for module, names in IMPORT.findall(text):
        yield from (f"{module}.{name.split()[0]}" for name in names.strip("() \n").split(",") if name.strip())
    for module, row in MODULE_ROW.findall(text):
        yield f"discreet.{module}"
        yield from _names_of(f"discreet.{module}", NAME.findall(row))
    for module, table in SECTION.findall(text):
        yield from _names_of(module, (name for name in NAME.findall(table) if "." in name))


def _names_of(module: str, names: Iterable[str]) -> Iterator[str]:
    """Those names that belong to a module: `view(ledger, ...)` does, `masked`, a value, does not."""
    return (f"{module}.{name}" for name in names if leads_somewhere(f"{module}.{name}"))
