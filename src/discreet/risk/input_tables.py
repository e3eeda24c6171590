"""Input tables: what `assess` and `anonymise` are handed, opened with its policy.

The only file of this room that opens files and databases.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.errors import UsageError
from discreet.kernel import Classes, Countable
from discreet.policy import Policy

PolicyLike = Policy | str | Path | Mapping[str, Any]
"""A policy, the path of its file, or a dictionary of the file's shape."""


def opened(source: Any, policy: PolicyLike | None = None) -> Countable | Classes:
    """The table to count: as it is, or opened by `discreet.read` with the policy.

    >>> opened(Classes.of(["sex"], [("F",)]))
    Classes(1 people in 1 classes by sex)
    """
    if policy is None:
        if isinstance(source, Classes) or (isinstance(source, Countable) and callable(source.classes)):
            return source
        raise UsageError(
            f"People are counted in a table or classes, not in a {type(source).__name__} without a policy.",
            remedy="Give policy=..., or read it first: discreet.read(source, policy=policy).",
        )
    if isinstance(source, Classes):
        raise UsageError(
            "Classes are counted already, and take no policy.",
            remedy="Leave out policy=, or give the table or frame that they were counted from.",
        )
    from discreet.sources import read

    return read(source, policy=policy)
