"""One copy per recipient, decoys inside, and a trace with a stated error rate."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from discreet.releases.bait import BaitPlan, plan_bait, same_origin
from discreet.releases.bait_release import BaitSettings
from discreet.releases.feasibility import Cell, Feasibility, FeasibilityGrid, feasibility, feasibility_grid
from discreet.releases.level_fingerprints import Fingerprints, plan_fingerprints
from discreet.releases.marks.pairing import MarkBudget as Budget
from discreet.releases.marks.selection import Marking, mark
from discreet.releases.plan import Plan, Preflight, plan
from discreet.releases.population_link import DecoyCandidates as Candidates
from discreet.releases.population_link import Linked
from discreet.releases.preconditions import Gates
from discreet.releases.tracing.case import Traceable
from discreet.releases.tracing.result import Trace
from discreet.releases.tracing.trace import trace_claims, trace_leak

if TYPE_CHECKING:
    from discreet.releases.delivery.release import Release, release
    from discreet.releases.delivery.service import Opened, open_release
    from discreet.releases.tracing.trace import trace

__all__ = [
    "BaitPlan",
    "BaitSettings",
    "Budget",
    "Candidates",
    "Cell",
    "Feasibility",
    "FeasibilityGrid",
    "Fingerprints",
    "Gates",
    "Linked",
    "Marking",
    "Opened",
    "Plan",
    "Preflight",
    "Release",
    "Trace",
    "Traceable",
    "feasibility",
    "feasibility_grid",
    "mark",
    "open_release",
    "plan",
    "plan_bait",
    "plan_fingerprints",
    "release",
    "same_origin",
    "trace",
    "trace_claims",
    "trace_leak",
]

# These write into the ledger, so they need the extra `store`, which the others do without.
_FILES = {
    "Opened": "delivery.service",
    "Release": "delivery.release",
    "open_release": "delivery.service",
    "release": "delivery.release",
    "trace": "tracing.trace",
}


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"module 'discreet.releases' has no attribute '{name}'")
    importlib.import_module("discreet.store")  # says in words if the extra is missing
    return getattr(importlib.import_module(f"discreet.releases.{_FILES[name]}"), name)
