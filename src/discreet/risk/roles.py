"""Guessing what a column is, from its name and its values, for a person to confirm."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal

from discreet.policy import Role

Content = Literal["number", "date", "boolean", "code", "text", "empty"]

NAMES: tuple[tuple[Role, str], ...] = (
    (
        "identifier",
        r"\b(id|ids|uuid|guid|ssn|nhs|mrn|passport|licence|license|iban|email|mail|phone|mobile|fax|ip|url)\b",
    ),
    (
        "identifier",
        r"\b(name|names|surname|forename|firstname|lastname|fullname|address|street|patient no|person no)\b",
    ),
    (
        "quasi",
        r"\b(zip|zipcode|postcode|postal|plz|city|town|county|state|region|district|municipality|country|nationality)\b",
    ),
    (
        "quasi",
        r"\b(age|sex|gender|race|ethnic|ethnicity|marital|education|occupation|job|profession|workclass|religion|language)\b",
    ),
    ("quasi", r"\b(dob|birth|birthday|born|yob|death|admission|admitted|discharge|discharged|visit date)\b"),
    (
        "sensitive",
        r"\b(diagnosis|disease|icd|condition|drug|medication|treatment|test result|hiv|blood|weight|bmi|symptom)\b",
    ),
    (
        "sensitive",
        r"\b(income|salary|wage|debt|balance|bill|score|grade|offence|offense|crime|vote|party|orientation|account)\b",
    ),
)
NEARLY_ALL = 0.95


@dataclass(frozen=True)
class Guess:
    """A role, why, and a built-in hierarchy where one fits."""

    role: Role
    reason: str
    hierarchy: str = ""


def content(values: Sequence[str]) -> Content:
    """What the distinct values look like.

    >>> content(["1964-08-09", "2001-12-01"]), content(["39", "50"]), content(["00123", "90210"]), content(["yes", "no"])
    ('date', 'number', 'code', 'boolean')
    """
    if not values:
        return "empty"
    if {value.lower() for value in values} <= {"true", "false", "yes", "no", "0", "1", "t", "f", "y", "n"}:
        return "boolean"
    if all(_is_date(value) for value in values):
        return "date"
    if (
        len({len(value) for value in values}) == 1
        and any(value.startswith("0") for value in values)
        and all(value.isdigit() for value in values)
    ):
        return "code"
    return "number" if all(_is_number(value) for value in values) else "text"


def guess(name: str, looks: Content, values: Sequence[str], *, share_unique: float) -> Guess:
    """What a column probably is to an adversary."""
    words = re.sub(r"[^a-z0-9]+", " ", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()).strip()
    rule = _hierarchy(words, looks, values)
    for role, pattern in NAMES:
        if found := re.search(pattern, words):
            return Guess(role, f"its name says '{found[0]}'", rule if role == "quasi" else "")
    if share_unique >= NEARLY_ALL and looks != "number":
        return Guess("identifier", f"{share_unique:.0%} of people have a value of their own")
    if looks == "date":
        return Guess("quasi", "dates are often known from elsewhere", rule)
    return Guess("other", "nothing in its name or values points to a person")


def _hierarchy(words: str, looks: Content, values: Sequence[str]) -> str:
    if looks == "date":
        return '{ dates = ["month", "year", "decade"] }'
    lengths = {len(value) for value in values}
    if len(lengths) == 1 and (looks == "code" or re.search(r"\b(zip|zipcode|postcode|postal|plz)\b", words)):
        return f"{{ mask = {lengths.pop()} }}"
    if looks == "number":
        return "{ widths = [2, 4, 8, 16] }" if _spans_years(values) else "{ widths = [5, 10, 20, 40] }"
    return '{ any = "*" }'


def _spans_years(values: Sequence[str]) -> bool:
    return all(re.fullmatch(r"(18|19|20)\d\d", value) for value in values)


def _is_number(value: str) -> bool:
    try:
        return Decimal(value).is_finite()
    except InvalidOperation:
        return False


def _is_date(value: str) -> bool:
    try:
        datetime.date.fromisoformat(value[:10])
    except ValueError:
        return False
    return len(value) >= 10
