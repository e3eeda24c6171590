"""Preview of hierarchies: counts are right, and what few people hold is not shown."""

from __future__ import annotations

import pytest
from hypothesis import given

from discreet.kernel import AnyValue, AutoMask, Cuts, Dates, Flat, Mask, Prefix, Rule, TopBottomCode, Tree, Widths
from discreet.kernel.rules import FEW
from discreet.risk.hierarchy_preview import BoundRows, example, preview
from tests.kernel.strategies import Listing, listings, some


@some
@given(listings(columns=1, fewest=1, least=1))
def test_levels_are_counted_as_by_hand(listing: Listing) -> None:
    for found in preview(listing.classes()):
        counted = {label: people for (label,), people in listing.counted([found.level]).items()}
        missing = counted.pop(None, 0)
        many = {label: people for label, people in counted.items() if people >= FEW}
        assert dict(found.shown) == many
        assert [people for _, people in found.shown] == sorted(many.values(), reverse=True)
        assert (found.values, found.missing) == (len(counted), missing)
        assert (found.few, found.few_people) == (len(counted) - len(many), sum(counted.values()) - sum(many.values()))


@some
@given(listings(columns=1, fewest=1, least=1))
def test_an_exported_hierarchy_generalises_as_the_one_it_came_from(listing: Listing) -> None:
    classes = listing.classes()
    values = {label for (label,) in classes.tuples() if label is not None}
    rows = BoundRows.of(classes).rows
    assert {row[0] for row in rows} == values
    if rows:
        tree = Tree(tuple(tuple(label or "" for label in row) for row in rows))
        (source,) = listing.trees.values()
        assert [tree.path(value) for value in sorted(values)] == [source.path(value) for value in sorted(values)]


@some
@given(listings(columns=1, fewest=1, least=1))
def test_a_skeleton_lists_what_five_people_hold(listing: Listing) -> None:
    held = {label: people for (label,), people in listing.counted().items() if label is not None}
    some_rows, all_rows = (BoundRows.of(listing.classes(), bare=True, every=every) for every in (False, True))
    assert sorted(some_rows.rows) == sorted((label, "*") for label, people in held.items() if people >= FEW)
    assert sorted(all_rows.rows) == sorted((label, "*") for label in held)
    assert some_rows.few == sum(people < FEW for people in held.values())
    assert some_rows.few_people == sum(people for people in held.values() if people < FEW)


@pytest.mark.parametrize(
    "rule",
    [
        Flat(),
        AnyValue(),
        Mask(12),
        AutoMask(),
        Prefix((3, 1)),
        Widths((5,)),
        Widths((5,), decimal=","),
        Cuts((0, 18)),
        TopBottomCode(90),
        Dates(("year",)),
        Dates(("year",), "%d.%m.%Y"),
        Tree((("a", "b"),)),
    ],
    ids=repr,
)
def test_every_rule_has_an_example(rule: Rule) -> None:
    path = example(rule)
    assert path is not None
    assert len(path) == rule.height
