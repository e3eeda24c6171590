"""The web application: who may come in."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Table, Text, UniqueConstraint

from discreet.store.tables.base import Number, metadata

ACCOUNT = Table(
    "web_account",
    metadata,
    Column("id", Number, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("password", Text, nullable=True),
    Column("disabled", Boolean, nullable=False),
    Column("made", Text, nullable=False),
    Column("seen", Text, nullable=True),
    Column("guide_left", Text, nullable=True),
    UniqueConstraint("name", name="web_account_name"),
)
"""A person. `password` is an argon2id hash, none until the invitation is taken up; `seen` the last time of signing in;
`guide_left` when the first steps were put away, none while they are shown.
"""

SESSION = Table(
    "web_session",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("account", Number, ForeignKey("web_account.id"), nullable=False),
    Column("made", Text, nullable=False),
    Column("seen", Text, nullable=False),
    Index("web_session_account", "account"),
)
"""Somebody who is signed in. Only the hash of the token is kept."""

LINK = Table(
    "web_link",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("account", Number, ForeignKey("web_account.id"), nullable=True),
    Column("made", Text, nullable=False),
    Column("expires", Text, nullable=False),
    Column("used", Text, nullable=True),
    Index("web_link_account", "account"),
)
"""A link that works once: for the account to set a password; without one, to make the first account of all."""

TOKEN = Table(
    "web_token",
    metadata,
    Column("id", Number, primary_key=True),
    Column("account", Number, ForeignKey("web_account.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("made", Text, nullable=False),
    Column("expires", Text, nullable=False),
    Column("revoked", Text, nullable=True),
    Column("maker", Number, nullable=True),
    UniqueConstraint("hash", name="web_token_hash"),
    Index("web_token_account", "account"),
    Index("web_token_maker", "maker"),
)
"""What a program shows at the API: some of the permissions of its account, for a while. Only its hash is kept. `maker` is
the token that made it, none if a person did.
"""

LIMIT = Table(
    "web_limit",
    metadata,
    Column("key", Text, primary_key=True),
    Column("since", Text, nullable=False),
    Column("count", BigInteger, nullable=False),
)
"""How often something was tried since a moment, by the keyed hash of what it was."""

CHECK = Table(
    "web_check",
    metadata,
    Column("id", Number, primary_key=True),
    Column("time", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("head", Text, nullable=False),
    Column("problems", BigInteger, nullable=False),
)
"""When the ledger was verified, by whom, up to which head, and how much was found."""
