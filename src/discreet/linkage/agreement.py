"""How far people agree beyond chance: Cohen's kappa for two, Fleiss' kappa for any number. Exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction

from discreet.errors import UsageError


def agreement_of_two(first: Sequence[Hashable], second: Sequence[Hashable]) -> Fraction | None:
    """Cohen's kappa (Cohen 1960): (observed - expected) / (1 - expected) agreement of two people on the same pairs.

    None where both always give one and the same answer, so that there is nothing beyond chance to see.

    >>> agreement_of_two("yynnyynnyy", "yynnyyyynn")
    Fraction(1, 6)
    """
    if len(first) != len(second) or not first:
        raise UsageError(
            "Two people are compared on the same pairs, at least one.", remedy="Give equally many answers."
        )
    total = len(first)
    observed = Fraction(sum(a == b for a, b in zip(first, second, strict=True)), total)
    left, right = Counter(first), Counter(second)
    expected = sum((Fraction(left[answer] * right[answer], total * total) for answer in left), start=Fraction(0))
    return _beyond(observed, expected)


def agreement_of_many(answers: Sequence[Sequence[Hashable]]) -> Fraction | None:
    """Fleiss' kappa (Fleiss 1971): one row of answers per pair, equally many each, by whoever saw it.

    >>> agreement_of_many(["yyy", "yyn", "nnn", "ynn"])
    Fraction(1, 3)
    """
    if not answers or len({len(row) for row in answers}) != 1 or len(answers[0]) < 2:
        raise UsageError(
            "Every pair needs equally many answers, at least two.", remedy="Leave out the pairs that have fewer."
        )
    people, pairs = len(answers[0]), len(answers)
    counts = [Counter(row) for row in answers]
    agreeing = sum(count * (count - 1) for row in counts for count in row.values())
    observed = Fraction(agreeing, pairs * people * (people - 1))
    totals = sum(counts, Counter())
    expected = sum((Fraction(total * total, (pairs * people) ** 2) for total in totals.values()), start=Fraction(0))
    return _beyond(observed, expected)


def _beyond(observed: Fraction, expected: Fraction) -> Fraction | None:
    return None if expected == 1 else (observed - expected) / (1 - expected)
