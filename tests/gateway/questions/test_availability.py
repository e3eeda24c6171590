"""One user's statement does not keep others waiting, and takes no more memory than a result may."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from discreet.gateway.own_connection import OwnError
from tests.gateway.governed import Guarding
from tests.gateway.questions.study import USERS, furnish, guarded

CHAIN = "WITH t0 AS (SELECT a.* FROM study.patients a, study.wards b), {} SELECT count(*) FROM t24"
DOUBLING = CHAIN.format(", ".join(f"t{n} AS (SELECT a.* FROM t{n - 1} a, t{n - 1} b)" for n in range(1, 25)))
HUGE = {
    "a chain of common table expressions": DOUBLING,
    "conditions": "SELECT count(*) FROM study.patients WHERE "
    + " OR ".join(f"diagnosis = '{number}'" for number in range(2_800)),
    "public conditions": "SELECT count(*) FROM study.patients WHERE "
    + " OR ".join(f"born = {number}" for number in range(3_500)),
    "a long text": "SELECT count(*) FROM study.patients -- " + "x" * 5_000_000,
    "parentheses": "SELECT " + "(" * 20_000 + "1" + ")" * 20_000 + " FROM study.patients",
    "columns": "SELECT " + ", ".join(["p.*"] * 1_500) + " FROM study.patients p",
    "rows": "SELECT count(*) FROM study.patients p JOIN (VALUES "
    + ", ".join(f"({number})" for number in range(7_000))
    + ") v(w) ON v.w = p.ward",
    "a long result": "SELECT a.zip, b.plan FROM study.patients a, study.patients b LIMIT 500000",
}


@pytest.fixture(scope="module")
def gateway(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarding]:
    folder = tmp_path_factory.mktemp("availability")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_KEYS", str(folder / "keys"))
        furnish(postgres_url)
        with guarded(postgres_url, folder / "store.db") as running:
            yield running


def _asked(gateway: Guarding, user: str, text: str) -> None:
    with psycopg.connect(gateway.url(user), autocommit=True) as session:
        try:
            session.execute(text.encode()).fetchall()
        except psycopg.Error:
            return


@pytest.mark.parametrize("name", list(HUGE))
def test_others_are_served_while_a_huge_statement_comes(gateway: Guarding, name: str) -> None:
    with psycopg.connect(gateway.url(USERS[1]), autocommit=True) as other:
        asking = threading.Thread(target=_asked, args=(gateway, USERS[0], HUGE[name]))
        asking.start()
        longest, began = 0.0, time.perf_counter()
        while asking.is_alive() or longest == 0.0:
            start = time.perf_counter()
            other.execute("SELECT title FROM study.wards").fetchall()
            longest = max(longest, time.perf_counter() - start)
            assert time.perf_counter() - began < 60, "the statement does not end"
        asking.join()
    # On a busy machine everything takes longer; a gateway that waits for the statement is silent as long as that takes.
    assert longest < max(3.0, (time.perf_counter() - began) / 3), longest


def test_heavy_statements_of_one_user_leave_places_for_others(gateway: Guarding) -> None:
    """Who logs in, and who asks, does not wait until they are done; leaving ends them."""
    heavy = "SELECT count(*) FROM study.patients a, study.patients b, study.patients c WHERE a.born + b.born < c.born"
    sessions = [psycopg.connect(gateway.url(USERS[0]), autocommit=True) for _ in range(10)]
    waiting = [threading.Thread(target=_fails, args=(session, heavy)) for session in sessions]
    for one in waiting:
        one.start()
    time.sleep(0.5)
    began = time.perf_counter()
    with psycopg.connect(gateway.url(USERS[1]), autocommit=True) as other:
        assert other.execute("SELECT count(*) FROM study.patients").fetchall() == [(1000,)]
    assert time.perf_counter() - began < 10
    for session in sessions:
        session.cancel_safe()
    for one in waiting:
        one.join(30)
    for session in sessions:
        session.close()
    assert not any(one.is_alive() for one in waiting)


def _fails(session: psycopg.Connection[tuple[object, ...]], text: str) -> None:
    with pytest.raises(psycopg.Error):
        session.execute(text.encode())


def test_a_result_takes_no_more_memory_than_allowed(gateway: Guarding) -> None:
    with psycopg.connect(gateway.url(USERS[2]), autocommit=True) as session:
        with pytest.raises(psycopg.Error, match="larger than 64 MiB") as caught:
            session.execute(
                "SELECT a.name, b.name, a.name, b.name, a.name, b.name FROM study.patients a, study.patients b"
            )
        assert caught.value.sqlstate == "54000"
        assert session.execute("SELECT count(*) FROM study.patients").fetchall() == [(1000,)]


@pytest.mark.parametrize("formats", [(), (0, 1, 0, 1), (1, 1, 1, 1)])
def test_rows_are_the_same_where_the_library_reads_them(gateway: Guarding, formats: tuple[int, ...]) -> None:
    """The library reads what it has encrypted; what is not encrypted is read from its socket."""
    text = "SELECT id, height, NULLIF(ward, 2) AS w, $1::text FROM study.patients ORDER BY id"
    with gateway.governor.own.run() as run:
        assert run._by_library(text, (b"x",), formats)[0] == run.rows(text, (b"x",), formats)[0]
        assert run._by_library(text, (b"x",), formats)[1].cells() == run.rows(text, (b"x",), formats)[1].cells()
        for each in (run.rows, run._by_library):
            with pytest.raises(OwnError, match="division by zero"):
                each("SELECT 1 / $1::int", (b"0",), ())
            run.connection.rollback()
