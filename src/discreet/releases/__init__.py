"""Room: one copy per recipient, decoys inside, and a trace with a stated error rate."""

from discreet.releases.bait import BaitPlan, plan_bait
from discreet.releases.feasible import Feasibility, feasibility
from discreet.releases.fingerprints import Fingerprints, plan_fingerprints
from discreet.releases.grid import Cell, FeasibilityGrid, feasibility_grid
from discreet.releases.linked import Candidates, Linked
from discreet.releases.origin import same_origin

__all__ = [
    "BaitPlan",
    "Candidates",
    "Cell",
    "Feasibility",
    "FeasibilityGrid",
    "Fingerprints",
    "Linked",
    "feasibility",
    "feasibility_grid",
    "plan_bait",
    "plan_fingerprints",
    "same_origin",
]
