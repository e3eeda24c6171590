"""Migrations: the same tables as statements speak of, once, under a lock, all or nothing, from an installed package."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from discreet.errors import StoreTooNew, UsageError
from discreet.store import Store
from discreet.store import connection as store_connection
from discreet.store.tables import metadata

ROOT = Path(__file__).parents[2]
OPEN = "import sys; from discreet.store import Store; Store.open(sys.argv[1]).close()"


def test_the_migrations_make_the_tables_that_statements_speak_of(store_url: str) -> None:
    with Store.open(store_url) as store, store.reading() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": store_connection.VERSION_TABLE})
        ours = [found for found in compare_metadata(context, metadata) if "discreet_version" not in str(found)]
        assert ours == []
        assert set(metadata.tables) <= set(inspect(connection).get_table_names())


def test_the_newest_number_is_that_of_the_files() -> None:
    assert ScriptDirectory(str(store_connection.MIGRATIONS)).get_current_head() == f"{store_connection.NEWEST:04}"


def test_a_store_from_the_future_is_refused_in_words(store_url: str) -> None:
    with Store.open(store_url) as store, store.writing() as connection:
        connection.execute(text("UPDATE discreet_version SET version_num = '0999'"))
    with pytest.raises(StoreTooNew, match="format 999") as caught:
        Store.open(store_url)
    assert "Update Discreet" in caught.value.remedy


def test_the_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    with pytest.raises(UsageError, match="another program"):
        Store.open(tmp_path / "other.db")


def test_processes_that_open_a_new_store_at_once_take_turns(store_url: str) -> None:
    command = [sys.executable, "-c", OPEN, store_url]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    errors = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], errors
    with Store.open(store_url) as store, store.reading() as connection:
        assert store_connection.revision(connection) == store_connection.NEWEST


def test_a_migration_that_fails_leaves_no_trace(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_connection: object, _found: object = None) -> None:
        raise ZeroDivisionError

    real = store_connection.migrate
    monkeypatch.setattr(store_connection, "migrate", lambda connection: (real(connection), fail(connection)))
    with pytest.raises(ZeroDivisionError):
        Store.open(store_url)
    monkeypatch.undo()
    with Store.open(store_url) as store, store.reading() as connection:
        assert store_connection.revision(connection) == store_connection.NEWEST


def test_opening_a_store_that_is_up_to_date_does_not_load_alembic(tmp_path: Path) -> None:
    Store.open(tmp_path / "store.db").close()
    check = OPEN + "; assert 'alembic' not in sys.modules"
    subprocess.run([sys.executable, "-c", check, str(tmp_path / "store.db")], check=True)


def test_the_wheel_carries_the_migrations_and_runs_them_from_there(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "source" / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / "source")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "wheel")]
    subprocess.run(build, cwd=tmp_path / "source", check=True, capture_output=True)
    (wheel,) = (tmp_path / "wheel").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed 100%")  # a path that Alembic's settings could trip over
    place = tmp_path / "installed 100%"
    check = f"{OPEN}; import discreet; assert discreet.__file__.startswith({str(place)!r})"
    done = subprocess.run(
        [sys.executable, "-c", check, str(tmp_path / "s.db")],
        env={"PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


NEXT = """
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "{next:04}", "{last:04}", None, None
def upgrade():
    op.create_table("from_the_future", sa.Column("name", sa.Text, primary_key=True))
"""


def test_an_older_store_is_brought_up_to_date_and_keeps_what_it_holds(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.ledger import Ledger

    with Ledger.open(store_url) as ledger:
        head = ledger.record(actor="ann", event="web.shown") and ledger.head()
    shutil.copytree(store_connection.MIGRATIONS, tmp_path / "migrations", ignore=shutil.ignore_patterns("__pycache__"))
    last, following = store_connection.NEWEST, store_connection.NEWEST + 1
    content = NEXT.format(next=following, last=last)
    (tmp_path / "migrations" / "versions" / f"{following:04}_next.py").write_text(content)
    monkeypatch.setattr(store_connection, "MIGRATIONS", tmp_path / "migrations")
    monkeypatch.setattr(store_connection, "NEWEST", following)
    with Ledger.open(store_url) as ledger:
        with ledger.store.reading() as connection:
            assert store_connection.revision(connection) == following
            assert inspect(connection).has_table("from_the_future")
        assert ledger.verify(heads=[head]).holds
    monkeypatch.undo()
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "store.keys"))
    with pytest.raises(StoreTooNew):
        Ledger.open(store_url)


def test_what_waits_for_a_second_person_knows_how_far_the_ledger_was(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the moment at which it was asked for; never later than its own entry, so that nobody counts who came after."""
    from datetime import UTC, datetime, timedelta

    from discreet.ledger import Ledger

    shutil.copytree(
        store_connection.MIGRATIONS, tmp_path / "old", ignore=shutil.ignore_patterns("__pycache__", "001[2-9]_*")
    )
    monkeypatch.setattr(store_connection, "MIGRATIONS", tmp_path / "old")
    monkeypatch.setattr(store_connection, "NEWEST", 11)
    moments = [datetime(2026, 5, 4, 9, 0, second, tzinfo=UTC) for second in range(5)]
    clock = iter([*moments, *[moments[-1] + timedelta(hours=1)] * 9])
    with Ledger.open(store_url, clock=lambda: next(clock)) as ledger:
        for name in "abcd":
            ledger.record(actor=name, event="web.shown")
        times = [entry.time for entry in ledger.entries()]
        with ledger.store.writing() as connection:
            for statement in OLD:
                connection.execute(text(statement), {"then": times[3]})
    monkeypatch.undo()
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "store.keys"))
    with Store.open(store_url) as store, store.reading() as connection:
        for table in ("web_plan", "gateway_limit"):
            found = connection.execute(text(f"SELECT entry FROM {table} ORDER BY id")).scalars().all()
            assert found == [3, 0], table  # what is decided needs none


OLD = [
    "INSERT INTO web_account (id, name, role, disabled, made) VALUES (1, 'ann', 'custodian', false, 'then')",
    *(
        "INSERT INTO web_plan (id, release, kind, dataset, content, digest, version, state, account, changed) "
        f"VALUES ({number}, 'spring', 'new', 1, '{{}}', '', 1, '{state}', 1, :then)"
        for number, state in ((1, "planned"), (2, "made"))
    ),
    *(
        "INSERT INTO gateway_limit (id, database, name, allowed, action, reason, state, account, made) "
        f"VALUES ({number}, 'clinic', 'eve', 1, 'deny', '', '{state}', 1, :then)"
        for number, state in ((1, "proposed"), (2, "declined"))
    ),
]
