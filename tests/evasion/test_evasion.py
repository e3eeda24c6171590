"""Attempts to get past the limit: none learns more of more patients than it allows.

Four patients are the most that a limit of 2 allows at x = 2 where each counts fully. Each attack is run as a new user in the
simple and in the extended protocol. Whatever comes back, rows, errors, notices, notifications or tags, is looked through
for values of patients; answers that hold none are counted, since each is an answer to a question about one more patient.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import psycopg
import pytest

from tests.evasion.attacks import AT_ONCE, CONDITIONS, EXPRESSIONS, FAILING, LINKING, ONE_BY_ONE, QUESTIONS
from tests.gateway.governed import CANARIES

pytestmark = pytest.mark.postgres
MOST = 4
TRIES = 5
REFUSED = "42501"
PROTOCOLS = ("simple", "extended")


def in_turn(names: Iterable[str]) -> list[Any]:
    """Every attack in both protocols; one of them, in turn, only where there is time."""
    listed = []
    for place, name in enumerate(names):
        for protocol in PROTOCOLS:
            late = protocol != PROTOCOLS[place % 2]
            listed.append(pytest.param(name, protocol, marks=[pytest.mark.slow] if late else []))
    return listed


def forms(canary: str, place: int) -> Iterator[str]:
    """How a patient's value may look in an answer."""
    yield canary
    yield canary.upper()
    yield canary[::-1]
    yield hashlib.md5(canary.encode()).hexdigest()  # noqa: S324 - an attacker may use it
    yield hashlib.sha256(canary.encode()).hexdigest()
    yield base64.b64encode(canary.encode()).decode()
    yield canary.encode().hex()
    yield str(70_000_001 + place)
    yield f"{70_000_001 + place}.0"


FORMS = {form: place for place, canary in enumerate(CANARIES) for form in forms(canary, place)}
_FORM = re.compile("|".join(map(re.escape, sorted(FORMS, key=len, reverse=True))))


def patients_in(seen: str) -> set[int]:
    """The patients whose values stand in a text."""
    return {FORMS[found] for found in _FORM.findall(seen)}


class Client:
    """Runs statements and keeps everything that comes back."""

    def __init__(self, url: str, protocol: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.add_notice_handler(lambda notice: self.seen.append(_told(notice)))
        self.connection.add_notify_handler(lambda notify: self.seen.append(notify.payload))
        self.extended = protocol == "extended"
        self.seen: list[str] = []
        self.refused = self.answered = 0

    def script(self, text: str) -> bool:
        """Run the statements of a script; whether none was refused, and the last one answered."""
        answered, refused = False, self.refused
        for statement in re.split(r"\n--\n", text):
            answered = self.run(statement)
        return answered and self.refused == refused

    def run(self, statement: str) -> bool:
        try:
            self._run(statement)
        except psycopg.Error as problem:
            self.seen.append(_told(problem.diag) or str(problem))
            assert not self.connection.closed, f"the session ended: {statement}"
            if problem.sqlstate == REFUSED:
                self.refused += 1
                return False
            # An error answers too, unless it is about the statement alone.
            return str(problem.sqlstate)[:2] in ("21", "22", "23", "P0")
        return True

    def _run(self, statement: str) -> None:
        with self.connection.cursor(binary=self.extended) as cursor:
            if statement.lstrip().upper().startswith("COPY") and "STDOUT" in statement:
                with cursor.copy(statement.encode()) as copy:
                    self.seen.extend(bytes(block).decode("latin-1") for block in copy)
                return
            cursor.execute(statement.encode(), prepare=self.extended)
            while True:
                self.seen.append(str(cursor.statusmessage))
                if cursor.description:
                    self.seen.extend(_shown(row) for row in cursor.fetchall())
                if not cursor.nextset():
                    return

    def found(self) -> set[int]:
        return patients_in("\n".join(self.seen))


def _shown(row: Any) -> str:
    return " ".join(one.hex() + one.decode("latin-1") if isinstance(one, bytes) else str(one) for one in row)


def _told(diag: Any) -> str:
    names = ("message_primary", "message_detail", "message_hint", "context", "internal_query", "column_name")
    return " ".join(str(getattr(diag, name, None) or "") for name in names)


def questions() -> dict[str, str]:
    """Every condition in every way of asking."""
    found = {}
    for how, question in QUESTIONS.items():
        for what, condition in CONDITIONS.items():
            found[f"{how}: {what}"] = question.replace("{condition}", condition)
    return found


SINGLE = {
    **{f"expression: {name}": f"SELECT {one} FROM patients WHERE id = <i>" for name, one in EXPRESSIONS.items()},
    **questions(),
    **ONE_BY_ONE,
}


def test_there_are_enough_attacks() -> None:
    assert len(SINGLE) + len(AT_ONCE) + len(LINKING) >= 500
    assert len(set(SINGLE.values())) == len(SINGLE)


@pytest.mark.parametrize(("name", "protocol"), in_turn(SINGLE))
def test_one_patient_after_the_other(name: str, protocol: str, attacker: Callable[[], str]) -> None:
    client = Client(attacker(), protocol)
    answers = set()
    with client.connection:
        for number in range(TRIES):
            told = SINGLE[name].replace("<i>", str(10 + number)).replace("<c>", f"{9 + number:03}")
            before = len(client.seen)
            if client.script(told):
                answers.add((told, *client.seen[before:]))  # the same answer again tells nothing new
    assert len(client.found()) <= MOST, name
    assert len(answers) <= MOST, f"{name}: {len(answers)} of {TRIES} answered"


@pytest.mark.parametrize(("name", "protocol"), in_turn(AT_ONCE))
def test_everybody_at_once(name: str, protocol: str, attacker: Callable[[], str]) -> None:
    client = Client(attacker(), protocol)
    with client.connection:
        client.script(AT_ONCE[name])
    assert len(client.found()) <= MOST, name


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", list(LINKING))
def test_putting_two_results_together(name: str, protocol: str, attacker: Callable[[], str]) -> None:
    client = Client(attacker(), protocol)
    with client.connection:
        client.script(LINKING[name])
    assert client.refused >= 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", list(FAILING))
def test_words_of_the_server_hold_no_value(name: str, protocol: str, attacker: Callable[[], str]) -> None:
    client = Client(attacker(), protocol)
    with client.connection:
        client.script(FAILING[name].replace("<i>", "17"))
    assert client.found() == set()


ASKED = {
    "value": ("SELECT diagnosis FROM patients WHERE id = $1", 1),
    "function": ("SELECT md5(diagnosis) FROM patients WHERE id = $1", 1),
    "row": ("SELECT 1 FROM patients WHERE id = $1 AND diagnosis > $2", 2),
    "count": ("SELECT count(*) FROM patients WHERE id = $1 AND diagnosis > $2", 2),
    "range": ("SELECT diagnosis FROM patients WHERE id > $1 - 1 AND id < $1 + 1", 1),
    "visits": ("SELECT reason FROM visits WHERE patient = $1", 1),
}


@pytest.mark.parametrize("name", list(ASKED))
def test_parameters_tell_questions_apart(name: str, attacker: Callable[[], str]) -> None:
    """asyncpg sends parameters in binary, and does not say of which type they are."""
    import asyncio

    import asyncpg

    statement, parameters = ASKED[name]

    async def ask() -> int:
        connection = await asyncpg.connect(attacker())
        answered = 0
        try:
            for number in range(TRIES):
                with contextlib.suppress(asyncpg.InsufficientPrivilegeError):
                    await connection.fetch(statement, *(10 + number, "canary05")[:parameters])
                    answered += 1
        finally:
            await connection.close()
        return answered

    assert asyncio.run(ask()) <= MOST


def test_a_statement_prepared_in_sql_and_bound_by_name(attacker: Callable[[], str]) -> None:
    """The protocol reaches statements that PREPARE has made; the server refuses to run them for this user."""
    client = Client(attacker(), "simple")
    with client.connection as connection:
        client.run("PREPARE mine(int) AS SELECT diagnosis FROM patients WHERE id = $1")
        answered = 0
        for number in range(TRIES):
            result = connection.pgconn.exec_prepared(b"mine", [str(10 + number).encode()])
            answered += result.ntuples
    assert answered == 0


def test_a_cursor_reached_as_a_portal(attacker: Callable[[], str]) -> None:
    """What DECLARE has made can be described and closed by the protocol, and FETCH reaches what Bind has made."""
    client = Client(attacker(), "simple")
    with client.connection as connection:
        answered = 0
        for number in range(TRIES):
            with connection.transaction(force_rollback=True):
                client.run(
                    f"DECLARE c{number} CURSOR FOR SELECT name, diagnosis FROM patients WHERE id = {20 + number}"
                )
                answered += client.run(f"FETCH ALL FROM c{number}")
    assert 0 < answered <= MOST
