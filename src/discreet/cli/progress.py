"""Progress on a terminal: what is going on, the share done, and the time it may still take.

The line is on stderr and vanishes when the work is done. A thread of its own asks the work how far it is, draws the line and
ends with the block; the work itself stays in the main thread, where Ctrl-C reaches it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table as Grid
from rich.text import Text

FIRST = 1.0
"""Seconds after which there is something to say about the time."""
NEARLY = 0.995
"""A share from which on the time left is not estimated: what follows a pass over the rows is not in it."""
LEAST = 0.02
"""A share below which nothing can be said."""
LATELY = 3.0
"""Seconds over which the speed is taken, at least."""
BAR = 24
A_SECOND = 5
"""How often the line is drawn."""


class ProgressLine:
    """A line about work under way; the share done is asked for, or handed over by `turn`."""

    def __init__(
        self, text: str, share: Callable[[], float | None] | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._text, self._ask, self._clock = text, share, clock
        self._began = clock()
        self._seen: list[tuple[float, float]] = []
        """When a share was first seen, for the work that goes on."""
        self._spinner = Spinner("dots")

    def turn(self, text: str, share: float) -> None:
        """From now on it is other work, of which this share is done."""
        self._text, self._ask = text, lambda: share

    @contextmanager
    def live(self) -> Iterator[ProgressLine]:
        """Draw the line until the block ends, however it ends."""
        done = threading.Event()
        # What is printed to stdout meanwhile goes there, not here.
        live = Live(
            console=Console(stderr=True),
            get_renderable=self.line,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
        )

        def draw() -> None:
            while not done.wait(1 / A_SECOND):
                live.refresh()

        drawing = threading.Thread(target=draw, daemon=True)
        with live:
            drawing.start()
            try:
                yield self
            finally:
                done.set()
                drawing.join()

    def line(self) -> Grid:
        """The line as it is now."""
        share, left = self.estimate()
        grid = Grid.grid(padding=(0, 1))
        cells: list[RenderableType] = [self._spinner, Text(self._text, overflow="ellipsis", no_wrap=True)]
        elapsed = self._clock() - self._began
        if share is not None:
            cells += [ProgressBar(total=1.0, completed=share, width=BAR), Text(f"{round(100 * share)} %")]
        if left is not None:
            cells.append(Text(f"about {spell(left)} left", no_wrap=True))
        elif elapsed >= FIRST:
            cells.append(Text(spell(elapsed), no_wrap=True))
        grid.add_row(*cells)
        return grid

    def estimate(self) -> tuple[float | None, float | None]:
        """The share done and the seconds left, as far as they can be known by now."""
        share, now = None if self._ask is None else self._ask(), self._clock()
        if share is None or not self._seen or share < self._seen[-1][1]:
            self._seen = [] if share is None else [(now, share)]  # other work than the last time
        elif share > self._seen[-1][1]:
            self._seen.append((now, share))
        if share is None or now - self._seen[0][0] < FIRST or share >= NEARLY:
            return None, None
        # The speed of late, since the passes of one statement differ; up to the last change, since columns come in jumps.
        *earlier, (changed, _) = self._seen
        earlier = [seen for seen in earlier if seen[0] <= changed - LATELY] or earlier[:1]
        if not earlier or share < LEAST:
            return share, None
        then, before = earlier[-1]
        left = (changed - then) * (1 - share) / (share - before) - (now - changed)
        return share, left if left > 0 else None


def spell(seconds: float) -> str:
    """A time as people say it.

    >>> spell(8.2), spell(125), spell(7300)
    ('9 s', '2 min 5 s', '2 h 1 min')
    """
    whole = max(1, int(-(-seconds // 1)))
    minutes, rest = divmod(whole, 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
