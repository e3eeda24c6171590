"""The first packet of a connection, before anything else is said: it has a length and no letter.

A client may ask for TLS or for encryption by GSSAPI and wait for one byte; it may bring the key of another session whose
statement is to be cancelled; or it says who it is. Whatever is longer or stranger than a real client's is refused.

>>> read(b"\\x00\\x00\\x00\\x08\\x04\\xd2\\x16\\x2f")
(<Kind.TLS: 80877103>, 8)
>>> read(b"\\x00\\x00") is None
True
"""

from __future__ import annotations

from enum import IntEnum
from struct import unpack_from

from discreet.gateway.protocol.framing import Malformed

LONGEST = 10_000
"""PostgreSQL refuses longer ones too."""
TLS_REQUEST = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"
_CANCEL_LENGTHS = range(13, 269)  # a process id, and a key of up to 256 bytes


class Kind(IntEnum):
    """What a client wants with its first packet; a session has the number of its protocol version instead."""

    CANCEL = 80877102
    TLS = 80877103
    GSSAPI = 80877104
    SESSION = 3 << 16


def read(data: bytes) -> tuple[Kind, int] | None:
    """What the packet at the beginning is, and its length; None until it is whole."""
    if len(data) < 4:
        return None
    (length,) = unpack_from("!i", data)
    if not 8 <= length <= LONGEST:
        raise Malformed
    if len(data) < 8:
        return None
    kind = _kind(unpack_from("!i", data, 4)[0], length)
    return (kind, length) if len(data) >= length else None


def _kind(code: int, length: int) -> Kind:
    if code in (Kind.TLS, Kind.GSSAPI) and length == 8:
        return Kind(code)
    if code == Kind.CANCEL and length in _CANCEL_LENGTHS:
        return Kind.CANCEL
    if code >> 16 == 3:
        return Kind.SESSION
    raise Malformed


def parameters(packet: bytes) -> dict[str, str]:
    """What a client says about itself: user, database, application_name, ...

    >>> parameters(b"\\0\\0\\0\\x13\\0\\3\\0\\0user\\0ada\\0\\0")
    {'user': 'ada'}
    """
    parts = packet[8:].split(b"\0")
    if len(parts) < 2 or len(parts) % 2 or parts[-1] or parts[-2]:
        raise Malformed
    names, values = parts[:-2:2], parts[1:-2:2]
    if not all(names) or len(set(names)) != len(names):
        raise Malformed
    try:
        told = {name.decode(): value.decode() for name, value in zip(names, values, strict=True)}
    except UnicodeDecodeError:
        raise Malformed from None
    if not told.get("user"):
        raise Malformed
    return told


def replicates(told: dict[str, str]) -> bool:
    """Whether this is a replication connection, which hands out the log of the whole server.

    >>> replicates({"user": "ada", "replication": "off"}), replicates({"user": "ada", "replication": "database"})
    (False, True)
    """
    return told.get("replication", "off").lower() not in ("off", "false", "no", "0", "f", "n")
