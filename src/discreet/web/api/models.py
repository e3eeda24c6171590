"""What the API takes and gives: strict, and nothing that is not named here."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """No text for a number, and nothing extra."""

    model_config = ConfigDict(strict=True, extra="forbid")


class ProblemModel(Strict):
    """What went wrong (RFC 9457), and the next step."""

    type: str
    title: str
    status: int
    detail: str
    next: str


class Me(Strict):
    """Who is asking."""

    name: str
    role: str
    permissions: list[str]
    token: int | None
    """The number of the token; null in a session."""


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
        (413, "Too large."),
        (422, "Something does not fit."),
        (503, "The store cannot be used now."),
    )
}
"""What every operation may answer instead."""
