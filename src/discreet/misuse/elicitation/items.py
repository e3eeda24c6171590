"""Items that experts are asked about: categories and ranges; their scores as policy text."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from discreet.errors import DataError, UsageError
from discreet.kernel import Classes, Rule
from discreet.kernel.arrays import Floats
from discreet.kernel.serialise import json_of
from discreet.policy.draft import key_of

REST = "any other value"
FEWEST = 5
"""People who must share a value before experts see it: a rarer one could point at a person."""
MOST = 8
"""Values of a column that are asked about; the rest is one question."""


@dataclass(frozen=True)
class Item:
    """What could become known of a person: values of a column, or a range."""

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

    to_dict = json_of("column label values upper")


def categories(
    column: str,
    counts: Mapping[str, int],
    *,
    most: int = MOST,
    fewest: int = FEWEST,
    group: Callable[[str], str | None] | None = None,
) -> list[Item]:
    """Items of the most frequent values or groups, and one for all others.

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
    try:
        numbers = sorted((float(value), people) for value, people in counts.items())
    except ValueError:
        raise DataError(
            f"Column '{column}' should hold numbers, and holds something else.",
            remedy="Ask about it by value, or mend the column.",
        ) from None
    edges: list[float] = []
    seen, whole = 0, sum(people for _, people in numbers)
    for value, people in numbers:
        seen += people
        edge = 0.0 if value == 0 else round(value, 1 - math.floor(math.log10(abs(value))))
        if len(edges) < most - 1 and seen * most >= whole * (len(edges) + 1) and (not edges or edge > edges[-1]):
            edges.append(edge)
    edges = [edge for edge in edges if edge < numbers[-1][0]]
    if not edges:
        return [Item(column, REST)]
    between = [f"over {low:,g} up to {high:,g}" for low, high in itertools.pairwise(edges)]
    labels = [f"up to {edges[0]:,g}", *between]
    items = [Item(column, label, upper=edge) for label, edge in zip(labels, edges, strict=True)]
    return [*items, Item(column, f"over {edges[-1]:,g}")]


def numeric(values: Iterable[str]) -> bool:
    """Whether all values are numbers; codes with leading zeros are not.

    >>> numeric(["12", "-3.5", "0"]), numeric(["0115", "10115"]), numeric(["12", "many"])
    (True, False, False)
    """
    return all(re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", value) for value in values)


def check(items: Sequence[Item]) -> None:
    """Refuse a list about which nothing can be asked."""
    if len(items) < 2:
        raise DataError(
            "There are fewer than two values to ask about.",
            remedy='Give columns the role "sensitive" in the policy, and data in which they vary.',
        )
    if len({(item.column, item.label) for item in items}) < len(items):
        raise DataError("Two items have the same name.", remedy="Give every value of a column its own label.")


# Which values of a table to ask about: counted, never read row by row.
class CountedTable(Protocol):
    """A table that can be counted."""

    def classes(self, by: Sequence[str] | None = None, *, sensitive: Sequence[str] = ()) -> Classes:
        """People per value."""


def items_of(
    table: CountedTable,
    columns: Sequence[str],
    *,
    by_value: Sequence[str] = (),
    rules: Mapping[str, Rule] | None = None,
    levels: Mapping[str, int] | None = None,
    most: int = MOST,
    fewest: int = FEWEST,
) -> list[Item]:
    """Items of each column: groups at a level of its hierarchy, ranges, or values.

    Numbers in the columns `by_value` are taken as codes.
    """
    found: list[Item] = []
    for column in columns:
        classes = table.classes([column])
        values = [value for (value,) in classes.tuples()]
        counts = {value: int(size) for value, size in zip(values, classes.sizes, strict=True) if value is not None}
        level = (levels or {}).get(column, 0)
        if level:
            rule = (rules or {}).get(column)
            if rule is None or not 0 < level < rule.height:
                known = "none" if rule is None else f"1 to {rule.height - 1}"
                raise UsageError(
                    f"Column '{column}' cannot be asked about at level {level}; its hierarchy has {known}.",
                    remedy="Choose another level, or give the column a hierarchy in the policy.",
                )
            paths = {value: rule.path(value) for value in counts}
            groups = {value: path[level] for value, path in paths.items() if path is not None}
            found += categories(column, counts, most=most, fewest=fewest, group=groups.get)
        elif len(counts) > most and column not in by_value and numeric(counts):
            found += ranges(column, counts)
        else:
            found += categories(column, counts, most=most, fewest=fewest)
    check(found)
    return found


# The scores as the policy file has them: a section [sensitivity.COLUMN] for each column; see `Sensitivity.version`.
DIGITS = 3


def sections(items: Sequence[Item], scores: Floats | Sequence[float]) -> dict[str, dict[str, Any]]:
    """Per column `values`, `bins` and `otherwise`, as `Sensitivity.from_dict` reads them.

    A value about which nobody was asked counts as the worst of its column.

    >>> sections([Item("account", "Gold", ("Gold",)), Item("account", "White", ("White",))], [1.0, 0.1])
    {'account': {'values': {'Gold': 1.0, 'White': 0.1}, 'otherwise': 1.0}}
    """
    found: dict[str, dict[str, Any]] = {}
    for item, score in zip(items, scores, strict=True):
        section, rounded = found.setdefault(item.column, {}), round(float(score), DIGITS)
        if item.values:
            section.setdefault("values", {}).update(dict.fromkeys(item.values, rounded))
        elif item.upper is not None:
            section.setdefault("bins", []).append([item.upper, rounded])
        else:
            section["otherwise"] = rounded
    for section in found.values():
        listed = [*section.get("values", {}).values(), *(score for _, score in section.get("bins", []))]
        section["otherwise"] = section.pop("otherwise", max(listed, default=1.0))
    return found


def toml(content: Mapping[str, Mapping[str, Any]], *, notes: Sequence[str] = (), elicited: str = "") -> str:
    """The sections as text for a policy, with the day of elicitation.

    >>> print(toml({"account": {"values": {"Gold": 1.0}, "bins": [[100, 0.1]], "otherwise": 1.0}}), end="")
    [sensitivity.account]
    bins = [[100.0, 0.1]]
    otherwise = 1.0
    <BLANKLINE>
    [sensitivity.account.values]
    Gold = 1.0
    """
    printable = ["".join(letter if letter.isprintable() else " " for letter in note) for note in notes]
    parts = ["".join(f"# {note}\n" for note in printable)] if notes else []
    for column, section in content.items():
        lines = [f"[sensitivity.{key_of(column)}]"]
        if "bins" in section:
            bins = ", ".join(f"[{float(upper)}, {float(score)}]" for upper, score in section["bins"])
            lines.append(f"bins = [{bins}]")
        lines.append(f"otherwise = {float(section['otherwise'])}")
        if elicited:
            lines.append(f'elicited = "{elicited}"')
        if "values" in section:
            lines += ["", f"[sensitivity.{key_of(column)}.values]"]
            lines += [f"{key_of(value)} = {float(score)}" for value, score in section["values"].items()]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)
