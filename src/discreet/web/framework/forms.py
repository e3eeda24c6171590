"""Forms and models: fields and JSON bodies, checked and limited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any, Self
from urllib.parse import parse_qs

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from python_multipart.exceptions import FormParserError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from discreet.web.framework.problems import Problem
from discreet.web.framework.settings import Settings

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
        values = self.fields.get(name, [""])
        if len(values) != 1:
            raise _unfit(name, "was sent more than once")
        text = values[0]
        if len(text) > most:
            raise _unfit(name, f"is longer than {most:,} characters")
        if not all(letter.isprintable() or (lines and letter in "\r\n\t") for letter in text):
            raise _unfit(name, "holds characters that cannot be printed")
        if not empty and not text.strip():
            raise _unfit(name, "is missing")
        return text

    def choice(self, name: str, of: Sequence[str]) -> str:
        """One of these."""
        value = self.text(name)
        if value not in of:
            raise _unfit(name, f"must be one of: {', '.join(of)}")
        return value

    def choices(self, name: str, of: Sequence[str]) -> tuple[str, ...]:
        """Some of these, in their order."""
        values = set(self.fields.get(name, ()))
        if not values <= set(of):
            raise _unfit(name, f"must be some of: {', '.join(of)}")
        return tuple(option for option in of if option in values)

    def whole(self, name: str, *, least: int, most: int) -> int:
        """A whole number."""
        digits = self.text(name, most=20)
        if not (digits.isascii() and digits.isdigit() and least <= int(digits) <= most):
            raise _unfit(name, f"must be a whole number from {least:,} to {most:,}")
        return int(digits)


def parse(body: bytes) -> Form:
    """The fields of a form as browsers send it."""
    options: dict[str, Any] = {"keep_blank_values": True, "errors": "strict", "max_num_fields": MOST_FIELDS}
    try:
        return Form(parse_qs(body.decode("ascii"), strict_parsing=bool(body), **options))
    except ValueError:
        raise Problem(400, "The form cannot be read.", remedy="Go back, reload the page and send it again.") from None


def _unfit(name: str, words: str) -> Problem:
    return Problem(422, f"The field '{name}' {words}.", remedy="Correct it and send the form again.")


# Request bodies: the size is checked before and while reading.
REMEDIES = {
    "upload": "Send less, or register the file where it is, if the operator of this server has opened its folder.",
    "form": "Go back, where what you typed is still there, and send less.",
}


async def read_body(request: Request, kind: str, settings: Settings) -> Form:
    """The form of a page; for the API only the size is checked."""
    limit = settings.largest_upload if kind == "upload" else settings.largest_form
    too_large = Problem(413, f"This is larger than {limit:,} bytes.", remedy=REMEDIES.get(kind, "Send less."))
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > limit:
        raise too_large
    if kind == "upload":
        _require_type(request, "multipart/form-data")
    counter = request._receive = ByteCounter(request._receive, limit)
    try:
        if kind == "upload":
            # Files wait on the disk, not in memory, and are closed when the request is answered.
            parts = await request.form(max_files=4, max_fields=100, max_part_size=settings.largest_form)
            texts = {name: [value for value in parts.getlist(name) if isinstance(value, str)] for name in parts}
            files = {name: value for name, value in parts.multi_items() if isinstance(value, UploadFile)}
            return Form({name: values for name, values in texts.items() if values}, files)
        body = await request.body()  # stored with the request, for the models of the API
    except (FormParserError, MultiPartException, HTTPException, ClientDisconnect):
        words, remedy = "The request ended in the middle.", "Send it again."
        if kind == "upload":
            words, remedy = "The upload cannot be read.", "Choose the file again and send the form again."
        raise (too_large if counter.size > limit else Problem(400, words, remedy=remedy)) from None
    if kind != "form":
        return Form()
    if body:
        _require_type(request, FORM_TYPE)
    return parse(body)


@dataclass
class ByteCounter:
    """Counts what comes in, and ends it beyond the limit.

    It ends with the parser's own error, on which the parser closes its files.
    """

    receive: Receive
    limit: int
    size: int = 0

    async def __call__(self) -> Message:
        """The next piece."""
        message = await self.receive()
        self.size += len(message.get("body", b""))
        if self.size > self.limit:
            raise MultiPartException("too large")
        return message


def _require_type(request: Request, kind: str) -> None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
        raise Problem(415, "The form was sent in a way that cannot be read.", remedy=f"Send it as {kind}.")


# Base models of the API: strict, with one shape for every problem.
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


PROBLEM_BODY = {"application/problem+json": {"schema": ProblemModel.model_json_schema()}}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": words, "content": PROBLEM_BODY}
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
