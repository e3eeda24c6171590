"""How large the core is, with all that it needs, where the pinned versions are installed."""

from __future__ import annotations

import re
from importlib import metadata

from packaging.requirements import Requirement

from tests.packaging.building import ROOT
from tests.packaging.test_archives import PROJECT


def needed(wanted: list[str]) -> set[str]:
    """The packages that these bring, and those that come with them, without extras."""
    found: set[str] = set()
    waiting = [Requirement(one) for one in wanted]
    while waiting:
        one = waiting.pop()
        if one.name in found or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        found.add(one.name)
        waiting += [Requirement(other) for other in metadata.requires(one.name) or []]
    return found


def megabytes(package: str) -> float:
    """Of the files that were installed, without what Python compiles on the way."""
    files = [file.locate() for file in metadata.files(package) or [] if file.suffix != ".pyc"]
    return sum(file.stat().st_size for file in files if file.exists()) / 1e6


def test_the_core_is_as_large_as_the_page_says() -> None:
    page = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    said = re.search(r"pydantic: about (\d+) MB", page)
    assert said
    names = needed(PROJECT["dependencies"])
    assert {"numpy", "duckdb", "pydantic-core"} <= names
    assert 0.85 <= sum(map(megabytes, names)) / int(said[1]) <= 1.15
