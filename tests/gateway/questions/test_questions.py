"""Questions of analysts through the gateway: nearly all are answered, and nothing but noise tells the answer from a direct one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.gateway.governed import Guarding
from tests.gateway.questions.study import EXACT, NOISED, TOOLS, USERS, furnish, guarded, similar

PAGE = Path(__file__).parents[3] / "docs" / "explain" / "gateway-statistics.md"


@pytest.fixture(scope="module")
def study(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Guarding]]:
    """The study, and a gateway before it."""
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_KEYS", str(folder / "keys"))
        furnish(postgres_url)
        with guarded(postgres_url, folder / "store.db") as gateway:
            yield postgres_url, gateway


def test_nearly_every_question_is_answered(study: tuple[str, Guarding]) -> None:
    """At least 95 of 100; columns have the names and types that they have without a gateway."""
    url, gateway = study
    refused, noised, other = [], 0, []
    asked = [*EXACT, *NOISED, *TOOLS]
    with psycopg.connect(url, autocommit=True) as direct:
        sessions = [psycopg.connect(gateway.url(user), autocommit=True) for user in USERS]
        for number, question in enumerate(asked):
            plain = direct.execute(question.encode())
            expected, described = plain.fetchall(), plain.description
            try:
                found = sessions[number % len(USERS)].execute(question.encode())
            except psycopg.Error as problem:
                refused.append(f"{question}: {problem}")
                continue
            rows = found.fetchall()
            assert similar(found.description or (), described or ()), question
            if question in EXACT and rows != expected:
                other.append(question)
            noised += question in NOISED and rows != expected
        for session in sessions:
            session.close()
    assert len(refused) <= 0.05 * len(asked), "\n".join(refused)
    assert other == []
    assert noised > 0.75 * len(NOISED)


def test_examples_of_the_page_are_answered(study: tuple[str, Guarding]) -> None:
    blocks = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    statements = [one.strip() for block in blocks for one in block.split(";\n") if one.strip()]
    assert len(statements) > 8
    with psycopg.connect(study[1].url(USERS[0]), autocommit=True) as session:
        for statement in statements:
            assert session.execute(statement.encode()).fetchall(), statement


def test_a_question_has_one_answer_in_any_spelling_and_for_every_user(study: tuple[str, Guarding]) -> None:
    spellings = [
        "SELECT plan, avg(income) FROM study.patients WHERE zip = '11' GROUP BY plan ORDER BY plan",
        "SELECT p.plan, avg(p.income) AS a FROM study.patients AS p WHERE '11' = p.zip GROUP BY 1 ORDER BY 1",
        "WITH t AS (SELECT * FROM study.patients) SELECT plan, avg(income) FROM t WHERE zip IN ('11') GROUP BY plan ORDER BY plan",
        "SELECT plan, sum(income)::numeric / count(income) FROM study.patients WHERE zip = '11' GROUP BY plan ORDER BY plan",
    ]
    answers: list[Any] = []
    for user in USERS[:2]:
        with psycopg.connect(study[1].url(user), autocommit=True) as session:
            for spelling in spellings:
                rows = session.execute(spelling.encode()).fetchall()
                answers.append([(plan, round(float(mean))) for plan, mean in rows])
    assert all(_close(one, answers[0]) for one in answers)


STYLED = "SELECT sum(CASE WHEN enrolled::text LIKE '2%' THEN 1 ELSE 2 END) FILTER (WHERE diagnosis = 'I10') FROM study.patients WHERE {where}"
FRESH = [
    [f"SELECT concat(diagnosis, '{tail}'), count(*) FROM study.patients WHERE {{where}} GROUP BY 1" for tail in "ab"],
    [
        f"SELECT CASE WHEN diagnosis = 'I10' THEN '{word}' ELSE 'b' END, count(*) FROM study.patients WHERE {{where}} GROUP BY 1"
        for word in ("x", "y")
    ],
    [
        "SELECT sum(height) FILTER (WHERE height <> 1 AND diagnosis = 'I10') FROM study.patients WHERE {where}",
        "SELECT sum(height) FILTER (WHERE diagnosis = 'I10' AND height < 180) FROM study.patients WHERE {where}",
        "SELECT sum(height) FILTER (WHERE diagnosis = 'I10') FROM study.patients WHERE {where} AND height < 180",
    ],
    [
        "SET DateStyle TO 'ISO, MDY'; {text}",
        "SET DateStyle TO 'German, DMY'; {text}",
    ],
    [
        "SELECT diagnosis, count(*) FROM study.patients WHERE {where} GROUP BY 1",
        """WITH t AS (SELECT diagnosis, count(*) AS n FROM study.patients GROUP BY 1)
        SELECT diagnosis, count(*), (SELECT sum(n) FROM t) FROM study.patients WHERE {where} GROUP BY 1""",
        "SELECT diagnosis, count(*) FROM study.patients WHERE {where} GROUP BY GROUPING SETS (diagnosis, plan)",
    ],
]


@pytest.mark.parametrize("number", range(len(FRESH)))
def test_another_answer_costs_another_answer(study: tuple[str, Guarding], number: int) -> None:
    """Spellings that get noise of their own are charged; those that are free have the noise that was seen."""
    with psycopg.connect(study[1].url(USERS[2]), autocommit=True) as session:

        def left() -> int:
            rows = session.execute("SHOW discreet.exposure").fetchall()
            return sum(int(value) for what, value in rows if what == "answers left, study.patients.diagnosis")

        session.execute("SELECT count(*) FROM study.patients WHERE diagnosis = 'I10'")
        seen: set[frozenset[Any]] = set()
        for text in FRESH[number]:
            before, where = left(), f"born > {1950 + number}"
            *settings, asked = text.format(where=where, text=STYLED.format(where=where)).split("; ")
            for setting in settings:
                session.execute(setting.encode())
            rows = session.execute(asked.encode()).fetchall()
            answer = frozenset(row[:2] for row in rows if row[0] is not None)
            assert answer in seen or before - left() > 0, text
            seen.add(answer)


def _close(one: list[tuple[str, int]], other: list[tuple[str, int]]) -> bool:
    return [a for a, _ in one] == [a for a, _ in other] and all(
        abs(x - y) <= 1 for (_, x), (_, y) in zip(one, other, strict=True)
    )


def test_the_audit_ends_an_attack_by_quasi_identifiers(study: tuple[str, Guarding]) -> None:
    """Groups with and without one person, by what is known of them: refused long before the budget ends, and it says why."""
    url, gateway = study
    with psycopg.connect(url, autocommit=True) as direct:
        (zip_code, born, sex) = direct.execute(
            "SELECT min(zip), min(born), min(sex) FROM study.patients GROUP BY zip, born, sex HAVING count(*) = 1 ORDER BY 1, 2, 3 LIMIT 1"
        ).fetchone() or ("", 0, "")
    person = f"(zip = '{zip_code}' AND born = {born} AND sex = '{sex}')"
    answered, said = 0, ""
    with psycopg.connect(gateway.url(USERS[3]), autocommit=True) as session:
        for first in range(60):
            group = f"born BETWEEN {born - 10 - first % 12} AND {born + 8 + first // 2 % 13} AND height > {151 + first}"
            for condition in (f"{group} OR {person}", f"({group}) AND NOT {person}"):
                text = f"SELECT count(*) FROM study.patients WHERE diagnosis = 'I10' AND ({condition})"
                try:
                    session.execute(text.encode()).fetchall()
                except psycopg.Error as problem:
                    said = str(problem)
                    break
                answered += 1
            if said:
                break
    assert "narrow down" in said
    assert 10 <= answered <= 60


def test_small_groups_are_not_shown(study: tuple[str, Guarding]) -> None:
    url, gateway = study
    text = "SELECT born, zip, count(*) FILTER (WHERE smoker) FROM study.patients GROUP BY born, zip"
    people = "SELECT born, zip, count(*) FROM study.patients GROUP BY born, zip"
    with psycopg.connect(url) as direct, psycopg.connect(gateway.url(USERS[2]), autocommit=True) as session:
        sizes = {(born, zip_code): number for born, zip_code, number in direct.execute(people).fetchall()}
        shown = {(row[0], row[1]) for row in session.execute(text).fetchall() if row[2] is not None}
    assert all(sizes[one] >= 7 for one in shown)
    assert all(one in shown for one, size in sizes.items() if size >= 13)


def test_groups_that_are_shown_are_answers(study: tuple[str, Guarding]) -> None:
    """Whether a value is shown says how many have it, about; it counts whether or not they are counted."""
    with psycopg.connect(study[1].url(USERS[1]), autocommit=True) as session:
        before = _left(session)
        session.execute("SELECT DISTINCT diagnosis FROM study.patients WHERE height > 170")
        session.execute(
            "SELECT diagnosis FROM study.patients WHERE height > 171 GROUP BY diagnosis HAVING count(*) > 0"
        )
        assert _left(session) == before - 2


def test_what_is_left_is_shown_in_both_protocols(study: tuple[str, Guarding]) -> None:
    with psycopg.connect(study[1].url(USERS[1]), autocommit=True) as session:
        simple = session.execute("SHOW discreet.exposure").fetchall()
        for binary in (False, True):
            with session.cursor(binary=binary) as cursor:
                extended = cursor.execute("SHOW discreet.exposure", prepare=True).fetchall()
                assert extended == simple
                assert [one.name for one in cursor.description or ()] == ["what", "value"]


def _left(session: psycopg.Connection[Any]) -> int:
    shown = dict(session.execute("SHOW discreet.exposure").fetchall())
    return int(shown.get("answers left, study.patients.diagnosis", 1000))


def test_one_noise_belongs_to_one_quantity(study: tuple[str, Guarding]) -> None:
    """The same name in two tables, the same table twice: with one noise, two answers would solve for it."""
    twice = "study.visits a JOIN study.visits b ON a.patient = b.patient AND b.visit > a.visit"
    with psycopg.connect(study[0]) as direct, psycopg.connect(study[1].url(USERS[1]), autocommit=True) as session:
        for one, other, source in [
            ("count(*) FILTER (WHERE a.reason = 'reason1')", "count(*) FILTER (WHERE b.reason = 'reason1')", twice),
            (
                "sum(a.cost) FILTER (WHERE a.reason = 'reason1')",
                "sum(b.cost) FILTER (WHERE a.reason = 'reason1')",
                twice,
            ),
        ]:
            found, true = set(), set()
            for number in (2000, 2200, 2400):  # two noises may be equal by chance, but not each time
                text = f"SELECT {one} - ({other}) FROM {source} WHERE a.visit < {number}".encode()
                found.add((number, session.execute(text).fetchone()))
                true.add((number, direct.execute(text).fetchone()))
            assert len(found & true) < 3


SPELLED = [
    *(
        "p.diagnosis = 'I10'",
        "p.diagnosis = 'I10x'::varchar(3)",
        "p.diagnosis = 'I10x'",
        "p.diagnosis = 'I10  '::bpchar",
    ),
    *(
        "p.diagnosis IN ('I10', 'E11')",
        "p.diagnosis = E'I10\\x1fE11'",
        "lower(p.diagnosis) = 'i10'",
        "p.diagnosis LIKE 'I1%'",
    ),
    *(
        "lower(p.diagnosis) = 'i10x'",
        "lower(p.diagnosis) = 'i10x'::varchar(3)",
        "p.diagnosis ~ '^I1|^E'",
        "p.diagnosis <> 'I10'",
    ),
    *("p.smoker", "NOT p.smoker", "NOT (p.smoker IS TRUE)", "p.smoker IS NOT FALSE", "p.smoker IS NULL"),
    *("i.chapter = 'IX'", "i.title = 'Hypertension'", "i.code IS NOT NULL"),
]
ROWS = ["true", "v.visit % 2 = 0", "v.visit % 2 = 1"]


def test_no_two_quantities_share_their_noise(study: tuple[str, Guarding]) -> None:
    """Sums of incomes under conditions that look alike: where the noise is one, their difference is exact."""
    found: dict[str, tuple[float, tuple[float, int]]] = {}
    centred = "(least(greatest(p.income, 0), 150000) - 75000)::float8"
    tables = "study.patients p LEFT JOIN study.icd i ON i.code = p.diagnosis"
    with psycopg.connect(study[0], autocommit=True) as direct:
        for number, user in enumerate(USERS):
            with psycopg.connect(study[1].url(user), autocommit=True) as session:
                for condition in SPELLED[number :: len(USERS)]:
                    for rows in ROWS:
                        source = tables + " JOIN study.visits v ON v.patient = p.id" * (rows != "true")
                        text = f"SELECT sum(p.income) FILTER (WHERE {condition}) FROM {source} WHERE {rows}"
                        try:
                            ((shown,),) = session.execute(text.encode()).fetchall()
                        except psycopg.Error:  # so much was asked in this file already
                            continue
                        each = f"SELECT sum({centred}) FILTER (WHERE {condition}) AS s, count(*) FILTER (WHERE {condition}) AS n FROM {source} WHERE {rows} GROUP BY p.id"
                        true = f"SELECT coalesce(sum(CASE WHEN n > 4 THEN s * 4 / n ELSE s END), 0), coalesce(sum(least(n, 4)), 0) FROM ({each}) AS people"
                        if shown is not None:
                            found[text] = float(shown), direct.execute(true.encode()).fetchall()[0]
    assert len(found) > 30
    for (one, (a, exact_a)), (other, (b, exact_b)) in itertools.combinations(found.items(), 2):
        apart = (a - b - (exact_a[0] - exact_b[0])) / 75_000  # the rest is the difference of two noised counts
        assert exact_a == exact_b or abs(apart - round(apart)) > 1e-8, (one, other)


def test_noise_knows_which_rows_of_the_same_people_count(study: tuple[str, Guarding]) -> None:
    """A public condition on joined rows keeps the people and changes their rows."""
    source = "study.patients p JOIN (VALUES (1, 0.0), (2, 1000.0), (1, 1000.0), (2, 0.0), (3, 7.0)) v(k, w) ON true"
    text = "SELECT sum(v.w) FROM {} WHERE v.k = {} AND p.diagnosis = 'I10'"
    with psycopg.connect(study[1].url(USERS[1]), autocommit=True) as session:
        one, other = (session.execute(text.format(source, k).encode()).fetchone() for k in (1, 2))
    assert one != other


def test_tables_of_users_are_no_part_of_what_the_gateway_runs(study: tuple[str, Guarding]) -> None:
    """Their owner could put a view in their place, whose functions would run with the rights of the gateway."""
    url, gateway = study
    with psycopg.connect(url, autocommit=True) as direct:
        direct.execute(f"CREATE TABLE aside.mine (a text); ALTER TABLE aside.mine OWNER TO {USERS[0]}")
    gateway.do(gateway.governor._look)
    with (
        psycopg.connect(gateway.url(USERS[0]), autocommit=True) as session,
        pytest.raises(psycopg.Error, match="belongs to a user"),
    ):
        session.execute("SELECT m.a, p.zip FROM aside.mine m, study.patients p")
    with psycopg.connect(url, autocommit=True) as direct:
        direct.execute("DROP TABLE aside.mine")


@pytest.mark.parametrize(
    "form",
    [
        "",
        "WITH CSV HEADER",
        "(FORMAT csv, HEADER true, DELIMITER ';', NULL 'none')",
        "(DELIMITER '|', NULL '')",
        "(FORMAT binary)",
        "WITH BINARY",
    ],
)
def test_copies_are_written_as_the_server_writes_them(study: tuple[str, Guarding], form: str) -> None:
    text = f"""COPY (SELECT zip, height, enrolled, NULLIF(ward, 2) AS w, plan || E'|;,\\t"\\\\' AS odd FROM study.patients
        WHERE born < 1990 ORDER BY id) TO STDOUT {form}"""
    found = []
    for url in (study[0], study[1].url(USERS[2])):
        with psycopg.connect(url, autocommit=True) as session, session.cursor().copy(text.encode()) as copy:
            found.append(b"".join(map(bytes, copy)))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "form", ["(FORMAT binary, HEADER)", "(DELIMITER 'ab')", "(FORCE_QUOTE *)", "(ENCODING 'latin1')"]
)
def test_other_forms_of_copies_are_refused(study: tuple[str, Guarding], form: str) -> None:
    text = f"COPY (SELECT zip FROM study.patients) TO STDOUT {form}"
    with psycopg.connect(study[1].url(USERS[2]), autocommit=True) as session:
        with pytest.raises(psycopg.Error, match="COPY with these options"), session.cursor().copy(text.encode()):
            pass
        assert session.execute("SELECT 1").fetchone() == (1,)


def test_numbers_whose_sums_overflow_are_refused(study: tuple[str, Guarding]) -> None:
    """Whether a sum overflows would tell how many are in it."""
    with psycopg.connect(study[1].url(USERS[1]), autocommit=True) as session:
        for huge in ("'Infinity'", "'NaN'", "1e300"):
            with pytest.raises(psycopg.Error, match="infinite, missing or huge"):
                session.execute(
                    f"SELECT sum(CASE WHEN zip = '11' THEN {huge}::float8 ELSE 1 END) FILTER (WHERE diagnosis = 'I10') FROM study.patients".encode()
                )
