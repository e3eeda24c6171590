"""Room: optimal generalisation. The least lossy table within a limit, and a certificate why nothing better exists."""

from discreet.anonymity.anonymise import SEARCHES, anonymise
from discreet.anonymity.certificate import Certificate
from discreet.anonymity.frontier import Point, frontier
from discreet.anonymity.lattice.search import Progress
from discreet.anonymity.losses import LOSSES
from discreet.anonymity.result import Anonymised
from discreet.anonymity.stackelberg import Commitment, Offer, stackelberg
from discreet.anonymity.sweep import Seen, sweep

__all__ = [
    "LOSSES",
    "SEARCHES",
    "Anonymised",
    "Certificate",
    "Commitment",
    "Offer",
    "Point",
    "Progress",
    "Seen",
    "anonymise",
    "frontier",
    "stackelberg",
    "sweep",
]
