"""Constraints that hold for every row: columns with few possible values, and equal columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from discreet.kernel.arrays import Label

Values = frozenset[Label] | None
"""The values a column may have; None where it has one value, but not one that can be told from the request."""

EVERYTHING = "*"
"""Stands for all columns, where a whole row is compared."""


@dataclass(frozen=True)
class Facts:
    """Certain of every row that a condition lets through.

    >>> gold, silver = Facts({"account": frozenset(["Gold"])}), Facts({"account": frozenset(["Silver"])})
    >>> any_of([gold, silver]).fixed == {"account": frozenset(["Gold", "Silver"])}, any_of([gold, NOTHING]).fixed
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
    return all_of([one, other])


def all_of(parts: Iterable[Facts]) -> Facts:
    """Certain when every condition holds."""
    every = list(parts)
    if not all(part.possible for part in every):
        return IMPOSSIBLE
    names = dict.fromkeys(name for part in every for name in part.fixed)
    # Tables may share the name of a column, so one condition does not narrow down what another left open.
    fixed = {name: _any_value(part.fixed[name] for part in every if name in part.fixed) for name in names}
    return Facts(fixed, frozenset().union(*(part.links for part in every)))


def any_of(parts: Iterable[Facts]) -> Facts:
    """Certain when one of some conditions holds: only what all make certain."""
    some = [part.spread() for part in parts if part.possible]
    if not some:
        return IMPOSSIBLE
    names = [name for name in some[0].fixed if all(name in part.fixed for part in some)]
    fixed = {name: _any_value(part.fixed[name] for part in some) for name in names}
    return Facts(fixed, frozenset.intersection(*(part.links for part in some)))


def _any_value(values: Iterable[Values]) -> Values:
    listed = list(values)
    return None if None in listed else frozenset().union(*(one for one in listed if one is not None))
