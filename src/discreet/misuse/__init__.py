"""What a query result could do in the wrong hands, together with what its reader already knows."""

from discreet.misuse.exposure.exposure import Exposure
from discreet.misuse.reduction import reduce_by_generalising, reduce_cells, reduce_rows
from discreet.misuse.relations import join
from discreet.misuse.score import conditions, score
from discreet.misuse.scorer import Heavy, Score
from discreet.misuse.sensitivity import Sensitivity
from discreet.misuse.source.prepared import Prepared, prepare

__all__ = [
    "Exposure",
    "Heavy",
    "Prepared",
    "Score",
    "Sensitivity",
    "conditions",
    "join",
    "prepare",
    "reduce_by_generalising",
    "reduce_cells",
    "reduce_rows",
    "score",
]
