"""Refusals and own answers on a real server: each takes its turn, and after a refusal all is as after any error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet.gateway import Limits
from tests.gateway import raw
from tests.gateway.raw import SYNC, Raw, at_once, bind, error, execute, letters, parse, query, rows
from tests.gateway.running import Running, wait_for
from tests.gateway.watching import Answering, By, Refusing, Watching

pytestmark = pytest.mark.postgres
FORBIDDEN = "SELECT forbidden"
OWNED = "SELECT owned"
Start = Callable[..., Running]


@pytest.fixture
def table(postgres_url: str) -> str:
    """An empty table that survives a session."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET client_min_messages TO error")
        connection.execute("DROP TABLE IF EXISTS denied")
        connection.execute("CREATE TABLE denied (a int)")
    return "denied"


def status(messages: list[bytes]) -> str:
    return chr(messages[-1][5])


def test_a_refused_text_is_an_error_and_the_session_goes_on(start: Start) -> None:
    with Raw(start(By(Refusing)).address) as session:
        found = session.ask(query(FORBIDDEN))
        assert letters(found) == "EZ"
        assert {letter: error(found)[letter] for letter in "SCMH"} == {
            "S": "ERROR",
            "C": "42501",
            "M": "Not this.",
            "H": "Ask for less.",
        }
        assert rows(session.ask(query("SELECT 1"))) == [[b"1"]]


def test_a_refused_text_never_reaches_the_server(start: Start, table: str) -> None:
    with Raw(start(By(Refusing)).address) as session:
        assert letters(session.ask(query(f"INSERT INTO {table} VALUES (1) -- forbidden"))) == "EZ"
        assert letters(session.ask(at_once(f"INSERT INTO {table} VALUES (2) -- forbidden") + SYNC)) == "EZ"
        assert rows(session.ask(query(f"SELECT count(*) FROM {table}"))) == [[b"0"]]


@pytest.mark.parametrize("how", ["simple", "extended"])
def test_a_transaction_survives_a_denial(start: Start, table: str, how: str) -> None:
    with Raw(start(By(Refusing)).address) as session:
        session.ask(query(f"BEGIN; INSERT INTO {table} VALUES (1)"))
        denied = session.ask(query(FORBIDDEN) if how == "simple" else at_once(FORBIDDEN) + SYNC)
        assert status(denied) == "T"
        assert "D" not in letters(denied)
        refused = session.ask(query("forbidden") if how == "simple" else parse("forbidden") + SYNC)
        assert (letters(refused), status(refused)) == ("EZ", "T")
        assert status(session.ask(query("COMMIT"))) == "I"
        assert rows(session.ask(query(f"SELECT count(*) FROM {table}"))) == [[b"1"]]


def test_after_a_denial_the_rest_of_the_pipeline_is_skipped(start: Start, table: str) -> None:
    insert = at_once(f"INSERT INTO {table} VALUES (7)")
    with Raw(start(By(Refusing)).address) as session:
        found = session.ask(at_once(FORBIDDEN) + insert + SYNC + at_once("SELECT 2") + SYNC, ready=2)
        assert letters(found) == "EZ12TDCZ"
        found = session.ask(insert + at_once(FORBIDDEN) + insert + SYNC)
        assert letters(found) == "12nCEZ"
        assert rows(session.ask(query(f"SELECT count(*) FROM {table}"))) == [[b"0"]]


def test_a_pipeline_of_many_syncs_keeps_its_order(start: Start) -> None:
    kinds = ["forbidden", "owned", "1"]
    with Raw(start(By(Answering)).address) as session:
        found = session.ask(b"".join(at_once(f"SELECT {kinds[n % 3]}") + SYNC for n in range(60)), ready=60)
        assert letters(found) == "EZ12TDDDDDCZ12TDCZ" * 20


@pytest.mark.parametrize("extended", [False, True])
def test_rows_of_the_gateway_are_delivered_or_lost(start: Start, extended: bool) -> None:
    judge = By(Answering)
    with Raw(start(judge).address) as session:
        found = session.ask(at_once(OWNED) + SYNC if extended else query(OWNED))
        assert [row[0] for row in rows(found)] == [b"0", b"1", b"2", b"3", b"4"]
        wait_for(lambda: judge.last.told == [("delivered", "portal" if extended else "simple", 5)])


def test_a_portal_of_the_gateway_is_fetched_in_parts(start: Start) -> None:
    with Raw(start(By(Answering)).address) as session:
        session.ask(query("BEGIN"))
        assert letters(session.ask(parse(OWNED) + bind("p") + execute("p", 2) + SYNC)) == "12DDsZ"
        assert letters(session.ask(execute("p", 2) + SYNC)) == "DDsZ"
        assert letters(session.ask(execute("p", 2) + SYNC)) == "DCZ"
        session.ask(query("COMMIT"))
        assert error(session.ask(execute("p", 2) + SYNC))["C"] == "34000"  # portals end with their transaction


@pytest.mark.parametrize("forgetting", ["DEALLOCATE s", "DISCARD ALL", "another Parse"])
def test_a_name_means_what_it_meant_last(start: Start, forgetting: str) -> None:
    """SQL and messages can put another statement in the place of one that the gateway answers."""
    with Raw(start(By(Answering)).address) as session:
        session.ask(parse(OWNED, "s") + SYNC)
        assert rows(session.ask(bind("", "s") + execute() + SYNC))[0] == [b"0"]
        if forgetting == "another Parse":
            session.ask(raw.close("S", "s") + parse("SELECT 7", "s") + SYNC)
        else:
            session.ask(query(forgetting))
            session.ask(query("PREPARE s AS SELECT 7"))
        assert rows(session.ask(bind("", "s") + execute() + SYNC)) == [[b"7"]]


def test_a_failed_pipeline_changes_nothing_that_is_known(start: Start) -> None:
    with Raw(start(By(Answering)).address) as session:
        session.ask(parse("SELECT 7", "s") + SYNC)
        session.ask(parse("SELEC", "t") + parse(OWNED, "s") + parse(OWNED, "u") + SYNC)
        assert rows(session.ask(bind("", "s") + execute() + SYNC)) == [[b"7"]]
        assert error(session.ask(bind("", "u") + SYNC))["C"] == "26000"


@pytest.mark.parametrize("how", ["raises", "raises later", "nonsense", "never"])
def test_a_judge_that_fails_refuses(start: Start, how: str) -> None:
    def fail(*_: Any) -> Any:
        if how == "raises":
            raise RuntimeError("a value of a person")
        return "nonsense"

    async def fail_later(*_: Any) -> Any:
        import asyncio

        if how == "never":
            await asyncio.sleep(100)
        raise RuntimeError("a value of a person")

    failing = type("Failing", (Watching,), {"statement": fail if how in ("raises", "nonsense") else fail_later})
    with Raw(start(By(failing), patience=0.2).address) as session:
        for sent in (query("SELECT 1"), at_once("SELECT 1") + SYNC):
            found = session.ask(sent)
            assert "D" not in letters(found)
            assert error(found)["C"] == "42501"
            assert b"person" not in b"".join(found)


@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_pipeline_with_a_refusal_behaves_as_with_an_error(start: Start, direct: Any, table: str, before: int) -> None:
    """The same as a statement that fails by itself, but for the text of the error."""

    def pipeline(wrong: str) -> bytes:
        insert = at_once(f"INSERT INTO {table} VALUES (7)")
        return insert * before + at_once(wrong) + insert + SYNC + at_once("SELECT 2") + SYNC + query("SELECT 3")

    with Raw(direct) as plain, Raw(start(By(Refusing)).address) as through:
        expected, found = plain.ask(pipeline("SELEC"), ready=3), through.ask(pipeline("forbidden"), ready=3)
        assert letters(found) == letters(expected)
        assert rows(through.ask(query(f"SELECT count(*) FROM {table}"))) == [[b"0"]]


def test_a_block_opened_in_the_same_pipeline_survives(start: Start, table: str) -> None:
    with Raw(start(By(Refusing)).address) as session:
        found = session.ask(at_once("BEGIN") + at_once(f"INSERT INTO {table} VALUES (1)") + at_once(FORBIDDEN) + SYNC)
        assert (letters(found)[-2:], status(found)) == ("EZ", "T")
        session.ask(query("COMMIT"))
        assert rows(session.ask(query(f"SELECT count(*) FROM {table}"))) == [[b"1"]]


def test_a_judge_that_cannot_say_who_is_governed_denies_everything(start: Start) -> None:
    def fail() -> Any:
        raise RuntimeError

    with Raw(start(By(fail)).address) as session:
        assert letters(session.ask(query("SELECT 1"))) == "EZ"
        assert letters(session.ask(at_once("SELECT 1") + SYNC)) == "EZ"


def test_a_message_too_long_to_judge_is_refused_and_the_session_goes_on(start: Start) -> None:
    text = "SELECT '" + "x" * 50_000 + "'"
    with Raw(start(By(Watching), limits=Limits(message=10_000)).address) as session:
        assert error(session.ask(query(text)))["C"] == "54000"
        assert letters(session.ask(parse(text) + bind() + execute() + SYNC)) == "EZ"
        assert rows(session.ask(query("SELECT 1"))) == [[b"1"]]


def test_too_many_prepared_statements_are_refused(start: Start) -> None:
    with Raw(start(By(Watching), limits=Limits(statements=2_000)).address) as session:
        found = [session.ask(parse("SELECT 1", f"s{n}") + SYNC) for n in range(10)]
        assert error(found[-1])["C"] == "53200"
        for n in range(10):
            session.ask(raw.close("S", f"s{n}") + SYNC)
        assert letters(session.ask(parse("SELECT 1", "again") + SYNC)) == "1Z"


def test_texts_are_read_as_the_server_reads_them(start: Start) -> None:
    judge = By(Watching)
    with Raw(start(judge).address) as session:
        session.ask(query("SET client_encoding TO 'LATIN1'"))
        session.ask(raw.message(b"Q", "SELECT 'ä'".encode("latin-1") + b"\0"))
        assert judge.last.asked[-1].text == "SELECT 'ä'"
        session.ask(query("SET client_encoding TO 'SJIS'"))
        assert error(session.ask(query("SELECT 'ä'")))["C"] == "22021"
        pipeline = query("SET client_encoding TO 'UTF8'") + query("SELECT 'ä'")
        assert rows(session.ask(pipeline, ready=2)) == [["ä".encode()]]
        shifting = at_once("SELECT set_config('client_encoding', 'SJIS', false)") + at_once("SELECT 'ä'") + SYNC
        assert error(session.ask(shifting))["C"] == "22021"


def test_the_judge_knows_who_comes_and_goes(start: Start) -> None:
    judge = By(Watching)
    with Raw(start(judge).address, first=raw.startup(application_name="tests")):
        who = judge.who[0]
        assert (who.user, who.database, who.application, who.address) == ("postgres", "postgres", "tests", "127.0.0.1")
    wait_for(lambda: judge.last.over == 1)


def test_replication_is_refused_to_the_governed(start: Start) -> None:
    with Raw(start(By(Watching)).address, first=b"") as session:
        session.send(raw.startup(replication="database"))
        assert b"Replication" in session.rest()
