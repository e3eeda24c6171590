"""A study of 1,000 patients, its policy, and questions that analysts ask of it every day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg

from discreet.gateway import parse_upstream
from discreet.gateway.grants import grants
from discreet.policy import Policy
from tests.gateway.governed import Guarding, close_holes

USERS = ("study_ann", "study_ben", "study_dan", "study_eve")
SCHEMA = """
DROP SCHEMA IF EXISTS study CASCADE; DROP SCHEMA IF EXISTS aside CASCADE;
CREATE SCHEMA study; CREATE SCHEMA aside;
CREATE TABLE aside.guess (id int, d text);
INSERT INTO aside.guess SELECT g, 'B20' FROM generate_series(1, 20) g;
CREATE TABLE study.patients (id int PRIMARY KEY, name text NOT NULL, zip text NOT NULL, born int NOT NULL, sex text NOT NULL,
  plan text NOT NULL, ward int NOT NULL, enrolled date NOT NULL, height numeric, diagnosis text NOT NULL, smoker boolean,
  income int NOT NULL, pressure numeric(5,1));
INSERT INTO study.patients
  SELECT g, 'name' || g, '1' || h % 8, (1935 + h % 70)::int, CASE h % 2 WHEN 0 THEN 'F' ELSE 'M' END,
    (ARRAY['basic', 'plus', 'full'])[1 + h % 3], (1 + h % 6)::int, date '2024-01-01' + (h % 700)::int, 150 + h % 45 + 0.5,
    (ARRAY['I10', 'I10', 'E11', 'F32', 'B20', 'J45', 'I10', 'E11'])[1 + (h / 7) % 8],
    CASE WHEN h % 17 = 0 THEN NULL ELSE (h / 11) % 4 = 0 END, (18000 + (h * 37) % 90000 + 4000 * (h % 3))::int,
    CASE WHEN h % 19 = 0 THEN NULL ELSE 100 + (h / 5) % 70 + 0.5 END
  FROM generate_series(1, 1000) g, LATERAL (SELECT abs(hashint4(g)::bigint) / 3 % 1000000 AS h) x;
CREATE TABLE study.visits (visit int PRIMARY KEY, patient int NOT NULL, day date NOT NULL, at timestamptz NOT NULL, reason text NOT NULL,
  cost numeric NOT NULL);
INSERT INTO study.visits SELECT g, (1 + h % 1000)::int, date '2025-01-01' + (h % 360)::int,
    timestamptz '2025-01-01 08:00+00' + (h % 500000) * interval '1 minute', 'reason' || h % 5, 40 + h % 300
  FROM generate_series(1, 3000) g, LATERAL (SELECT abs(hashint4(g + 9999)::bigint) / 3 % 1000000 AS h) x;
CREATE TABLE study.wards (ward int PRIMARY KEY, title text NOT NULL, beds int NOT NULL);
INSERT INTO study.wards SELECT g, 'Ward ' || g, 10 + g * 4 FROM generate_series(1, 6) g;
CREATE TABLE study.icd (code text PRIMARY KEY, title text NOT NULL, chapter text NOT NULL);
INSERT INTO study.icd VALUES ('I10', 'Hypertension', 'IX'), ('E11', 'Diabetes', 'IV'), ('F32', 'Depression', 'V'), ('B20', 'HIV', 'I');
CREATE VIEW study.adults AS SELECT id, zip, sex, plan, diagnosis, income FROM study.patients WHERE born < 2005;
CREATE FUNCTION aside.peek(int) RETURNS text LANGUAGE sql AS 'SELECT diagnosis FROM study.patients WHERE id = $1';
ANALYZE study.patients;
"""

POLICY = """
[misuse]
x = 2
limit = 2.0

[gateway]
mode = "enforce"
exempt = ["postgres"]

[gateway.tables."study.patients"]
key = ["id"]
identifiers = ["name"]
quasi = ["zip", "born", "sex"]
sensitive = ["diagnosis", "smoker", "income", "pressure"]

[gateway.tables."study.visits"]
key = ["patient"]
entity = "study.patients"
sensitive = ["reason"]

[gateway.aggregates]
answers = 1000

[gateway.aggregates.columns.income]
bounds = [0, 150000]
step = 5000

[gateway.aggregates.columns.pressure]
bounds = [80, 200]
step = 10
"""

EXACT = [
    "SELECT count(*) FROM study.patients",
    "SELECT sex, count(*) FROM study.patients GROUP BY sex ORDER BY sex",
    "SELECT zip, plan, count(*) AS n FROM study.patients GROUP BY 1, 2 HAVING count(*) >= 10 ORDER BY n DESC, 1, 2",
    "SELECT born / 10 * 10 AS decade, count(*) FROM study.patients GROUP BY 1 ORDER BY 1",
    "SELECT date_trunc('month', enrolled)::date AS month, count(*) FROM study.patients GROUP BY 1 ORDER BY 1",
    "SELECT plan, round(avg(2026 - born), 1) FROM study.patients GROUP BY plan ORDER BY plan",
    "SELECT w.title, count(*) FROM study.patients p JOIN study.wards w USING (ward) GROUP BY w.title ORDER BY 1",
    "SELECT sex, plan, count(*) FROM study.patients GROUP BY CUBE (sex, plan) ORDER BY 1 NULLS LAST, 2 NULLS LAST",
    "SELECT extract(year FROM enrolled) AS year, count(*) FROM study.patients GROUP BY 1 ORDER BY 1",
    "SELECT title, beds FROM study.wards ORDER BY beds DESC LIMIT 3",
    "SELECT count(DISTINCT zip) FROM study.patients",
    "SELECT min(born), max(born) FROM study.patients",
    "SELECT plan, count(*), rank() OVER (ORDER BY count(*) DESC) FROM study.patients GROUP BY plan ORDER BY 3, 1",
    "SELECT width_bucket(born, 1930, 2010, 8) AS bucket, count(*) FROM study.patients GROUP BY 1 ORDER BY 1",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY born) FROM study.patients",
]
"""Nothing sensitive is in them: the answer is exact."""

NOISED = [
    # dashboards
    "SELECT diagnosis, count(*) FROM study.patients GROUP BY diagnosis ORDER BY count(*) DESC",
    "SELECT plan, round(avg(income)) FROM study.patients GROUP BY plan ORDER BY plan",
    "SELECT sex, avg(income)::int AS mean, count(*) AS n FROM study.patients GROUP BY sex",
    "SELECT avg(income) FROM study.patients",
    "SELECT sum(income) FROM study.patients WHERE zip IN ('11', '12', '13')",
    "SELECT plan, count(*) FILTER (WHERE diagnosis = 'I10') AS hypertension, count(*) AS n FROM study.patients GROUP BY plan",
    "SELECT plan, round(100.0 * count(*) FILTER (WHERE diagnosis = 'E11') / count(*), 1) AS percent FROM study.patients GROUP BY plan ORDER BY percent DESC",
    "SELECT ward, round(avg(pressure), 1) FROM study.patients GROUP BY ward ORDER BY 2 DESC LIMIT 3",
    "SELECT zip, avg(income) FROM study.patients GROUP BY zip HAVING count(*) >= 20 ORDER BY avg(income) DESC",
    "SELECT smoker, count(*) FROM study.patients GROUP BY smoker",
    "SELECT date_trunc('quarter', enrolled) AS quarter, avg(pressure) FROM study.patients GROUP BY 1 ORDER BY 1",
    "SELECT count(*) FROM study.patients WHERE diagnosis = 'I10'",
    "SELECT count(*) FROM study.patients WHERE diagnosis IN ('I10', 'E11') AND sex = 'F'",
    "SELECT count(*) FROM study.patients WHERE income >= 50000",
    "SELECT sex, count(*) FROM study.patients WHERE diagnosis = 'F32' GROUP BY sex",
    "SELECT count(*) FROM study.patients WHERE smoker",
    "SELECT count(smoker) FROM study.patients",
    "SELECT sum(CASE WHEN diagnosis = 'I10' THEN 1 ELSE 0 END) FROM study.patients",
    "SELECT avg(CASE WHEN smoker THEN 1.0 ELSE 0.0 END) AS share FROM study.patients",
    "SELECT plan, sum(CASE WHEN income > 60000 THEN 1 ELSE 0 END) AS rich, count(*) FROM study.patients GROUP BY plan",
    # spread, distribution, association
    "SELECT stddev(income), variance(income) FROM study.patients",
    "SELECT plan, stddev_pop(pressure) FROM study.patients GROUP BY plan",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY income) FROM study.patients",
    "SELECT sex, percentile_cont(0.5) WITHIN GROUP (ORDER BY income) AS median FROM study.patients GROUP BY sex",
    "SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY income) FROM study.patients",
    "SELECT width_bucket(income, 0, 150000, 15) AS bucket, count(*) FROM study.patients GROUP BY 1 ORDER BY 1",
    "SELECT income / 10000 * 10000 AS band, count(*) FROM study.patients GROUP BY 1 ORDER BY 1",
    "SELECT corr(income, pressure) FROM study.patients",
    "SELECT corr(pressure, born) FROM study.patients",
    "SELECT regr_slope(pressure, born), regr_intercept(pressure, born) FROM study.patients",
    # epidemiology
    "SELECT 2026 - born AS age, count(*) FILTER (WHERE diagnosis = 'I10')::float / count(*) AS prevalence FROM study.patients GROUP BY 1 HAVING count(*) >= 15 ORDER BY 1",
    "SELECT (2026 - born) / 10 * 10 AS age_band, sex, count(*) FILTER (WHERE diagnosis = 'E11') AS cases, count(*) AS n FROM study.patients GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT diagnosis, avg(2026 - born) AS mean_age FROM study.patients GROUP BY diagnosis",
    "SELECT diagnosis, sex, count(*) FROM study.patients GROUP BY diagnosis, sex ORDER BY 1, 2",
    "SELECT diagnosis, avg(pressure) FROM study.patients GROUP BY diagnosis ORDER BY 2 DESC",
    "SELECT avg(pressure) FILTER (WHERE smoker) AS smokers, avg(pressure) FILTER (WHERE NOT smoker) AS others FROM study.patients",
    "SELECT smoker, diagnosis, count(*) FROM study.patients GROUP BY 1, 2",
    "SELECT CASE WHEN born < 1960 THEN 'old' ELSE 'young' END AS generation, avg(pressure), count(*) FROM study.patients GROUP BY 1",
    # joins
    "SELECT w.title, avg(p.pressure) FROM study.patients p JOIN study.wards w ON w.ward = p.ward GROUP BY w.title ORDER BY w.title",
    "SELECT v.reason, count(*) FROM study.visits v GROUP BY v.reason",
    "SELECT p.plan, sum(v.cost) FROM study.patients p JOIN study.visits v ON v.patient = p.id WHERE p.diagnosis = 'I10' GROUP BY p.plan",
    "SELECT date_trunc('month', v.day) AS month, count(*) FROM study.visits v JOIN study.patients p ON p.id = v.patient WHERE p.diagnosis = 'E11' GROUP BY 1 ORDER BY 1",
    "SELECT p.sex, v.reason, count(DISTINCT p.id) FROM study.patients p JOIN study.visits v ON v.patient = p.id GROUP BY 1, 2",
    "SELECT w.title, w.beds, count(*) FILTER (WHERE p.diagnosis = 'J45') AS asthma FROM study.wards w JOIN study.patients p ON p.ward = w.ward GROUP BY w.title, w.beds",
    "SELECT i.title, count(*) FROM study.patients p JOIN study.icd i ON i.code = p.diagnosis GROUP BY i.title ORDER BY 2 DESC",
    "SELECT i.chapter, p.sex, avg(p.income) FROM study.patients p LEFT JOIN study.icd i ON p.diagnosis = i.code GROUP BY 1, 2",
    "SELECT count(*) FROM study.icd i JOIN study.patients p ON p.diagnosis = i.code WHERE i.chapter IN ('IX', 'IV')",
    "SELECT p.diagnosis, count(*) FROM study.patients p WHERE EXISTS (SELECT 1 FROM study.visits v WHERE v.patient = p.id AND v.day >= '2025-06-01') GROUP BY 1",
    "SELECT avg(income) FROM study.patients WHERE id NOT IN (SELECT patient FROM study.visits)",
    "SELECT plan, diagnosis, count(*) FROM study.patients GROUP BY CUBE (plan, diagnosis) ORDER BY 1, 2",
    "SELECT w.title, v.reason, count(*) FROM study.visits v JOIN study.patients p ON p.id = v.patient JOIN study.wards w USING (ward) GROUP BY ROLLUP (1, 2)",
    "SELECT income > 50000 AS rich, count(*) FROM study.patients GROUP BY 1",
    "SELECT diagnosis, round(100.0 * count(*) / (SELECT count(*) FROM study.patients), 1) AS percent FROM study.patients GROUP BY 1",
    "SELECT sex, avg(income) - (SELECT avg(income) FROM study.patients) AS gap FROM study.patients GROUP BY sex",
    # windows, CTEs, sub-selects
    "SELECT plan, avg(income) AS mean, rank() OVER (ORDER BY avg(income) DESC) FROM study.patients GROUP BY plan",
    "SELECT zip, avg(income) AS mean, avg(income) - avg(avg(income)) OVER () AS above FROM study.patients GROUP BY zip",
    "SELECT diagnosis, count(*) AS n, round(100.0 * count(*) / sum(count(*)) OVER (), 1) AS percent FROM study.patients GROUP BY diagnosis",
    "WITH by_plan AS (SELECT plan, avg(income) AS mean FROM study.patients GROUP BY plan) SELECT max(mean) - min(mean) FROM by_plan",
    "WITH i AS (SELECT sex, count(*) AS cases FROM study.patients WHERE diagnosis = 'I10' GROUP BY sex), a AS (SELECT sex, count(*) AS n FROM study.patients GROUP BY sex) SELECT a.sex, cases, n, cases::float / n AS share FROM i JOIN a USING (sex)",
    "SELECT * FROM (SELECT ward, avg(income) AS mean FROM study.patients GROUP BY ward) t WHERE mean > 50000 ORDER BY mean",
    "SELECT plan, sex, avg(income) FROM study.patients GROUP BY GROUPING SETS ((plan), (sex), ()) ORDER BY 1, 2",
    "SELECT plan, sex, count(*) FILTER (WHERE diagnosis = 'B20') FROM study.patients GROUP BY ROLLUP (plan, sex)",
    "SELECT plan, avg(income), grouping(plan) FROM study.patients GROUP BY ROLLUP (plan)",
    "SELECT avg(income) FROM study.adults WHERE sex = 'M'",
    "SELECT coalesce(plan, 'none') AS plan, coalesce(round(avg(income), 2), 0) FROM study.patients GROUP BY 1",
    # tools: Metabase, Grafana, Superset
    'SELECT "study"."patients"."plan" AS "plan", AVG("study"."patients"."income") AS "avg" FROM "study"."patients" GROUP BY "study"."patients"."plan" ORDER BY "study"."patients"."plan" ASC',
    'SELECT CAST("study"."patients"."enrolled" AS date) AS "enrolled", COUNT(*) AS "count" FROM "study"."patients" WHERE "study"."patients"."diagnosis" = \'I10\' GROUP BY CAST("study"."patients"."enrolled" AS date) ORDER BY 1 ASC',
    'SELECT "source"."plan" AS "plan", COUNT(*) AS "count" FROM (SELECT "study"."patients"."plan" AS "plan", "study"."patients"."diagnosis" AS "diagnosis" FROM "study"."patients") AS "source" WHERE "source"."diagnosis" = \'E11\' GROUP BY "source"."plan" LIMIT 2000',
    "SELECT floor(extract(epoch FROM at) / 2592000) * 2592000 AS time, count(*) AS value FROM study.visits WHERE at BETWEEN '2025-01-01T00:00:00Z' AND '2025-12-31T00:00:00Z' AND reason = 'reason1' GROUP BY 1 ORDER BY 1",
    "SELECT plan AS plan, AVG(income) AS \"AVG(income)\" FROM study.patients WHERE enrolled >= TO_DATE('2024-03-01', 'YYYY-MM-DD') GROUP BY plan ORDER BY \"AVG(income)\" DESC LIMIT 10000",
]
"""Something sensitive is in them: the answer has noise, or groups that are too small are missing."""

TOOLS = [
    "SELECT version()",
    "SELECT current_database(), current_user",
    "SHOW server_version",
    "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema = 'study' ORDER BY 2",
    "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'study' AND table_name = 'wards' ORDER BY ordinal_position",
    "SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname NOT LIKE 'pg_%' ORDER BY 1",
    "SELECT c.relname, c.relkind FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'study' AND c.relkind IN ('r', 'v') ORDER BY 1",
    "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute a WHERE a.attrelid = 'study.wards'::regclass AND a.attnum > 0 ORDER BY a.attnum",
    "SELECT oid, typname FROM pg_type WHERE typname IN ('hstore', 'int4') ORDER BY 2",
    "SELECT 1",
]
"""What tools ask of the server itself."""


def furnish(url: str) -> None:
    """Make the study afresh, and leave its tables to the gateway alone."""
    chosen = Policy.parse(POLICY)
    assert chosen.gateway is not None
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET client_min_messages TO error")
        connection.execute(SCHEMA.encode())
        for role in (*USERS, "study_keeper"):
            if connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
                connection.execute(f"CREATE ROLE {role} LOGIN".encode())
            connection.execute(f"GRANT USAGE ON SCHEMA study, aside TO {role}".encode())
            connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA study TO {role}".encode())
            connection.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA aside TO {role}".encode())
        connection.execute(grants(chosen.gateway.tables, USERS, "study_keeper", exempt=chosen.gateway.exempt).encode())
    close_holes(url, chosen)


@contextmanager
def guarded(url: str, store: Path) -> Iterator[Guarding]:
    """A gateway before the study."""
    with Guarding(parse_upstream(url), url, store, Policy.parse(POLICY)) as gateway:
        yield gateway


def similar(one: Sequence[object], other: Sequence[object]) -> bool:
    """Whether two descriptions of columns have the same names and types."""
    return [(it.name, it.type_code) for it in one] == [(it.name, it.type_code) for it in other]  # type: ignore[attr-defined]
