"""The documented name of `discreet.linkage.review.reveal`."""

from discreet.linkage.review.reveal import reveal, view
from discreet.linkage.review.views import PairView

__all__ = ["PairView", "reveal", "view"]
