"""Distance and alignment."""

from __future__ import annotations

import datetime
import itertools
import math

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.linkage.masking.text import (
    ALONE,
    FIRST,
    FORMATS,
    REPLACED,
    SAME,
    SECOND,
    Layout,
    align,
    characters,
    check_formats,
    check_normalisations,
    distance,
    read_date,
    value_of,
)
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


@given(st.text())
def test_no_character_is_lost(value: str) -> None:
    assert "".join(characters(value)) == value


def test_what_belongs_together_stays_together() -> None:
    assert characters("Zoe\u0308") == ("Z", "o", "e\u0308")
    assert characters("\u0308a") == ("\u0308", "a")
    assert len(characters("\U0001f469\u200d\U0001f52c!")) == 2
    assert characters("") == ()


@pytest.mark.parametrize("cell", [None, "", "?", math.nan, np.nan, np.datetime64("NaT", "s"), pandas.NA, pandas.NaT])
def test_missing_values(cell: object) -> None:
    assert value_of(cell) is None


def test_other_cells_become_text() -> None:
    assert value_of(42) == value_of(42.0) == value_of(np.int64(42)) == "42"
    assert value_of(datetime.date(1964, 8, 9)) == "1964-08-09"
    assert value_of(" ") == " "


def test_nothing_is_normalised_unless_it_is_declared() -> None:
    assert value_of(" Zoe\u0308  Müller ") == " Zoe\u0308  Müller "
    assert value_of(" Zoe\u0308  Müller ", ["nfc", "spaces", "casefold"]) == "zoë müller"
    assert value_of("  ", ["strip"]) is None
    assert value_of(" ? ", ["strip"]) is None


def test_an_unknown_normalisation_is_refused() -> None:
    with pytest.raises(UsageError, match="soundex"):
        check_normalisations(["strip", "soundex"])


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("1964-08-09", "YYYY-MM-DD"),
        ("08/09/1964", "MM/DD/YYYY"),
        ("09.08.1964", "DD.MM.YYYY"),
        ("19640809", "YYYYMMDD"),
    ],
)
def test_declared_formats(value: str, pattern: str) -> None:
    found = read_date(value, (pattern,))
    assert found == ("19640809", Layout(pattern))
    assert found[1].written(found[0]) == value


@pytest.mark.parametrize("value", ["8/9/1964", "1964", "08-09-1964", "08/09/64", "08/09/1964 ", "٠8/09/1964", "x"])
def test_what_is_written_otherwise_is_not_guessed(value: str) -> None:
    assert read_date(value, FORMATS) is None


def test_a_day_that_the_calendar_does_not_have_is_read() -> None:
    assert read_date("28/12/1964", FORMATS) == ("19642812", Layout("MM/DD/YYYY"))


@pytest.mark.parametrize("pattern", ["MM/DD", "MM/DD/YYYY/MM", "M/D/YYYY", "", "MM*DD*YYYY", "MMxDDxYYYY"])
def test_nonsense_formats_are_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match="how dates are written"):
        check_formats(pattern)


def test_formats_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(UsageError, match="distinguished"):
        check_formats(["MM/DD/YYYY", "DD/MM/YYYY"])
    with pytest.raises(UsageError, match="No format"):
        check_formats([])
    assert check_formats("DD.MM.YYYY") == ("DD.MM.YYYY",)
