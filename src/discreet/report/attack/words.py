"""Amounts that are bounds: rounded so that the sentence stays true."""

from __future__ import annotations

import math

from discreet.report.attack.case import Case, Deterrents
from discreet.report.toolkit.words import about, amount


def at_least(number: float) -> str:
    """An amount from which something holds, rounded up to three digits.

    >>> at_least(16_442.3), at_least(3592.79), at_least(0.0), at_least(12.0)
    ('16,500', '3,600', '0', '12')
    """
    if number <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(number)) - 2)
    up = math.ceil(number / unit - 1e-9) * unit
    return amount(float(f"{up:.12g}"))


def expected(number: float) -> str:
    """An expected number of people.

    >>> expected(384.9), expected(0.31), expected(0.0), expected(2.34)
    ('about 385', '0.31', 'nobody', '2.3')
    """
    if number < 1e-9:
        return "nobody"
    return about(number) if number >= 10 else f"{number:.2g}"


def stakes(case: Case) -> str:
    """Who he is, by what he gains and risks."""
    attack = case.attack
    risks = f"risks a fine of {amount(attack.penalty)}" if attack.penalty and _fined(case) else "risks no fine"
    return f"An adversary who can gain {amount(attack.gain)} and {risks}"


def _fined(case: Case) -> bool:
    return case.attack.max_penalties is None or case.attack.max_penalties > 0


def ways(case: Case, found: Deterrents) -> list[str]:
    """What deters him from everybody, each as a phrase."""
    attack, phrases = case.attack, []
    if found.penalty is not None and found.penalty > attack.penalty:
        phrases.append(f"a fine of {at_least(found.penalty)}")
    if found.price is not None and found.price > attack.access_cost:
        phrases.append(f"a list that costs {at_least(found.price)}")
    if found.size is not None and found.size > 1:
        phrases.append(f"groups of at least {found.size:,} people who look alike")
    return phrases


def either(phrases: list[str]) -> str:
    """One of several.

    >>> either(["a"]), either(["a", "b", "c"])
    ('a', 'a, or b, or c')
    """
    return ", or ".join(phrases)
