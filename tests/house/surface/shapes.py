"""The shape of data: which keys there are and of which JSON type, without values.

Keys that come from the data themselves (names of columns, of people, of events) are written `*`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

Shape = dict[str, set[str]]
FROM_DATA = frozenset({
    "amount", "birth_date", "birth_year", "born", "day", "debt", "diagnosis", "given_name", "illness", "income", "name", "national_id",
    "note", "person_id", "plan", "race", "sex", "surname", "visits", "year", "zip", "ann", "ben", "eva", "eve", "north", "south", "west",
})  # fmt: skip
"""Columns and people of the sample data."""
BY_VALUE = re.compile(r"\.(choices|details|events|values)$")
"""Mappings whose keys are answers, facts about an event, event codes or values."""
FOREIGN = re.compile(r"\.splink$")
"""Content in a format of another package."""


def shape(content: Any, path: str = "") -> Shape:
    """Types by path; `[]` is an element of a list.

    >>> shape({"a": [1, None], "b": {"zip": "x"}}) == {
    ...     ".": {"object"}, ".a": {"array"}, ".a[]": {"null", "number"}, ".b": {"object"}, ".b.*": {"string"}}
    True
    """
    top: Shape = {path or ".": {_type(content)}}
    if FOREIGN.search(path):
        return top
    if isinstance(content, Mapping):
        hidden = bool(BY_VALUE.search(path)) or (bool(content) and FROM_DATA.issuperset(content))
        inner = (shape(value, f"{path}.{'*' if hidden else key}") for key, value in content.items())
        return merged([top, *inner])
    if isinstance(content, list | tuple):
        return merged([top, *(shape(element, f"{path}[]") for element in content)])
    return top


def merged(shapes: Iterable[Shape]) -> Shape:
    """The union of shapes."""
    union: Shape = {}
    for part in shapes:
        for path, types in part.items():
            union.setdefault(path, set()).update(types)
    return union


def lines(name: str, content: Shape) -> dict[str, str]:
    """A shape as items."""
    return {f"{name} {path}": " or ".join(sorted(types)) for path, types in sorted(content.items())}


def without_chance(present: Mapping[str, str], agreed: Mapping[str, str]) -> dict[str, str]:
    """The present items, with what these data happen to hide taken from the agreed ones.

    Below a null or an empty list nothing can be seen, so nothing there is lost or added. A key that an object no longer
    has is lost all the same.
    """
    visible = {name: types for name, types in present.items() if name in agreed or not _is_hidden(name, agreed)}
    for name, types in agreed.items():
        if name not in present:
            hidden = _is_hidden(name, present)
        else:
            hidden = _types(present[name]) <= _types(types) or not _types(types)
        if hidden:
            visible[name] = types
    return visible


def _types(text: str) -> set[str]:
    """The types in a line, but for null."""
    return set(text.split(" or ")) - {"null"}


def _is_hidden(name: str, items: Mapping[str, str]) -> bool:
    """Whether the nearest item above a path is null or has no elements."""
    label, _, path = name.rpartition(" ")
    steps = re.findall(r"\[\]|\.[^.\[]+", path)
    for length in range(len(steps) - 1, -1, -1):
        above = items.get(f"{label} {''.join(steps[:length]) or '.'}")
        if above is not None:
            return above == "null" or steps[length] in ("[]", ".*")
    return False


def _type(content: Any) -> str:
    if content is None:
        return "null"
    if isinstance(content, bool):
        return "boolean"
    if isinstance(content, int | float):
        return "number"
    if isinstance(content, str):
        return "string"
    return "object" if isinstance(content, Mapping) else "array"
