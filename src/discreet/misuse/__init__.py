"""What a query result could do in the wrong hands, together with what its reader already knows."""

from discreet.misuse.exposure import Exposure
from discreet.misuse.input_tables import join
from discreet.misuse.prepared_source import Prepared, prepare
from discreet.misuse.reduction import reduce_by_generalising, reduce_cells, reduce_rows
from discreet.misuse.scorer import Heavy, Score, conditions, score
from discreet.misuse.sensitivity import Sensitivity

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
