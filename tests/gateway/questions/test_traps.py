"""Traps that attackers found, each as a test of its class: whoever is shown or told about is charged, however it ends."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from discreet.gateway import parse_upstream
from discreet.gateway.analysis.plan import StatementPlanner
from discreet.gateway.analysis.relations import Named, Setting
from discreet.gateway.analysis.resolve import Resolver
from discreet.gateway.analysis.statements import asked
from discreet.gateway.enforcement.answers import Answering
from discreet.gateway.enforcement.cells import CellRunner
from discreet.gateway.own_connection import OwnError, OwnRun
from discreet.gateway.protocol.data_rows import DataRows
from discreet.misuse import Exposure
from discreet.policy import Policy
from discreet.store import Exposures
from tests.gateway.governed import Guarding
from tests.gateway.questions.study import POLICY, USERS, furnish
from tests.gateway.running import wait_for

pytestmark = pytest.mark.postgres
LIMIT = 4.5
"""Twenty people, whose diagnoses weigh 1."""


@pytest.fixture(scope="module")
def study(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Guarding]]:
    folder = tmp_path_factory.mktemp("traps")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_KEYS", str(folder / "keys"))
        furnish(postgres_url)
        more = 'denials_per_hour = 10000\nexempt = ["postgres"]'
        chosen = POLICY.replace("limit = 2.0", f"limit = {LIMIT}").replace('exempt = ["postgres"]', more)
        url = parse_upstream(postgres_url)
        with Guarding(url, postgres_url, folder / "store.db", Policy.parse(chosen)) as gateway:
            yield postgres_url, gateway


@pytest.fixture
def eve(study: tuple[str, Guarding]) -> Iterator[psycopg.Connection[Any]]:
    """A user of whom nothing is known yet."""
    url, gateway = study
    name = f"eve{next(COUNTER)}"
    with psycopg.connect(url, autocommit=True) as direct:
        direct.execute(f"DROP ROLE IF EXISTS {name}".encode())
        direct.execute(f"CREATE ROLE {name} LOGIN IN ROLE {USERS[0]}".encode())
    with psycopg.connect(gateway.url(name), autocommit=True) as session:
        yield session
    with psycopg.connect(url, autocommit=True) as direct:
        direct.execute(f"DROP OWNED BY {name}; DROP ROLE {name}".encode())


COUNTER = itertools.count(1)


def known(gateway: Guarding, session: psycopg.Connection[Any]) -> set[int]:
    """Of whom the store says that the user knows something."""
    kept = Exposures(gateway.ledger.store).of(f"postgres/{session.info.user}")
    return set() if kept is None else {int(one) for one in Exposure.from_bytes(kept.content).knowledge.entities()}


def numbers(gateway: Guarding, keys: set[int]) -> set[int]:
    every = DataRows.of([str(key).encode()] for key in sorted(keys))
    return set(gateway.governor._entities.numbers("study.patients", every, [0]).tolist())


DECOYS = "study.patients p JOIN generate_series(1, 999) s(s) ON (p.id = 1 OR s.s = 1)"
LISTS = [
    *(
        f"SELECT p.id, p.diagnosis, p.id = 1 AS first, {constant} AS one FROM {DECOYS} ORDER BY {order} LIMIT 9"
        for constant in ("1", "2", "-1", "'3'", "1 + 0")
        for order in ("one", "one DESC, first", "4")
    ),
    *(
        f"SELECT t.id, t.diagnosis FROM study.patients t {' '.join(f'JOIN study.patients d{n} ON d{n}.id IN (1, 2, 3, 4)' for n in range(k))} "
        f"WHERE (t.id IN (1, 2, 3, 4) OR (t.id IN (11, 12, 13) {''.join(f' AND d{n}.id = 1' for n in range(k))})) "
        f"{''.join(f' AND d{n}.diagnosis IS NOT NULL' for n in range(k))} ORDER BY t.id IN (1, 2, 3, 4), t.id LIMIT 3"
        for k in (1, 3, 6)
    ),
    *(
        f"SELECT p.id, p.diagnosis, x.name FROM (SELECT a.id, y.name, {choice} AS n FROM study.patients a LEFT JOIN "
        "(SELECT visit AS k, max(reason) AS name FROM study.visits GROUP BY visit) y ON y.k = a.id WHERE a.id + 0 IN (1, 500)) x "
        f"JOIN study.patients p ON p.id = x.id WHERE x.n <= 1 {condition}"
        for choice in ("row_number() OVER ()", "ntile(2) OVER ()", "rank() OVER (ORDER BY y.k IS NULL)")
        for condition in ("", "AND p.diagnosis = 'I10'")
    ),
    "SELECT p.id, p.diagnosis FROM study.patients p JOIN (SELECT id FROM study.patients LIMIT 3) x USING (id)",
    "SELECT p.id, p.diagnosis FROM study.patients p WHERE p.id IN (SELECT max(patient) FROM study.visits GROUP BY cost ORDER BY cost LIMIT 3)",
    "SELECT a.id, a.diagnosis FROM study.patients a, study.patients b WHERE a.id = b.ward AND b.income > 1 ORDER BY b.id LIMIT 4 OFFSET 1",
    "SELECT v.patient, v.reason FROM study.visits v LEFT JOIN study.patients p ON p.id = v.visit ORDER BY p.id NULLS FIRST LIMIT 5",
]


@pytest.mark.parametrize("text", LISTS)
def test_whoever_is_shown_is_charged(study: tuple[str, Guarding], eve: psycopg.Connection[Any], text: str) -> None:
    """Lists are decided on by one statement and read by another: whatever makes these differ, nobody is shown for free."""
    try:
        rows = eve.execute(text.encode()).fetchall()
    except psycopg.Error:
        return
    assert rows
    assert numbers(study[1], {row[0] for row in rows}) <= known(study[1], eve)


def test_lists_that_differ_from_what_was_decided_are_not_sent(
    study: tuple[str, Guarding], eve: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_about = Answering._asked

    def others(self: Any, *given: Any) -> Any:
        people, whole = asked_about(self, *given)
        return [its[:-1] for its in people], whole

    monkeypatch.setattr(Answering, "_asked", others)
    with pytest.raises(psycopg.errors.DataException):
        eve.execute("SELECT id, diagnosis FROM study.patients WHERE id IN (7, 8)")
    assert len(known(study[1], eve)) == 1  # those who were decided on count as shown


INNER = "(SELECT length(diagnosis) FROM study.patients WHERE id = 7)"
ENDS = {
    "a denial": f"SELECT id, diagnosis FROM study.patients WHERE id <= 100 * {INNER}",
    "a denied condition": f"SELECT id FROM study.patients WHERE diagnosis = 'I10' AND born > {INNER}",
    "an error": f"SELECT 1 / ({INNER} - {INNER})",
    "an error in a list": f"SELECT diagnosis::int + {INNER} FROM study.patients WHERE id = 8",
    "a number that is too large": f"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY 10.0 ^ (born * {INNER})) FILTER (WHERE smoker) FROM study.patients",
    "an audit": f"SELECT avg(income) FILTER (WHERE diagnosis = 'I10') FROM study.patients WHERE born < 1900 + {INNER}",
}


@pytest.mark.parametrize("name", list(ENDS))
def test_what_was_released_inside_is_charged_however_it_ends(
    study: tuple[str, Guarding], eve: psycopg.Connection[Any], name: str
) -> None:
    said = ""
    try:
        eve.execute(ENDS[name].encode()).fetchall()
    except psycopg.Error as problem:
        said = str(problem)
    assert "exposure to" not in said  # a number that depends on what was released
    assert " new answers" not in said
    assert numbers(study[1], {7}) <= known(study[1], eve)


def test_what_takes_too_long_is_charged(study: tuple[str, Guarding], eve: psycopg.Connection[Any]) -> None:
    """The gateway stops waiting; what runs goes on, and is written down."""
    slow = "(SELECT count(*) FROM generate_series(1, 3000000) s(s) WHERE md5(s.s::text) <> '')"
    object.__setattr__(study[1].gateway.settings, "patience", 0.3)
    try:
        with pytest.raises(psycopg.Error):
            eve.execute(f"SELECT {INNER} + {slow}".encode())
        wait_for(lambda: numbers(study[1], {7}) <= known(study[1], eve))
    finally:
        object.__setattr__(study[1].gateway.settings, "patience", 60.0)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sum(1e400::numeric) FROM study.patients WHERE diagnosis = 'I10'",
        "SELECT width_bucket(income, 0, 1e999999, 10), count(*) FROM study.patients GROUP BY 1",
        "SELECT width_bucket(income, 'x', 10, 10), count(*) FROM study.patients GROUP BY 1",
        "SELECT count(*) FROM study.patients WHERE income > 1e99999999",
        "SELECT sum(income * 1e999) FROM study.patients",
        "SELECT percentile_cont(1e500) WITHIN GROUP (ORDER BY income) FROM study.patients",
    ],
)
def test_numbers_beyond_reason_are_refused_in_words(eve: psycopg.Connection[Any], text: str) -> None:
    with pytest.raises(psycopg.Error) as problem:
        eve.execute(text.encode())
    assert "could not decide" not in str(problem.value)


def test_every_refusal_counts(study: tuple[str, Guarding], eve: psycopg.Connection[Any], monkeypatch: Any) -> None:
    """Also one by a failure of the gateway's own: else its absence would be a free answer."""
    counted: list[str] = []
    count = type(study[1].governor._books).count_denial

    def note(self: Any, person: str, at: float) -> int:
        counted.append(person)
        return count(self, person, at)

    def fail(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(type(study[1].governor._books), "count_denial", note)
    monkeypatch.setattr("discreet.gateway.enforcement.session_policy.StatementPlanner.plan", fail)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="could not decide"):
        eve.execute("SELECT diagnosis FROM study.patients WHERE id = 7")
    assert counted == [f"postgres/{eve.info.user}"]


@pytest.fixture
def views(study: tuple[str, Guarding], eve: psycopg.Connection[Any]) -> Iterator[Guarding]:
    """Views of a user's own and of others, over governed tables and one that only the gateway's role may read."""
    url, gateway = study
    with psycopg.connect(url, autocommit=True) as direct:
        direct.execute("CREATE TABLE aside.payroll AS SELECT g AS id, 40000 + g AS salary FROM generate_series(1, 9) g")
        direct.execute(
            "CREATE ROLE viewer; GRANT USAGE ON SCHEMA study, aside TO viewer; GRANT CREATE ON SCHEMA aside TO viewer"
        )
        body = "SELECT p.id, s.salary FROM study.patients p, aside.payroll s WHERE p.id = 1"
        for owner in (str(eve.info.user), "viewer"):
            direct.execute(
                f"CREATE VIEW aside.of_{owner} AS {body}; ALTER VIEW aside.of_{owner} OWNER TO {owner}".encode()
            )
        direct.execute(
            "CREATE VIEW aside.proper AS SELECT id, zip FROM study.patients; GRANT SELECT ON aside.proper TO PUBLIC"
        )
        direct.execute(
            "DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN; GRANT USAGE ON SCHEMA study, aside TO stranger"
        )
    gateway.do(gateway.governor._look)
    try:
        yield gateway
    finally:
        with psycopg.connect(url, autocommit=True) as direct:
            direct.execute(
                f"DROP VIEW aside.of_{eve.info.user}, aside.of_viewer, aside.proper; DROP TABLE aside.payroll".encode()
            )
            direct.execute("DROP OWNED BY viewer; DROP ROLE viewer; DROP OWNED BY stranger; DROP ROLE stranger")
        gateway.do(gateway.governor._look)
        gateway.governor.holes = ()


def test_views_are_read_with_the_rights_of_their_owners(views: Guarding, eve: psycopg.Connection[Any]) -> None:
    views.governor.holes = ()
    for name, words in ((f"of_{eve.info.user}", "belongs to a user"), ("of_viewer", "may not read")):
        with pytest.raises(psycopg.Error, match=words):
            eve.execute(f"SELECT salary FROM aside.{name}".encode())
    assert len(eve.execute("SELECT id, zip FROM aside.proper").fetchall()) == 1000
    with (
        psycopg.connect(views.url("stranger"), autocommit=True) as session,
        pytest.raises(psycopg.Error, match="permission denied"),
    ):
        session.execute("SELECT id, zip FROM aside.proper")


@pytest.mark.parametrize("measure", ["1 / (born - 1950)", "length(lpad(zip, 100 / (ward - 3)))"])
def test_work_on_public_columns_is_done_for_every_row(study: tuple[str, Guarding], measure: str) -> None:
    """Else the time that it takes, here an error, would say which rows meet the sensitive condition beside it."""
    gateway = study[1]
    plan = _planned(gateway, f"SELECT sum({measure}) FILTER (WHERE diagnosis = 'none') FROM study.patients")
    with gateway.governor.own.run({}) as own:
        runner = CellRunner(plan.statistic, gateway.governor._answers, 1, own)
        part = plan.statistic.parts[0]
        question = next(one for one in part.questions if any(it.measures for it in one.quantities))
        runner._known = {one.name: (0.0, 1.0) for it in question.quantities for one in it.measures}
        sql = runner._sql(part, replace(question, where=())).moments()  # WHERE would fail first
        with pytest.raises(OwnError, match="division by zero"):
            own.ask(sql, (1,))


def _planned(gateway: Guarding, text: str) -> Any:
    ask, relations = asked(text), gateway.governor.relations
    named = {
        (schema, name): Named(oid, True, False)
        for schema, name in ask.names
        for oid, one in relations.by_oid.items()
        if (one.schema, one.name) == (schema, name)
    }
    resolved = Resolver(relations, Setting(named), "s").resolve(ask.tree)
    return StatementPlanner(resolved, gateway.governor.section.aggregates).plan(resolved.query)


CASES = ["I10", "E11", "F32", "B20", "J45"]
EQUAL = {
    "numbers": [f"1.{'0' * place}" for place in range(1, 6)],
    "lengths of time": [f"'{days} days {24 * (40 - days)} hours'::interval" for days in range(5)],
    "numbers with a sign": ["'0'::float8", "'-0'::float8"] * 2 + ["1::float8"],
    "padded words": [f"'a{' ' * place}'::bpchar(9)" for place in range(5)],
}


@pytest.mark.parametrize("name", list(EQUAL))
def test_no_group_is_shown_in_the_spelling_of_one_person(
    study: tuple[str, Guarding], eve: psycopg.Connection[Any], name: str
) -> None:
    """Values may be equal and written differently: which spelling stands for a group would be a value of one person."""
    whens = " ".join(f"WHEN diagnosis = '{one}' THEN {value}" for one, value in zip(CASES, EQUAL[name], strict=True))
    text = f"SELECT CASE {whens} END, count(*) FROM study.patients GROUP BY 1"
    with psycopg.connect(study[0]) as direct:
        true = direct.execute(
            f"SELECT (CASE {whens} END)::text, count(*) FROM study.patients GROUP BY 1".encode()
        ).fetchall()
    try:
        with eve.cursor() as cursor:
            shown = cursor.execute(f"SELECT c::text, n FROM ({text}) t(c, n)".encode()).fetchall()
    except psycopg.Error:
        return  # refused in this form
    for value, number in true:
        assert any(one == value and abs(many - number) < 12 for one, many in shown), (true, shown)


def test_public_groups_that_are_equal_are_cells_that_the_audit_knows(
    study: tuple[str, Guarding], eve: psycopg.Connection[Any]
) -> None:
    text = "SELECT round(1.0, p.born % 9), count(*) FILTER (WHERE p.diagnosis = 'I10') FROM study.patients p JOIN study.visits v ON v.patient = p.id WHERE p.zip = '11' GROUP BY 1"
    rows = eve.execute(text.encode()).fetchall()
    assert len(rows) > 1
    left = dict(eve.execute("SHOW discreet.exposure").fetchall())
    assert float(left["uncertainty removed, study.patients.diagnosis"]) > 0


def test_counts_under_a_condition_on_the_same_number_are_charged_to_it(eve: psycopg.Connection[Any]) -> None:
    eve.execute("SELECT avg(pressure) FILTER (WHERE pressure >= 120) FROM study.patients WHERE zip = '11'")
    left = dict(eve.execute("SHOW discreet.exposure").fetchall())
    assert left["answers left, study.patients.pressure"] == "998"  # a sum, and a count


def test_nobody_counts_who_is_not_asked_about(study: tuple[str, Guarding], eve: psycopg.Connection[Any]) -> None:
    """One person behind an outer join or a measure that others lack is a group of one, whatever is before it."""
    for text in [
        "SELECT count(*) FILTER (WHERE b.diagnosis = 'I10' AND a.diagnosis IS NOT NULL) FROM study.patients a LEFT JOIN study.patients b ON b.id = a.id AND b.zip = '11' AND b.born < 1940",
        "SELECT count(*) FILTER (WHERE b.diagnosis = 'I10') FROM study.patients a LEFT JOIN study.patients b ON b.id = a.id AND b.zip = '11' AND b.born = 1990 AND b.ward = 1",
        "SELECT avg(CASE WHEN zip = '11' AND born = 1990 AND ward = 1 THEN 1 WHEN zip = 'x' THEN 2 END) FILTER (WHERE diagnosis = 'I10') FROM study.patients",
        "SELECT corr(income, nullif(CASE WHEN born = 1990 AND ward = 1 AND zip = '11' THEN born ELSE 0 END, 0)) FROM study.patients",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY nullif(CASE WHEN born = 1990 AND ward = 1 AND zip = '11' THEN 3 ELSE 0 END, 0)) FILTER (WHERE smoker) FROM study.patients",
    ]:
        try:
            rows = eve.execute(text.encode()).fetchall()
        except psycopg.Error:
            continue
        assert rows in ([(None,)], []), text


def test_what_an_outer_join_leaves_empty_is_not_counted(
    study: tuple[str, Guarding], eve: psycopg.Connection[Any]
) -> None:
    text = "SELECT a.title, count(b.diagnosis) FROM study.wards a LEFT JOIN study.patients b ON a.ward = b.ward AND b.zip IN ('11', '12') GROUP BY 1 ORDER BY 1"
    with psycopg.connect(study[0]) as direct:
        true = direct.execute(text).fetchall()
    found = eve.execute(text).fetchall()
    assert all(abs(one[1] - other[1]) < 12 for one, other in zip(found, true, strict=True))


def test_what_inherits_is_in_no_index(study: tuple[str, Guarding]) -> None:
    """A key may come twice where a table has heirs."""
    url, gateway = study
    with psycopg.connect(url, autocommit=True) as direct:
        direct.execute("CREATE TABLE study.heirs () INHERITS (study.visits)")
    gateway.do(gateway.governor._look)
    try:
        known = gateway.governor.relations.by_oid.values()
        assert next(one.unique for one in known if (one.schema, one.name) == ("study", "visits")) == ()
    finally:
        with psycopg.connect(url, autocommit=True) as direct:
            direct.execute("DROP TABLE study.heirs")
        gateway.do(gateway.governor._look)
        gateway.governor.holes = ()


@pytest.mark.parametrize("measure", ["count(DISTINCT p.id)", "count(*)", "avg(p.income)"])
def test_cells_about_the_same_people_are_answers_each_if_their_noise_is_its_own(
    study: tuple[str, Guarding], eve: psycopg.Connection[Any], measure: str
) -> None:
    """A join repeats everybody in many cells, each time with other rows: fifty answers about the same people."""
    rows = "generate_series(1, {}) a(a) CROSS JOIN generate_series(1, 5) b(b) WHERE b.b < 5 OR md5(p.zip || p.born || a.a) < '8'"
    text = (
        f"SELECT a.a, {measure} FILTER (WHERE p.diagnosis = 'I10') FROM study.patients p CROSS JOIN {rows} GROUP BY 1"
    )
    assert len(eve.execute(text.format(2).encode()).fetchall()) == 2
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="narrow down"):
        eve.execute(text.format(60).encode())


def test_nothing_sensitive_is_run_about_groups_that_are_too_small(
    study: tuple[str, Guarding], eve: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing would be shown, but its time would be an answer that costs nothing."""
    run: list[str] = []
    ask = OwnRun.ask

    def noted(self: Any, sql: str, values: Any = (), *, binary: bool = False) -> Any:
        run.append(sql)
        return ask(self, sql, values, binary=binary)

    monkeypatch.setattr(OwnRun, "ask", noted)
    for text in [
        "SELECT count(*) FILTER (WHERE diagnosis = 'I10'), count(*) FROM study.patients WHERE zip = '11' AND born = 1990 AND ward = 1",
        "SELECT diagnosis, count(*) FROM study.patients WHERE zip = '11' AND born = 1990 AND ward = 1 GROUP BY 1",
    ] * 2:
        rows = eve.execute(text.encode()).fetchall()
        assert all(row[0] is None for row in rows)
    assert not any("I10" in sql or "AS g0" in sql for sql in run)


@pytest.mark.parametrize(
    "heavy",
    [
        "left(CASE WHEN diagnosis = 'I10' THEN rtrim(diagnosis || 'aaaa', 'bca') ELSE diagnosis END, 1) = 'q'",
        f"rtrim(diagnosis, '{'b' * 900}') = 'q'",
        f"concat(diagnosis, {', '.join(repr('a' * 900) for _ in range(9))}) = 'q'",
        f"CASE {' '.join(f'WHEN diagnosis = {str(n)!r} THEN true' for n in range(400))} END",
        "diagnosis LIKE '%a%b%c%d%'",
        f"diagnosis = 'I10' OR {' OR '.join(f'diagnosis ~ {str(n)!r}' for n in range(10))}",
    ],
)
def test_work_that_depends_on_a_sensitive_value_is_short(eve: psycopg.Connection[Any], heavy: str) -> None:
    with pytest.raises(psycopg.Error, match="does not answer"):
        eve.execute(f"SELECT count(*) FILTER (WHERE {heavy}) FROM study.patients".encode())


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, row_number() OVER () AS n FROM study.patients ORDER BY id",
        "SELECT array_agg(id) FROM study.patients",
        "SELECT string_agg(zip || id, ',') FROM study.patients",
        "SELECT id, first_value(id) OVER (PARTITION BY zip) FROM study.patients ORDER BY id",
        "SELECT sum(id) FROM (SELECT id FROM study.patients LIMIT 400) t",
        # which of several equal values, and the last digits of sums
        "SELECT max(round(1.0, id)), min(round(1.0, id)) FROM study.patients",
        "SELECT greatest(max(round(1.0, id)), 0) FROM study.patients GROUP BY id % 2 ORDER BY id % 2",
        "SELECT round(1.0, id % 9), count(*) FROM study.patients GROUP BY 1",
        "SELECT DISTINCT round(1.0, id % 9) FROM study.patients",
        "SELECT mode() WITHIN GROUP (ORDER BY round(1.0, id % 9)) FROM study.patients",
        "SELECT sum(exp(id % 50 + 0.1::float8)) FROM study.patients",
        "SELECT avg(sqrt(id)), stddev(sqrt(id)), corr(sqrt(id), born) FROM study.patients",
        "SELECT max(id * interval '1 day' + (id % 7) * interval '24 hours') FROM study.patients",
        # beside a statistic
        "SELECT string_agg(id::text, ','), count(*) FILTER (WHERE diagnosis = 'I10') FROM study.patients",
        "SELECT plan, max(round(1.0, id % 9)), avg(born::float8 / 3), count(*) FILTER (WHERE diagnosis = 'I10') FROM study.patients GROUP BY 1 ORDER BY 1",
        # rows without an order, or with one that leaves some equal
        "SELECT id FROM study.patients UNION ALL SELECT -1",
        "SELECT id FROM study.patients UNION SELECT -id FROM study.patients ORDER BY 1 LIMIT 5000",
        "SELECT id FROM (SELECT id FROM study.patients) t",
        "SELECT born % 7, count(*) FROM study.patients GROUP BY 1",
        "SELECT visit FROM study.visits",
        "SELECT visit, cost FROM study.visits ORDER BY patient",
        "SELECT visit FROM study.visits ORDER BY patient LIMIT 50",
        "SELECT x.visit FROM (SELECT visit, patient FROM study.visits ORDER BY patient LIMIT 50) x JOIN study.wards w ON w.ward = 1",
        "SELECT p.id, v.visit FROM study.patients p LEFT JOIN study.visits v ON v.patient = p.id ORDER BY p.zip",
    ],
)
def test_the_order_on_the_disk_tells_nothing(
    study: tuple[str, Guarding], eve: psycopg.Connection[Any], text: str
) -> None:
    before = eve.execute(text.encode()).fetchall()
    with psycopg.connect(study[0], autocommit=True) as direct:
        for _ in range(2):
            direct.execute("UPDATE study.patients SET smoker = NOT smoker WHERE id % 3 = 0")
        direct.execute("UPDATE study.visits SET reason = reason WHERE visit % 3 = 0")
    assert eve.execute(text.encode()).fetchall() == before
