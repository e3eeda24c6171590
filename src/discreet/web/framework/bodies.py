"""Request bodies, read within limits that are checked while reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

from discreet.web.framework import forms
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem

if TYPE_CHECKING:
    from discreet.web.framework.context import Context


async def read_body(context: Context) -> Form:
    """The form of a page; of the API only the size is checked here, its models read the JSON."""
    kind, settings = context.route.body, context.site.settings
    limit = {"none": settings.largest_form, "upload": settings.largest_upload}.get(kind, settings.largest_form)
    _refuse_announced(context, limit)
    if kind == "upload":
        return await _upload(context, limit)
    body = await _read(context, limit)
    context.request._body = body  # what FastAPI reads for the models of the API
    if kind != "form":
        return Form()
    if body and not _is(context, forms.FORM_TYPE):
        raise _not_this_type(forms.FORM_TYPE)
    return forms.parse(body)


def _refuse_announced(context: Context, limit: int) -> None:
    announced = context.request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > limit:
        raise _too_large(context, limit)


async def _read(context: Context, limit: int) -> bytes:
    pieces, size = [], 0
    try:
        async for piece in context.request.stream():
            size += len(piece)
            if size > limit:
                raise _too_large(context, limit)
            pieces.append(piece)
    except ClientDisconnect:
        raise Problem(400, "The request ended in the middle.", remedy="Send it again.") from None
    return b"".join(pieces)


async def _upload(context: Context, limit: int) -> Form:
    """Fields and files; files wait on the disk, not in memory, and are closed when the request is answered."""
    request = context.request
    if not _is(context, "multipart/form-data"):
        raise _not_this_type("multipart/form-data")
    counter = Counter(request._receive, limit)
    request._receive = counter
    try:
        found = await request.form(max_files=4, max_fields=100, max_part_size=context.site.settings.largest_form)
    except (FormParserError, MultiPartException, HTTPException, ClientDisconnect):
        if counter.size > limit:
            raise _too_large(context, limit) from None
        raise Problem(
            400, "The upload cannot be read.", remedy="Choose the file again and send the form again."
        ) from None
    texts = [(name, value) for name, value in found.multi_items() if isinstance(value, str)]
    files = {name: value for name, value in found.multi_items() if isinstance(value, UploadFile)}
    return Form(forms.gathered(texts), files)


@dataclass
class Counter:
    """Counts what comes in. Beyond the limit it ends with the parser's own error, on which the parser closes its files."""

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


def _is(context: Context, kind: str) -> bool:
    return context.request.headers.get("content-type", "").partition(";")[0].strip().lower() == kind


def _not_this_type(kind: str) -> Problem:
    return Problem(415, "The form was sent in a way that cannot be read.", remedy=f"Send it as {kind}.")


def _too_large(context: Context, limit: int) -> Problem:
    remedies = {
        "upload": "Send less, or register the file where it is, if whoever runs this server has opened its folder.",
        "form": "Go back, where what you typed still stands, and send less.",
    }
    remedy = remedies.get(context.route.body, "Send less.")
    return Problem(413, f"This is larger than {limit:,} bytes.", remedy=remedy)
