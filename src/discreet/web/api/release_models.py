"""What the API takes and gives about releases, plans and traces."""

from __future__ import annotations

from typing import Any, Literal

from discreet.web.framework.models import Strict
from discreet.web.releases.view import CopyState

PlanState = Literal["planned", "approved", "rejected", "withdrawn", "making", "made"]


class CopyModel(Strict):
    """One recipient's copy."""

    recipient: str
    state: CopyState
    ready: bool
    """Does it lie ready to be handed over?"""
    rows: int | None
    file: str | None
    """The SHA-256 of its data."""


class ReleaseModel(Strict):
    """A release. What is in its manifest is given to nobody."""

    name: str
    version: int | None
    """Null before it is sealed."""
    manifest: str | None
    """The SHA-256 of the sealed manifest, as the ledger has it."""
    copies: list[CopyModel]
    plans: list[int]
    """Numbers of its plans, newest first."""
    traces: list[int]
    """Numbers of its traces, newest first."""


class Releases(Strict):
    """All releases, what waits for somebody first, then what was touched last."""

    releases: list[ReleaseModel]


class PlanModel(Strict):
    """A plan. It is approved by another custodian, who has signed in; never by a token."""

    id: int
    release: str
    kind: Literal["new", "more"]
    state: PlanState
    version: int
    planner: str
    changed: str
    decider: str | None
    decided: str | None
    reason: str | None
    recipients: list[str]
    digest: str
    preflight: dict[str, Any] | None
    """What would come of it; null while a job looks, or where it was refused."""
    job: int | None
    """The last job that looked at it or made it; poll it under jobs."""


class TraceModel(Strict):
    """The evidence; `numbers` has the keys of the command's JSON. It holds no value of any person."""

    id: int
    release: str
    version: int
    kind: Literal["claims", "leak"]
    source: str
    tracer: str
    made: str
    accused: list[str]
    numbers: dict[str, Any]
