"""Problems as answers: status, what happened, what to do next."""

from __future__ import annotations

import traceback
from http import HTTPStatus
from pathlib import Path

from discreet.errors import (
    BudgetExhausted,
    DataError,
    DiscreetError,
    IntegrityError,
    KeyReused,
    NotThere,
    Outdated,
    PolicyError,
    Refused,
    StoreError,
    UsageError,
)


class Problem(DiscreetError):
    """An answer that is not what was asked for."""

    def __init__(
        self,
        status: int,
        problem: str,
        *,
        remedy: str = "",
        title: str = "",
        path: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(problem, remedy=remedy)
        self.status = status
        self.title = title or TITLES.get(status) or HTTPStatus(status).phrase
        self.path = path
        """The page that the next step leads to, if there is one."""
        self.headers = headers or {}

    def to_dict(self) -> dict[str, object]:
        """As `application/problem+json` (RFC 9457), with `next` for the next step."""
        return {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.problem,
            "next": self.remedy,
        }


TITLES = {
    400: "This request cannot be understood",
    401: "Please sign in",
    403: "Not allowed",
    404: "There is nothing here",
    405: "Not this way",
    409: "Something has changed meanwhile",
    413: "Too large",
    415: "Unsupported form",
    422: "Something does not fit",
    429: "Too many attempts",
    500: "An error on our side",
    503: "The store cannot be used now",
}

STATUSES: tuple[tuple[type[DiscreetError], int], ...] = (
    (KeyReused, 409),
    (NotThere, 404),
    (Outdated, 409),
    (BudgetExhausted, 403),
    (Refused, 403),
    (PolicyError, 422),
    (DataError, 422),
    (UsageError, 422),
    (StoreError, 503),
    (IntegrityError, 500),
)
"""The first that fits."""


def not_found() -> Problem:
    """Nothing there, or nothing that the account may have."""
    return Problem(
        404,
        "This address leads to nothing that you may see.",
        remedy="It may have been removed, or it belongs to another account. Go back, or start at the dashboard.",
    )


def not_allowed() -> Problem:
    """The role has no such permission."""
    return Problem(
        403, "Your role does not include this.", remedy="Ask an administrator if you need it; your account page lists what you may do."
    )  # fmt: skip


def bug() -> Problem:
    """A fault of ours; its words may hold a person's value."""
    return Problem(
        500,
        "Something went wrong on our side. Nothing was disclosed.",
        remedy="Try again; if it happens again, tell the operator of this server when it happened.",
    )


def problem_of(error: Exception) -> Problem:
    """An error of ours as an answer; anything else as a bug."""
    if isinstance(error, Problem):
        return error
    if not isinstance(error, DiscreetError):
        return bug()
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
    if status == 500 and not isinstance(error, IntegrityError):
        return bug()
    if isinstance(error, StoreError | IntegrityError):
        # Where the store is and what is wrong with it belongs into the log of the server, not into answers.
        if status == 503:
            words = "Nothing can be read or written down, so nothing is disclosed and nothing is changed."
            remedy = "Try again in a moment; if it continues, tell the operator of this server."
            return Problem(status, words, remedy=remedy, headers={"Retry-After": "5"})
        words = "What is stored is not what was written."
        return Problem(status, words, remedy="Disclose nothing more, and tell the operator of this server.")
    return Problem(status, error.problem, remedy=error.remedy)


def page_problem(error: Exception) -> Problem:
    """An error as a form shows it; faults of ours are raised again."""
    problem = problem_of(error)
    if problem.status >= 500:
        raise error
    return problem


def place_of(error: BaseException) -> str:
    """What kind of error, and where; never its words.

    >>> place_of(ValueError("a name"))
    'ValueError at an unknown place. This is a bug.'
    """
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"
    return f"{type(error).__name__} at {where}. This is a bug."
