"""How many examples Hypothesis tries: a third in every run, where they are the same ones every time, many in thorough runs."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("DISCREET_TEST_EXAMPLES", "daily") == "thorough"


def examples(usual: int) -> int:
    """As many as a run is worth for a test that says how many are usual.

    >>> examples(60) in (20, 600)
    True
    """
    return 10 * usual if THOROUGH else max(5, usual // 3)
