"""Guessing what a column is, from its name and its values, for a person to confirm."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal

from discreet.kernel.rules import DAY
from discreet.policy import Role
from discreet.wording import percent

Content = Literal["number", "date", "boolean", "code", "text", "empty"]

NAMES: tuple[tuple[Role, str], ...] = (
    (
        "identifier",
        r"\b(id|ids|uuid|guid|ssn|nhs|mrn|passport|licen[cs]e|iban|e?mail|(tele)?phone|mobile|fax|ip|url)\b",
    ),
    (
        "identifier",
        r"\b((birth|maiden) names?|surname|forename|firstname|lastname|fullname|address|street|(patient|person) no)\b",
    ),
    (
        "sensitive",
        r"\b(diagnos[ie]s|diseases?|icd|conditions?|drugs?|medications?|treatments?|test results?|hiv|blood)\b",
    ),
    ("sensitive", r"\b(weight|bmi|symptoms?|income|salary|wages?|debts?|balance|bill|scores?|grades?|offen[cs]es?)\b"),
    ("sensitive", r"\b(crimes?|votes?|party|orientation|account)\b"),
    ("quasi", r"\b(zip|zipcode|postcode|postal|plz|city|town|county|state|region|district|municipality|country)\b"),
    ("quasi", r"\b(nationality|age|sex|gender|race|ethnic|ethnicity|marital|education|occupation|job|profession)\b"),
    ("quasi", r"\b(workclass|religion|language|dob|birth|birthday|birthdate|born|yob|death|admission|admitted)\b"),
    ("quasi", r"\b(discharge|discharged|visit date)\b"),
    ("identifier", r"\bnames?\b"),
)
NEARLY_ALL = 0.95
LONGEST_MASK = 64


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
    if _is_code(values):
        return "code"
    return "number" if all(_is_number(value) for value in values) else "text"


def guess(name: str, looks: Content, values: Sequence[str], *, share_unique: float) -> Guess:
    """What a column probably is to an adversary."""
    words = _words(name)
    rule = _hierarchy(words, looks, values)
    for role, pattern in NAMES:
        if found := re.search(pattern, words):
            return Guess(role, f"its name says '{found[0]}'", rule if role == "quasi" else "")
    if looks == "date":
        return Guess("quasi", "dates are often known from elsewhere", rule)
    if share_unique >= NEARLY_ALL and looks != "number":
        return Guess("identifier", f"{percent(share_unique)} of people have a value of their own")
    return Guess("other", "nothing in its name or values points to a person")


def _words(name: str) -> str:
    """The words of a name: `birthDate`, `birth_date` and `IPAddress2` are all cut apart."""
    apart = re.sub(r"([a-z])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])|([A-Za-z])(?=[0-9])", r"\1\2\3 ", name)
    return re.sub(r"[^a-z0-9]+", " ", apart.lower()).strip()


def _hierarchy(words: str, looks: Content, values: Sequence[str]) -> str:
    if looks == "date":
        return '{ dates = ["month", "year", "decade"] }'
    lengths = {len(value) for value in values}
    if (
        len(lengths) == 1
        and 1 <= min(lengths) <= LONGEST_MASK
        and (looks == "code" or re.search(r"\b(zip|zipcode|postcode|postal|plz)\b", words))
    ):
        return f"{{ mask = {lengths.pop()} }}"
    if looks == "number":
        return "{ widths = [2, 4, 8, 16] }" if _spans_years(values) else "{ widths = [5, 10, 20, 40] }"
    return '{ any = "*" }'


def _spans_years(values: Sequence[str]) -> bool:
    return all(re.fullmatch(r"(18|19|20)\d\d", value) for value in values)


def _is_code(values: Sequence[str]) -> bool:
    """Digits of one length, some with leading zeros: a number would lose them."""
    lengths = {len(value) for value in values}
    return lengths != {1} and len(lengths) == 1 and all(map(str.isdigit, values)) and any(v[0] == "0" for v in values)


def _is_number(value: str) -> bool:
    try:
        return Decimal(value).is_finite()
    except InvalidOperation:
        return False


def _is_date(value: str) -> bool:
    try:
        return DAY.fullmatch(value) is not None and datetime.date.fromisoformat(value[:10]) is not None
    except ValueError:
        return False
