"""Shares and measures as people read them, in every room: never nothing for something, nor all for less."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any


def percent(share: float, *, below: str = "fewer than ", above: str = "more than ") -> str:
    """A share with one digit; never 0.0 % for something, nor 100.0 % for less than all.

    >>> percent(0.037), percent(0.5), percent(1e-5), percent(0.9999), percent(0.0), percent(1.0)
    ('3.7 %', '50 %', 'fewer than 0.1 %', 'more than 99.9 %', '0 %', '100 %')
    """
    if 0 < share < 0.001:
        return f"{below}0.1 %"
    if 0.999 < share < 1:
        return f"{above}99.9 %"
    whole = abs(share * 100 - round(share * 100)) < 1e-9
    return f"{share * 100:.{0 if whole else 1}f} %"


def brief_percent(share: float) -> str:
    """The same where there is little room.

    >>> brief_percent(1e-5), brief_percent(0.9999)
    ('< 0.1 %', '> 99.9 %')
    """
    return percent(share, below="< ", above="> ")


def fine_percent(share: float) -> str:
    """A share of which the smallest matters too: two digits that say something.

    >>> fine_percent(0.0138), fine_percent(0.000694), fine_percent(0.2), fine_percent(0.0)
    ('1.4 %', '0.069 %', '20 %', '0 %')
    """
    if not 0 < share < 0.001:
        return brief_percent(share)
    return f"{measure(share * 100, digits=2)} %"


def measure(number: float, *, digits: int = 3) -> str:
    """A measure of any size: so many digits that say something, and all of those before the point.

    >>> measure(0.241932), measure(75.83), measure(123456789.4), measure(0.0), measure(2.0)
    ('0.242', '75.8', '123,456,789', '0', '2')
    """
    if number == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(number))))
    text = f"{number:,.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def reason(error: Exception) -> str:
    """Why a file cannot be used, in words: what the system says, or else the kind of error.

    >>> reason(PermissionError(13, "Permission denied")), reason(KeyError("a value"))
    ('permission denied', 'key error')
    """
    if isinstance(error, UnicodeError):
        return "it is not text in the expected encoding"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__).lower()


def people_in_rows(people: int, rows: int | None) -> str:
    """So many people, and how many rows they have where that is another number of things.

    >>> people_in_rows(545, 4360), people_in_rows(545, None), people_in_rows(1, None)
    ('545 people in 4,360 rows', '545 people', '1 person')
    """
    number = f"{people:,} {'person' if people == 1 else 'people'}"
    return number if rows is None else f"{number} in {rows:,} rows"


def formula_words(formulas: Mapping[str, Any]) -> Iterator[str]:
    """What became of cells that a spreadsheet would run, where there is something to say.

    >>> [*formula_words({"mode": "quote", "cells": 2})]
    ['2 cells begin like a formula; an apostrophe was put before them, so that no spreadsheet runs them.']
    """
    number = formulas["cells"]
    cells, them = ("cell begins", "it") if number == 1 else ("cells begin", "them")
    if formulas["mode"] == "keep":
        yield "Cells that begin like a formula were left as they are: do not open the file in a spreadsheet."
    elif number:
        yield f"{number:,} {cells} like a formula; an apostrophe was put before {them}, so that no spreadsheet runs {them}."
