"""Base models of the API: strict, with one shape for every problem."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema


def _printable(text: str) -> str:
    if not text.isprintable() or not text.strip():
        raise ValueError("must be printable text")
    return text.strip()


Line = Annotated[str, Field(min_length=1, max_length=80), AfterValidator(_printable)]
"""One line of text."""
Number = Annotated[int, Field(ge=0, le=10**17)]
Text = Annotated[str, Field(max_length=500)]


def is_day(text: str) -> bool:
    """Is it a day as entries write it?

    >>> is_day("2026-05-31"), is_day("2026-05-32"), is_day("20260531")
    (True, False, False)
    """
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _day(text: str) -> str:
    if not is_day(text):
        raise ValueError("must be a day such as 2026-05-31")
    return text


Day = Annotated[str, AfterValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]


class Strict(BaseModel):
    """No text for a number, and nothing extra."""

    model_config = ConfigDict(strict=True, extra="forbid")

    @classmethod
    def of(cls, source: Any, **others: Any) -> Self:
        """From the attributes of the same names, and what else is given."""
        return cls(**{name: getattr(source, name) for name in cls.model_fields if name not in others}, **others)


class ProblemModel(Strict):
    """What went wrong (RFC 9457), and the next step."""

    type: str
    title: str
    status: int
    detail: str
    next: str


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": words,
        "content": {"application/problem+json": {"schema": ProblemModel.model_json_schema()}},
    }
    for status, words in (
        (400, "The request cannot be understood."),
        (401, "No token, or one that has expired or was revoked."),
        (403, "The token does not include this."),
        (404, "There is nothing here that this token may see."),
        (409, "Something has changed meanwhile."),
        (413, "Too large."),
        (415, "The body is of a kind that cannot be read here."),
        (422, "Something does not fit."),
        (429, "Too many at once."),
        (503, "The store cannot be used now."),
    )
}
"""What every operation may answer instead."""
