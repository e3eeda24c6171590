"""Limits, actions and modes, as clients see them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from discreet.errors import PolicyError, SourceNotFound
from discreet.gateway.own_connection import OwnConnections
from discreet.gateway.rights import Hole
from tests.gateway.governed import Guarding, connected
from tests.gateway.running import wait_for

pytestmark = pytest.mark.postgres


def refused(connection: Any, statement: str) -> str:
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
        connection.execute(statement)
    return str(caught.value)


def test_a_refusal_says_what_why_and_what_to_do(guard: Callable[..., Guarding]) -> None:
    running = guard()
    with connected(running.url()) as ann:
        said = refused(ann, "SELECT name, diagnosis FROM patients")
        found = re.fullmatch(
            r"Refused: this result could bring your exposure to 14\.15; your limit is 2\.00\. Ask for fewer people, drop "
            r"`diagnosis`, or request a higher limit \(reference ([0-9A-F]{4})\)\.",
            said.strip().split("\n")[0],
        )
        assert found, said
        (entry,) = [one for one in running.ledger.entries(last=5) if one.outcome == "refused"]
        assert entry.sequence == int(found[1], 16)
        assert (entry.actor, entry.event, entry.details["decision"]) == ("ann", "gateway.answered", "deny")
        assert "canary" not in str(entry)
        assert ann.execute("SELECT count(*) FROM patients").fetchone() == (200,)


def test_what_was_seen_counts_and_the_same_again_does_not(guard: Callable[..., Guarding]) -> None:
    running = guard()
    with connected(running.url()) as ann:
        for _ in range(3):
            for key in (1, 2, 3, 4):
                assert ann.execute(f"SELECT diagnosis FROM patients WHERE id = {key}").fetchone()
        refused(ann, "SELECT diagnosis FROM patients WHERE id = 5")
        assert running.exposure() == pytest.approx(2.0)
    with connected(running.url("ben")) as ben:
        assert ben.execute("SELECT diagnosis FROM patients WHERE id = 5").fetchone() == ("canary004",)


def test_a_transaction_survives_a_refusal(guard: Callable[..., Guarding]) -> None:
    with connected(guard().url()) as ann:
        ann.execute("BEGIN")
        ann.execute("INSERT INTO scratch VALUES ('kept')")
        refused(ann, "SELECT name, diagnosis FROM patients")
        assert ann.execute("SELECT a FROM scratch WHERE a = 'kept'").fetchone() == ("kept",)
        ann.execute("ROLLBACK")


def test_the_largest_allowed_part_of_the_rows(guard: Callable[..., Guarding]) -> None:
    running = guard(action="subset")
    with connected(running.url()) as ann:
        heard: list[str] = []
        ann.add_notice_handler(lambda notice: heard.append(str(notice.message_primary)))
        cursor = ann.execute("SELECT id, name, diagnosis FROM patients")
        assert (len(cursor.fetchall()), cursor.statusmessage) == (4, "SELECT 4")
        assert heard == ["4 of 200 rows are shown; the others would bring your exposure above your limit."]
        assert running.exposure() == pytest.approx(2.0)
        assert len(ann.execute("SELECT id, name, diagnosis FROM patients").fetchall()) == 4
        assert running.exposure() == pytest.approx(2.0)


def test_cells_are_emptied(guard: Callable[..., Guarding]) -> None:
    running = guard(action="mask")
    with connected(running.url()) as ann:
        rows = ann.execute("SELECT name, diagnosis, zip FROM patients ORDER BY id LIMIT 10").fetchall()
        assert len(rows) == 10
        assert all(row[0] and row[2] for row in rows)
        assert sum(row[1] is not None for row in rows) <= 4
        assert running.exposure() <= 2.0
        assert ann.execute("SELECT zip FROM patients WHERE id = 1").fetchone() == ("11",)


@pytest.mark.parametrize("binary", [False, True])
def test_masking_reaches_expressions(guard: Callable[..., Guarding], binary: bool) -> None:
    running = guard(action="mask")
    with connected(running.url()) as ann:
        ann.execute("SELECT diagnosis FROM patients WHERE id = 1")
        rows = ann.cursor(binary=binary).execute("SELECT id, upper(diagnosis) FROM patients WHERE id < 9").fetchall()
        assert len(rows) == 8
        assert sum(row[1] is not None for row in rows) <= 4


def test_an_alert_lets_through_and_is_written_down(guard: Callable[..., Guarding]) -> None:
    running = guard(action="alert")
    with connected(running.url()) as ann:
        assert len(ann.execute("SELECT name, diagnosis FROM patients").fetchall()) == 200
    assert running.exposure() > 14
    assert "alert" in {entry.details.get("decision") for entry in running.ledger.entries(actor="ann")}


def test_shadow_mode_changes_nothing_and_writes_down_what_would_have_been(
    clinic: str, guard: Callable[..., Guarding]
) -> None:
    """Rights stay as they are until the gateway enforces."""
    with psycopg.connect(clinic, autocommit=True) as boss:
        boss.execute("GRANT SELECT ON clinic.patients TO ann")
        running = guard(mode="shadow")
        with connected(running.url()) as ann:
            assert len(ann.execute("SELECT name, diagnosis FROM patients").fetchall()) == 200
            ann.execute("CREATE TEMP TABLE laundered AS SELECT * FROM patients")
            ann.execute("SELECT max(diagnosis) FROM patients")
        boss.execute("REVOKE SELECT ON clinic.patients FROM ann")
    assert running.exposure() > 14

    def entries() -> list[Any]:
        return [entry for entry in running.ledger.entries(actor="ann") if entry.details.get("enforced") is False]

    wait_for(lambda: any("max()" in str(entry.details.get("reason")) for entry in entries()))
    assert "alert" in {entry.details.get("decision") for entry in entries()}


def test_a_gateway_does_not_enforce_over_a_hole(clinic: str, guard: Callable[..., Guarding]) -> None:
    with psycopg.connect(clinic, autocommit=True) as boss:
        boss.execute("GRANT SELECT ON clinic.visits TO ann")
        try:
            with pytest.raises(PolicyError, match=r"clinic\.visits"):
                guard()
        finally:
            boss.execute("REVOKE SELECT ON clinic.visits FROM ann")


@pytest.mark.parametrize("how", ["a hole", "no right"])
def test_what_is_prepared_is_not_answered_once_rights_have_changed(guard: Callable[..., Guarding], how: str) -> None:
    running = guard()
    with connected(running.url()) as ann:
        for _ in range(2):
            ann.execute("SELECT diagnosis FROM patients WHERE id = %s", [1], prepare=True)
        if how == "a hole":
            running.governor.holes = (Hole("a way past", "close it"),)
        else:
            running.governor._entitled["ann"] = time.monotonic(), frozenset()
        with pytest.raises(psycopg.Error, match=r"undermine|permission denied"):
            ann.execute("SELECT diagnosis FROM patients WHERE id = %s", [1], prepare=True)


RULES = """
[[gateway.limits]]
users = ["ann"]
applications = ["dashboard"]
limit = 0.5

[[gateway.limits]]
roles = ["analysts"]
limit = 20.0

[[gateway.limits]]
addresses = ["10.0.0.0/8"]
limit = 99.0

[[gateway.limits]]
users = ["eve"]
hours = "00:00-24:00"
limit = 1.0
action = "mask"
"""


def test_limits_by_user_role_and_context(guard: Callable[..., Guarding]) -> None:
    running = guard(more=RULES)
    with connected(running.url("ben")) as ben:
        assert len(ben.execute("SELECT name, diagnosis FROM patients").fetchall()) == 200
    with connected(running.url() + "?application_name=dashboard") as ann:
        assert "your limit is 0.50" in refused(ann, "SELECT diagnosis FROM patients WHERE id = 1")
    with connected(running.url()) as ann:
        assert ann.execute("SELECT diagnosis FROM patients WHERE id = 1").fetchone() == ("canary000",)
    with connected(running.url("eve")) as eve:
        rows = eve.execute("SELECT name, diagnosis FROM patients WHERE id < 4").fetchall()
        assert [row[1] for row in rows].count(None) >= 2


def test_exempt_users_are_not_looked_at(guard: Callable[..., Guarding]) -> None:
    with connected(guard().url("postgres")) as boss:
        assert len(boss.execute("SELECT * FROM clinic.patients").fetchall()) == 200


def test_other_databases_are_not_open(guard: Callable[..., Guarding]) -> None:
    with connected(guard().url().replace("/postgres", "/template1")) as ann:
        assert "governs another database" in refused(ann, "SELECT 1")


def test_ordinary_work_passes(guard: Callable[..., Guarding]) -> None:
    """What people and tools do without touching governed values."""
    with connected(guard().url()) as ann:
        ann.execute("SET statement_timeout = '5s'")
        ann.execute("SET search_path = own")
        ann.execute("CREATE TEMP TABLE mine (a int, b text)")
        ann.execute("INSERT INTO mine SELECT g, 'x' FROM generate_series(1, 10) g")
        with ann.cursor().copy("COPY mine FROM STDIN") as copy:
            copy.write_row((11, "y"))
        assert ann.execute("SELECT count(*), max(a) FROM mine WHERE b = ANY(%s)", [["x", "y"]]).fetchone() == (11, 11)
        ann.execute("CREATE INDEX ON mine (a)")
        ann.execute("EXPLAIN SELECT * FROM mine")
        ann.execute("SELECT set_config('my.setting', 'x', false), pg_notify('c', 'x'), pg_backend_pid()")
        assert ann.execute("SELECT relname FROM pg_class WHERE oid = 'clinic.patients'::regclass").fetchone()
        ann.execute("DROP TABLE mine")


def test_honest_questions_are_cheap(guard: Callable[..., Guarding]) -> None:
    running = guard()
    with connected(running.url()) as ann:
        ann.execute("SELECT zip, avg(income), count(*) FROM patients GROUP BY zip")
        ann.execute("SELECT sex, count(*) FROM patients GROUP BY sex")
        ann.execute("SELECT avg(income) FROM patients")
        ann.execute("SELECT count(*) FROM patients WHERE diagnosis = 'canary001'")
        ann.execute("SELECT avg(income), count(*) FROM patients WHERE zip = '10' AND diagnosis LIKE 'canary%'")
    assert running.exposure() == 0.0


def test_psql_describes_tables(guard: Callable[..., Guarding]) -> None:
    import shutil
    import subprocess

    program = shutil.which("psql")
    if program is None:
        pytest.skip("there is no psql on this machine")
    commands = [r"\d", r"\d clinic.patients", r"\dn+", r"\df own.*", r"\dv clinic.*", r"\du", r"\dt+ own.*"]
    words = [word for command in commands for word in ("-c", command)]
    done = subprocess.run(
        [program, "-X", "-d", guard().url(), "-v", "ON_ERROR_STOP=1", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "diagnosis" in done.stdout


def test_what_is_wrong_is_said_at_the_start(clinic: str, guard: Callable[..., Guarding]) -> None:
    with pytest.raises(PolicyError, match="no table"):
        guard(more='[gateway.tables."clinic.nobody"]\nkey = ["id"]\n')
    with pytest.raises(PolicyError, match="has no column 'colour'"):
        guard(more='[gateway.tables."own.places"]\nquasi = ["colour"]\n')
    with pytest.raises(PolicyError, match="context 'night'"):
        guard(more='[[gateway.limits]]\ncontext = "night"\nlimit = 1\n')
    with pytest.raises(SourceNotFound, match="own connection"):
        OwnConnections("postgresql://nobody@127.0.0.1:1/none").database()


def test_what_was_reserved_is_settled_on_delivery(guard: Callable[..., Guarding]) -> None:
    running = guard()
    with connected(running.url()) as ann:
        ann.execute("SELECT diagnosis FROM patients WHERE id = 1")

    def outcomes() -> list[str]:
        return [entry.outcome for entry in running.ledger.entries(actor="ann")]

    wait_for(lambda: outcomes() == ["reserved", "settled"])


def test_the_store_is_gone(guard: Callable[..., Guarding]) -> None:
    """What cannot be written down is not given out."""
    from discreet.errors import StoreUnreachable

    running = guard()
    with connected(running.url()) as ann:
        ann.execute("SELECT diagnosis FROM patients WHERE id = 1")
        writing = running.ledger.store.writing

        def broken() -> Any:
            raise StoreUnreachable("gone", remedy="")

        running.ledger.store.writing = broken  # type: ignore[method-assign]
        with pytest.raises(psycopg.Error, match="cannot write down"):
            ann.execute("SELECT diagnosis FROM patients WHERE id = 2")
        running.ledger.store.writing = writing  # type: ignore[method-assign]
        assert ann.execute("SELECT diagnosis FROM patients WHERE id = 2").fetchone() == ("canary001",)


def test_a_person_of_several_rows_weighs_the_same_however_they_are_asked_for(guard: Callable[..., Guarding]) -> None:
    """Their values add up: a part of them in each statement must not be cheaper than all at once."""
    running = guard(more="[sensitivity.reason]\notherwise = 0.3\n")
    with connected(running.url()) as ann:
        ann.execute("SELECT patient, reason FROM visits WHERE visit = 1")
        assert running.exposure() == pytest.approx(1.0)
        ann.execute("SELECT patient, reason FROM visits WHERE patient = 1")
        assert running.exposure() == pytest.approx(1.0)


WEIGHED = """
[sensitivity.seen]
values = {"2024-03-05" = 1.0}
otherwise = 0.05
[sensitivity.at]
values = {"2024-03-05 10:00:00" = 1.0, "2024-03-05 10:00:00.5" = 0.5}
otherwise = 0.05
[sensitivity.zoned]
values = {"2024-03-05 09:00:00+00" = 1.0}
otherwise = 0.05
[sensitivity.amount]
bins = [[149.995, 0.05]]
otherwise = 1.0
[gateway.tables."clinic.tests"]
key = ["id"]
sensitive = ["seen", "at", "zoned", "amount"]
"""


@pytest.mark.parametrize(
    "setting", ["", "SET DateStyle = 'German'; SET TimeZone = 'Asia/Tokyo'", "SET extra_float_digits = -15"]
)
@pytest.mark.parametrize(
    ("column", "key", "weight"),
    [("seen", 1, 1.0), ("at", 1, 1.0), ("at", 2, 0.5), ("zoned", 1, 1.0), ("amount", 1, 1.0), ("amount", 2, 0.05)],
)
def test_values_weigh_the_same_in_any_setting(
    clinic: str, guard: Callable[..., Guarding], setting: str, column: str, key: int, weight: float
) -> None:
    with connected(clinic) as direct:
        direct.execute(
            "DROP TABLE IF EXISTS clinic.tests; CREATE TABLE clinic.tests (id int PRIMARY KEY, seen date, at timestamp, zoned timestamptz, amount float8)"
        )
        direct.execute(
            "INSERT INTO clinic.tests VALUES (1, '2024-03-05', '2024-03-05 10:00', '2024-03-05 10:00+01', 149.996), (2, 'infinity', '2024-03-05 10:00:00.5', 'infinity', 149.99)"
        )
        direct.execute("GRANT REFERENCES (seen) ON clinic.tests TO ann")
    try:
        running = guard(more=WEIGHED)
        with connected(running.url()) as ann:
            for one in filter(None, setting.split("; ")):
                ann.execute(one.encode())
            ann.execute(f"SELECT {column} FROM tests WHERE id = {key}")
            assert running.exposure() == pytest.approx(weight)
    finally:
        with connected(clinic) as direct:
            direct.execute("DROP TABLE clinic.tests")


def test_values_that_changed_since_they_were_shown_are_not_shown_at_their_old_weight(
    clinic: str, guard: Callable[..., Guarding]
) -> None:
    ids = range(11, 20)
    with connected(clinic) as direct:
        direct.execute("UPDATE clinic.patients SET income = 500 WHERE id = ANY(%s)", [[*ids]])
    gateway = guard(limit=2.0)
    with connected(gateway.url()) as session:
        for number in ids:
            session.execute(f"SELECT income FROM patients WHERE id = {number}")
        assert len(session.execute("SELECT income FROM patients WHERE id BETWEEN 11 AND 19").fetchall()) == 9
        with connected(clinic) as direct:
            direct.execute("UPDATE clinic.patients SET income = 70000000 + id WHERE id = ANY(%s)", [[*ids]])
        with pytest.raises(psycopg.errors.DataException):
            session.execute("SELECT income FROM patients WHERE id BETWEEN 11 AND 19")
        assert gateway.exposure() == pytest.approx(3.0)  # who asks for fewer, to learn whose, is over the limit
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("SELECT income FROM patients WHERE id BETWEEN 11 AND 12")


def test_steps_of_the_clock_forget_nothing(
    clinic: str, guard: Callable[..., Guarding], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forward by a year and back by two: what was seen stays seen, and what is refused stays counted."""
    running, real = guard(limit=2.0, days=1), time.time
    with connected(running.url()) as ann:
        for number in range(1, 5):
            ann.execute(f"SELECT diagnosis FROM patients WHERE id = {number}")
        for step in (400 * 86_400, -800 * 86_400, 0):
            monkeypatch.setattr(time, "time", lambda step=step: real() + step)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                ann.execute("SELECT diagnosis FROM patients WHERE id = 5")
            assert running.exposure() == pytest.approx(2.0)
