"""Distance and alignment."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.linkage.masking.text import ALONE, FIRST, REPLACED, SAME, SECOND, align, distance
from tests.linkage import brute

SHORT = st.text("abc", max_size=7)


@given(a=SHORT, b=SHORT)
def test_the_distance_is_the_least_number_of_edits(a: str, b: str) -> None:
    assert distance(a, b) == brute.osa(a, b) == distance(b, a)


def test_all_short_words_of_two_letters() -> None:
    words = ["".join(one) for size in range(5) for one in itertools.product("ab", repeat=size)]
    assert all(distance(a, b) == brute.osa(a, b) for a in words for b in words)


@pytest.mark.parametrize(
    ("a", "b", "edits"), [("", "", 0), ("", "abc", 3), ("ca", "abc", 3), ("Brain", "Brian", 1), ("Mary", "Mark", 1)]
)
def test_known_distances(a: str, b: str, edits: int) -> None:
    assert distance(a, b) == edits


@given(a=SHORT, b=SHORT, per_edit=st.sampled_from([0, 1]))
def test_the_alignment_is_the_described_programme(a: str, b: str, per_edit: int) -> None:
    first, second = align(a, b, per_edit=per_edit)
    expected = brute.aligned(a, b, identifier=bool(per_edit))
    assert {place for place, sign in enumerate(first) if sign != SAME} == expected[0]
    assert {place for place, sign in enumerate(second) if sign != SAME} == expected[1]


@given(a=SHORT, b=SHORT, per_edit=st.sampled_from([0, 1]))
def test_what_is_aligned_fits_together(a: str, b: str, per_edit: int) -> None:
    first, second = align(a, b, per_edit=per_edit)
    assert (len(first), len(second)) == (len(a), len(b))
    met = [
        [(one, sign) for one, sign in zip(*both, strict=True) if sign != ALONE] for both in ((a, first), (b, second))
    ]
    assert [sign for _, sign in met[0]] == [sign for _, sign in met[1]]
    for (x, sign), (y, _) in zip(*met, strict=True):
        assert (x == y) == (sign == SAME) or sign in (FIRST, SECOND)
    for place, (x, sign) in enumerate(met[0]):
        if sign == FIRST:
            assert (x, met[0][place + 1]) == (met[1][place + 1][0], (met[1][place][0], SECOND))


@given(a=SHORT, b=SHORT, letters=st.permutations("abcxyz"), per_edit=st.sampled_from([0, 1]))
def test_only_which_characters_are_equal_matters(a: str, b: str, letters: list[str], per_edit: int) -> None:
    """The masked view of two worlds that differ in hidden characters only is the same."""
    other = str.maketrans("abc", "".join(letters[:3]))
    assert align(a, b, per_edit=per_edit) == align(a.translate(other), b.translate(other), per_edit=per_edit)
    assert distance(a, b) == distance(a.translate(other), b.translate(other))


def test_ties_go_to_transposition_then_gap_in_b_then_gap_in_a() -> None:
    assert align("ab", "ba") == (FIRST + SECOND, FIRST + SECOND)
    assert align("a", "b") == (REPLACED, REPLACED)
    assert align("aab", "ab") == (ALONE + SAME + SAME, SAME + SAME)
    assert align("abx", "cab") == (SAME + SAME + ALONE, ALONE + SAME + SAME)


def test_two_long_values_are_soon_aligned() -> None:
    first, second = align("ab" * 64, "ba" * 64)
    assert (len(first), len(second)) == (128, 128)
