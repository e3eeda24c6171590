"""Room: one copy per recipient, decoys inside, and a trace with a stated error rate."""

from discreet.releases.feasible import Feasibility, feasibility
from discreet.releases.grid import Cell, FeasibilityGrid, feasibility_grid
from discreet.releases.linked import Candidates, Linked

__all__ = ["Candidates", "Cell", "Feasibility", "FeasibilityGrid", "Linked", "feasibility", "feasibility_grid"]
