"""Optimal generalisation. The least lossy table within a limit, and a certificate why nothing better exists."""

from discreet.anonymity.anonymise import SEARCHES, Point, anonymise, frontier
from discreet.anonymity.comparison import Candidate, TableComparison, compare
from discreet.anonymity.lattice.exact import SearchProgress as Progress
from discreet.anonymity.lattice.search import MeasuredNode as Seen
from discreet.anonymity.lattice.search import sweep
from discreet.anonymity.losses import LOSSES
from discreet.anonymity.result import Anonymised, Certificate
from discreet.anonymity.stackelberg import Commitment, Offer, stackelberg

__all__ = [
    "LOSSES",
    "SEARCHES",
    "Anonymised",
    "Candidate",
    "Certificate",
    "Commitment",
    "Offer",
    "Point",
    "Progress",
    "Seen",
    "TableComparison",
    "anonymise",
    "compare",
    "frontier",
    "stackelberg",
    "sweep",
]
