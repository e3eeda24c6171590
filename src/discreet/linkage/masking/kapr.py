"""KAPR: from contributions of pairs to the score of a display and ledger amounts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import Refused, UsageError
from discreet.kernel import Amount, exact
from discreet.kernel.amounts import parts_down, parts_up

PARTS = 10**9
"""Into so many parts the ledger divides one: a pair is charged less than one part too much."""


@dataclass(frozen=True)
class Meter:
    """The score K = kappa / (2 n D) * sum over rows of (1/k) * (sum of p), for n pairs and D attributes.

    A budget is kept in *contributions*, which do not depend on n: 1 is one attribute of one record, disclosed in full
    and belonging to nobody else. Each pair stands in it with its contribution rounded up to a whole number of parts.
    What is spent is therefore always the sum over the pairs as they stand, whatever was opened in which order, and it
    exceeds the exact score by less than `slack`, however many steps there were.

    >>> meter = Meter(pairs=6, attributes=3)
    >>> meter.score([Fraction(27)]), meter.allowance("3/4"), meter.cost(Fraction(0), Fraction(1, 3))
    (Fraction(3, 4), Fraction(27, 1), Fraction(166666667, 500000000))
    """

    pairs: int
    attributes: int
    kappa: int = 1
    parts: int = PARTS

    def __post_init__(self) -> None:
        if self.pairs < 0 or self.attributes < 1 or self.kappa < 1 or self.parts < 1:
            raise UsageError(
                "A meter needs pairs, at least one attribute, and a kappa and parts of at least 1.",
                remedy="Meter(pairs=36, attributes=6)",
            )

    @property
    def scale(self) -> Fraction:
        """What a contribution of 1 adds to the score."""
        return Fraction(self.kappa, 2 * self.pairs * self.attributes) if self.pairs else Fraction(0)

    def score(self, contributions: Iterable[Fraction]) -> Fraction:
        """The score of a display with these pairs, exactly."""
        return self.scale * sum(contributions, start=Fraction(0))

    def price(self, before: Fraction, after: Fraction) -> Fraction:
        """By how much the score rises when a pair's contribution does, exactly."""
        return self.scale * (after - before)

    def check(self, anonymity: Iterable[int]) -> None:
        """Refuse a step that would leave fewer than kappa compatible base records of a row."""
        least = min(anonymity)
        if least < self.kappa:
            raise Refused(
                f"This would leave {least} compatible base records, fewer than the {self.kappa} that must remain.",
                remedy="Open another attribute, or decide with what is seen.",
            )

    # -- for the ledger -------------------------------------------------------------------------------------------

    def amount(self, contribution: Fraction) -> Fraction:
        """A contribution rounded up to whole parts: how a pair stands in the budget."""
        return Fraction(parts_up(contribution, self.parts), self.parts)

    def cost(self, before: Fraction, after: Fraction) -> Fraction:
        """What a step from one contribution to another is charged: whole parts, so that nothing is rounded again."""
        return self.amount(after) - self.amount(before)

    def allowance(self, limit: Amount) -> Fraction:
        """The budget for a limit of the score, rounded down to whole parts."""
        if not self.pairs:
            return Fraction(0)
        return Fraction(parts_down(exact(limit) / self.scale, self.parts), self.parts)

    def spent(self, amount: Fraction) -> Fraction:
        """The score that an amount spent stands for; at most `slack` above the exact one."""
        return self.scale * amount

    @property
    def slack(self) -> Fraction:
        """By how much what is spent may exceed the exact score, at most: kappa / (2 D parts)."""
        return self.scale * self.pairs / self.parts
