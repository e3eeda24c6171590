"""What is certain of every row: columns whose value is one of a few, and columns that are equal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce

from discreet.kernel.hierarchy import Label

Values = frozenset[Label] | None
"""The values a column may have; None where it has one value, but not one that can be told from the request."""

EVERYTHING = "*"
"""Stands for all columns, where a whole row is compared."""


@dataclass(frozen=True)
class Facts:
    """Certain of every row that a condition lets through.

    >>> gold, silver = Facts({"account": frozenset(["Gold"])}), Facts({"account": frozenset(["Silver"])})
    >>> either(gold, silver).fixed == {"account": frozenset(["Gold", "Silver"])}, either(gold, NOTHING).fixed
    (True, {})
    """

    fixed: Mapping[str, Values] = field(default_factory=dict)
    links: frozenset[frozenset[str]] = frozenset()
    """Pairs of columns that are equal."""
    possible: bool = True
    """Whether any row can pass at all."""

    def spread(self) -> Facts:
        """The same with what follows from columns being equal."""
        fixed = dict(self.fixed)
        changed = True
        while changed:
            changed = False
            for pair in self.links:
                known = [name for name in pair if name in fixed]
                if len(known) == 1:
                    (other,) = pair - set(known)
                    fixed[other] = fixed[known[0]]
                    changed = True
        return Facts(fixed, self.links, self.possible)


NOTHING = Facts()
IMPOSSIBLE = Facts(possible=False)


def both(one: Facts, other: Facts) -> Facts:
    """Certain when two conditions hold."""
    if not (one.possible and other.possible):
        return IMPOSSIBLE
    fixed = dict(one.fixed)
    for name, values in other.fixed.items():
        # Tables may share the name of a column, so one condition does not narrow down what another left open.
        fixed[name] = _widened(fixed[name], values) if name in fixed else values
    return Facts(fixed, one.links | other.links)


def either(one: Facts, other: Facts) -> Facts:
    """Certain when at least one of two conditions holds: only what both make certain."""
    if not one.possible or not other.possible:
        return other if one.possible is False else one
    one, other = one.spread(), other.spread()
    shared = [name for name in one.fixed if name in other.fixed]
    return Facts({name: _widened(one.fixed[name], other.fixed[name]) for name in shared}, one.links & other.links)


def _widened(one: Values, other: Values) -> Values:
    return None if one is None or other is None else one | other


def all_of(parts: Iterable[Facts]) -> Facts:
    """Certain when every condition holds."""
    return reduce(both, parts, NOTHING)


def any_of(parts: Iterable[Facts]) -> Facts:
    """Certain when at least one of some conditions holds."""
    return reduce(either, parts, IMPOSSIBLE)
