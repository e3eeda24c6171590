r"""PROXY protocol: what a load balancer says about the client behind it, versions 1 and 2, without I/O.

>>> read_header(b"PROXY TCP4 10.0.0.7 10.0.0.1 5000 6432\r\nrest")
ProxyHeader(length=40, address='10.0.0.7')
>>> read_header(b"PROXY TC") is None
True
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from struct import unpack_from

from discreet.gateway.protocol.framing import Malformed

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
"""How version 2 begins."""
_LONGEST_LINE = 107
_LONGEST_BLOCK = 4096  # more than all fields that proxies add together


@dataclass(frozen=True)
class ProxyHeader:
    """A header at the beginning of a connection."""

    length: int
    address: str | None
    """Where the client calls from; None if the proxy speaks for itself, as in its health checks."""


def read_header(data: bytes) -> ProxyHeader | None:
    """The header; None until it is whole. A connection from a proxy that begins otherwise is malformed."""
    if data.startswith(SIGNATURE[: len(data)]):
        return _binary(data)
    if data.startswith(b"PROXY "[: len(data)]):
        return _line(data)
    raise Malformed


def _line(data: bytes) -> ProxyHeader | None:
    end = data.find(b"\r\n", 0, _LONGEST_LINE)
    if end < 0:
        if len(data) >= _LONGEST_LINE:
            raise Malformed
        return None
    words = data[:end].decode("ascii", "replace").split(" ")
    if words[1:2] == ["UNKNOWN"]:
        return ProxyHeader(end + 2, None)
    if len(words) != 6 or words[1] not in ("TCP4", "TCP6"):
        raise Malformed
    try:
        address = ip_address(words[2])
    except ValueError:
        raise Malformed from None
    if address.version != int(words[1][-1]):
        raise Malformed
    return ProxyHeader(end + 2, str(address))


def _binary(data: bytes) -> ProxyHeader | None:
    if len(data) < 16:
        return None
    command, family, length = unpack_from("!BBH", data, 12)
    if command not in (0x20, 0x21) or length > _LONGEST_BLOCK:
        raise Malformed
    if len(data) < 16 + length:
        return None
    if command == 0x20 or family == 0:  # LOCAL: the proxy itself; unspecified: nothing is known
        return ProxyHeader(16 + length, None)
    if family == 0x11 and length >= 12:
        return ProxyHeader(16 + length, str(IPv4Address(data[16:20])))
    if family == 0x21 and length >= 36:
        return ProxyHeader(16 + length, str(IPv6Address(data[16:32])))
    raise Malformed
