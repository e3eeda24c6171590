"""Names that findings, figures and tables share."""

from __future__ import annotations

from discreet.attacker.case_study import CONSTANT, ONCE, RISING

NAMES = {
    CONSTANT: "Constant detection, unlimited penalties",
    ONCE: "Constant detection, one penalty",
    RISING: "Rising detection, unlimited penalties",
}
"""The three settings."""


def ends(sizes: tuple[int, int] | None) -> str:
    """Group sizes from one to another.

    >>> ends((14, 28)), ends((3, 3)), ends(None)
    ('14 to 28', '3', 'no size')
    """
    if sizes is None:
        return "no size"
    first, last = sizes
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"
