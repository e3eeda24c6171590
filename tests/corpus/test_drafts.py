"""Drafted roles and hierarchies on real tables that the rules of guesses do not know by heart."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

import discreet
from discreet.risk import Profile
from tests.corpus.tables import DRAFTED, OF_R, TABLES, RealTable, judged

BY_NAME = {table.name: table for table in DRAFTED}
OWN = [table.name for table in TABLES]
MATTER = ("identifier", "quasi")


@cache
def profiled(name: str) -> Profile:
    return discreet.profile(discreet.read(BY_NAME[name].read()), largest=1)


def pairs(*tables: RealTable) -> Counter[tuple[str, str]]:
    """Columns by judged and drafted role."""
    return Counter(
        (table.roles[column.name], column.role) for table in tables for column in profiled(table.name).columns
    )


def share_right(counted: Counter[tuple[str, str]]) -> float:
    return sum(number for (judged, drafted), number in counted.items() if judged == drafted) / counted.total()


def test_every_column_is_judged() -> None:
    assert set(judged()) == {*BY_NAME, *(table.name for table in OF_R)}
    for name, roles in ((table.name, table.roles) for table in DRAFTED):
        assert set(roles) == {column.name for column in profiled(name).columns} == set(BY_NAME[name].read().columns)


def test_what_matters_is_not_drafted_as_other() -> None:
    counted = pairs(*DRAFTED)
    matter = sum(number for (judged, _), number in counted.items() if judged in MATTER)
    ignored = sum(number for (judged, drafted), number in counted.items() if judged in MATTER and drafted == "other")
    assert ignored <= 0.02 * matter


def test_most_roles_are_right() -> None:
    """On tables of which nothing was seen when the rules were written, and a ratchet on all."""
    assert share_right(pairs(*(table for table in DRAFTED if table.seen == "nothing"))) >= 0.85
    assert share_right(pairs(*DRAFTED)) >= 0.86


def test_nearly_every_identifier_is_found() -> None:
    counted = pairs(*DRAFTED)
    assert counted["identifier", "identifier"] >= 0.9 * sum(
        number for (judged, _), number in counted.items() if judged == "identifier"
    )


@pytest.mark.parametrize("name", OWN)
def test_a_drafted_hierarchy_fits_its_own_column(name: str) -> None:
    """As `policy check --data` asks: every value is counted through its hierarchy."""
    policy = profiled(name).policy()
    policy = policy.confirm(*policy.unconfirmed)
    table = discreet.read(BY_NAME[name].read(), policy=policy)
    for column, classes in zip(policy.quasi, table.each(policy.quasi), strict=True):
        assert policy.rule(column).height > 1
        assert len(classes.at([height - 1 for height in classes.heights])) <= 3
