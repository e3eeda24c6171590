"""Dates as written."""

from __future__ import annotations

import pytest

from discreet.errors import UsageError
from discreet.linkage.dates import FORMATS, Layout, check_formats, read_date


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
    with pytest.raises(UsageError, match="told apart"):
        check_formats(["MM/DD/YYYY", "DD/MM/YYYY"])
    with pytest.raises(UsageError, match="No format"):
        check_formats([])
    assert check_formats("DD.MM.YYYY") == ("DD.MM.YYYY",)
