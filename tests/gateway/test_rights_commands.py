"""`discreet gateway grants` and `discreet doctor --gateway`, on a database that they leave without a hole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from discreet.cli.verbs.doctor import command as doctor
from discreet.cli.verbs.gateway import command as gateway
from discreet.errors import PolicyError, UsageError
from tests.servers import fresh_database

ROLES = ("g_ann", "g_staff", "g_own")
POLICY = """
[misuse]
limit = 2.0
[gateway]
mode = "enforce"
exempt = {exempt}
[gateway.tables."ward.patients"]
key = ["id"]
sensitive = ["diagnosis"]
"""


@pytest.fixture
def ward(postgres_url: str) -> Iterator[str]:
    """A database whose users read everything."""
    with fresh_database(postgres_url) as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE ROLE g_ann LOGIN; CREATE ROLE g_staff; CREATE ROLE g_own LOGIN; GRANT g_staff TO g_ann"
        )
        connection.execute("CREATE SCHEMA ward; CREATE TABLE ward.patients (id int PRIMARY KEY, diagnosis text)")
        connection.execute("CREATE VIEW ward.shown AS SELECT * FROM ward.patients")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA ward TO g_staff")
        try:
            yield url
        finally:
            for role in ROLES:
                connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


@pytest.fixture
def policy(ward: str, tmp_path: Path) -> Path:
    """The policy; it exempts the roles that other tests have made on this server."""
    with psycopg.connect(ward) as connection:
        others = [name for (name,) in connection.execute("SELECT rolname FROM pg_roles WHERE rolcanlogin")]
    file = tmp_path / "ward.toml"
    file.write_text(POLICY.format(exempt=json.dumps([name for name in others if name not in ROLES])), encoding="utf-8")
    return file


def test_grants_close_what_doctor_finds(
    ward: str, policy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DISCREET_STORE", str(tmp_path / "store.db"))
    monkeypatch.setenv(
        "DISCREET_GATEWAY_OWN", ward.replace("//postgres:@", "//g_own:@").replace("//postgres@", "//g_own@")
    )
    looked = CliRunner().invoke(doctor, ["--gateway", "--policy", str(policy)], standalone_mode=False)
    assert looked.return_value == 1
    assert "g_ann (by g_staff) can read ward.patients." in looked.output
    assert '→ REVOKE SELECT ON TABLE ward.patients FROM "g_staff" CASCADE;' in looked.output
    assert "by the view ward.shown" in looked.output
    assert 'ALTER ROLE "g_own" SET track_counts = off;' in looked.output
    words = ["grants", "--policy", str(policy), "--users", "g_ann", "--users", "g_staff", "--own-role", "g_own"]
    printed = CliRunner().invoke(gateway, words, standalone_mode=False)
    assert printed.exception is None
    with psycopg.connect(ward, autocommit=True) as connection:
        connection.execute(printed.output.encode())
    again = CliRunner().invoke(doctor, ["--gateway", "--policy", str(policy), "--json"], standalone_mode=False)
    rights = [check for check in json.loads(again.output)["checks"] if check["about"] == "gateway rights"]
    assert [check["state"] for check in rights] == ["ok"], rights
    assert again.return_value == 0


def test_what_is_missing_is_said(policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_GATEWAY_OWN", raising=False)
    bare = tmp_path / "bare.toml"
    bare.write_text("[misuse]\nlimit = 1\n", encoding="utf-8")
    roles = ["--users", "a", "--own-role", "b"]
    for command, words, kind, said in [
        (doctor, ["--gateway"], UsageError, "its own login"),
        (doctor, ["--policy", str(policy)], UsageError, "for the gateway"),
        (gateway, ["grants", "--policy", str(bare), *roles], PolicyError, "does not name the tables"),
        (
            gateway,
            ["grants", "--policy", str(policy), "--users", "b", "--own-role", "b"],
            UsageError,
            "one of the users",
        ),
    ]:
        result = CliRunner().invoke(command, words, standalone_mode=False)
        assert isinstance(result.exception, kind)
        assert said in str(result.exception)
    for left_out in (["--own-role", "b"], ["--users", "a"]):
        assert CliRunner().invoke(gateway, ["grants", "--policy", str(policy), *left_out]).exit_code == 2
    found = CliRunner().invoke(
        doctor, ["--gateway", "--policy", str(policy), "--own", "postgresql://x@127.0.0.1:1/x"], standalone_mode=False
    )
    assert found.return_value == 1
    assert "cannot be reached" in found.output
