"""SQLAlchemy, pandas, pg8000 and JDBC."""

from __future__ import annotations

import os
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas
import pg8000.dbapi
import pg8000.native
import pytest
import sqlalchemy

from tests.gateway.running import Running
from tests.servers import BRIEF

pytestmark = pytest.mark.postgres
DRIVERS = [Path("/usr/share/java/postgresql.jar"), *Path("/usr/share/java").glob("postgresql-[0-9]*.jar")]


def test_sqlalchemy(gateway: Running) -> None:
    engine = sqlalchemy.create_engine(gateway.url().replace("postgresql://", "postgresql+psycopg://"))
    data = sqlalchemy.MetaData()
    table = sqlalchemy.Table(
        "alchemy",
        data,
        sqlalchemy.Column("a", sqlalchemy.Integer, primary_key=True),
        sqlalchemy.Column("b", sqlalchemy.Text),
    )
    data.drop_all(engine)
    data.create_all(engine)
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"b": f"row {n}"} for n in range(20)])
        assert connection.execute(table.insert().values(b="last").returning(table.c.a)).scalar() == 21
    with engine.connect() as connection:
        found = connection.execute(sqlalchemy.select(table).where(table.c.a < 4).order_by(table.c.a)).all()
        assert [tuple(one) for one in found] == [(1, "row 0"), (2, "row 1"), (3, "row 2")]
        streamed = connection.execution_options(stream_results=True, yield_per=5).execute(sqlalchemy.select(table.c.a))
        assert len(list(streamed)) == 21
    with pytest.raises(sqlalchemy.exc.ProgrammingError), engine.begin() as connection:
        connection.execute(sqlalchemy.text("SELECT * FROM nothing_here"))
    assert sqlalchemy.inspect(engine).get_columns("alchemy")[1]["name"] == "b"
    engine.dispose()


def test_pandas(gateway: Running) -> None:
    engine = sqlalchemy.create_engine(gateway.url().replace("postgresql://", "postgresql+psycopg://"))
    frame = pandas.DataFrame({"a": range(50), "b": [f"row {n}" for n in range(50)]})
    with engine.begin() as connection:
        frame.to_sql("frame", connection, if_exists="replace", index=False)
        found = pandas.read_sql("SELECT * FROM frame ORDER BY a", connection)
        parts = list(pandas.read_sql("SELECT * FROM frame", connection, chunksize=20))
    engine.dispose()
    assert found.to_dict("list") == frame.to_dict("list")
    assert [len(part) for part in parts] == [20, 20, 10]


def test_pg8000(gateway: Running) -> None:
    connection = pg8000.native.Connection("postgres", host="127.0.0.1", port=gateway.port, database="postgres")
    try:
        found = connection.run("SELECT :a::int + 1, :b::text, 1.5::numeric, array[1, 2]", a=1, b="ä")
        assert found == [[2, "ä", Decimal("1.5"), [1, 2]]]
        with pytest.raises(pg8000.native.DatabaseError):
            connection.run("SELECT 1/0")
        statement = connection.prepare("SELECT g FROM generate_series(1, :n) g")
        assert [statement.run(n=n)[-1] for n in (1, 5)] == [[1], [5]]
        statement.close()
        connection.run("CREATE TEMP TABLE c (a int)")
        connection.run("COPY c FROM STDIN", stream=["1\n", "2\n"])
        assert connection.run("SELECT sum(a) FROM c") == [[3]]
    finally:
        connection.close()


JAVA = """
import java.sql.*;
import java.util.Properties;

public class Matrix {
    static void check(boolean so, String what) { if (!so) throw new RuntimeException(what); }

    public static void main(String[] words) throws Exception {
        for (String mode : new String[] {"simple", "extended", "extendedForPrepared"}) {
            Properties told = new Properties();
            told.setProperty("user", "postgres");
            told.setProperty("preferQueryMode", mode);
            told.setProperty("prepareThreshold", "2");
            try (Connection c = DriverManager.getConnection(words[0], told)) { session(c, mode); }
        }
        System.out.println("good");
    }

    static void session(Connection c, String mode) throws Exception {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT 1, 'x', NULL::int")) {
            check(r.next() && r.getInt(1) == 1 && r.getString(2).equals("x") && r.getObject(3) == null, "select");
        }
        try (PreparedStatement p = c.prepareStatement("SELECT ?::int + 1, ?::numeric, ?::date")) {
            for (int n = 0; n < 8; n++) {
                p.setInt(1, n); p.setBigDecimal(2, new java.math.BigDecimal("1.50")); p.setDate(3, Date.valueOf("2020-02-03"));
                try (ResultSet r = p.executeQuery()) { check(r.next() && r.getInt(1) == n + 1, "prepared"); }
            }
        }
        try (Statement s = c.createStatement()) {
            s.executeQuery("SELECT 1/0");
            check(false, "no error");
        } catch (SQLException e) { check(e.getSQLState().equals("22012"), e.getSQLState()); }
        try (Statement s = c.createStatement()) { s.execute("CREATE TEMP TABLE IF NOT EXISTS jm (a int, b text)"); }
        try (PreparedStatement p = c.prepareStatement("INSERT INTO jm VALUES (?, ?)")) {
            for (int n = 0; n < 300; n++) { p.setInt(1, n); p.setString(2, "row " + n); p.addBatch(); }
            check(p.executeBatch().length == 300, "batch");
        }
        c.setAutoCommit(false);
        try (Statement s = c.createStatement()) {
            s.setFetchSize(70);
            int sum = 0;
            try (ResultSet r = s.executeQuery("SELECT a, b FROM jm ORDER BY a")) { while (r.next()) sum += r.getInt(1); }
            check(sum == 300 * 299 / 2, "fetch size");
        }
        c.rollback();
        c.setAutoCommit(true);
        org.postgresql.copy.CopyManager copy = c.unwrap(org.postgresql.PGConnection.class).getCopyAPI();
        check(copy.copyIn("COPY jm FROM STDIN", new java.io.StringReader("1\\tx\\n")) == 1, "copy in");
        check(copy.copyOut("COPY jm TO STDOUT", new java.io.StringWriter()) == 301, "copy out");
        try (Statement s = c.createStatement()) {
            s.setQueryTimeout(1);
            s.execute("SELECT pg_sleep(20)");
            check(false, "not cancelled");
        } catch (SQLException e) { check(e.getSQLState().equals("57014"), e.getSQLState()); }
        check(c.getMetaData().getTables(null, "pg_catalog", "pg_class", null).next(), "metadata");
    }
}
"""


def downloaded(folder: Path) -> Path | None:
    """The driver from Debian's archive, unpacked where the test is; nothing is installed."""
    unpacked = folder / "usr" / "share" / "java" / "postgresql.jar"
    try:
        for command in (["apt-get", "download", "libpostgresql-jdbc-java"], ["sh", "-c", "dpkg-deb -x *.deb ."]):
            subprocess.run(command, cwd=folder, capture_output=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return unpacked if unpacked.exists() else None


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The compiled class with what it needs to run."""
    driver = Path(os.environ.get("DISCREET_TEST_JDBC", "")) if "DISCREET_TEST_JDBC" in os.environ else None
    folder = tmp_path_factory.mktemp("java")
    if shutil.which("javac") is None or shutil.which("java") is None:
        pytest.skip("there is no Java compiler (Debian: default-jdk-headless)")
    driver = driver or next((path for path in DRIVERS if path.exists()), None) or downloaded(folder)
    if driver is None:
        pytest.skip("there is no JDBC driver in /usr/share/java, nor one to be had (Debian: libpostgresql-jdbc-java)")
    (folder / "Matrix.java").write_text(JAVA, encoding="utf-8")
    path = f"{driver}:{folder}:/usr/share/java/scram-client.jar:/usr/share/java/scram-common.jar"
    compiler = [
        "javac",
        *(f"-J{option}" for option in BRIEF.split()),
        "-encoding",
        "UTF-8",
        "-cp",
        path,
        str(folder / "Matrix.java"),
    ]
    compiled = subprocess.run(compiler, capture_output=True, text=True, timeout=120, check=False)
    assert compiled.returncode == 0, compiled.stderr
    return ["java", *BRIEF.split(), "-cp", path, "Matrix"]


def test_jdbc(gateway: Running, java: list[str]) -> None:
    url = f"jdbc:postgresql://127.0.0.1:{gateway.port}/postgres?sslmode=disable"
    done = subprocess.run([*java, url], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == "good", done.stderr[-3000:]
