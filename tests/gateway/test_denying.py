"""Refusals and denials on a real server: the client sees an error, and everything after it is as after any error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from discreet.gateway import Allow, Execute, Hold, Keep, Limits, Mask, Refuse, Release
from tests.gateway import raw
from tests.gateway.raw import SYNC, Raw, at_once, bind, describe, error, execute, letters, parse, query, rows
from tests.gateway.running import Running, wait_for
from tests.gateway.watching import By, Denying, Holding, Slowly, Watching

pytestmark = pytest.mark.postgres
SECRET = "SELECT g AS secret FROM generate_series(1, 5) g"
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


def test_a_denied_result_is_an_error_and_the_session_goes_on(start: Start) -> None:
    with Raw(start(By(Denying)).address) as session:
        found = session.ask(query(SECRET))
        assert letters(found) == "TEZ"
        assert {letter: error(found)[letter] for letter in "SCMH"} == {
            "S": "ERROR",
            "C": "42501",
            "M": "Too much.",
            "H": "Ask for less.",
        }
        assert rows(session.ask(query("SELECT 1"))) == [[b"1"]]


def test_a_refused_text_never_reaches_the_server(start: Start, table: str) -> None:
    with Raw(start(By(Denying)).address) as session:
        assert letters(session.ask(query(f"INSERT INTO {table} VALUES (1) -- forbidden"))) == "EZ"
        assert letters(session.ask(at_once(f"INSERT INTO {table} VALUES (2) -- forbidden") + SYNC)) == "EZ"
        assert rows(session.ask(query(f"SELECT count(*) FROM {table}"))) == [[b"0"]]


@pytest.mark.parametrize("how", ["simple", "extended"])
def test_a_transaction_survives_a_denial(start: Start, table: str, how: str) -> None:
    with Raw(start(By(Denying)).address) as session:
        session.ask(query(f"BEGIN; INSERT INTO {table} VALUES (1)"))
        denied = session.ask(query(SECRET) if how == "simple" else at_once(SECRET) + SYNC)
        assert status(denied) == "T"
        assert "D" not in letters(denied)
        refused = session.ask(query("forbidden") if how == "simple" else parse("forbidden") + SYNC)
        assert (letters(refused), status(refused)) == ("EZ", "T")
        assert status(session.ask(query("COMMIT"))) == "I"
        assert rows(session.ask(query(f"SELECT count(*) FROM {table}"))) == [[b"1"]]


def test_after_a_denial_the_rest_of_the_pipeline_is_skipped(start: Start, table: str) -> None:
    insert = at_once(f"INSERT INTO {table} VALUES (7)")
    with Raw(start(By(Denying)).address) as session:
        found = session.ask(at_once(SECRET) + insert + SYNC + at_once("SELECT 2") + SYNC, ready=2)
        assert letters(found) == "12TEZ12TDCZ"
        found = session.ask(insert + at_once(SECRET) + insert + SYNC)
        assert letters(found) == "12nC12TEZ"
        assert rows(session.ask(query(f"SELECT count(*) FROM {table}"))) == [[b"0"]]


@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_pipeline_with_a_refusal_behaves_as_with_an_error(start: Start, direct: Any, table: str, before: int) -> None:
    """The same as a statement that fails by itself, but for the text of the error."""

    def pipeline(wrong: str) -> bytes:
        insert = at_once(f"INSERT INTO {table} VALUES (7)")
        return insert * before + at_once(wrong) + insert + SYNC + at_once("SELECT 2") + SYNC + query("SELECT 3")

    with Raw(direct) as plain, Raw(start(By(Denying)).address) as through:
        expected, found = plain.ask(pipeline("SELEC"), ready=3), through.ask(pipeline("forbidden"), ready=3)
        assert letters(found) == letters(expected)
        assert rows(through.ask(query(f"SELECT count(*) FROM {table}"))) == [[b"0"]]


def test_what_a_denied_statement_did_is_undone(start: Start, table: str) -> None:
    writing = f"INSERT INTO {table} VALUES (1), (2) RETURNING a AS secret"
    with Raw(start(By(Denying)).address) as session:
        assert letters(session.ask(at_once(writing) + SYNC)) == "12TEZ"
        assert rows(session.ask(query(f"SELECT count(*) FROM {table}"))) == [[b"0"]]
        session.ask(query("BEGIN"))
        assert status(session.ask(at_once(writing) + SYNC)) == "T"
        session.ask(query("COMMIT"))
        assert rows(session.ask(query(f"SELECT count(*) FROM {table}"))) == [[b"2"]]


def test_a_block_opened_in_the_same_pipeline_survives(start: Start, table: str) -> None:
    with Raw(start(By(Denying)).address) as session:
        found = session.ask(at_once("BEGIN") + at_once(f"INSERT INTO {table} VALUES (1)") + at_once(SECRET) + SYNC)
        assert (letters(found)[-2:], status(found)) == ("EZ", "T")
        session.ask(query("COMMIT"))
        assert rows(session.ask(query(f"SELECT count(*) FROM {table}"))) == [[b"1"]]


@pytest.mark.parametrize("undo", [True, False])
def test_a_pipeline_of_many_syncs_keeps_its_order(start: Start, undo: bool) -> None:
    judge = By(lambda: Denying(undo=undo))
    statements = [SECRET if n % 3 == 0 else f"SELECT {n}" for n in range(60)]
    with Raw(start(judge).address) as session:
        found = session.ask(b"".join(at_once(text) + SYNC for text in statements), ready=60)
        expected = "".join("12TEZ" if n % 3 == 0 else "12TDCZ" for n in range(60))
        assert letters(found) == expected
        assert rows(found) == [[str(n).encode()] for n in range(60) if n % 3]


def test_the_rest_of_a_text_with_several_statements_is_swallowed(start: Start) -> None:
    with Raw(start(By(Denying)).address) as session:
        found = session.ask(query(f"SELECT 1; {SECRET}; SELECT 2; SELECT 1/0"))
        assert letters(found) == "TDCTEZ"
        copying = f"CREATE TEMP TABLE c (a int); {SECRET}; COPY c FROM STDIN; SELECT 3"
        assert letters(session.ask(query(copying))) == "CTEZ"
        assert rows(session.ask(query("SELECT 4"))) == [[b"4"]]


@pytest.mark.parametrize("how", ["simple", "extended"])
def test_copy_out_is_held_and_denied(start: Start, how: str) -> None:
    text = f"COPY ({SECRET}) TO STDOUT"
    judge = By(Denying)
    with Raw(start(judge).address) as session:
        found = session.ask(query(text) if how == "simple" else at_once(text) + SYNC)
        assert letters(found).endswith("HEZ")
        held = judge.last.results[0][1]
        assert (held.copy, held.rows, held.formats) == (True, 5, (0,))
        assert rows(session.ask(query("SELECT 4"))) == [[b"4"]]


def test_rows_are_left_out_and_counted(start: Start) -> None:
    def odd(held: Any) -> Keep:
        return Keep(np.arange(held.rows) % 2 == 0, notice="Two rows were left out.")

    judge = By(lambda: Holding(odd))
    with Raw(start(judge).address) as session:
        found = session.ask(query(SECRET))
        assert letters(found) == "TDDDNCZ"
        assert rows(found) == [[b"1"], [b"3"], [b"5"]]
        assert found[-2][5:] == b"SELECT 3\0"
        assert b"Two rows were left out." in found[-3]
        wait_for(lambda: judge.last.told == [("delivered", 1, 3)])


def test_cells_are_masked(start: Start) -> None:
    def second(held: Any) -> Mask:
        cells = np.zeros(held.cells().lengths.shape, dtype=np.bool_)
        cells[1] = True
        return Mask(cells)

    with Raw(start(By(lambda: Holding(second))).address) as session:
        for results in ([], [1]):
            found = session.ask(
                at_once("SELECT g, 'name ' || g, true FROM generate_series(1, 3) g", results=results) + SYNC
            )
            assert [row[1] for row in rows(found)] == [None] * 3
            assert all(row[0] and row[2] for row in rows(found))


def test_chunks_of_a_portal_have_one_token(start: Start) -> None:
    judge = By(Holding)
    with Raw(start(judge).address) as session:
        session.ask(query("BEGIN"))
        session.ask(parse(SECRET) + bind("p") + execute("p", 2) + SYNC)
        session.ask(execute("p", 2) + SYNC)
        session.ask(execute("p", 2) + SYNC)
        found = [(token, held.rows, held.chunk, held.complete) for token, held in judge.last.results]
        assert len({token for token, *_ in found}) == 1
        assert [rest for _, *rest in found] == [[2, 0, False], [2, 1, False], [1, 2, True]]
        assert not any(isinstance(request, Execute) for request in judge.last.asked)


def test_a_portal_may_have_been_replaced_so_it_is_asked_about_again(start: Start) -> None:
    """A cursor of SQL can take the name of a portal; nobody gets its rows under the old decision."""

    class Careful(Watching):
        def statement(self, request: Any) -> Any:
            super().statement(request)
            return Refuse("Not a cursor.") if isinstance(request, Execute) else Allow()

    judge = By(Careful)
    with Raw(start(judge).address) as session:
        session.ask(query("BEGIN"))
        session.ask(parse("SELECT 1") + bind("p") + SYNC)
        session.ask(query(f"CLOSE p; DECLARE p CURSOR FOR {SECRET}"))
        assert letters(session.ask(execute("p") + SYNC)) == "EZ"
        session.ask(query(f"DECLARE q CURSOR FOR {SECRET}"))
        assert letters(session.ask(execute("q") + SYNC)) == "EZ"
        asked = [request for request in judge.last.asked if isinstance(request, Execute)]
        assert [(request.portal, request.bound is None) for request in asked] == [("p", False), ("q", True)]


def test_a_cursor_of_sql_is_described_before_it_is_judged(start: Start) -> None:
    judge = By(Holding)
    with Raw(start(judge).address) as session:
        session.ask(query("BEGIN"))
        session.ask(query(f"DECLARE q CURSOR FOR {SECRET}"))
        assert letters(session.ask(execute("q") + SYNC)) == "DDDDDCZ"
        assert judge.last.results[-1][1].columns[0].name == "secret"


def test_statements_that_sql_forgets_are_no_longer_known(start: Start) -> None:
    judge = By(Watching)
    with Raw(start(judge).address) as session:
        session.ask(parse("SELECT 1", "s") + SYNC)
        session.ask(bind("", "s") + SYNC)
        session.ask(query(f"DEALLOCATE s; PREPARE s AS {SECRET}"))
        session.ask(bind("", "s") + SYNC)
        assert [request.text for request in judge.last.asked if hasattr(request, "statement")] == ["SELECT 1", None]


def test_a_failed_parse_does_not_change_what_is_known(start: Start) -> None:
    judge = By(Watching)
    with Raw(start(judge).address) as session:
        session.ask(parse("SELECT 1", "s") + SYNC)
        session.ask(parse("SELECT 1/0", "t") + parse(SECRET, "s") + parse("SELECT 3", "u") + SYNC)
        session.ask(bind("", "s") + execute() + SYNC)
        session.ask(bind("", "u") + SYNC)
        assert [request.text for request in judge.last.asked if hasattr(request, "statement")] == ["SELECT 1", None]


def test_columns_are_described_with_their_origin_and_format(start: Start, table: str) -> None:
    judge = By(Slowly)
    with Raw(start(judge).address) as session:
        session.ask(parse(f"SELECT a, a + 1 AS b FROM {table}", "s") + describe("S", "s") + SYNC)
        session.ask(bind("", "s", results=[1]) + execute() + SYNC)  # the client does not ask for a description
        (_, (first, second)) = judge.last.columns[-1]
        assert (first.name, first.number, first.format, second.table, second.format) == ("a", 1, 1, 0, 1)
        assert first.table > 0


def test_a_refused_description_spares_holding(start: Start) -> None:
    class Early(Holding):
        def described(self, token: Any, columns: Any) -> Any:
            return Refuse("Not this column.") if columns[0].name == "secret" else None

    judge = By(Early)
    with Raw(start(judge).address) as session:
        assert letters(session.ask(query(SECRET))) == "TEZ"
        assert letters(session.ask(at_once(SECRET) + SYNC)) == "12TEZ"
        assert rows(session.ask(query("SELECT 1"))) == [[b"1"]]
        assert [held.columns[0].name for _, held in judge.last.results] == ["?column?"]


@pytest.mark.parametrize("method", ["statement", "described", "result"])
@pytest.mark.parametrize("how", ["raises", "raises later", "nonsense", "never"])
def test_a_judge_that_fails_denies(start: Start, method: str, how: str) -> None:
    def fail(*_: Any) -> Any:
        if how == "raises":
            raise RuntimeError("a value of a person")
        return "nonsense"

    async def fail_later(*_: Any) -> Any:
        import asyncio

        if how == "never":
            await asyncio.sleep(100)
        raise RuntimeError("a value of a person")

    failing = type("Failing", (Holding,), {method: fail if how in ("raises", "nonsense") else fail_later})
    with Raw(start(By(failing), patience=0.2).address) as session:
        for sent in (query("SELECT 1"), at_once("SELECT 1") + SYNC):
            found = session.ask(sent)
            assert "D" not in letters(found)
            assert error(found)["C"] == "42501"
            assert b"person" not in b"".join(found)


def test_a_judge_that_cannot_say_who_is_governed_denies_everything(start: Start) -> None:
    def fail() -> Any:
        raise RuntimeError

    with Raw(start(By(fail)).address) as session:
        assert letters(session.ask(query("SELECT 1"))) == "EZ"
        assert letters(session.ask(at_once("SELECT 1") + SYNC)) == "EZ"


def test_errors_and_notices_are_redacted(start: Start) -> None:
    class Redacting(Watching):
        def report(self, fields: Mapping[str, str], notice: bool) -> Mapping[str, str] | None:
            return None if notice else {**fields, "M": "hidden"}

    with Raw(start(By(Redacting)).address) as session:
        found = session.ask(query("DO $$ BEGIN RAISE NOTICE 'Ada'; END $$"))
        assert letters(found) == "CZ"
        found = session.ask(query("SELECT 'Ada'::int"))
        assert error(found)["M"] == "hidden"
        assert error(found)["C"] == "22P02"
        assert b"Ada" not in b"".join(found)


def test_a_redaction_that_fails_shows_the_code_only(start: Start) -> None:
    class Failing(Watching):
        def report(self, fields: Mapping[str, str], notice: bool) -> Mapping[str, str] | None:
            raise RuntimeError

    with Raw(start(By(Failing)).address) as session:
        found = session.ask(query("DO $$ BEGIN RAISE NOTICE 'Ada'; END $$; SELECT 'Ada'::int"))
        assert b"Ada" not in b"".join(found)
        assert error(found)["C"] == "22P02"


def test_rows_before_an_error_are_not_given_out(start: Start) -> None:
    judge = By(Holding)
    with Raw(start(judge).address) as session:
        found = session.ask(query("SELECT 1/(3 - g) FROM generate_series(1, 9) g"))
        assert letters(found) == "TEZ"
        assert error(found)["C"] == "22012"
        assert judge.last.results == []


@pytest.mark.parametrize("limits", [{"limits": Limits(held=20_000)}, {"held": 20_000}])
def test_more_than_may_be_held_is_denied_and_the_session_goes_on(start: Start, limits: Any) -> None:
    running = start(By(Holding), **limits)
    with Raw(running.address) as session:
        many = "SELECT g, md5(g::text) FROM generate_series(1, 20000) g"
        for sent in (query(many), at_once(many) + SYNC, query(f"COPY ({many}) TO STDOUT")):
            found = session.ask(sent)
            assert error(found)["C"] == "42501"
            assert "D" not in letters(found)
            assert "d" not in letters(found)
        assert rows(session.ask(query("SELECT 1"))) == [[b"1"]]
        assert running.gateway.room.free == running.gateway.settings.held


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


def test_the_judge_knows_who_and_what_changes(start: Start) -> None:
    judge = By(Watching)
    first = raw.startup(application_name="tests")
    with Raw(start(judge).address, first=first) as session:
        who = judge.who[0]
        assert (who.user, who.database, who.application, who.address) == ("postgres", "postgres", "tests", "127.0.0.1")
        session.ask(query("SET application_name TO 'other'"))
        wait_for(lambda: ("application_name", "other") in judge.last.changes)
    wait_for(lambda: judge.last.over == 1)


def test_replication_is_refused_to_the_governed(start: Start) -> None:
    with Raw(start(By(Watching)).address, first=b"") as session:
        session.send(raw.startup(replication="database"))
        assert b"Replication" in session.rest()


def test_delivery_is_told_after_release_only(start: Start) -> None:
    judge = By(lambda: Holding(lambda held: Release() if held.rows < 3 else Refuse("Too much.")))
    with Raw(start(judge).address) as session:
        session.ask(query("SELECT 1"))
        session.ask(query(SECRET))
        wait_for(lambda: judge.last.told == [("delivered", 1, 1)])


def test_a_held_answer_may_be_to_a_statement_without_rows(start: Start, table: str) -> None:
    judge = By(lambda: Holding(lambda held: Refuse("Too much.")))
    with Raw(start(judge).address) as session:
        assert letters(session.ask(query(f"INSERT INTO {table} VALUES (1)"))) == "CZ"
        assert letters(session.ask(at_once(f"INSERT INTO {table} VALUES (1)") + SYNC)) == "12nCZ"
        assert letters(session.ask(query(""))) == "IZ"


def test_hold_without_undo_lets_sync_pass(start: Start) -> None:
    judge = By(lambda: type("Reading", (Denying,), {"statement": lambda self, request: Hold("t", undo=False)})())
    with Raw(start(judge).address) as session:
        assert letters(session.ask(at_once(SECRET) + SYNC + at_once("SELECT 1") + SYNC, ready=2)) == "12TEZ12TDCZ"
