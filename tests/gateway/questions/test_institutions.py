"""A hospital, a bank and a survey: what analysts and their tools ask there is answered, or refused with a form that works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from discreet.gateway import parse_upstream
from discreet.gateway.grants import grants
from discreet.policy import Policy
from tests.gateway.governed import Guarding, close_holes
from tests.gateway.questions.study import similar

HERE = Path(__file__).parent
USERS = ("inst_ada", "inst_bob", "inst_cem", "inst_dee")
POLICY = """
[misuse]
x = 2
limit = 3.0
[gateway]
mode = "enforce"
exempt = ["postgres"]
denials_per_hour = 10000
[gateway.tables."hosp.patients"]
key = ["patient_id"]
entity = "patient"
identifiers = ["full_name", "mrn"]
quasi = ["birth_date", "gender", "postcode"]
sensitive = ["hiv", "smoker", "bmi", "deceased_at"]
[gateway.tables."hosp.visits"]
key = ["patient_id"]
entity = "patient"
sensitive = ["icd10", "cost"]
[gateway.tables."hosp.labs"]
key = ["patient_id"]
entity = "patient"
sensitive = ["value"]
[gateway.tables."bank.customers"]
key = ["customer_id"]
entity = "customer"
identifiers = ["name", "email"]
quasi = ["birth_year", "country", "branch_id"]
sensitive = ["risk_class", "yearly_income"]
[gateway.tables."bank.accounts"]
key = ["customer_id"]
entity = "customer"
sensitive = ["balance"]
[gateway.tables."bank.transactions"]
key = ["customer_id"]
entity = "customer"
sensitive = ["amount", "category"]
[gateway.tables."survey.respondents"]
key = ["id"]
entity = "respondent"
quasi = ["age", "sex", "region"]
sensitive = ["party", "satisfaction", "income_net", "depressed"]
[gateway.aggregates]
answers = 5000
audit = 0.9
[gateway.aggregates.columns.bmi]
bounds = [15, 50]
step = 1
[gateway.aggregates.columns.cost]
bounds = [0, 6000]
step = 100
[gateway.aggregates.columns.value]
bounds = [0, 100]
step = 1
[gateway.aggregates.columns.yearly_income]
bounds = [0, 150000]
step = 5000
[gateway.aggregates.columns.balance]
bounds = [-5000, 60000]
step = 1000
[gateway.aggregates.columns.amount]
bounds = [-1000, 2000]
step = 50
[gateway.aggregates.columns.satisfaction]
bounds = [0, 10]
step = 1
[gateway.aggregates.columns.income_net]
bounds = [0, 7000]
step = 250
"""
QUESTIONS = (HERE / "institutions_questions.sql").read_text(encoding="utf-8").partition("\n")[2].split(";\n")[:-1]


@pytest.fixture(scope="module")
def institutions(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Guarding]]:
    """The tables, and a gateway before them."""
    folder = tmp_path_factory.mktemp("institutions")
    chosen = Policy.parse(POLICY)
    assert chosen.gateway is not None
    with psycopg.connect(postgres_url, autocommit=True) as direct:
        direct.execute((HERE / "institutions.sql").read_bytes())
        for role in (*USERS, "inst_keeper"):
            if direct.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
                direct.execute(f"CREATE ROLE {role} LOGIN".encode())
            direct.execute(f"GRANT USAGE ON SCHEMA hosp, bank, survey TO {role}".encode())
            direct.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA hosp, bank, survey TO {role}".encode())
            direct.execute(f"ALTER ROLE {role} SET search_path = hosp, bank, survey".encode())
        direct.execute(grants(chosen.gateway.tables, USERS, "inst_keeper", exempt=chosen.gateway.exempt).encode())
    close_holes(postgres_url, chosen)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_KEYS", str(folder / "keys"))
        with Guarding(parse_upstream(postgres_url), postgres_url, folder / "store.db", chosen) as gateway:
            yield postgres_url, gateway
    with psycopg.connect(postgres_url, autocommit=True) as direct:
        direct.execute("DROP SCHEMA hosp, bank, survey CASCADE")


def test_nearly_every_question_is_answered(institutions: tuple[str, Guarding]) -> None:
    """At least 95 of 100, with the columns that there are without a gateway; the others are refused in words."""
    url, gateway = institutions
    refused: list[str] = []
    other: list[str] = []
    options = "-c search_path=hosp,bank,survey"
    with psycopg.connect(url, autocommit=True, options=options) as direct:
        sessions = [psycopg.connect(gateway.url(user), autocommit=True) for user in USERS]
        for number, question in enumerate(QUESTIONS):
            plain = direct.execute(question.encode())
            rows = plain.fetchall()
            try:
                found = sessions[number % len(USERS)].execute(question.encode())
            except psycopg.errors.InsufficientPrivilege as problem:
                refused.append(f"{question}: {problem}")
                continue
            if bool(found.fetchall()) != bool(rows) or not similar(found.description or (), plain.description or ()):
                other.append(question)
        for session in sessions:
            session.close()
    assert other == []
    assert all("HINT" in one for one in refused)
    assert len(refused) <= 0.05 * len(QUESTIONS), "\n".join(refused)


SPELLINGS = [
    """SELECT p.gender, count(DISTINCT p.patient_id) FROM hosp.patients p JOIN hosp.visits v ON v.patient_id = p.patient_id
       WHERE v.icd10 = 'I10' GROUP BY 1 ORDER BY 1""",
    """SELECT p.gender, count(*) FROM hosp.patients p WHERE EXISTS
       (SELECT 1 FROM hosp.visits v WHERE v.patient_id = p.patient_id AND v.icd10 = 'I10') GROUP BY 1 ORDER BY 1""",
    """SELECT gender, count(*) FROM hosp.patients WHERE patient_id IN (SELECT patient_id FROM hosp.visits WHERE icd10 = 'I10')
       GROUP BY gender ORDER BY gender""",
    """WITH cases AS (SELECT DISTINCT patient_id FROM hosp.visits WHERE icd10 = 'I10')
       SELECT p.gender, count(*) FROM hosp.patients p JOIN cases c ON c.patient_id = p.patient_id GROUP BY 1 ORDER BY 1""",
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_people_chosen_by_other_rows_are_counted_in_every_spelling(
    institutions: tuple[str, Guarding], text: str
) -> None:
    url, gateway = institutions
    with psycopg.connect(url) as direct, psycopg.connect(gateway.url(USERS[0]), autocommit=True) as session:
        exact: dict[str, int] = dict(direct.execute(text.encode()).fetchall())
        found: dict[str, int] = dict(session.execute(text.encode()).fetchall())
    assert exact.keys() == found.keys()
    assert all(abs(found[group] - number) < 25 for group, number in exact.items())


@pytest.mark.parametrize(
    "condition",
    [
        "EXISTS (SELECT 1 FROM hosp.visits v WHERE v.patient_id = p.patient_id AND v.icd10 = 'I10' AND v.patient_id < 9)",
        "p.patient_id IN (SELECT patient_id FROM hosp.visits WHERE icd10 = 'I10' AND patient_id = 3)",
        "NOT EXISTS (SELECT 1 FROM hosp.visits v WHERE v.patient_id = p.patient_id AND v.icd10 = 'I10')",
        "EXISTS (SELECT 1 FROM hosp.visits v WHERE v.patient_id = p.patient_id + 1 AND v.icd10 = 'I10')",
    ],
)
def test_rows_elsewhere_do_not_single_people_out(institutions: tuple[str, Guarding], condition: str) -> None:
    with (
        psycopg.connect(institutions[1].url(USERS[0]), autocommit=True) as session,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        session.execute(f"SELECT count(*) FROM hosp.patients p WHERE {condition}".encode())
