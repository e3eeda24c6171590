"""The spread of a sensitive column over the classes, against plain dictionaries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import CountError, DiscreetError, OutsideHierarchy
from discreet.kernel import AnyValue, Classes, Histogram, Mask
from tests.kernel.strategies import Listing, few, listings, some, spread_as_dict

ILL = [("10115", "flu", 2), ("10117", "flu", 1), ("10117", "cold", 3), ("20095", None, 1)]


def ill_people() -> Classes:
    classes = Classes.of(["zip"], [(row[0],) for row in ILL], [row[2] for row in ILL], rules={"zip": Mask(5)})
    return classes.with_spread(Histogram.from_rows(["zip", "illness"], ILL), "illness")


@st.composite
def nodes(draw: st.DrawFn, *, column: str = "c0") -> tuple[Listing, tuple[int, ...]]:
    """People with a sensitive column, and levels for the others."""
    listing = draw(listings(columns=3, least=1))
    others = [tree for name, tree in listing.trees.items() if name != column]
    return listing, tuple(draw(st.integers(0, tree.height - 1)) for tree in others)


@some
@given(listings(columns=3, least=1), st.sampled_from(["c0", "c1", "c2"]))
def test_a_spread_agrees_with_a_dictionary(listing: Listing, column: str) -> None:
    assert spread_as_dict(listing.classes_with_spread(column), column) == listing.spread(column)


@some
@given(nodes())
def test_going_up_takes_the_spread_along(drawn: tuple[Listing, tuple[int, ...]]) -> None:
    listing, levels = drawn
    assert spread_as_dict(listing.classes_with_spread("c0").at(levels), "c0") == listing.spread("c0", levels)


@few
@given(nodes())
def test_the_people_of_a_class_are_the_people_of_its_spread(drawn: tuple[Listing, tuple[int, ...]]) -> None:
    listing, levels = drawn
    classes = listing.classes_with_spread("c0").at(levels)
    sums = [0] * len(classes)
    for owner, number in zip(classes.spreads["c0"].owners.tolist(), classes.spreads["c0"].counts.tolist(), strict=True):
        sums[owner] += number
    assert sums == classes.sizes.tolist()


@few
@given(listings(columns=3, least=1))
def test_projecting_takes_the_spread_along(listing: Listing) -> None:
    expected: dict[tuple[tuple[str | None, ...], str | None], int] = {}
    for ((_, last), value), number in listing.spread("c0").items():
        expected[(last,), value] = expected.get(((last,), value), 0) + number
    assert spread_as_dict(listing.classes_with_spread("c0").project(["c2"]), "c0") == expected


@few
@given(listings(columns=2, least=1), st.integers(1, 8))
def test_suppression_takes_the_spread_along(listing: Listing, below: int) -> None:
    kept, _ = listing.classes_with_spread("c0").suppress(below=below)
    stays = set(kept.tuples())
    assert spread_as_dict(kept, "c0") == {pair: n for pair, n in listing.spread("c0").items() if pair[0] in stays}


@few
@given(listings(columns=2, least=1), st.integers(1, 8))
def test_suppressing_and_then_going_up_loses_nobody_else(listing: Listing, below: int) -> None:
    kept, gone = listing.classes_with_spread("c0").suppress(below=below)
    top = kept.at([listing.trees["c1"].height - 1])
    assert top.records == listing.people - gone == int(top.spreads["c0"].counts.sum())


@few
@given(nodes())
def test_overall_counts_do_not_depend_on_the_classes(drawn: tuple[Listing, tuple[int, ...]]) -> None:
    listing, levels = drawn
    fine = listing.classes_with_spread("c0")
    coarse = fine.at(levels)
    assert coarse.spreads["c0"].overall.tolist() == fine.spreads["c0"].overall.tolist()
    assert int(fine.spreads["c0"].overall.sum()) == listing.people


def test_overall_counts_are_per_value() -> None:
    spread = ill_people().spreads["illness"]
    assert dict(zip(spread.values, spread.overall.tolist(), strict=True)) == {"flu": 3, "cold": 3, None: 1}


def test_several_spreads_go_along_together() -> None:
    blood = Histogram.from_rows(["zip", "blood"], [("10115", "A", 2), ("10117", "A", 4), ("20095", "B", 1)])
    classes = ill_people().with_spread(blood, "blood").at([1])
    assert spread_as_dict(classes, "blood") == {(("1011*",), "A"): 6, (("2009*",), "B"): 1}
    assert spread_as_dict(classes, "illness")[("1011*",), "flu"] == 3


def test_a_spread_finds_its_classes_whatever_the_order_of_columns_and_values() -> None:
    classes = Classes.of(["sex", "zip"], [("F", "1"), ("M", "2"), ("M", "1")])
    rows = [("flu", "2", "M", 1), ("cold", "1", "M", 1), ("flu", "1", "F", 1)]
    found = classes.with_spread(Histogram.from_rows(["illness", "zip", "sex"], rows), "illness")
    assert spread_as_dict(found, "illness") == {
        (("F", "1"), "flu"): 1,
        (("M", "1"), "cold"): 1,
        (("M", "2"), "flu"): 1,
    }


def test_counts_beyond_the_reach_of_floats_stay_exact() -> None:
    rows = [("1", "flu", 2**60), ("1", "flu", 1), ("2", "flu", 3)]
    classes = Classes.of(["zip"], [(row[0],) for row in rows], [row[2] for row in rows], rules={"zip": Mask(1)})
    coarse = classes.with_spread(Histogram.from_rows(["zip", "illness"], rows), "illness").at([1])
    assert spread_as_dict(coarse, "illness") == {(("*",), "flu"): 2**60 + 4}


def test_the_original_classes_get_no_spread() -> None:
    classes = Classes.of(["zip"], [("1",)])
    classes.with_spread(Histogram.from_rows(["zip", "illness"], [("1", "flu", 1)]), "illness")
    assert not classes.spreads


def test_rows_that_stand_for_nobody_vanish_from_the_spread() -> None:
    rows = [("1", "flu", 2), ("1", "cold", 0), ("2", "plague", 0), ("3", "flu", 1)]
    classes = Classes.of(["zip"], [(row[0],) for row in rows], [row[2] for row in rows])
    found = classes.with_spread(Histogram.from_rows(["zip", "illness"], rows), "illness")
    assert spread_as_dict(found, "illness") == {(("1",), "flu"): 2, (("3",), "flu"): 1}


def test_without_columns_the_one_class_has_the_whole_spread() -> None:
    classes = Classes.of([], [()], [3])
    found = classes.with_spread(Histogram.from_rows(["illness"], [("flu", 2), ("cold", 1)]), "illness")
    spread = found.spreads["illness"]
    assert (spread.owners.tolist(), spread.overall.tolist()) == ([0, 0], [1, 2])


def test_an_empty_table_has_an_empty_spread() -> None:
    found = Classes.of(["zip"], []).with_spread(Histogram.from_rows(["zip", "illness"], []), "illness")
    assert found.spreads["illness"].counts.tolist() == []


def test_negative_counts_are_refused() -> None:
    with pytest.raises(CountError):
        Classes.of(["zip"], [("1",)]).with_spread(
            Histogram.from_rows(["zip", "illness"], [("1", "flu", 2), ("1", "cold", -1)]), "illness"
        )


def test_strangers_to_the_hierarchy_of_the_column_are_refused_without_showing_them() -> None:
    with pytest.raises(OutsideHierarchy, match="'illness': 1 of 1") as caught:
        Classes.of(["zip"], [("1",)]).with_spread(
            Histogram.from_rows(["zip", "illness"], [("1", "secret", 1)]), "illness", rule=Mask(2)
        )
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "rows", [[("1", "flu", 7)], [("1", "flu", 1), ("unheard-of", "flu", 1)], []], ids=["more", "elsewhere", "nobody"]
)
def test_a_spread_of_other_people_is_refused_without_showing_them(rows: list[tuple[str, str, int]]) -> None:
    with pytest.raises(DiscreetError) as caught:
        Classes.of(["zip"], [("1",)]).with_spread(Histogram.from_rows(["zip", "illness"], rows), "illness")
    assert "unheard-of" not in str(caught.value)


def test_a_spread_by_finer_values_than_those_of_the_classes_is_refused_without_showing_them() -> None:
    coarse = Classes.of(["zip"], [("10115",)], rules={"zip": AnyValue()}).at([1])
    with pytest.raises(DiscreetError) as caught:
        coarse.with_spread(Histogram.from_rows(["zip", "illness"], [("10115", "flu", 1)]), "illness")
    assert "10115" not in str(caught.value)


def test_spreads_cannot_be_written_into() -> None:
    with pytest.raises(ValueError, match="read-only"):
        ill_people().spreads["illness"].counts[0] = 9


def test_the_repr_shows_no_value() -> None:
    assert "flu" not in repr(ill_people().spreads["illness"])
