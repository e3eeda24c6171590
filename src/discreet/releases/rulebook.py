"""Rules of generalisation as plain values, so that a sealed manifest needs no policy file to be read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import UsageError
from discreet.kernel import AnyValue, Dates, Flat, Mask, Rule, Tree, Widths


def write_rule(rule: Rule) -> dict[str, Any]:
    """A rule as it can stand in JSON.

    >>> write_rule(Mask(5)), read_rule({"mask": 5})
    ({'mask': 5}, Mask(length=5))
    """
    match rule:
        case Flat():
            return {"flat": True}
        case Mask(length=length):
            return {"mask": length}
        case Widths(widths=widths):
            return {"widths": list(widths)}
        case AnyValue(label=label):
            return {"any": label}
        case Dates(units=units, format=style):
            return {"dates": list(units), "format": style}
        case Tree(rows=rows, name=name):
            return {"tree": [list(row) for row in rows], "name": name}
    raise UsageError(
        f"A {type(rule).__name__} cannot be written into a manifest.",
        remedy="Use the hierarchies that a policy file knows.",
    )


def read_rule(written: Mapping[str, Any]) -> Rule:
    """The rule that was written."""
    match written:
        case {"mask": length}:
            return Mask(length)
        case {"widths": widths}:
            return Widths(tuple(widths))
        case {"any": label}:
            return AnyValue(label)
        case {"dates": units, "format": style}:
            return Dates(tuple(units), style)
        case {"tree": rows, "name": name}:
            return Tree(tuple(tuple(row) for row in rows), name)
    return Flat()
