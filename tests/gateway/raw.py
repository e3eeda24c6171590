"""A client that speaks the protocol byte by byte, so that tests see what others hide."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from types import TracebackType

SYNC, FLUSH, TERMINATE = (letter + b"\0\0\0\4" for letter in (b"S", b"H", b"X"))


def message(letter: bytes, body: bytes = b"") -> bytes:
    return letter + struct.pack("!i", len(body) + 4) + body


def startup(user: str = "postgres", database: str = "postgres", **more: str) -> bytes:
    told = {"user": user, "database": database, **more}
    body = b"".join(f"{name}\0{value}\0".encode() for name, value in told.items()) + b"\0"
    return struct.pack("!ii", len(body) + 8, 3 << 16) + body


def query(text: str) -> bytes:
    return message(b"Q", text.encode() + b"\0")


def parse(text: str, name: str = "", types: Sequence[int] = ()) -> bytes:
    body = name.encode() + b"\0" + text.encode() + b"\0" + struct.pack("!h", len(types))
    return message(b"P", body + b"".join(struct.pack("!I", kind) for kind in types))


def bind(
    portal: str = "", statement: str = "", values: Sequence[bytes | None] = (), results: Sequence[int] = ()
) -> bytes:
    cells = b"".join(struct.pack("!i", -1) if v is None else struct.pack("!i", len(v)) + v for v in values)
    head = portal.encode() + b"\0" + statement.encode() + b"\0" + struct.pack("!hh", 0, len(values)) + cells
    return message(b"B", head + struct.pack(f"!h{len(results)}h", len(results), *results))


def describe(kind: str, name: str = "") -> bytes:
    return message(b"D", kind.encode() + name.encode() + b"\0")


def execute(portal: str = "", limit: int = 0) -> bytes:
    return message(b"E", portal.encode() + b"\0" + struct.pack("!i", limit))


def close(kind: str, name: str = "") -> bytes:
    return message(b"C", kind.encode() + name.encode() + b"\0")


def at_once(text: str, *, values: Sequence[bytes | None] = (), results: Sequence[int] = (), limit: int = 0) -> bytes:
    """The whole of a statement in the extended protocol, without Sync."""
    return parse(text) + bind(values=values, results=results) + describe("P") + execute(limit=limit)


def row(*cells: bytes | None) -> bytes:
    """A DataRow."""
    body = struct.pack("!h", len(cells))
    return message(
        b"D", body + b"".join(struct.pack("!i", -1) if c is None else struct.pack("!i", len(c)) + c for c in cells)
    )


def split(data: bytes) -> list[bytes]:
    """Messages one by one, in the plainest way."""
    found, pos = [], 0
    while pos < len(data):
        end = pos + 1 + struct.unpack_from("!i", data, pos + 1)[0]
        found.append(data[pos:end])
        pos = end
    return found


def letters(messages: Sequence[bytes]) -> str:
    return "".join(chr(one[0]) for one in messages)


def rows(messages: Sequence[bytes]) -> list[list[bytes | None]]:
    """The cells of all DataRows."""
    found = []
    for one in messages:
        if one[:1] == b"D":
            cells: list[bytes | None] = []
            pos = 7
            for _ in range(struct.unpack_from("!h", one, 5)[0]):
                (length,) = struct.unpack_from("!i", one, pos)
                cells.append(None if length < 0 else one[pos + 4 : pos + 4 + length])
                pos += 4 + max(0, length)
            found.append(cells)
    return found


def error(messages: Sequence[bytes]) -> dict[str, str]:
    """The fields of the first error."""
    body = next(one for one in messages if one[:1] == b"E")[5:]
    return {chr(part[0]): part[1:].decode() for part in body.split(b"\0") if part}


class Raw:
    """A session that reads whole messages."""

    def __init__(self, address: tuple[str, int] | str, *, first: bytes | None = None) -> None:
        kind = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(kind)
        self.socket.settimeout(20)
        try:
            self.socket.connect(address)
        except OSError:
            self.socket.close()
            raise
        self._rest = b""
        if first is None:
            first = startup()
        if first:
            self.send(first)
            self.opening = self.until_ready()

    def __enter__(self) -> Raw:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def message(self) -> bytes:
        """The next message; empty at the end."""
        while len(self._rest) < 5 or len(self._rest) < 1 + struct.unpack_from("!i", self._rest, 1)[0]:
            more = self.socket.recv(262_144)
            if not more:
                return b""
            self._rest += more
        end = 1 + struct.unpack_from("!i", self._rest, 1)[0]
        found, self._rest = self._rest[:end], self._rest[end:]
        return found

    def until(self, letter: bytes) -> list[bytes]:
        found = []
        while True:
            one = self.message()
            if not one:
                return found
            found.append(one)
            if one[:1] == letter:
                return found

    def until_ready(self, times: int = 1) -> list[bytes]:
        found = []
        for _ in range(times):
            found += self.until(b"Z")
        return found

    def ask(self, data: bytes, *, ready: int = 1) -> list[bytes]:
        self.send(data)
        return self.until_ready(ready)

    def rest(self) -> bytes:
        """Everything until the other side closes."""
        found = self._rest
        self._rest = b""
        while more := self.socket.recv(65_536):
            found += more
        return found
