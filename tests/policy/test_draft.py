"""A drafted policy is a valid policy."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from discreet.policy import Draft, Policy, Role, write_draft
from discreet.policy.draft import confirmed

ROLES: st.SearchStrategy[Role] = st.sampled_from(["identifier", "quasi", "sensitive", "other", "drop"])
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)


@given(st.lists(NAMES, min_size=1, max_size=5, unique=True))
def test_any_column_name_survives_the_round_trip(names: list[str]) -> None:
    text = write_draft([Draft(name, "quasi", "why", '{ any = "*" }') for name in names], delimiter="\t")
    policy = Policy.from_dict(tomllib.loads(text))
    assert policy.quasi == tuple(names)
    assert policy.delimiter == "\t"


def test_the_reason_stands_beside_the_role() -> None:
    assert 'role = "quasi?"  # its name says' in write_draft([Draft("zip", "quasi", "its name says 'zip'")])


@given(st.lists(st.tuples(NAMES, ROLES), min_size=1, max_size=6, unique_by=lambda pair: pair[0]))
def test_no_role_of_a_draft_is_confirmed(columns: list[tuple[str, Role]]) -> None:
    text = write_draft([Draft(name, role, "why") for name, role in columns])
    policy = Policy.parse(text)
    assert dict(policy.roles) == dict(columns)
    assert policy.unconfirmed == tuple(policy.roles)
    assert Policy.parse(confirmed(text, policy.unconfirmed)).unconfirmed == ()
    assert "discreet policy confirm" in text


def test_many_categories_come_with_the_command_that_lists_them() -> None:
    text = write_draft([Draft("job title", "quasi", "why", '{ any = "*" }', values=14)])
    assert "# Its 14 values can be grouped: discreet hierarchy init DATA 'job title' --out FILE" in text
    assert Policy.parse(text).quasi == ("job title",)
