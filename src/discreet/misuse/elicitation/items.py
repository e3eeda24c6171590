"""What experts are asked about: values of sensitive columns, as categories and ranges, never as somebody's record."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import DataError

REST = "any other value"
FEWEST = 5
"""People who must share a value before experts see it: a rarer one could point at somebody."""
MOST = 8
"""Values of a column that are asked about; the rest is one question."""


@dataclass(frozen=True)
class Item:
    """One thing that could become known of a person: some values of a column, or a range."""

    column: str
    label: str
    values: tuple[str, ...] = ()
    """The values it stands for; empty for a range and for the rest."""
    upper: float | None = None
    """The end of a range, which belongs to it."""

    @property
    def kind(self) -> str:
        """`values`, `range` or `rest`."""
        return "values" if self.values else "range" if self.upper is not None else "rest"

    def __str__(self) -> str:
        return f"{self.column}: {self.label}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"column": self.column, "label": self.label, "values": list(self.values), "upper": self.upper}


def categories(
    column: str,
    counts: Mapping[str, int],
    *,
    most: int = MOST,
    fewest: int = FEWEST,
    group: Callable[[str], str | None] | None = None,
) -> list[Item]:
    """The most frequent values, or groups of values, of a column, and one item for all others.

    >>> [item.label for item in categories("illness", {"flu": 40, "angina": 9, "gout": 1})]
    ['flu', 'angina', 'any other value']
    """
    members: dict[str, list[str]] = {}
    people: dict[str, int] = {}
    for value, number in sorted(counts.items()):
        name = value if group is None else group(value)
        if name is not None:
            members.setdefault(name, []).append(value)
            people[name] = people.get(name, 0) + number
    frequent = sorted((name for name in members if people[name] >= fewest), key=lambda name: (-people[name], name))
    shown = frequent if len(frequent) <= most else frequent[: most - 1]
    found = [Item(column, name, values=tuple(members[name])) for name in shown]
    whole = sum(len(item.values) for item in found) == len(counts)
    return found if whole and found else [*found, Item(column, REST)]


def ranges(column: str, counts: Mapping[str, int], *, most: int = 5) -> list[Item]:
    """A numeric column in ranges of about as many people each, between round numbers.

    >>> [item.label for item in ranges("bill", {str(amount): 1 for amount in range(1, 1001)}, most=4)]
    ['up to 250', 'over 250 up to 500', 'over 500 up to 750', 'over 750']
    """
    numbers = sorted((_number(column, value), people) for value, people in counts.items())
    edges = _edges(numbers, most)
    if not edges:
        return [Item(column, REST)]
    labels = [
        f"up to {edges[0]:,g}",
        *(f"over {low:,g} up to {high:,g}" for low, high in itertools.pairwise(edges)),
    ]
    found = [Item(column, label, upper=edge) for label, edge in zip(labels, edges, strict=True)]
    return [*found, Item(column, f"over {edges[-1]:,g}")]


def numeric(values: Iterable[str]) -> bool:
    """Whether all values are numbers; codes with leading zeros are not.

    >>> numeric(["12", "-3.5", "0"]), numeric(["0115", "10115"]), numeric(["12", "many"])
    (True, False, False)
    """
    return all(re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", value) for value in values)


def _number(column: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise DataError(
            f"Column '{column}' should hold numbers, and holds something else.",
            remedy="Ask about it by value, or mend the column.",
        ) from None


def _edges(numbers: Sequence[tuple[float, int]], most: int) -> list[float]:
    whole = sum(people for _, people in numbers)
    edges: list[float] = []
    seen = 0
    for value, people in numbers:
        seen += people
        edge = _rounded(value)
        if len(edges) < most - 1 and seen * most >= whole * (len(edges) + 1) and (not edges or edge > edges[-1]):
            edges.append(edge)
    return [edge for edge in edges if edge < numbers[-1][0]]


def _rounded(value: float) -> float:
    """Two digits that say something."""
    if value == 0:
        return 0.0
    return round(value, 1 - math.floor(math.log10(abs(value))))


def check(items: Sequence[Item]) -> None:
    """Refuse a list about which nothing can be asked."""
    if len(items) < 2:
        raise DataError(
            "There are fewer than two values to ask about.",
            remedy='Give columns the role "sensitive" in the policy, and data in which they vary.',
        )
    if len({(item.column, item.label) for item in items}) < len(items):
        raise DataError("Two items have the same name.", remedy="Give every value of a column its own label.")
