"""Requests that go straight on leave everything as if they had come message by message."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.gateway.protocol.framing import pipeline_of
from discreet.gateway.session.session import GatewaySession
from discreet.gateway.session.state import always_later
from tests.examples import examples
from tests.gateway import raw
from tests.gateway.raw import SYNC, message, row
from tests.gateway.session.test_session import DESCRIPTION, session_of
from tests.gateway.watching import Answering, answer_all

ERROR = message(b"E", b"SERROR\0C22012\0Mwrong\0\0")


class Server:
    """Keeps statements and one portal as PostgreSQL does; a text says where it fails."""

    def __init__(self) -> None:
        self._statements: dict[bytes, bytes] = {}
        self._portal: bytes | None = None
        self._skipping = False
        self._status = b"I"

    def answer(self, data: bytes) -> bytes:
        return b"".join(self._one(one[:1], one[5:]) for one in raw.split(data))

    def _one(self, letter: bytes, body: bytes) -> bytes:
        if letter == b"S":
            self._skipping = False
            if self._status == b"I":
                self._portal = None
            return message(b"Z", self._status)
        if self._skipping:
            return b""
        found = {b"P": self._parse, b"B": self._bind, b"Q": self._query}.get(letter, lambda body: None)(body)
        if letter == b"D":
            found = None if self._portal is None else DESCRIPTION
        if letter == b"E":
            found = self._execute()
        if found is None:
            self._skipping = letter != b"Q"
            self._status = b"E" if self._status == b"T" else self._status
            return ERROR + (b"" if self._skipping else message(b"Z", self._status))
        return found

    def _parse(self, body: bytes) -> bytes | None:
        name, text, _ = body.split(b"\0", 2)
        if b"fails at parse" in text:
            return None
        self._statements[name] = text
        return message(b"1")

    def _bind(self, body: bytes) -> bytes | None:
        _, name, _ = body.split(b"\0", 2)
        text = self._statements.get(name)
        if text is None or b"fails at bind" in text:
            return None
        self._portal = text
        return message(b"2")

    def _execute(self) -> bytes | None:
        if self._portal is None or b"fails at last" in self._portal:
            return None
        return self._result(self._portal)

    def _query(self, body: bytes) -> bytes | None:
        if b"fails" in body:
            return None
        result = self._result(body[:-1])
        self._portal = None
        return (DESCRIPTION if b"rows" in body else b"") + result + message(b"Z", self._status)

    def _result(self, text: bytes) -> bytes:
        self._status = {b"BEGIN": b"T", b"ROLLBACK": b"I"}.get(text, self._status)
        number = int(text.rpartition(b" ")[2]) if b"rows" in text else 0
        tag = b"SELECT %d\0" % number if b"rows" in text else text + b"\0"
        return row(text) * number + message(b"C", tag)


def asked_at_once(ask: Any, given: Any) -> Any:
    try:
        return ask(given)
    except Exception:
        return None


def session_with(consult: Any) -> GatewaySession:
    session = session_of(Answering())
    session._consult = consult
    return session


def talk(steps: list[bytes], consult: Any, *, whole: bool) -> tuple[bytes, bytes, GatewaySession]:
    """What both sides receive if each step comes as a whole, or byte by byte."""
    session, server = session_with(consult), Server()
    to_client, to_server = b"", b""
    for step in steps:
        for piece in [step] if whole else [bytes([one]) for one in step]:
            session.client_data(piece)
            answer_all(session)
        while sent := b"".join(session.to_upstream):
            session.to_upstream.clear()
            to_server += sent
            session.upstream_data(server.answer(sent))
            answer_all(session)
        to_client += b"".join(session.to_client)
        session.to_client.clear()
    return to_client, to_server, session


TEXTS = st.sampled_from(
    [
        "rows 1",
        "rows 40",
        "owned rows",
        "forbidden",
        "fails at parse",
        "fails at bind",
        "fails at last",
        "BEGIN",
        "ROLLBACK",
        "DEALLOCATE ALL",
        "é rows 1",
    ]
)
NAMES = st.sampled_from(["", "s"])


def statement(name: str, text: str, described: bool) -> bytes:
    return raw.parse(text, name) + bound(name, described)


def bound(name: str, described: bool) -> bytes:
    return raw.bind("", name, [b"1", None]) + (raw.describe("P") if described else b"") + raw.execute() + SYNC


STEPS = st.lists(
    st.one_of(
        st.builds(statement, NAMES, TEXTS, st.booleans()),
        st.builds(bound, NAMES, st.booleans()),
        st.builds(lambda name, text: raw.parse(text, name) + SYNC, NAMES, TEXTS),
        TEXTS.map(raw.query),
        st.just(raw.execute() + SYNC),
        st.just(SYNC),
    ),
    max_size=8,
)


@settings(deadline=None, max_examples=examples(300))
@given(STEPS, st.sampled_from([asked_at_once, always_later]))
def test_as_message_by_message(steps: list[bytes], consult: Any) -> None:
    straight, sent, one = talk(steps, consult, whole=True)
    slowly, also, other = talk(steps, consult, whole=False)
    assert raw.split(straight) == raw.split(slowly)
    assert without_flushes(sent) == without_flushes(also)
    assert one._statements == other._statements
    assert kept(one) == kept(other)
    assert (one.status, one._remembered) == (other.status, other._remembered)
    assert one.idle == other.idle


def without_flushes(sent: bytes) -> list[bytes]:
    return [part for part in raw.split(sent) if part != raw.FLUSH]


def kept(session: GatewaySession) -> dict[bytes, Any]:
    return {name: portal.token for name, portal in session._portals.items()}


def test_an_allowed_statement_is_sent_as_it_came() -> None:
    session = session_with(asked_at_once)
    sent = statement("", "rows 1", True)
    session.client_data(sent)
    assert session.to_upstream == [sent]
    assert [type(request).__name__ for request in session.watch.asked] == ["Parse"]  # type: ignore[attr-defined]
    session.upstream_data(message(b"1") + message(b"2") + DESCRIPTION + row(b"x") + message(b"C", b"SELECT 1\0"))
    assert not session.idle
    session.upstream_data(message(b"Z", b"I"))
    assert session.idle


@pytest.mark.parametrize("cut", range(1, 40))
def test_what_is_not_whole_is_no_pipeline(cut: int) -> None:
    whole = bound("s", True)
    assert pipeline_of(whole) is not None
    assert pipeline_of(whole[:-cut]) is None
    assert pipeline_of(whole + whole[:cut]) is None


@settings(deadline=None)
@given(st.binary(max_size=60), st.integers(-5, 60), st.integers(-5, 60))
def test_nonsense_is_no_pipeline(data: bytes, first: int, second: int) -> None:
    pipeline_of(data)
    made = b"P" + struct.pack("!i", first) + data + b"B" + struct.pack("!i", second) + data
    assert pipeline_of(made) is None
    assert pipeline_of(made[5 + len(data) :]) is None


@pytest.mark.parametrize("limit", [1, 5])
def test_a_portal_fetched_in_parts_is_taken_message_by_message(limit: int) -> None:
    assert pipeline_of(raw.bind() + raw.execute(limit=limit) + SYNC) is None
    assert pipeline_of(raw.bind("p") + raw.execute("p") + SYNC) is None
