"""The first packet: real ones are read, strange ones refused, and no byte sequence does anything else."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.gateway.protocol.framing import Malformed
from discreet.gateway.protocol.login import LONGEST, FirstPacket, parameters, read, replicates
from tests.gateway.raw import startup

CANCEL = struct.pack("!iiii", 16, FirstPacket.CANCEL, 7, 9)


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_are_read_refused_or_waited_for(data: bytes) -> None:
    try:
        found = read(data)
    except Malformed:
        return
    if found is not None:
        assert found[1] <= len(data)
    elif len(data) >= 4:
        assert struct.unpack_from("!i", data)[0] > len(data) or len(data) < 8


@settings(deadline=None)
@given(st.integers(0, 200))
def test_a_packet_that_is_not_whole_is_waited_for(size: int) -> None:
    packet = startup(application_name="tests")
    assert (read(packet[:size]) is None) == (size < len(packet))


def test_each_kind_is_told_apart() -> None:
    assert read(startup() + b"more") == (FirstPacket.SESSION, len(startup()))
    assert read(CANCEL) == (FirstPacket.CANCEL, 16)
    assert read(struct.pack("!iii", 12 + 256, FirstPacket.CANCEL, 1) + b"k" * 256) == (FirstPacket.CANCEL, 268)
    assert read(struct.pack("!ii", 8, FirstPacket.GSSAPI)) == (FirstPacket.GSSAPI, 8)
    assert read(struct.pack("!iI", 8, 3 << 16 | 9999)) == (FirstPacket.SESSION, 8)


@pytest.mark.parametrize(
    "packet",
    [
        struct.pack("!ii", 7, 3 << 16),
        struct.pack("!ii", LONGEST + 1, 3 << 16),
        struct.pack("!ii", -1, 3 << 16),
        struct.pack("!ii", 8, 2 << 16),
        struct.pack("!ii", 9, FirstPacket.TLS),
        struct.pack("!ii", 12, FirstPacket.CANCEL),
        struct.pack("!ii", 300, FirstPacket.CANCEL),
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_strange_packets_are_refused(packet: bytes) -> None:
    with pytest.raises(Malformed):
        read(packet)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0",
        b"user\0\0\0",
        b"user\0ada\0",
        b"user\0ada",
        b"database\0x\0\0",
        b"user\0a\0user\0b\0\0",
        b"user\0\xff\0\0",
    ],
)
def test_startup_packets_that_do_not_say_who_are_refused(body: bytes) -> None:
    with pytest.raises(Malformed):
        parameters(struct.pack("!ii", len(body) + 8, 3 << 16) + body)


def test_who_it_is() -> None:
    told = parameters(startup("ada", "clinic", options="-c x=y", empty=""))
    assert told == {"user": "ada", "database": "clinic", "options": "-c x=y", "empty": ""}
    assert not replicates(told)
    assert all(replicates({"replication": word}) for word in ("true", "on", "1", "database", "yes"))
