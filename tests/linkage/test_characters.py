"""Characters and declared normalisations."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.linkage.characters import characters, check_normalisations, value_of


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
