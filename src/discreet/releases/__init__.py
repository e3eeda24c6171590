"""Room: one copy per recipient, decoys inside, and a trace with a stated error rate."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from discreet.releases.bait import BaitPlan, plan_bait
from discreet.releases.budget import Budget
from discreet.releases.claims import trace_claims
from discreet.releases.feasible import Feasibility, feasibility
from discreet.releases.fingerprints import Fingerprints, plan_fingerprints
from discreet.releases.gates import Gates
from discreet.releases.grid import Cell, FeasibilityGrid, feasibility_grid
from discreet.releases.kinship import same_origin
from discreet.releases.leaks import trace_leak
from discreet.releases.linked import Candidates, Linked
from discreet.releases.marking import Marking, mark
from discreet.releases.planning import Plan, plan
from discreet.releases.preflight import Preflight
from discreet.releases.traceable import Traceable
from discreet.releases.traced import Trace

if TYPE_CHECKING:
    from discreet.releases.opening import Opened, open_release
    from discreet.releases.releasing import Release, release
    from discreet.releases.tracing import trace

__all__ = [
    "BaitPlan",
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
    "Opened": "opening",
    "Release": "releasing",
    "open_release": "opening",
    "release": "releasing",
    "trace": "tracing",
}


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"module 'discreet.releases' has no attribute '{name}'")
    importlib.import_module("discreet.store")  # says in words if the extra is missing
    return getattr(importlib.import_module(f"discreet.releases.{_FILES[name]}"), name)
