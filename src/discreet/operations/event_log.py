"""Event log: one line of JSON per event, without values of people.

Every event says what it may say: anything else is left out, so that no value gets there by mistake.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from discreet.errors import UsageError


class EventLog:
    """Writes events down where there is a file; it can be reopened after a rotation."""

    def __init__(self, place: Path | TextIO | None, *, named: Collection[str]) -> None:
        self.named = frozenset(named)
        self.failed = 0
        """Events that could not be written: a full disk must not stop a server; the ledger has what must not be lost."""
        self._lock = threading.Lock()
        self._path = place if isinstance(place, Path) else None
        self._file: TextIO | None = None if isinstance(place, Path) else place
        self.reopen()

    def write(self, event: str, **facts: Any) -> None:
        """Write down that something has happened; from any thread."""
        if self._file is None:
            return
        said = {name: value for name, value in facts.items() if name in self.named and value is not None}
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **said}
        with self._lock:
            try:
                self._file.write(json.dumps(line, default=str) + "\n")
                self._file.flush()
            except OSError:
                self.failed += 1

    def reopen(self) -> None:
        """Open the file again, as after its rotation."""
        if self._path is None:
            return
        try:
            opened = self._path.open("a", encoding="utf-8")
        except OSError as problem:
            raise UsageError(f"The log cannot be written ({problem.strerror}).", remedy="Check --log.") from None
        with self._lock:
            before, self._file = self._file, opened
        if before is not None:
            before.close()

    def close(self) -> None:
        """Close the file, if it is ours."""
        with self._lock:
            if self._path is not None and self._file is not None:
                self._file.close()
            self._file = None

    def handler(self) -> logging.Handler:
        """Takes what the server itself has to say."""
        return _Handler(self)


class _Handler(logging.Handler):
    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Without the traceback, whose last line could hold a value."""
        self._log.write("log", level=record.levelname, logger=record.name, message=record.getMessage())


MESSAGES = frozenset(("level", "logger", "message"))
"""What an event of `handler` says."""
