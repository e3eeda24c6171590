"""The state machine without any network: cuts never change the outcome, and nonsense ends in order."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.gateway import Limits
from discreet.gateway.session.session import GatewaySession
from discreet.gateway.session.state import Conversation
from tests.gateway import raw
from tests.gateway.raw import SYNC, message, row
from tests.gateway.watching import Answering, Watching, answer_all

READY = message(b"Z", b"I")
DESCRIPTION = message(b"T", b"\0\1secret\0" + struct.pack("!ihihih", 7, 1, 25, -1, -1, 0))


def session_of(watch: Any) -> GatewaySession:
    return GatewaySession(watch, limits=Limits(message=2_000), parameters={})


class Server:
    """Answers what a server would, message by message; a text is the list of letters it answers with."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._skipping = False
        self._rest = b""

    def answer(self, data: bytes) -> bytes:
        self._rest += data
        found = b""
        while len(self._rest) >= 5 and len(self._rest) > (end := struct.unpack_from("!i", self._rest, 1)[0]):
            one, self._rest = self._rest[: end + 1], self._rest[end + 1 :]
            found += self._one(one)
        return found

    def _one(self, one: bytes) -> bytes:
        letter = one[:1]
        if letter == b"S":
            self._skipping = False
            return READY
        if self._skipping:
            return b""
        if b"wrong" in one or b"refused" in one:
            error = message(b"E", b"SERROR\0C22012\0Mwrong\0\0")
            self._skipping = letter != b"Q"
            return error + (b"" if self._skipping else READY)
        size = one[-2] if letter == b"P" else 0
        answers = {b"P": b"1", b"B": b"2", b"C": b"3"}
        if letter in answers:
            return message(answers[letter])
        rows = b"".join(row(bytes([65 + n % 20]) * (n % 40)) for n in range(40 + size))
        result = rows + message(b"N", b"SNOTICE\0C00000\0Mhello\0\0") + rows + message(b"C", b"SELECT 80\0")
        if letter == b"D":
            return DESCRIPTION
        return result if letter == b"E" else (DESCRIPTION + result + READY if letter == b"Q" else b"")


WORDS = st.sampled_from(["good", "wrong", "forbidden", "owned"])
STEPS = st.lists(
    st.one_of(
        WORDS.map(raw.query),
        WORDS.map(raw.at_once),
        st.just(SYNC),
        st.just(raw.FLUSH),
        st.just(raw.query("x" * 3_000)),
        st.just(raw.parse("x" * 3_000)),
    ),
    max_size=8,
).map(lambda steps: [*steps, SYNC])


def converse(steps: Sequence[bytes], client_cuts: int, server_cuts: int) -> tuple[bytes, bytes]:
    """What both sides receive, if what they say comes in pieces of these sizes."""
    session, server = session_of(Answering()), Server(1)
    to_client, to_server = b"", b""
    said, answered = b"".join(steps), b""
    while True:
        answer_all(session)
        to_client += b"".join(session.to_client)
        sent = b"".join(session.to_upstream)
        session.to_client, session.to_upstream = [], []
        to_server += sent
        answered += server.answer(sent)
        if answered:
            piece, answered = answered[:server_cuts], answered[server_cuts:]
            session.upstream_data(piece)
        elif said:
            piece, said = said[:client_cuts], said[client_cuts:]
            session.client_data(piece)
        else:
            assert not session.over
            return to_client, to_server


@settings(deadline=None)
@given(STEPS, st.integers(1, 300), st.integers(1, 4_000))
def test_cuts_never_change_what_the_client_receives(steps: list[bytes], client: int, server: int) -> None:
    whole, _ = converse(steps, 1 << 20, 1 << 20)
    cut, _ = converse(steps, client, server)
    assert raw.split(cut) == raw.split(whole)
    assert raw.letters(raw.split(whole)).count("Z") == sum(
        raw.letters(raw.split(step)).count("S") + (step[:1] == b"Q") for step in _counted(steps)
    )


def _counted(steps: list[bytes]) -> list[bytes]:
    """The steps that end with ReadyForQuery: a text that comes while the server skips is skipped as well."""
    kept, skipping = [], False
    for step in steps:
        if step == SYNC:
            skipping = False
            kept.append(step)
        elif step[:1] == b"Q":
            kept += [] if skipping else [step]
        elif any(word in step for word in (b"wrong", b"forbidden", b"xxxx")):
            skipping = True
    return kept


@settings(deadline=None)
@given(st.binary(max_size=200), st.booleans(), st.integers(1, 50))
def test_no_bytes_make_it_fail_otherwise_than_in_order(data: bytes, from_client: bool, size: int) -> None:
    session = session_of(Answering())
    session.client_data(raw.at_once("good"))
    answer_all(session)
    for begin in range(0, len(data), size):
        take = session.client_data if from_client else session.upstream_data
        take(data[begin : begin + size])
        answer_all(session)
        if session.over:
            assert b"FATAL" in b"".join(session.to_client)
            break
    assert b"D\0\0" not in b"".join(session.to_client)


@pytest.mark.parametrize("letter", [b"D", b"d", b"C", b"Z", b"T", b"W", b"1", b"2", b"V", b"?", b"c", b"H"])
def test_what_nobody_asked_for_ends_the_session(letter: bytes) -> None:
    session = session_of(Watching())
    session.upstream_data(message(letter, b"\0\0I"))
    assert session.over
    assert b"08P01" in b"".join(session.to_client)


def test_what_the_gateway_answers_waits_for_its_turn() -> None:
    session, owned = session_of(Answering()), raw.query("owned")
    session.client_data(raw.query("SELECT 1") + owned)
    answer_all(session)
    assert b"".join(session.to_upstream) == raw.query("SELECT 1")
    assert not session.to_client
    session.upstream_data(DESCRIPTION + row(b"x") + message(b"C", b"SELECT 1\0") + READY)
    assert raw.letters(raw.split(b"".join(session.to_client))) == "TDCZTDDDDDCZ"
    assert session.deliveries == [("simple", 5)]


def test_large_rows_and_errors_pass_whole() -> None:
    session = session_of(Watching())
    session.client_data(raw.query("SELECT 1"))
    answer_all(session)
    large = row(b"v" * 3_000_000) + message(b"E", b"SERROR\0C22P02\0M" + b"M" * 3_000_000 + b"\0\0") + READY
    for begin in range(0, len(large), 100_000):
        session.upstream_data(large[begin : begin + 100_000])
    assert b"".join(session.to_client) == large
    assert session.idle


def test_a_client_that_sends_without_end_is_made_to_wait() -> None:
    session = GatewaySession(Watching(), limits=Limits(owed=10), parameters={})
    session.client_data(raw.at_once("SELECT 1") * 100)
    answer_all(session)
    assert session.client_waits
    assert len(b"".join(session.to_upstream)) < 300
    assert isinstance(session, Conversation)
