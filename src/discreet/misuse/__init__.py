"""Room: what a query result could do in the wrong hands, together with what its reader already knows."""

from discreet.misuse.sensitivity import Sensitivity

__all__ = ["Sensitivity"]
