"""What may be registered where it is: nothing outside the folders and servers that were opened, by no detour."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from fastapi import FastAPI

from discreet.web import Settings
from discreet.web.datasets import inspection
from discreet.web.datasets import store as datasets
from discreet.web.datasets.files import unseal
from discreet.web.framework.problems import Problem
from discreet.web.jobs.supervisor import Supervisor
from tests.web.client import signed_in
from tests.web.jobs.working import look_of, work
from tests.web.snapshot import entries, snapshot

GOOD = "sex,age\nF,30\nM,31\n"
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """A folder with a table, beside one that is not open."""
    for name in ("open/inner", "shut"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("open/people.csv", "open/inner/more.csv", "shut/secret.csv", "open/notes.txt", "open/.hidden.csv"):
        (tmp_path / name).write_text(GOOD, encoding="utf-8")
    (tmp_path / "open/link.csv").symlink_to(tmp_path / "shut/secret.csv")
    (tmp_path / "open/way.csv").symlink_to(tmp_path / "shut")
    os.mkfifo(tmp_path / "open/pipe.csv")
    return tmp_path / "open"


def test_files_below_a_folder_are_found(open_folder: Path) -> None:
    found = inspection.files_below([open_folder])
    assert found == [str(open_folder / "inner/more.csv"), str(open_folder / "people.csv")]
    assert inspection.allowed_file("inner/more.csv", [open_folder]) == open_folder / "inner/more.csv"
    assert inspection.allowed_file(str(open_folder / "people.csv"), [open_folder]) == open_folder / "people.csv"


DETOURS: dict[str, Callable[[Path], str]] = {
    "outside": lambda folder: str(folder.parent / "shut/secret.csv"),
    "up": lambda folder: f"{folder}/../shut/secret.csv",
    "up and back": lambda folder: f"{folder}/inner/../people.csv",
    "relative up": lambda folder: "../shut/secret.csv",
    "a link to a file": lambda folder: str(folder / "link.csv"),
    "through a link": lambda folder: str(folder / "way.csv/secret.csv"),
    "a pipe": lambda folder: str(folder / "pipe.csv"),
    "a folder": lambda folder: str(folder / "inner"),
    "the folder": lambda folder: str(folder),
    "another kind": lambda folder: str(folder / "notes.txt"),
    "a pattern": lambda folder: str(folder / "*.csv"),
    "not there": lambda folder: str(folder / "nobody.csv"),
    "a device": lambda folder: "/dev/stdin",
    "a null": lambda folder: f"{folder}/people.csv\0.csv",
    "a neighbour with the same beginning": lambda folder: f"{folder}er/people.csv",
    "empty": lambda folder: "",
    "too long": lambda folder: "x" * 5_000 + ".csv",
}


@pytest.mark.parametrize("case", list(DETOURS))
def test_every_detour_gets_the_same_answer(open_folder: Path, case: str) -> None:
    (open_folder.parent / "opener").mkdir()
    (open_folder.parent / "opener/people.csv").write_text(GOOD, encoding="utf-8")
    with pytest.raises(Problem, match="no such file in the folders"):
        inspection.allowed_file(DETOURS[case](open_folder), [open_folder])


def test_without_a_folder_nothing_is_open(open_folder: Path) -> None:
    with pytest.raises(Problem):
        inspection.allowed_file(str(open_folder / "people.csv"), [])


@pytest.fixture
def settings(settings: Settings, open_folder: Path, postgres_url: str) -> Settings:
    """A folder and a server are open."""
    host = dict(parse_qsl(urlsplit(postgres_url).query)).get("host") or urlsplit(postgres_url).hostname or ""
    return replace(settings, folders=(open_folder,), servers=(host,), clock=Settings().clock)


@pytest.mark.postgres
def test_a_file_is_registered_and_stays_where_it_is(app: FastAPI, open_folder: Path) -> None:
    browser = signed_in(app, "custodian")
    form = {"path": str(open_folder / "people.csv"), "name": "", "encoding": "utf-8"}
    assert browser.post("/datasets/register", form).status_code == 303
    with app.state.site.store.reading() as connection:
        (one,) = datasets.everything(connection)
    assert (one.kind, one.place, one.size) == ("path", str(open_folder / "people.csv"), len(GOOD))
    browser.post(f"/datasets/{one.id}/remove")
    assert (open_folder / "people.csv").read_text(encoding="utf-8") == GOOD
    answer = browser.post("/datasets/register", {**form, "path": "/etc/passwd"})
    assert answer.status_code == 422
    assert "no such file in the folders" in answer.text


@pytest.mark.postgres
def test_a_registered_file_that_becomes_a_link_is_not_followed(app: FastAPI, open_folder: Path) -> None:
    browser = signed_in(app, "custodian")
    form = {"path": str(open_folder / "people.csv"), "name": "", "encoding": "utf-8"}
    browser.post("/datasets/register", form)
    (open_folder / "people.csv").unlink()
    (open_folder / "people.csv").symlink_to(open_folder.parent / "shut/secret.csv")
    supervisor = Supervisor(app.state.site)
    work(supervisor, 1)
    job = look_of(supervisor, 1)
    assert job.state == "failed"
    assert "is not there any more" in (job.problem or "")


@pytest.mark.postgres
def test_a_table_of_a_server_is_registered_without_showing_its_password(app: FastAPI, postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS web_people")
        connection.execute("CREATE TABLE web_people AS SELECT 'F' AS sex, n AS age FROM generate_series(1, 9) AS n")
    browser = signed_in(app, "custodian")
    wanted = {"address": postgres_url, "table": "web_people", "password": "s3cret-canary"}
    answer = browser.send("POST", "/api/v1/datasets/connect", json=wanted, headers=SAME_ORIGIN)
    assert answer.status_code == 201, answer.text
    number = answer.json()["id"]
    assert answer.json()["columns"] == ["sex", "age"]
    with app.state.site.store.reading() as connection:
        one = datasets.find(connection, number)
    assert one is not None
    assert unseal(app.state.site.ledger.keys, one.secret or "") == "s3cret-canary"
    supervisor = Supervisor(app.state.site)
    work(supervisor, 1)
    assert look_of(supervisor, 1).state == "done", look_of(supervisor, 1)
    seen = "".join(
        browser.get(path).text for path in (f"/datasets/{number}", f"/api/v1/datasets/{number}", "/datasets")
    )
    assert "s3cret" not in seen + answer.text + str(entries(app)) + str(snapshot(app)) + repr(one)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://elsewhere/db",
        "postgresql://open.example,elsewhere/db",
        "postgresql://open.example/db?hostaddr=203.0.113.1",
        "postgresql://open.example/db?host=elsewhere",
        "postgresql://open.example/db?passfile=/etc/passwd",
        "postgresql://open.example/db?sslkey=/etc/ssl/key",
        "postgresql://open.example/db?service=other",
        "postgresql://open.example/db?options=-c%20x",
        "postgresql://open.example/db?table=other",
        "postgresql://open.example:5433/db",
        "postgresql:///db",
        "mysql://open.example/db",
        "open.example",
        "postgresql://[",
        "host=open.example",
    ],
)
def test_what_names_other_servers_or_files_is_refused(address: str) -> None:
    servers = ["open.example:5432"] if "5433" in address else ["open.example"]
    with pytest.raises(Problem):
        inspection.server_table(address, "people", "", servers)


def test_the_password_is_taken_out_of_the_address() -> None:
    found = inspection.server_table("postgresql://ann:s%40crt@open.example/db", "public.people", "", ["open.example"])
    assert found.place == "postgresql://ann@open.example/db?table=public.people"
    assert found.password == "s@crt"
    assert "s%40crt" in found.url()
    assert "crt" not in repr(found)
