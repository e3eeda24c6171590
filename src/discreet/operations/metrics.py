"""Metrics: counters, histograms of seconds and gauges, in the text format that Prometheus reads.

>>> metrics = Metrics("discreet_")
>>> metrics.count("requests", status="200")
>>> print(metrics.text({"sessions": 2}), end="")
# TYPE discreet_requests_total counter
discreet_requests_total{status="200"} 1
# TYPE discreet_sessions gauge
discreet_sessions 2
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping

BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds at which histograms are cut."""
Labels = tuple[tuple[str, str], ...]


def labelled(name: str, labels: Labels) -> str:
    """A name with its labels, quoted.

    >>> labelled("jobs", (("state", "queued"),))
    'jobs{state="queued"}'
    """
    escaped = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    quoted = (f'{key}="{value.translate(escaped)}"' for key, value in labels)
    return f"{name}{{{','.join(quoted)}}}" if labels else name


class Metrics:
    """Counts, and lengths of time, from any thread."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.counts: Counter[tuple[str, Labels]] = Counter()
        self._times: dict[tuple[str, Labels], list[int]] = {}
        """By bound, the last one for what is beyond all."""
        self._seconds: Counter[tuple[str, Labels]] = Counter()
        self._lock = threading.Lock()

    def count(self, name: str, **labels: str) -> None:
        """Something has happened once more."""
        with self._lock:
            self.counts[name, tuple(labels.items())] += 1

    def time(self, name: str, seconds: float, **labels: str) -> None:
        """Something took so long."""
        key = name, tuple(labels.items())
        with self._lock:
            self._times.setdefault(key, [0] * (len(BOUNDS) + 1))[bisect_left(BOUNDS, seconds)] += 1
            self._seconds[key] += seconds  # type: ignore[assignment]

    def text(self, gauges: Mapping[str, float]) -> str:
        """All figures; names of gauges may have labels already."""
        with self._lock:
            lines = [*self._counters(), *self._histograms()]
        described = ""
        for name, value in sorted(gauges.items()):
            if (plain := name.partition("{")[0]) != described:
                lines.append(f"# TYPE {self.prefix}{plain} gauge")
                described = plain
            lines.append(f"{self.prefix}{name} {value:.15g}")
        return "\n".join(lines) + "\n"

    def _counters(self) -> Iterator[str]:
        described = ""
        for (name, labels), count in sorted(self.counts.items()):
            if name != described:
                yield f"# TYPE {self.prefix}{name}_total counter"
                described = name
            yield f"{self.prefix}{labelled(f'{name}_total', labels)} {count}"

    def _histograms(self) -> Iterator[str]:
        described = ""
        for (name, labels), times in sorted(self._times.items()):
            if name != described:
                yield f"# TYPE {self.prefix}{name} histogram"
                described = name
            below = 0
            for bound, times_here in zip((*(f"{bound:g}" for bound in BOUNDS), "+Inf"), times, strict=True):
                below += times_here
                yield f"{self.prefix}{labelled(f'{name}_bucket', (*labels, ('le', bound)))} {below}"
            yield f"{self.prefix}{labelled(f'{name}_sum', labels)} {self._seconds[name, labels]:.6f}"
            yield f"{self.prefix}{labelled(f'{name}_count', labels)} {below}"
