"""Which event loop serves: uvloop where it is installed, since it takes less of a CPU; Python's own everywhere else."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from collections.abc import Callable, Coroutine
from typing import Any


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the event loop; None for Python's own."""
    if importlib.util.find_spec("uvloop") is None:  # as on Windows
        return None
    made: Callable[[], asyncio.AbstractEventLoop] = importlib.import_module("uvloop").new_event_loop
    return made


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run it to its end."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(work)
