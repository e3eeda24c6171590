"""A drafted policy is a valid policy."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from discreet.policy import Draft, Policy, write_draft

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)


@given(st.lists(NAMES, min_size=1, max_size=5, unique=True))
def test_any_column_name_survives_the_round_trip(names: list[str]) -> None:
    text = write_draft([Draft(name, "quasi", "why", '{ any = "*" }') for name in names], delimiter="\t")
    policy = Policy.from_dict(tomllib.loads(text))
    assert policy.quasi == tuple(names)
    assert policy.delimiter == "\t"


def test_the_reason_stands_beside_the_role() -> None:
    assert 'role = "quasi"  # its name says' in write_draft([Draft("zip", "quasi", "its name says 'zip'")])
