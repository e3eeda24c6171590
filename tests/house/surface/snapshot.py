"""The agreed lists: read, compared, renewed on purpose."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.house.surface.shapes import without_chance

FOLDER = Path(__file__).parent / "snapshot"
VARIABLE = "DISCREET_RENEW_SURFACE"
COMMAND = f"{VARIABLE}=1 python -m pytest -n0 tests/house/test_surface.py"
MOST_SHOWN = 60
"""Differences of one kind that a failure shows."""
Items = dict[str, str]


def read(kind: str) -> Items:
    """The agreed items of a kind; empty while there is no list."""
    path = FOLDER / f"{kind}.txt"
    return _parsed(path.read_text(encoding="utf-8")) if path.exists() else {}


def written(items: Mapping[str, str]) -> str:
    """One item a line, sorted."""
    assert not [name for name in items if ": " in name], "a colon and a blank end a name"
    return "".join(f"{' '.join(f'{name}: {items[name]}'.split())}\n" for name in sorted(items))


def _parsed(text: str) -> Items:
    return {name: description for name, _, description in (line.partition(": ") for line in text.splitlines())}


def compare(
    kind: str,
    items: Mapping[str, str],
    *,
    headline: str = "What users rely on has changed.",
    depends_on_data: bool = False,
) -> None:
    """Fail with what was lost, changed and added; or renew the list, where the environment asks for it.

    With `depends_on_data`, a null or an empty list that hides what is below it is not a difference.
    """
    path = FOLDER / f"{kind}.txt"
    if os.environ.get(VARIABLE) == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(written(items), encoding="utf-8")
        pytest.skip(f"{path.name} was renewed")
    agreed, present = read(kind), _parsed(written(items))
    lines = list(difference(agreed, without_chance(present, agreed) if depends_on_data else present))
    if lines:
        file = path.relative_to(Path(__file__).parents[3]).as_posix()
        advice = f"If the change is intended, run\n    {COMMAND}\nand commit {file} with the reason."
        pytest.fail("\n".join([headline, *lines, "", advice]), pytrace=False)


def difference(agreed: Mapping[str, str], present: Mapping[str, str]) -> Iterator[str]:
    """Lines that say what differs; none where nothing does."""
    both = sorted(name for name in agreed.keys() & present.keys() if agreed[name] != present[name])
    groups = {
        "Lost": [f"- {name}: {agreed[name]}" for name in sorted(agreed.keys() - present.keys())],
        "Changed": [f"  {name}\n      was {agreed[name]}\n      is  {present[name]}" for name in both],
        "Added": [f"+ {name}: {present[name]}" for name in sorted(present.keys() - agreed.keys())],
    }
    for title, lines in groups.items():
        if lines:
            yield from ["", f"{title} ({len(lines)}):", *lines[:MOST_SHOWN]]
        if len(lines) > MOST_SHOWN:
            yield f"  ... and {len(lines) - MOST_SHOWN} more"
