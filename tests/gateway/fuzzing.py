"""What anybody may send from either end, into everything that reads it.

`one_input` turns bytes into one attempt: the first says at what, the others what is sent. Valid messages are among what can be
chosen, so that attempts get beyond the first message. Nothing may be raised but what is defined for it, and nothing may reach the
server past a watch that refuses. Hypothesis draws the bytes in test_fuzzing.py;
`libfuzzer.py` finds them by coverage.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from discreet.gateway import Limits, Refuse
from discreet.gateway.analysis.relations import Named, Relation, Relations, Setting
from discreet.gateway.analysis.resolve import Resolver
from discreet.gateway.analysis.statements import asked
from discreet.gateway.protocol import login
from discreet.gateway.protocol.framing import Malformed, walk
from discreet.gateway.protocol.login import Channels, Entrance
from discreet.gateway.session.parameters import ARRAYS, TYPES, constant
from discreet.gateway.session.session import GatewaySession
from discreet.policy.gateway_section import GovernedTable
from discreet.sql.fragment import NotCovered
from discreet.sql.lexer import Unreadable, lexed
from discreet.sql.printer import printed
from tests.gateway import raw
from tests.gateway.raw import message, row
from tests.gateway.watching import Answering, answer_all

STEPS = 64
ERROR = message(b"E", b"SERROR\0C22012\0Mwrong\0\0")
DESCRIPTION = message(b"T", b"\0\1secret\0" + bytes.fromhex("00000007000100000019ffffffffffff0000"))
CLIENT = (
    raw.query("SELECT 1"),
    raw.query("owned"),
    raw.parse("owned", "o"),
    raw.bind("p", "o"),
    raw.query("é"),
    raw.parse("SELECT $1", "s", [23]),
    raw.parse("SELECT 1"),
    raw.bind(),
    raw.bind("p", "s", [b"1", None], [1]),
    raw.describe("P"),
    raw.describe("S", "s"),
    raw.execute(),
    raw.execute("p", 2),
    raw.close("P", "p"),
    raw.close("S", "s"),
    raw.SYNC,
    raw.FLUSH,
    raw.TERMINATE,
    message(b"d", b"1\n"),
    message(b"c"),
    message(b"f", b"no\0"),
    message(b"F", bytes(10)),
    raw.query("x" * 3_000),
)
SERVER = (
    message(b"1"),
    message(b"2"),
    message(b"3"),
    message(b"n"),
    message(b"s"),
    message(b"I"),
    message(b"t", b"\0\1\0\0\0\x17"),
    DESCRIPTION,
    row(b"value") * 3,
    row(b"value") * 40,
    row(b"v" * 900) * 3,
    message(b"C", b"SELECT 3\0"),
    message(b"C", b"DEALLOCATE ALL\0"),
    message(b"C", b"BEGIN\0"),
    message(b"Z", b"I"),
    message(b"Z", b"T"),
    ERROR,
    message(b"N", b"SNOTICE\0C00000\0Mhello\0\0"),
    message(b"A", b"\0\0\0\1x\0y\0"),
    message(b"S", b"client_encoding\0LATIN1\0"),
    message(b"H", b"\0\0\1\0\0"),
    message(b"G", b"\0\0\1\0\0"),
    message(b"d", b"1\tvalue\n"),
    message(b"c"),
    message(b"V", b"\0\0\0\1x"),
    message(b"R", b"\0\0\0\0"),
    message(b"R", b"\0\0\0\x0aSCRAM-SHA-256\0SCRAM-SHA-256-PLUS\0\0"),
)
SPOKEN = (
    "SELECT FROM WHERE AND OR NOT IN EXISTS WITH AS UNION ORDER BY GROUP CASE WHEN THEN END JOIN ON USING LATERAL OVER FILTER "
    "INTO COPY TO STDOUT CSV HEADER PREPARE EXECUTE DECLARE CURSOR FOR FETCH INSERT UPDATE SET DELETE RETURNING BEGIN DISCARD ALL "
    "id diagnosis patients name public own random pg_sleep text count(*) avg min . , * ( ) [ ] { } = :: ; 5 10 1.5e3 $1 "
    "'x' 'x \" E'\\x41' U&'d' $$ $a$ -- /* */ \\ é"
)
WORDS = tuple(SPOKEN.split())


TABLE = GovernedTable("public.patients", ("id",), "patient", ("name",), ("zip",), ("diagnosis",))
COLUMNS = {"id": "int4", "zip": "text", "diagnosis": "text", "name": "text"}
RELATIONS = Relations.of([Relation(7, "public", "patients", "r", COLUMNS, TABLE, True)])
SETTING = Setting({("", "patients"): Named(7, False, False), ("public", "patients"): Named(7, False, False)})


class Bytes:
    """Takes what is wanted from the front of some bytes; zeros where they are at an end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._pos = data, 0

    def __bool__(self) -> bool:
        return self._pos < len(self._data)

    def number(self) -> int:
        """The next byte."""
        self._pos += 1
        return self._data[self._pos - 1] if self._pos <= len(self._data) else 0

    def some(self, size: int) -> bytes:
        """So many bytes, or what there is."""
        found = self._data[self._pos : self._pos + size]
        self._pos += size
        return found

    def said(self, known: tuple[bytes, ...]) -> bytes:
        """Something that is known, as it is or with some bytes changed or cut off; or anything."""
        chosen = self.number()
        if chosen >= 250:
            return self.some(self.number())
        found = bytearray(known[chosen % len(known)])
        for _ in range(max(0, chosen // len(known) - 4)):
            place, value = (self.number() << 8 | self.number()) % (len(found) + 1), self.number()
            if place == len(found):
                del found[value % (len(found) + 1) :]
            else:
                found[place] = value
            if not found:
                break
        return bytes(found)


class Choosing(Answering):
    """Allows, answers, refuses or fails as the bytes say; refuses everything if that is what it is for."""

    def __init__(self, chance: Bytes, *, refuses: bool) -> None:
        super().__init__()
        self._chance, self._refuses = chance, refuses

    def statement(self, request: Any) -> Any:
        chosen = self._chance.number() % 8
        if chosen == 7:
            raise RuntimeError
        return Refuse("No.") if chosen == 6 or self._refuses else super().statement(request)


def conversing(chance: Bytes) -> None:
    """A session, from both sides; the watch answers at once, or after some more was said."""
    first = chance.number()
    watch = Choosing(chance, refuses=bool(first & 1))
    session = GatewaySession(watch, limits=Limits(message=2_000, owed=20), parameters={})
    told = sent = b""
    for _ in range(STEPS):
        if not chance or session.over:
            break
        side = chance.number()
        if side & 1:
            session.client_data(chance.said(CLIENT))
        else:
            session.upstream_data(chance.said(SERVER))
        if not side & 2:
            answer_all(session)
        told += b"".join(session.to_client)
        sent += b"".join(session.to_upstream)
        session.to_client.clear()
        session.to_upstream.clear()
    if session.over:
        assert b"FATAL" in told
    elif first & 1:
        assert not {letter for letter in raw.letters(raw.split(sent)) if letter in "QPF"}  # and whole messages only


def entering(chance: Bytes) -> None:
    """A login, from both sides."""
    entrance = Entrance("ada", Channels(bool(chance.number() & 1), bool(chance.number() & 1)))
    try:
        for _ in range(STEPS):
            if not chance or entrance.over or entrance.ready is not None:
                break
            if chance.number() & 1:
                entrance.client_data(chance.said((message(b"p", b"secret\0"), *CLIENT)))
            else:
                entrance.upstream_data(chance.said(SERVER))
    except Malformed:
        pass


def arriving(chance: Bytes) -> None:
    """A first packet."""
    packet = chance.said(
        (raw.startup(), bytes.fromhex("0000000804d2162f"), bytes.fromhex("0000001004d2162e0000000100000002"))
    )
    try:
        if (found := login.read(packet)) is not None and found[0].name == "SESSION":
            login.parameters(packet[: found[1]])
    except Malformed:
        pass


def reading(chance: Bytes) -> None:
    """A text."""
    words = []
    while chance and len(words) < 80:
        chosen = chance.number()
        words.append(
            chance.some(chosen - 240).decode("utf-8", "ignore") if chosen > 240 else WORDS[chosen % len(WORDS)]
        )
    text = " ".join(words)
    with contextlib.suppress(Unreadable):
        lexed(text)
    tree = asked(text).tree
    if tree is not None:
        printed(tree)
        with contextlib.suppress(NotCovered):
            printed(Resolver(RELATIONS, SETTING, "fuzz").resolve(tree).query)


def decoding(chance: Bytes) -> None:
    """Rows and where they end, beside the plainest way of finding that."""
    one = row(*(None if (size := chance.number()) > 200 else chance.some(size) for _ in range(1 + chance.number() % 3)))
    data = bytearray(one * (1 + chance.number() % 100))
    if chance.number() & 1:
        data[chance.number() % len(data)] = chance.number()
    with contextlib.suppress(Malformed):
        end = walk(bytes(data), 0)
        at = 0
        while (
            at + 5 <= len(data) and data[at] == data[0] and at + 1 + int.from_bytes(data[at + 1 : at + 5]) <= len(data)
        ):
            at += 1 + int.from_bytes(data[at + 1 : at + 5])
        # Arrays may stop before the last whole message; what is left comes with the next bytes or by hand.
        assert end == at or (end < at and _begins(bytes(data), end))


def _begins(data: bytes, place: int) -> bool:
    at = 0
    while at < place:
        at += 1 + int.from_bytes(data[at + 1 : at + 5])
    return at == place


def binding(chance: Bytes) -> None:
    """Parameters of a portal."""
    kinds = (*TYPES, *ARRAYS, 600)
    with contextlib.suppress(NotCovered):
        constant(chance.some(chance.number()), kinds[chance.number() % len(kinds)], chance.number() & 1)


TARGETS: tuple[Callable[[Bytes], None], ...] = (conversing, entering, arriving, reading, decoding, binding)


def one_input(data: bytes) -> None:
    """One attempt."""
    chance = Bytes(data)
    TARGETS[chance.number() % len(TARGETS)](chance)
