"""What a client receives through the gateway is byte for byte what it receives without it."""

from __future__ import annotations

import os

import pytest

from discreet.gateway import Upstream
from tests.gateway import raw
from tests.gateway.asking import SETUP, questions
from tests.gateway.raw import Raw
from tests.gateway.running import Running

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module", autouse=True)
def tables(postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET client_min_messages TO error")
        connection.execute(SETUP.encode())


def compare(direct: tuple[str, int] | str, address: tuple[str, int], seed: int, number: int) -> int:
    """Ask both the same; the number of answers that held rows."""
    with Raw(direct) as one, Raw(address) as other:
        assert stable(one.opening) == stable(other.opening)
        gave = 0
        for sent, ready in questions(seed, number):
            expected, found = one.ask(sent, ready=ready), other.ask(sent, ready=ready)
            assert found == expected, sent
            gave += any(part[:1] in b"Dd" for part in found)
        return gave


def stable(opening: list[bytes]) -> list[bytes]:
    """Without the key of the session, which differs by nature."""
    return [one for one in opening if one[:1] != b"K"]


@pytest.mark.parametrize("seed", [1, 2])
def test_some_hundred_questions(direct: tuple[str, int] | str, gateway: Running, seed: int) -> None:
    assert compare(direct, gateway.address, seed, 250) > 100


@pytest.mark.slow
def test_ten_thousand_questions(direct: tuple[str, int] | str, gateway: Running) -> None:
    number = int(os.environ.get("DISCREET_TEST_QUESTIONS", "10000"))
    assert compare(direct, gateway.address, 4711, number) > number / 3


def test_a_pipeline_of_a_thousand_syncs(direct: tuple[str, int] | str, gateway: Running) -> None:
    one = raw.at_once("SELECT 7, 'x'") + raw.SYNC
    wrong = raw.at_once("SELECT 1/0") + raw.at_once("SELECT 8") + raw.SYNC
    sent = (one * 9 + wrong) * 100
    with Raw(direct) as plain, Raw(gateway.address) as through:
        assert through.ask(sent, ready=1000) == plain.ask(sent, ready=1000)


def test_thousands_of_statements_in_one_segment(direct: tuple[str, int] | str, gateway: Running) -> None:
    sent = b"".join(raw.at_once(f"SELECT {n}") for n in range(1500)) + raw.SYNC
    with Raw(direct) as plain, Raw(gateway.address) as through:
        assert through.ask(sent) == plain.ask(sent)


@pytest.mark.parametrize("size", [10, 300_000, 3_000_000])
def test_large_values(direct: tuple[str, int] | str, gateway: Running, size: int) -> None:
    sent = raw.query(f"SELECT repeat('x', {size}), 1, repeat('y', 10) FROM generate_series(1, 3)")
    with Raw(direct) as plain, Raw(gateway.address) as through:
        assert through.ask(sent) == plain.ask(sent)


@pytest.mark.parametrize("size", [10, 1_500_000])
def test_large_errors_and_notices(direct: tuple[str, int] | str, gateway: Running, size: int) -> None:
    wrong = raw.query(f"SELECT '{'x' * size}'::int")
    said = raw.query(f"DO $$ BEGIN RAISE NOTICE '%', repeat('y', {size}); END $$")
    with Raw(direct) as plain, Raw(gateway.address) as through:
        for sent in (wrong, said, raw.query("SELECT 1"), raw.at_once(f"SELECT '{'x' * size}'::int") + raw.SYNC):
            assert through.ask(sent) == plain.ask(sent)


def test_rows_behind_a_copy_in_one_text(direct: tuple[str, int] | str, gateway: Running) -> None:
    """The rows are more than are walked by hand, so that it matters that the COPY is over."""
    sent = raw.query("COPY (SELECT generate_series(1, 50)) TO STDOUT; SELECT generate_series(1, 100)")
    with Raw(direct) as plain, Raw(gateway.address) as through:
        assert through.ask(sent) == plain.ask(sent)


def test_copy_in(direct: tuple[str, int] | str, gateway: Running) -> None:
    good = [raw.message(b"d", f"{n}\tx\n".encode()) for n in range(100)]
    create = raw.query("CREATE TEMP TABLE t (a int, b text)")
    begin = raw.query("COPY t FROM STDIN")
    extended = raw.at_once("COPY t FROM STDIN") + raw.SYNC  # the server ignores this Sync
    done, fail = raw.message(b"c"), raw.message(b"f", b"no\0")
    steps = [
        (begin, b"".join(good) + done),
        (begin, b"".join(good[:5]) + fail),
        (begin, raw.message(b"d", b"wrong\n") + b"".join(good) + done),
        (extended, b"".join(good) + done + raw.SYNC),
        (extended, raw.message(b"d", b"wrong\n") + done + raw.SYNC),
        (extended, b"".join(good[:3]) + fail + raw.SYNC),
    ]
    seen = []
    for address in (direct, gateway.address):
        with Raw(address) as session:
            found = [session.ask(create)]
            for first, then in steps:
                session.send(first)
                found.append(session.until(b"G"))
                found.append(session.ask(then))
            found.append(session.ask(raw.query("SELECT count(*) FROM t")))
            seen.append(found)
    assert seen[0] == seen[1]
    assert raw.rows(seen[1][-1]) == [[b"200"]]


def test_notifications(direct: tuple[str, int] | str, gateway: Running) -> None:
    with Raw(gateway.address) as listener, Raw(direct) as speaker:
        listener.ask(raw.query("LISTEN here"))
        speaker.ask(raw.query("NOTIFY here, 'first'"))
        assert listener.message()[9:] == b"here\0first\0"
        speaker.ask(raw.query("NOTIFY here, 'second'"))
        found = listener.ask(raw.query("SELECT 1"))
        assert b"here\0second\0" in b"".join(found)


def test_a_call_by_number(direct: tuple[str, int] | str, gateway: Running, upstream: Upstream) -> None:
    """int4pl(2, 3) by its OID."""
    body = b"\0\0\0\xb1" + b"\0\1\0\1" + b"\0\2" + b"\0\0\0\4\0\0\0\2" + b"\0\0\0\4\0\0\0\3" + b"\0\1"
    with Raw(direct) as plain, Raw(gateway.address) as through:
        expected, found = plain.ask(raw.message(b"F", body)), through.ask(raw.message(b"F", body))
        assert raw.letters(expected) == "VZ"
        assert found == expected
        assert through.ask(raw.query("SELECT 1")) == plain.ask(raw.query("SELECT 1"))
