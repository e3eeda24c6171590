"""Room: people decide whether two records are one person, seeing as little as possible."""

from discreet.linkage.comparing import compare, compare_names
from discreet.linkage.comparison import Comparison
from discreet.linkage.display import Display
from discreet.linkage.index import Index, Quote, Step
from discreet.linkage.marks import MARKS, Mark
from discreet.linkage.meter import Meter
from discreet.linkage.pair import Pair
from discreet.linkage.stored import load_index, save_index

__all__ = [
    "MARKS",
    "Comparison",
    "Display",
    "Index",
    "Mark",
    "Meter",
    "Pair",
    "Quote",
    "Step",
    "compare",
    "compare_names",
    "load_index",
    "save_index",
]
