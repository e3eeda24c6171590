"""Models of the API: strict, nothing that is not named here."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from discreet.web.accounts.tokens import LONGEST_LIFE
from discreet.web.framework.permissions import PERMISSIONS, SESSIONS_ONLY
from discreet.web.ledger.store import is_day


def _printable(text: str) -> str:
    if not text.isprintable() or not text.strip():
        raise ValueError("must be printable text")
    return text.strip()


Line = Annotated[str, Field(min_length=1, max_length=80), AfterValidator(_printable)]
"""One line of text."""
Text = Annotated[str, Field(max_length=500)]


def _day(text: str) -> str:
    if not is_day(text):
        raise ValueError("must be a day such as 2026-05-31")
    return text


Day = Annotated[str, AfterValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]

SCOPES = [name for name in PERMISSIONS if name not in SESSIONS_ONLY]


def _scope(text: str) -> str:
    if text not in SCOPES:
        raise ValueError("must be one of the scopes")
    return text


Scope = Annotated[str, AfterValidator(_scope), WithJsonSchema({"type": "string", "enum": SCOPES})]


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


class Me(Strict):
    """Who is asking."""

    name: str
    role: str
    permissions: list[str]
    token: int | None
    """The number of the token; null in a session."""


class Head(Strict):
    """The signed head of the ledger: what it holds, in one hash."""

    format: str
    ledger: str
    size: int
    root: str
    time: str
    key: str
    signature: str


class ChargeModel(Strict):
    """What an entry did to a budget, in parts (`parts` to the one), and how the budget stood afterwards."""

    name: str
    parts: int
    amount: int
    held: int
    allowed: int
    spent: int
    reserved: int
    reservation: int | None
    expires: str | None


class EntryModel(Strict):
    """One entry of the ledger."""

    sequence: int
    time: str
    clock: str | None
    actor: str
    room: str
    event: str
    outcome: str
    subject: str
    risk_before: str | None
    risk_after: str | None
    policy: str | None
    key: str
    budget: ChargeModel | None
    details: dict[str, str | int | bool | None]
    previous: str


class EntriesPage(Strict):
    """Some entries, newest first; ask again with `before` = `older` for the next ones."""

    entries: list[EntryModel]
    older: int | None


class EntriesQuery(BaseModel):
    """Which entries; what is left out does not matter."""

    model_config = ConfigDict(extra="forbid")

    actor: Text = ""
    room: Text = ""
    event: Text = ""
    outcome: Text = ""
    subject: Text = ""
    since: Day | None = None
    until: Day | None = None
    before: int | None = Field(default=None, ge=0, le=10**17)
    most: int = Field(default=50, ge=1, le=500)


class TokenModel(Strict):
    """A token, without its secret."""

    id: int
    name: str
    scopes: list[str]
    made: str
    expires: str
    revoked: str | None
    state: str
    maker: int | None
    """The token that made it, and with which it ends; none if a person did."""


class Tokens(Strict):
    """All tokens of the account, newest first."""

    tokens: list[TokenModel]


class NewToken(Strict):
    """A token to be made."""

    name: Line
    scopes: list[Scope] = Field(min_length=1, max_length=50)
    days: int = Field(default=90, ge=1, le=LONGEST_LIFE)


class MadeToken(Strict):
    """A new token and its secret, which is never shown again."""

    token: TokenModel
    secret: str


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
