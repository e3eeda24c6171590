"""Names and sentences that findings, figures, tables and the command share."""

from __future__ import annotations

from discreet.reference.case_study import CONSTANT, ONCE, RISING

NAMES = {
    CONSTANT: "Constant detection, unlimited penalties",
    ONCE: "Constant detection, one penalty",
    RISING: "Rising detection, unlimited penalties",
}
"""The three settings."""
BRIEF = {CONSTANT: "constant detection", ONCE: "one penalty", RISING: "rising detection"}
"""The same within a sentence."""
OWN = (
    "This is our own case study after Xia et al. (2015), not a reproduction of theirs: the adversary's amounts are the "
    "printed ones, but the people are others, the registry is the whole population instead of a sample of it, and the five "
    "statements are not the paper's five findings."
)


def ends(sizes: tuple[int, int] | None) -> str:
    """Group sizes from one to another.

    >>> ends((14, 28)), ends((3, 3)), ends(None)
    ('14 to 28', '3', 'no size')
    """
    if sizes is None:
        return "no size"
    first, last = sizes
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"
