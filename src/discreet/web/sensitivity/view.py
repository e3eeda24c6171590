"""The values that experts are asked about, as a custodian types them: categories and ranges, one to a line.

A column stands in brackets, its values follow. `up to 250` is a range, `over 250` is what lies beyond; a group of values
is named, and its values are set apart by bars: `Heart: I21 | I50`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from discreet.misuse.elicitation import Item
from discreet.misuse.elicitation.items import REST
from discreet.web.framework.problems import Problem

FEWEST, MOST, COLUMNS = 2, 40, 12
LONGEST = 120
UPPER = re.compile(r"up to ([0-9]{1,15}(?:\.[0-9]{1,6})?)", re.ASCII)
OVER = re.compile(r"over [0-9]{1,15}(?:\.[0-9]{1,6})?", re.ASCII)
EXAMPLE = """[diagnosis]
Flu
Angina
Depression
HIV
any other value

[bill]
up to 100
up to 1000
over 1000
"""


def items_of(text: str) -> list[Item]:
    """The items that a text means; a Problem says in which line something is wrong.

    >>> [str(item) for item in items_of("[bill]\\nup to 100\\nover 100")]
    ['bill: up to 100', 'bill: over 100']
    """
    found: list[Item] = []
    column: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        words = " ".join(line.split())
        if not words:
            continue
        if len(words) > LONGEST:
            raise _wrong(number, f"is longer than {LONGEST} characters")
        if words.startswith("[") and words.endswith("]"):
            column = words[1:-1].strip()
            if not column:
                raise _wrong(number, "names no column")
        elif column is None:
            raise _wrong(number, "stands before the first column; a column is written [like this]")
        else:
            found.append(_item(column, words))
    _check(found)
    return found


def _item(column: str, words: str) -> Item:
    if (upper := UPPER.fullmatch(words)) is not None:
        return Item(column, words, upper=float(upper[1]))
    if words.lower() == REST or OVER.fullmatch(words):
        return Item(column, words)
    label, colon, members = words.partition(": ")
    if colon and "|" in members:
        return Item(column, label, values=tuple(one.strip() for one in members.split("|") if one.strip()))
    return Item(column, words, values=(words,))


def _check(items: Sequence[Item]) -> None:
    if not FEWEST <= len(items) <= MOST:
        raise _unfit(f"Experts can be asked about {FEWEST} to {MOST} values; these are {len(items)}.")
    if len({item.column for item in items}) > COLUMNS:
        raise _unfit(f"Experts can be asked about up to {COLUMNS} columns.")
    if len({(item.column, item.label) for item in items}) < len(items):
        raise _unfit("A value stands there twice.")
    for column in dict.fromkeys(item.column for item in items):
        _check_column([item for item in items if item.column == column])


def _check_column(items: Sequence[Item]) -> None:
    if sum(item.kind == "rest" for item in items) > 1:
        raise _unfit("A column has only one line for all other values.")
    listed = [value for item in items for value in item.values]
    if len(set(listed)) < len(listed):
        raise _unfit("A value stands in two groups.")
    bounds = [item.upper for item in items if item.upper is not None]
    if any(low >= high for low, high in pairwise(bounds)):
        raise _unfit("The bounds of ranges must rise from line to line.")


def _wrong(number: int, words: str) -> Problem:
    return _unfit(f"Line {number} {words}.")


def _unfit(words: str) -> Problem:
    return Problem(422, words, remedy="Correct the values and send the form again.")


def written(items: Sequence[Item]) -> str:
    """Items as they are typed."""
    lines: list[str] = []
    column = None
    for item in items:
        if item.column != column:
            lines += ["", f"[{item.column}]"]
            column = item.column
        one = item.values == (item.label,) or not item.values
        lines.append(item.label if one else f"{item.label}: {' | '.join(item.values)}")
    return "\n".join(lines).strip() + "\n"
