"""Form fields: texts by name, once each, without control characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile

from discreet.web.framework.problems import Problem

MOST_FIELDS = 500
FORM_TYPE = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Form:
    """The fields of a form."""

    fields: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    files: Mapping[str, UploadFile] = field(default_factory=dict, repr=False)

    def text(self, name: str, *, most: int = 200, empty: bool = True) -> str:
        """One line of text, without spaces around it."""
        return self.verbatim(name, most=most, empty=empty).strip()

    def verbatim(self, name: str, *, most: int = 200, empty: bool = True, lines: bool = False) -> str:
        """A text as it was typed, as a password is."""
        found = self.fields.get(name, [""])
        if len(found) != 1:
            raise _unfit(name, "was sent more than once")
        if len(found[0]) > most:
            raise _unfit(name, f"is longer than {most:,} characters")
        if not all(letter.isprintable() or (lines and letter in "\r\n\t") for letter in found[0]):
            raise _unfit(name, "holds characters that cannot be printed")
        if not empty and not found[0].strip():
            raise _unfit(name, "is missing")
        return found[0]

    def choice(self, name: str, of: Sequence[str]) -> str:
        """One of these."""
        found = self.text(name)
        if found not in of:
            raise _unfit(name, f"must be one of: {', '.join(of)}")
        return found

    def choices(self, name: str, of: Sequence[str]) -> tuple[str, ...]:
        """Some of these, in their order."""
        found = set(self.fields.get(name, ()))
        if not found <= set(of):
            raise _unfit(name, f"must be some of: {', '.join(of)}")
        return tuple(one for one in of if one in found)

    def whole(self, name: str, *, least: int, most: int) -> int:
        """A whole number."""
        found = self.text(name, most=20)
        if not (found.isascii() and found.isdigit() and least <= int(found) <= most):
            raise _unfit(name, f"must be a whole number from {least:,} to {most:,}")
        return int(found)


def parse(body: bytes) -> Form:
    """The fields of a form as browsers send it."""
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError:
        raise Problem(
            400, "The form cannot be read.", remedy="Go back, reload the page and send the form again."
        ) from None
    return Form(gathered(pairs))


def gathered(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Values by name.

    >>> gathered([("a", "1"), ("b", "2"), ("a", "3")])
    {'a': ['1', '3'], 'b': ['2']}
    """
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


def _unfit(name: str, words: str) -> Problem:
    return Problem(422, f"The field '{name}' {words}.", remedy="Correct it and send the form again.")
