"""Small states with the hierarchies of the AnonTokens paper."""

from __future__ import annotations

from functools import cache

from discreet.kernel import AnyValue, Classes, Mask, Rule, Widths
from discreet.people import State, counted, generate

RULES: dict[str, Rule] = {"zip": Mask(5), "sex": AnyValue("Person"), "birth_year": Widths((2, 4, 8))}
"""60 nodes."""


@cache
def state_three(people: int, share: float = 0.1) -> tuple[Classes, Classes]:
    """A sample of a state as dense as State 3, and the state."""
    everybody = generate(State.three(people), seed=1, columns=tuple(RULES))
    return counted(everybody.sample(share, seed=2), rules=RULES), counted(everybody, rules=RULES)
