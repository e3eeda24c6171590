"""What is run tells nothing by the work that it is: whoever is not shown is not looked at, and others as often as anybody.

Statements that the gateway runs are caught and run again over the study, of which some columns count how often they are
looked at for one patient. That number stands for time, which would tell the same less clearly.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from discreet.gateway import parse_upstream
from discreet.gateway.enforcement.cells import CellRunner
from discreet.gateway.own_connection import OwnRun
from discreet.gateway.statistics import quantities
from discreet.policy import Policy
from tests.gateway.governed import Guarding
from tests.gateway.questions.study import NOISED, POLICY, USERS, furnish

pytestmark = pytest.mark.postgres
TARGET = 7
PUBLIC, SECRET = ("zip", "born", "plan", "ward", "height"), ("diagnosis", "smoker", "income", "pressure")
LOOK = """
CREATE OR REPLACE FUNCTION aside.look(name text, who int, value anyelement) RETURNS anyelement LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF who = 7 THEN
    PERFORM set_config('looked.' || name, (coalesce(nullif(current_setting('looked.' || name, true), ''), '0')::int + 1)::text, false);
  END IF;
  RETURN value;
END $$"""
SEEN = ", ".join(f"aside.look('{name}', id, {name}) AS {name}" for name in (*PUBLIC, *SECRET))
LOOKED_AT = f"(SELECT id, name, sex, enrolled, {SEEN}, tableoid, ctid FROM study.patients)"


@pytest.fixture(scope="module")
def study(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Guarding]]:
    folder = tmp_path_factory.mktemp("silence")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_KEYS", str(folder / "keys"))
        furnish(postgres_url)
        with psycopg.connect(postgres_url, autocommit=True) as direct:
            direct.execute(LOOK)
        more = 'denials_per_hour = 10000\nexempt = ["postgres"]'
        chosen = POLICY.replace('exempt = ["postgres"]', more).replace(
            "answers = 1000", "answers = 100000\naudit = 0.99\nknown = 0.99"
        )
        with Guarding(parse_upstream(postgres_url), postgres_url, folder / "store.db", Policy.parse(chosen)) as gateway:
            yield postgres_url, gateway


@pytest.fixture
def run(study: tuple[str, Guarding], monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Asks something, and gives the statements about patients that were run for it."""
    caught: list[str] = []
    for name in ("ask", "marks"):
        original = getattr(OwnRun, name)

        def noted(self: Any, sql: str, *values: Any, original: Any = original, **more: Any) -> Any:
            caught.append(sql)
            return original(self, sql, *values, **more)

        monkeypatch.setattr(OwnRun, name, noted)
    with psycopg.connect(study[1].url(USERS[next(COUNTER) % len(USERS)]), autocommit=True) as session:

        def asked(text: str) -> tuple[list[Any], list[str]]:
            caught.clear()
            rows = session.execute(text.encode()).fetchall()
            return rows, [sql for sql in caught if '"study"."patients"' in sql]

        yield asked


COUNTER = itertools.count()


def looks(url: str, statements: list[str], change: str = "") -> dict[str, int]:
    """How often each column of the target is looked at, perhaps with other values."""
    with psycopg.connect(url) as direct:
        for name in (*PUBLIC, *SECRET):
            direct.execute(f"SELECT set_config('looked.{name}', '0', false)".encode())
        direct.execute("SET max_parallel_workers_per_gather = 0; SET search_path = pg_catalog")
        if change:
            direct.execute(f"UPDATE study.patients SET {change} WHERE id = {TARGET}".encode())
        for sql in statements:
            with psycopg.RawCursor(direct) as cursor:
                cursor.execute(sql.replace('"study"."patients"', LOOKED_AT).encode(), (1,) if "$1" in sql else None)
        found = {
            name: direct.execute(f"SELECT current_setting('looked.{name}')::int".encode()).fetchall()[0][0]
            for name in (*PUBLIC, *SECRET)
        }
        direct.rollback()
        return found


SMALL = [
    # The target is alone in a group, beside groups that are shown.
    "SELECT CASE WHEN born = {born} AND ward = {ward} AND zip = '{zip}' THEN 1 ELSE 2 END AS g, count(*) FILTER (WHERE diagnosis = 'I10') FROM study.patients GROUP BY 1",
    "SELECT CASE WHEN born = {born} AND ward = {ward} AND zip = '{zip}' THEN 1 ELSE 2 END AS g, diagnosis, count(*) FROM study.patients GROUP BY 1, 2",
    "SELECT CASE WHEN born = {born} AND ward = {ward} AND zip = '{zip}' THEN 1 ELSE 2 END AS g, percentile_cont(0.5) WITHIN GROUP (ORDER BY income) FILTER (WHERE smoker) FROM study.patients GROUP BY 1",
    "SELECT CASE WHEN born = {born} AND ward = {ward} AND zip = '{zip}' THEN 1 ELSE 2 END AS g, sex, avg(income), count(*) FROM study.patients GROUP BY GROUPING SETS ((1), (1, 2))",
    "SELECT p.born, p.ward, p.zip, avg(p.income), count(*) FROM study.patients p JOIN study.visits v ON v.patient = p.id GROUP BY 1, 2, 3",
    "SELECT p.born, p.ward, p.zip, count(*) FILTER (WHERE p.smoker) FROM study.patients p CROSS JOIN generate_series(1, 20) s(s) GROUP BY 1, 2, 3",
    "SELECT CASE WHEN born = {born} AND ward = {ward} AND zip = '{zip}' THEN 1 ELSE 2 END AS g, sex, diagnosis, percentile_cont(0.5) WITHIN GROUP (ORDER BY income) FROM study.patients p JOIN study.visits v ON v.patient = p.id GROUP BY GROUPING SETS ((1, 3), (1, 2, 3))",
    "SELECT zip, count(*), count(*) FILTER (WHERE born = {born} AND ward = {ward} AND diagnosis = 'I10') FROM study.patients GROUP BY 1",
    "SELECT born, ward, zip, count(*), string_agg(plan, ','), avg(income) FROM study.patients GROUP BY 1, 2, 3",
]


@pytest.mark.parametrize("number", range(len(SMALL)))
def test_nobody_is_looked_at_who_is_in_no_group_that_is_large_enough(
    study: tuple[str, Guarding], run: Any, number: int
) -> None:
    with psycopg.connect(study[0]) as direct:
        place = direct.execute("SELECT born, ward, zip FROM study.patients WHERE id = 7").fetchall()[0]
        same = direct.execute(
            "SELECT count(*) FROM study.patients WHERE (born, ward, zip) = (%s, %s, %s)", place
        ).fetchall()
        assert same[0][0] < 7
    text = SMALL[number].format(born=place[0], ward=place[1], zip=place[2])
    for _ in range(2):  # also when it is asked again
        statements = run(text)[1]
        assert statements
        found = looks(study[0], statements)
        assert {name: found[name] for name in SECRET} == dict.fromkeys(SECRET, 0)
        assert any(found[name] for name in PUBLIC)


def test_groups_that_have_become_small_are_noticed(study: tuple[str, Guarding], run: Any) -> None:
    """Whether all have enough people is remembered, and looked at again where it was not so in the answer."""
    text = "SELECT CASE WHEN born < 1942 AND ward = 1 THEN 1 ELSE 2 END AS g, count(*) FILTER (WHERE diagnosis = 'E11') FROM study.patients GROUP BY 1"
    assert len(run(text)[0]) == 2
    with psycopg.connect(study[0], autocommit=True) as direct:
        moved = direct.execute(
            "UPDATE study.patients SET ward = 2 WHERE born < 1942 AND ward = 1 RETURNING id"
        ).fetchall()
        direct.execute("UPDATE study.patients SET ward = 1, born = 1940 WHERE id = 7")
        try:
            assert len(run(text)[0]) == 1
            assert looks(study[0], run(text)[1])["diagnosis"] == 0
        finally:
            keys = [one for (one,) in moved]
            direct.execute("UPDATE study.patients SET ward = 1 WHERE id = ANY(%s)", (keys,))
            furnish_target(direct)


def furnish_target(direct: psycopg.Connection[Any]) -> None:
    """As it was."""
    direct.execute(
        "UPDATE study.patients SET born = (1935 + h % 70)::int, ward = (1 + h % 6)::int "
        "FROM (SELECT abs(hashint4(7)::bigint) / 3 % 1000000 AS h) x WHERE id = 7"
    )


JOINED = [
    "SELECT count(*) FILTER (WHERE p.diagnosis = 'I10') FROM study.patients p CROSS JOIN generate_series(1, {n}) s(s)",
    "SELECT p.plan, avg(p.income) FROM study.patients p JOIN generate_series(1, {n}) s(s) ON p.born + s.s > 0 GROUP BY 1",
    "SELECT p.diagnosis, count(*) FROM study.patients p CROSS JOIN generate_series(1, {n}) s(s) GROUP BY 1",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY p.income) FILTER (WHERE p.smoker) FROM study.patients p CROSS JOIN generate_series(1, {n}) s(s)",
    "SELECT corr(p.income, s.s + p.born), sum(s.s) FILTER (WHERE p.smoker) FROM study.patients p CROSS JOIN generate_series(1, {n}) s(s)",
    "SELECT v.reason, avg(p.pressure) FROM study.patients p JOIN study.visits v ON v.patient = p.id CROSS JOIN generate_series(1, {n}) s(s) GROUP BY 1",
]


@pytest.mark.parametrize("text", JOINED)
def test_joins_do_not_repeat_work_on_anybody(study: tuple[str, Guarding], run: Any, text: str) -> None:
    """However often a join repeats a row, its sensitive values are looked at no more often than the plan looks at one."""
    few, many = (looks(study[0], run(text.format(n=n))[1]) for n in (2, 40))
    assert all(few[name] <= 20 and many[name] <= 20 for name in SECRET), (few, many)
    assert any(many[name] for name in SECRET)


WORLDS = [
    "diagnosis = 'I10', smoker = true, income = 20000, pressure = 100",
    "diagnosis = 'E11', smoker = false, income = 99000, pressure = NULL",
]
MIXED = [
    "SELECT born / 10, percentile_cont(0.5) WITHIN GROUP (ORDER BY income) FILTER (WHERE diagnosis = 'I10') FROM study.patients GROUP BY 1",
    "SELECT zip || plan, percentile_cont(0.5) WITHIN GROUP (ORDER BY born) FILTER (WHERE smoker) FROM study.patients GROUP BY 1",
    "SELECT plan, sum(height * ward) FILTER (WHERE diagnosis = 'I10'), corr(income, height + ward) FROM study.patients GROUP BY 1",
    "SELECT ward, count(*) FILTER (WHERE smoker AND born < 1980), avg(height) FILTER (WHERE smoker) FROM study.patients GROUP BY 1",
]  # fmt: skip


@pytest.mark.parametrize("text", [*MIXED, *(one for one in NOISED if "study.patients" in one)])
def test_public_columns_are_looked_at_as_often_whatever_is_in_sensitive_ones(
    study: tuple[str, Guarding], run: Any, text: str
) -> None:
    statements = run(text)[1]
    one, other = (looks(study[0], statements, world) for world in WORLDS)
    assert {name: one[name] for name in PUBLIC} == {name: other[name] for name in PUBLIC}
    assert all(abs(one[name] - other[name]) <= 5 for name in SECRET), (one, other)


def test_what_was_enough_for_one_division_is_not_for_another(study: tuple[str, Guarding], run: Any) -> None:
    """The same columns and people: all of two divisions are large, and of both together some are not."""
    both = "SELECT born / 10, zip, count(*) FILTER (WHERE diagnosis = 'F32') FROM study.patients GROUP BY {}"
    assert run(both.format("GROUPING SETS ((1), (2))"))[0]
    fine = "SELECT born, zip, count(*) FILTER (WHERE diagnosis = 'F32') FROM study.patients GROUP BY {}"
    assert run(fine.format("GROUPING SETS ((1), (2))"))[0]
    assert looks(study[0], run(fine.format("1, 2"))[1])["diagnosis"] == 0


def test_the_time_of_a_statistic_is_blurred(study: tuple[str, Guarding], monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("discreet.gateway.enforcement.answers.time.sleep", waited.append)
    with psycopg.connect(study[1].url(USERS[0]), autocommit=True) as session:
        for _ in range(100):
            session.execute("SELECT count(*) FROM study.patients WHERE diagnosis = 'I10'")
    assert len(waited) == 100
    assert 0.001 < statistics.stdev(waited) < 0.004
    assert min(waited) > 0


LONG = "x" * 900
HIDDEN = f"CASE diagnosis WHEN 'B20' THEN '{LONG}' WHEN 'E11' THEN 'z' ELSE 'y' END"
CELLS = [
    f"SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY income) FROM study.patients WHERE ward = 99 GROUP BY {HIDDEN}",
    f"SELECT sex, avg(income), percentile_cont(0.5) WITHIN GROUP (ORDER BY pressure) FROM study.patients WHERE ward = 99 GROUP BY 1, {HIDDEN}",
    f"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY income) FROM study.patients WHERE ward = 99 GROUP BY GROUPING SETS ((diagnosis), (sex, diagnosis), (smoker, {HIDDEN}))",
    f"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY income) FROM study.patients p JOIN study.visits v ON v.patient = p.id WHERE ward = 99 GROUP BY {HIDDEN}",
]


@pytest.mark.parametrize("most", [6, 60])
@pytest.mark.parametrize("text", CELLS)
def test_cells_that_are_hidden_are_no_work(
    study: tuple[str, Guarding], monkeypatch: pytest.MonkeyPatch, text: str, most: int
) -> None:
    """Who is in which small sensitive group changes no row that the gateway reads and no byte that it names."""
    work: list[int] = []
    ask, named, cell = OwnRun.ask, quantities.name_of, CellRunner._cell

    def asked(self: OwnRun, sql: str, *values: Any, **more: Any) -> Any:
        rows = ask(self, sql, *values, **more)
        work.append(len(rows))
        return rows

    def names(*parts: str) -> bytes:
        work.append(sum(len(one) for one in parts if len(one) > 100))
        return named(*parts)

    def celled(self: CellRunner, *args: Any) -> Any:
        work.append(-1)
        return cell(self, *args)

    monkeypatch.setattr(OwnRun, "ask", asked)
    monkeypatch.setattr(CellRunner, "_cell", celled)
    for where in ("statistics.noise", "statistics.answers", "statistics.quantities", "enforcement.cells"):
        monkeypatch.setattr(f"discreet.gateway.{where}.name_of", names)
    found = []
    with psycopg.connect(study[0], autocommit=True) as direct:
        direct.execute("CREATE TABLE aside.before AS SELECT * FROM study.patients")
        alike = f"ward = 99, sex = 'F', smoker = false, diagnosis = CASE WHEN id <= {most} THEN 'I10' ELSE 'E11' END"
        try:
            direct.execute(f"UPDATE study.patients SET {alike} WHERE id <= {most + 2}".encode())
            for sick in ("E11", "B20"):
                direct.execute(f"UPDATE study.patients SET diagnosis = '{sick}' WHERE id = {most + 1}".encode())
                with psycopg.connect(study[1].url(USERS[0]), autocommit=True) as session:
                    session.execute(text.encode())
                    work.clear()
                    shown = session.execute(text.encode()).fetchall()
                    found.append((len(shown), tuple(work)))
        finally:
            direct.execute(
                "UPDATE study.patients p SET (ward, sex, smoker, diagnosis) = (b.ward, b.sex, b.smoker, b.diagnosis) "
                "FROM aside.before b WHERE b.id = p.id"
            )
            direct.execute("DROP TABLE aside.before")
    assert found[0] == found[1]
    assert bool(found[0][0]) == (most == 60)
