"""Table 1 and the nine cases of the paper on the misuseability weight."""

from __future__ import annotations

from itertools import product

import pytest

from discreet.reference import mscore
from discreet.reference.items import Reproduction
from tests.misuse import paper


def test_the_printed_table_is_the_one_that_is_tested_elsewhere() -> None:
    assert mscore.SOURCE == paper.SOURCE
    assert mscore.PUBLISHED == paper.PUBLISHED


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return mscore.reproduce()


def test_distinguishing_factors_and_our_scores(found: Reproduction) -> None:
    assert found.item("mscore.d").ours == [2, 3, 2, 1]
    assert [found.item(f"mscore.m.x{x}").ours for x in ("1", "2", "inf")] == [3.0, 1.224745, 0.5]
    assert {found.item(f"mscore.m.x{x}").verdict for x in ("1", "2", "inf")} == {"cannot"}, "the paper prints no score"
    assert "outside the paper's x > 1" in found.item("mscore.m.x1").why


def test_only_what_the_text_says_of_the_nine_cases_is_printed(found: Reproduction) -> None:
    cases = {number: found.item(f"mscore.case{number}") for number in range(1, 10)}
    assert {number for number, item in cases.items() if item.verdict == "reproduces"} == {1, 6}
    assert all(item.printed is None for number, item in cases.items() if number not in (1, 6))


def test_an_entity_takes_the_least_of_different_factors(found: Reproduction) -> None:
    item = found.item("mscore.multirelational.d")
    assert item.ours == "the minimum"
    assert "D = 4, 4, 2 has D = 2" in item.why


def test_nothing_differs_and_the_factor_itself_is_not_claimed(found: Reproduction) -> None:
    """The paper says that its factor from 0 to 1 cannot easily be had; D, which it has instead, is another number."""
    assert not [item.id for item in found.items if item.verdict == "differs"]
    factor = found.item("mscore.df")
    assert (factor.verdict, factor.ours) == ("cannot", [1 / 3, 1.0])
    assert {"mscore.fig1", "mscore.frame", "mscore.res", "mscore.cond", "mscore.dimension.anonymity"} <= {
        item.id for item in found.items
    }


def test_the_nine_cases_are_told_apart() -> None:
    found = {}
    for entities, attributes in product(mscore.ENTITIES, mscore.ATTRIBUTES):
        first, second, _ = mscore.two_publications(entities, attributes)
        found[mscore.case_of((first[0], second[0]), (first[1], second[1]))] = (entities, attributes)
    assert sorted(found) == list(range(1, 10))
    assert found[1] == ("distinct", "equal"), "the same schema, no common entities"
    assert found[6] == ("overlapping", "distinct"), "some of the entities, different attributes"


@pytest.mark.parametrize(
    ("entities", "attributes", "ensembles"),
    [
        ("equal", "equal", ["a+b of 2"]),
        ("distinct", "equal", ["a+b of 4"]),
        ("equal", "distinct", ["a+b+c+d of 2"]),
        ("overlapping", "distinct", ["a+b of 2", "a+b+c+d of 1", "c+d of 2"]),
    ],
)
def test_what_is_known_after_two_publications(entities: str, attributes: str, ensembles: list[str]) -> None:
    _, _, known = mscore.two_publications(entities, attributes)
    assert mscore.ensemble_words(known.ensembles) == ensembles
