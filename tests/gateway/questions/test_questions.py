"""Questions of analysts through the gateway: nearly all are answered, and nothing but noise tells the answer from a direct one."""

from __future__ import annotations

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
