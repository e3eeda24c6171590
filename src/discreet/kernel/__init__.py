"""Counting people who look alike: hierarchies, and the class histogram every measure rests on.

Pure: numpy and nothing else. Rows never come here, only the distinct tuples with their counts.
"""

from discreet.kernel.amounts import Amount, exact, parts_down, parts_up, written
from discreet.kernel.classes import Classes, Column, Countable, Recoding, count
from discreet.kernel.hierarchy import Bins, Coded, Hierarchy, Histogram, Tally
from discreet.kernel.members import Members, Spread
from discreet.kernel.number_rules import Cuts, TopBottomCode, Widths
from discreet.kernel.rules import AnyValue, AutoMask, Dates, Flat, Mask, Prefix, Rule, Tree

__all__ = [
    "Amount",
    "AnyValue",
    "AutoMask",
    "Bins",
    "Classes",
    "Coded",
    "Column",
    "Countable",
    "Cuts",
    "Dates",
    "Flat",
    "Hierarchy",
    "Histogram",
    "Mask",
    "Members",
    "Prefix",
    "Recoding",
    "Rule",
    "Spread",
    "Tally",
    "TopBottomCode",
    "Tree",
    "Widths",
    "count",
    "exact",
    "parts_down",
    "parts_up",
    "written",
]
