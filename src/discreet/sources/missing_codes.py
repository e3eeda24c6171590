"""Codes for missing values: which cells hold one, in SQL and as patterns, on every engine alike.

A code that is a text stands for itself. A code that is a number stands for that number, however many decimals of zero it
is written with: -9 is also -9.0 and, with a decimal comma, -9,00.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from discreet.kernel.hierarchy import text as spelling
from discreet.kernel.number_rules import number
from discreet.sources.engine import Kind

Code = str | int | float
"""A code for a missing value, as the policy has it."""


def blanked_sql(
    column: str,
    kind: Kind,
    codes: Sequence[Code],
    *,
    literal: Callable[[str], str],
    matches: Callable[[str, str], str],
    text: str = "VARCHAR",
) -> str:
    """A column, given as it is quoted, with its codes for missing values missing.

    >>> blanked_sql('"age"', "number", ["NA", -9], literal=repr, matches="{} ~ {}".format)
    'CASE WHEN "age" = -9 THEN NULL ELSE "age" END'
    """
    cell = f"CAST({column} AS {text})"
    if kind == "number":
        tests = [f"{column} = {number}" for number in numbers_among(codes)]
    else:
        tests = [f"{cell} = {literal(code)}" for code in codes if isinstance(code, str)]
        tests += [matches(cell, pattern) for pattern in number_patterns(codes)]
    return f"CASE WHEN {' OR '.join(tests)} THEN NULL ELSE {column} END" if tests else column


def numbers_among(codes: Sequence[Code]) -> list[str]:
    """The codes that a column of numbers can hold, each once."""
    values = (number(spelling(code) or "") for code in codes)
    return list(dict.fromkeys(spelling(value) or "" for value in values if value is not None))


def number_patterns(codes: Sequence[Code]) -> list[str]:
    """Patterns of texts that say one of the codes that are numbers, however many zeros follow.

    >>> number_patterns(["NA", -9, 99.5])
    ['^-9([.,]0+)?$', '^99[.,]50*$']
    """
    numbers = [spelling(code) or "" for code in codes if not isinstance(code, str)]
    return [f"^{spelt.replace('.', '[.,]')}{'0*' if '.' in spelt else '([.,]0+)?'}$" for spelt in numbers]
