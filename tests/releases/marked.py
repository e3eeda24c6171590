"""A generated state, released with marks: what the tests of marks and of attacks look at."""

from __future__ import annotations

from functools import lru_cache

import polars

import discreet
from discreet.anonymity import anonymise
from discreet.kernel import Classes
from discreet.people import State, generate
from discreet.policy import Policy
from discreet.releases.marks.selection import Marking, mark
from discreet.releases.population_link import Linked
from discreet.sources import Table

KEY = bytes(range(32))
COLUMNS = ("zip", "sex", "birth_year", "diagnosis", "income", "plan", "visits")
POLICY = Policy.from_dict(
    {
        "columns": {
            "zip": {"role": "quasi", "hierarchy": {"mask": 5}},
            "sex": {"role": "quasi", "hierarchy": {"any": "Person"}},
            "birth_year": {"role": "quasi", "hierarchy": {"widths": [2, 4, 8]}},
        }
    }
)


@lru_cache(maxsize=4)
def state(people: int = 500_000, share: float = 0.02, seed: int = 3) -> tuple[Table, Classes]:
    """A sample of a generated state, and the state counted."""
    everybody = generate(State.three(people), seed=seed, columns=COLUMNS)
    sample = everybody.sample(share, seed=seed + 1)
    frame = polars.DataFrame({name: sample.column(name) for name in COLUMNS})
    quasi = polars.DataFrame({name: everybody.column(name) for name in POLICY.quasi})
    return discreet.read(frame, policy=POLICY), discreet.read(quasi, policy=POLICY).classes()


@lru_cache(maxsize=4)
def linked(people: int = 500_000, share: float = 0.02, seed: int = 3) -> Linked:
    """The sample at its best node, beside the state."""
    table, everybody = state(people, share, seed)
    return Linked.of(anonymise(table, k=5, suppression=0.1, loss="dm_star"), everybody)


@lru_cache(maxsize=4)
def marking(people: int = 500_000, share: float = 0.02, seed: int = 3) -> Marking:
    """Its marks."""
    return mark(linked(people, share, seed), state(people, share, seed)[0], key=KEY, release="spring")


@lru_cache(maxsize=1)
def marking_without_rows() -> Marking:
    """The same without row marks."""
    return mark(linked(), state()[0], key=KEY, release="spring", single_rows=False)
