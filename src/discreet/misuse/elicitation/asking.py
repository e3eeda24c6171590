"""Which values of a table to ask about: counted, never read row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from discreet.errors import UsageError
from discreet.kernel import Classes, Rule
from discreet.misuse.elicitation.items import FEWEST, MOST, Item, categories, check, numeric, ranges


class Asked(Protocol):
    """A table that can be counted."""

    def classes(self, by: Sequence[str] | None = None, *, sensitive: Sequence[str] = ()) -> Classes:
        """People per value."""
        ...


def items_of(
    table: Asked,
    columns: Sequence[str],
    *,
    by_value: Sequence[str] = (),
    rules: Mapping[str, Rule] | None = None,
    levels: Mapping[str, int] | None = None,
    most: int = MOST,
    fewest: int = FEWEST,
) -> list[Item]:
    """The items of each column: groups at a level of its hierarchy, ranges of numbers, or values.

    Numbers in the columns `by_value` are taken as codes.
    """
    found: list[Item] = []
    for column in columns:
        counts = _counts(table, column)
        level = (levels or {}).get(column, 0)
        if level:
            found += _grouped(column, counts, (rules or {}).get(column), level, most, fewest)
        elif len(counts) > most and column not in by_value and numeric(counts):
            found += ranges(column, counts)
        else:
            found += categories(column, counts, most=most, fewest=fewest)
    check(found)
    return found


def _counts(table: Asked, column: str) -> dict[str, int]:
    classes = table.classes([column])
    values = [value for (value,) in classes.tuples()]
    return {value: int(size) for value, size in zip(values, classes.sizes, strict=True) if value is not None}


def _grouped(column: str, counts: dict[str, int], rule: Rule | None, level: int, most: int, fewest: int) -> list[Item]:
    if rule is None or not 0 < level < rule.height:
        levels = "none" if rule is None else f"1 to {rule.height - 1}"
        raise UsageError(
            f"Column '{column}' cannot be asked about at level {level}; its hierarchy has {levels}.",
            remedy="Choose another level, or give the column a hierarchy in the policy.",
        )
    known = rule

    def group(value: str) -> str | None:
        path = known.path(value)
        return None if path is None else path[level]

    return categories(column, counts, most=most, fewest=fewest, group=group)
