"""Preview of a hierarchy on a table: what each level shows, and how many people hold each value."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass

from discreet.kernel import Classes, Dates, Mask, Rule, Tree
from discreet.kernel.rules import FEW, Path
from discreet.kernel.serialise import json_of
from discreet.policy.hierarchy_files import writable

EXAMPLES = ("E11.9", "37")
"""Values that nobody holds, to show what a rule makes of them."""
BIRTH = datetime.date(1964, 8, 9)


@dataclass(frozen=True)
class LevelPreview:
    """One level of a hierarchy: its values, those that few people hold only as a number."""

    level: int
    values: int
    """Distinct values at this level."""
    shown: tuple[tuple[str, int], ...]
    """Values that at least five people hold, with their number; the commonest first."""
    few: int
    """Values that fewer people hold,"""
    few_people: int
    """and how many these are."""
    missing: int
    """People whose value is missing at this level."""

    to_dict = json_of(
        "level values few few_people missing",
        shown=lambda self: [{"value": value, "people": people} for value, people in self.shown],
    )


def preview(classes: Classes) -> Iterator[LevelPreview]:
    """Every level of the only column of some classes.

    >>> people = Classes.of(["zip"], [("11",), ("12",)], [7, 3], rules={"zip": Mask(2)})
    >>> [level.shown for level in preview(people)]
    [(('11', 7),), (('1*', 10),), (('**', 10),)]
    """
    for level in range(classes.columns[0].hierarchy.height):
        coarse = classes.at([level])
        held = {label: size for (label,), size in zip(coarse.tuples(), coarse.sizes.tolist(), strict=True)}
        missing = held.pop(None, 0)
        few = [people for people in held.values() if people < FEW]
        shown = [(label, people) for label, people in held.items() if label is not None and people >= FEW]
        shown.sort(key=lambda pair: (-pair[1], pair[0]))
        yield LevelPreview(level, len(held), tuple(shown), len(few), sum(few), missing)


def example(rule: Rule) -> Path | None:
    """What a rule makes of a value that nobody holds, or of the first that it lists."""
    values: tuple[str, ...] = EXAMPLES
    match rule:
        case Dates(format=style):
            values = (BIRTH.strftime(style) if style else BIRTH.isoformat(),)
        case Mask(length=length):
            values = (("1234567890" * length)[:length],)
        case Tree(rows=rows):
            values = (rows[0][0],)
    return next((path for value in values if (path := rule.path(value)) is not None), None)


@dataclass(frozen=True)
class BoundRows:
    """The rows of a hierarchy file for the values of a column."""

    rows: tuple[Path, ...]
    few: int
    """Values that fewer than five people hold."""
    few_people: int
    unwritable: int
    """Values that a file cannot hold, since there are line breaks in them."""

    @classmethod
    def of(cls, classes: Classes, *, bare: bool = False, every: bool = True) -> BoundRows:
        """From classes of one column; `bare` leaves the levels to fill in, `every` takes values that few people hold, too.

        >>> people = Classes.of(["zip"], [("11",), ("12",)], [7, 3], rules={"zip": Mask(2)})
        >>> BoundRows.of(people, bare=True, every=False).rows, BoundRows.of(people).rows
        ((('11', '*'),), (('11', '1*', '**'), ('12', '1*', '**')))
        """
        column = classes.columns[0]
        levels = range(column.hierarchy.height)
        maps = [column.hierarchy.map(0, level) for level in levels]
        rows, few, few_people, unwritable = [], 0, 0, 0
        for code, people in zip(classes.codes[0].tolist(), classes.sizes.tolist(), strict=True):
            labels = tuple(column.hierarchy.labels[level][maps[level][code]] for level in levels)
            path: Path = (labels[0], "*") if bare else labels
            if path[0] is None:
                continue
            few += people < FEW
            few_people += people if people < FEW else 0
            if people < FEW and not every:
                continue
            if writable(path):
                rows.append(path)
            else:
                unwritable += 1
        return cls(tuple(rows), few, few_people, unwritable)
