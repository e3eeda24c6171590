"""Answers say nothing of how tables are stored: the order of rows, partitions, columns that the database works out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.gateway import parse_upstream
from discreet.gateway.grants import grants
from discreet.policy import Policy
from tests.gateway.analysis.test_generated import Outputs
from tests.gateway.governed import Guarding, close_holes

pytestmark = pytest.mark.postgres
POLICY = """
[misuse]
x = 2
limit = 2.0

[gateway]
mode = "enforce"
exempt = ["postgres"]
denials_per_hour = 100000

[gateway.tables."printed.t"]
key = ["k"]
sensitive = ["z"]

[gateway.tables."printed.parted"]
key = ["k"]
sensitive = ["z"]
"""
ROWS = """
SELECT n AS k, n % 60 AS a, CASE WHEN n % 7 = 0 THEN NULL ELSE 'b' || n % 5 END AS b,
  CASE WHEN n % 2 = 0 THEN n % 60 / 4.0 ELSE round(n % 60 / 4.0, 1 + n % 4) END AS c, date '2024-01-31' + n % 60 AS d,
  timestamp '2024-01-01 10:00' + n % 60 * interval '7 hours' AS e, n % 60 * 1.1 AS f, n % 3 = 0 AS g, 'z' || n % 3 AS z,
  rpad('x' || n % 20, 3 + n % 5) AS w FROM generate_series(1, 300) n"""
SCHEMA = f"""
DROP SCHEMA IF EXISTS printed CASCADE; CREATE SCHEMA printed;
CREATE TABLE printed.t (k int PRIMARY KEY, a int, b text, c numeric, d date, e timestamp, f float8, g bool, z text NOT NULL,
  w bpchar, loud text GENERATED ALWAYS AS (upper(z)) STORED, plain int GENERATED ALWAYS AS (a + 1) STORED);
CREATE TABLE printed.parted (k int, a int, z text NOT NULL) PARTITION BY LIST (z);
CREATE TABLE printed.parted_0 PARTITION OF printed.parted FOR VALUES IN ('z0');
CREATE TABLE printed.parted_1 PARTITION OF printed.parted FOR VALUES IN ('z1', 'z2');
CREATE TABLE printed.u (a int, name text, "Odd name" int);
INSERT INTO printed.u SELECT n * 2, 'u' || n, n % 4 FROM generate_series(1, 15) n;
INSERT INTO printed.t (k, a, b, c, d, e, f, g, z, w) {ROWS} ORDER BY 1;
INSERT INTO printed.parted SELECT k, a, z FROM printed.t ORDER BY k;
DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'disk_ann') THEN
  CREATE ROLE disk_ann LOGIN; CREATE ROLE disk_own LOGIN; END IF; END $$;
GRANT USAGE ON SCHEMA printed TO disk_ann, disk_own; GRANT SELECT ON ALL TABLES IN SCHEMA printed TO disk_ann, disk_own;
"""


@pytest.fixture(scope="module")
def stored(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Guarding]]:
    folder: Path = tmp_path_factory.mktemp("disk")
    chosen = Policy.parse(POLICY)
    assert chosen.gateway is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_KEYS", str(folder / "keys"))
        with psycopg.connect(postgres_url, autocommit=True) as direct:
            direct.execute("SET client_min_messages TO error")
            direct.execute(SCHEMA.encode())
            direct.execute(grants(chosen.gateway.tables, ["disk_ann"], "disk_own", exempt=["postgres"]).encode())
        close_holes(postgres_url, chosen)
        with Guarding(parse_upstream(postgres_url), postgres_url, folder / "store.db", chosen) as gateway:
            yield postgres_url, gateway
    with psycopg.connect(postgres_url, autocommit=True) as direct:  # other tests may write to this schema
        direct.execute("DROP OWNED BY disk_ann, disk_own")


@pytest.fixture
def ann(stored: tuple[str, Guarding]) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(stored[1].url("disk_ann"), autocommit=True) as session:
        yield session


class Stored(Outputs):
    """Statements in which the server is free to choose: which of equal values, which rows, in what order."""

    def statement(self) -> str:
        if self._chance.random() < 0.4:
            return super().statement()
        n, text, condition, other = self.number(2), self.text(1), self.condition(1), self.number(1)
        return self._of(
            f"SELECT {n} AS x, count(*), max({other}), min({other}), max(w) FROM printed.t WHERE {condition} GROUP BY 1",
            f"SELECT DISTINCT {n}, {self._of(text, 'w')} FROM printed.t",
            f"SELECT w, count(*), sum({n}), avg({other}), stddev({other}) FROM printed.t WHERE {condition} GROUP BY w",
            f"SELECT {n} FROM printed.t {self._of('UNION ALL', 'UNION', 'EXCEPT')} SELECT {other} FROM printed.t WHERE {condition}",
            f"SELECT x.y, count(*) FROM (SELECT {n} AS y FROM printed.t) x GROUP BY 1 ORDER BY 2 LIMIT 7",
            f"SELECT {n} AS y, rank() OVER (ORDER BY {other}), lag(k) OVER (PARTITION BY b ORDER BY c) FROM printed.t",
            f"SELECT string_agg({text}, ','), array_agg({n}), max({n}) FROM printed.t WHERE {condition}",
            f"SELECT {text}, mode() WITHIN GROUP (ORDER BY {n}), percentile_disc(0.5) WITHIN GROUP (ORDER BY {n}) FROM printed.t GROUP BY 1",
            f"SELECT {n} FROM printed.t WHERE {condition} ORDER BY {other} LIMIT 5",
            f"SELECT p.a, u.name, {self._of('p.c', 'p.f', 'p.b')} FROM printed.t p JOIN printed.u u ON u.a = p.a ORDER BY 1",
            "SELECT u.name, (SELECT p.c FROM printed.t p WHERE p.a >= u.a LIMIT 1) FROM printed.u u",
            "SELECT sum(floor(a) / 7 * 0.1), avg(round(a) / 3), stddev(nullif(a, f)), sum(date_part('epoch', e) / 7) FROM printed.t",
            f"SELECT count(*) FILTER (WHERE z = 'z1'), string_agg({text}, ','), max({n}), sum({other}) FROM printed.t",
            f"SELECT b, g, avg({n}), corr(f, a) FROM printed.t GROUP BY {self._of('ROLLUP', 'CUBE')} (b, g)",
        )


def test_no_generated_answer_depends_on_the_order_of_rows(
    stored: tuple[str, Guarding], ann: psycopg.Connection[Any]
) -> None:
    statements = Stored(3)
    texts = [statements.statement() for _ in range(150)]

    def asked(text: str) -> Any:
        try:
            return [tuple(map(str, row)) for row in ann.execute(text.encode()).fetchall()]
        except psycopg.Error as problem:
            return str(problem).partition("(reference")[0]

    before = [asked(text) for text in texts]
    with psycopg.connect(stored[0], autocommit=True) as direct:
        direct.execute("TRUNCATE printed.t")
        direct.execute(f"INSERT INTO printed.t (k, a, b, c, d, e, f, g, z, w) {ROWS} ORDER BY md5(n::text)".encode())
    assert sum(isinstance(rows, list) for rows in before) > 120
    assert [(text, rows) for text, rows in zip(texts, before, strict=True) if asked(text) != rows] == []


def test_partitions_by_a_sensitive_column_say_nothing(ann: psycopg.Connection[Any]) -> None:
    for text in (
        "SELECT k FROM printed.parted",
        "SELECT array_agg(k) FROM printed.parted",
        "SELECT k FROM printed.parted UNION ALL SELECT 0",
        "SELECT k, row_number() OVER () FROM printed.parted LIMIT 100",
    ):
        found = ann.execute(text.encode()).fetchall()
        keys = [int(one) for one in (found[0][0] if "array" in text else [row[0] for row in found])]
        first = [key % 3 == 0 for key in keys if key]
        assert 0.1 < sum(first[:90]) / 90 < 0.6, text  # a third of all, and not one partition after the other
    for text in (
        "SELECT k FROM printed.parted_0",
        "SELECT count(*) FROM printed.parted_1",
        "SELECT tableoid FROM printed.parted",
    ):
        with pytest.raises(psycopg.Error):
            ann.execute(text.encode())


def test_columns_generated_from_sensitive_ones_are_sensitive(
    stored: tuple[str, Guarding], ann: psycopg.Connection[Any]
) -> None:
    table = stored[1].governor.relations.tables["printed.t"]
    assert set(table.sensitive) == {"z", "loud"}
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="exposure"):
        ann.execute("SELECT k, loud FROM printed.t WHERE k <= 100")
    assert len(ann.execute("SELECT k, plain FROM printed.t").fetchall()) == 300
    before = stored[1].exposure("disk_ann")
    assert ann.execute("SELECT loud FROM printed.t WHERE k = 7").fetchall() == [("Z1",)]
    assert stored[1].exposure("disk_ann") > before
