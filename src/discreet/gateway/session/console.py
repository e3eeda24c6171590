"""Console of administrators: a database of the gateway's own that answers SHOW and a few commands, without I/O.

Who connects to it is let in by the database server, as everywhere; it speaks the simple protocol only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from struct import pack

from discreet.gateway.protocol.framing import Framer
from discreet.gateway.protocol.messages import complete, error, message, query_text, ready

DATABASE = "discreet"
"""Its name, where clients name a database."""
STRANGER = error(
    severity="FATAL",
    sqlstate="42501",
    message="This is the console of the gateway's administrators.",
    hint="Connect to a database, or let yourself be named with --console.",
)
SIMPLE = error(sqlstate="0A000", message="The console speaks the simple protocol only.", hint="Use psql.")
FAILED = error(sqlstate="58000", message="The command failed.", hint="The log of the gateway says more.")
TEXT = 25
_IDLE = ord("I")

ConsoleTable = tuple[Sequence[str], Sequence[Sequence[object]]]
"""Columns and rows of an answer; no column for a command that is only carried out."""
ConsoleCommand = Callable[[], Awaitable[ConsoleTable]]


class Console:
    """A session of an administrator."""

    def __init__(self, commands: Mapping[str, ConsoleCommand]) -> None:
        self._commands = commands
        self._framer = Framer(largest=65_536)
        self.over = False
        self._skipping = False

    def take(self, data: bytes) -> list[str]:
        """Bytes from the client; gives what is asked, in order, and an empty text for what is not understood."""
        self._framer.feed(data)
        asked = []
        while not self.over and (frame := self._framer.next()) is not None:
            if frame.kind == ord("X"):
                self.over = True
            elif frame.kind == ord("Q"):
                asked.append(query_text(frame.body).decode("utf-8", "replace"))
            elif frame.kind == ord("S"):  # the end of what was not understood
                self._skipping = False
                asked.append("")
            elif not self._skipping:
                self._skipping = True
        return asked

    async def answer(self, text: str) -> bytes:
        """What a command answers."""
        words = " ".join(text.strip().rstrip(";").upper().split())
        if not text:
            return SIMPLE + ready(_IDLE)
        command = self._commands.get(words)
        if words == "SHOW HELP":
            return _table(("command",), [(name,) for name in sorted(self._commands)]) + ready(_IDLE)
        if command is None:
            unknown = error(
                sqlstate="42601", message="The console does not know this.", hint="SHOW HELP lists its commands."
            )
            return unknown + ready(_IDLE)
        try:
            columns, rows = await command()
        except Exception:
            return FAILED + ready(_IDLE)
        return (_table(columns, rows) if columns else complete(words)) + ready(_IDLE)


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> bytes:
    """Rows of texts.

    >>> _table(("a",), [("b",), (None,)])[-20:]
    b'\\x00\\x01\\xff\\xff\\xff\\xffC\\x00\\x00\\x00\\rSELECT 2\\x00'
    """
    described = b"".join(name.encode() + pack("!xIhIhih", 0, 0, TEXT, -1, -1, 0) for name in columns)
    parts = [message(b"T", pack("!H", len(columns)) + described)]
    for row in rows:
        cells = [None if cell is None else str(cell).encode() for cell in row]
        body = b"".join(pack("!i", -1) if cell is None else pack("!i", len(cell)) + cell for cell in cells)
        parts.append(message(b"D", pack("!H", len(cells)) + body))
    return b"".join([*parts, complete(f"SELECT {len(rows)}")])
