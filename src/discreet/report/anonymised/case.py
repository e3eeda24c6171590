"""One anonymised table with the risk before and after: the facts that words and pictures share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.anonymity import Anonymised
from discreet.anonymity.criteria import Requirement, Size
from discreet.kernel.arrays import Ints
from discreet.risk import Assessment, Reidentification

SAME = 1e-9


@dataclass(frozen=True)
class Kept:
    """What became of one column."""

    name: str
    level: int | None
    """None where values were recoded class by class."""
    top: int
    """Its coarsest level."""
    share: float
    """How much of its information is kept."""
    untouched: bool
    before: int
    """Values that occurred."""
    after: int
    """Values that are published."""

    @property
    def gone(self) -> bool:
        """Whether nothing is left of it."""
        return self.share < SAME and self.after <= 1


@dataclass(frozen=True)
class Case:
    """The result, and what it is compared with."""

    result: Anonymised
    before: Assessment
    after: Assessment | None
    """None where nobody is left."""

    @classmethod
    def of(cls, result: Anonymised, before: Assessment, after: Assessment | None) -> Case:
        """With what is measured on nobody left out."""
        return cls(result, before, after if after is not None and after.records and result.classes else None)

    @property
    def records(self) -> int:
        """People in the data."""
        return self.result.records

    @property
    def suppressed(self) -> int:
        """People who are left out."""
        return self.result.suppressed

    @property
    def published(self) -> int:
        """People who are published."""
        return self.records - self.suppressed

    @property
    def by_class(self) -> bool:
        """Whether values were recoded class by class, not to one level per column."""
        return not self.result.levels

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What was required, where the result says so in more than words."""
        return () if self.result.limits is None else tuple(self.result.limits.requirements)

    @property
    def k(self) -> int | None:
        """The k that was asked for."""
        return max((one.k for one in self.requirements if isinstance(one, Size)), default=None)

    @property
    def suppressible(self) -> int | None:
        """How many people might be left out, where the result says so."""
        return None if self.result.limits is None else int(self.result.limits.suppressible)

    @cached_property
    def columns(self) -> tuple[Kept, ...]:
        """What became of each column."""
        return tuple(self._columns())

    def _columns(self) -> Iterator[Kept]:
        recoding, levels, utility = self.result.recoding, self.result.levels, self.result.utility()
        untouched = 1 - self.suppressed / self.records
        for column, codes, published in zip(
            recoding.classes.columns, recoding.classes.codes, recoding.codes, strict=True
        ):
            share, level = min(1.0, max(0.0, utility[column.name])), levels.get(column.name)
            same = level == column.level if level is not None else share > untouched - SAME
            yield Kept(
                column.name,
                level,
                column.hierarchy.height - 1,
                share,
                same and self.published > 0,
                _distinct(codes),
                _distinct(published[recoding.kept]),
            )

    @property
    def views(self) -> tuple[str, Reidentification, Reidentification] | None:
        """The adversary that both sides know, before and after."""
        if self.after is None:
            return None
        if self.before.presence is not None and self.after.presence is not None:
            return "journalist", self.before.journalist, self.after.journalist
        return "prosecutor", self.before.prosecutor, self.after.prosecutor

    @property
    def same_threshold(self) -> bool:
        """Whether people at risk can be compared."""
        return self.after is not None and math.isclose(self.after.threshold, self.before.threshold)

    @property
    def exceeded(self) -> bool:
        """Whether more people are at risk than the limits of the data allow."""
        if self.after is None:
            return False
        # Published classes know no policy, so that their own limit may be the default.
        return self.after.binding.at_risk > self.before.allowed_at_risk if self.same_threshold else self.after.exceeded


def _distinct(codes: Ints) -> int:
    return len(np.unique(codes))
