"""Discreet: share person-level data knowing what every disclosure risks.

>>> import discreet
>>> people = discreet.Classes.of(["sex", "zip"], [("F", "10115"), ("M", "10115"), ("M", "10115")])
>>> discreet.assess(people)
Assessment(3 people, 1 unique, k=1, average risk 0.6667)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.anonymity import Anonymised, anonymise
    from discreet.attacker import Attack
    from discreet.errors import DiscreetError
    from discreet.kernel import Classes, count
    from discreet.misuse import score
    from discreet.policy import Policy
    from discreet.releases import release, trace
    from discreet.risk import Assessment, Profile, assess, profile
    from discreet.sources import Table, read

__version__ = "0.1.0"

__all__ = [
    "Anonymised",
    "Assessment",
    "Attack",
    "Classes",
    "DiscreetError",
    "Policy",
    "Profile",
    "Table",
    "anonymise",
    "assess",
    "count",
    "profile",
    "read",
    "release",
    "score",
    "trace",
]

# Each name is imported from its room when it is first used, so that `import discreet` is quick.
_ROOMS = {
    "Anonymised": "anonymity",
    "anonymise": "anonymity",
    "Assessment": "risk",
    "Attack": "attacker",
    "Classes": "kernel",
    "DiscreetError": "errors",
    "Policy": "policy",
    "Profile": "risk",
    "Table": "sources",
    "assess": "risk",
    "count": "kernel",
    "profile": "risk",
    "read": "sources",
    "release": "releases",
    "score": "misuse",
    "trace": "releases",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'discreet' has no attribute '{name}'")
    return getattr(importlib.import_module(f"discreet.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
