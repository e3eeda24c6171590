"""Traces: the leaker is named, incidents add up, own audits do not count, and no value of a claim is ever seen again."""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from discreet.releases.delivery.service import Registry
from discreet.web import Settings, create_app
from discreet.web.framework.permissions import ROLES
from tests.web.client import CHEAP, ORIGIN, Browser, Clock, make_accounts, signed_in
from tests.web.release_data import folder_files, released
from tests.web.snapshot import entries, snapshot


@pytest.fixture(scope="module")
def released_store(migrated_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, its keys and its data, in which a release lies ready: made once, copied for every test."""
    folder = tmp_path_factory.mktemp("released")
    shutil.copy(migrated_store, folder / "store.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_KEYS", str(folder / "store.keys"))
        settings = Settings(
            store=str(folder / "store.db"), data=folder / "data", origin=ORIGIN, clock=Clock(), hashing=CHEAP
        )
        app = create_app(settings)
        make_accounts(app, *ROLES, "custodian2")
        released(app)
        app.state.site.close()
    return folder


@pytest.fixture
def app(released_store: Path, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[FastAPI]:
    """The application on such a store."""
    folder = tmp_path / "copy"
    shutil.copytree(released_store, folder)
    monkeypatch.setenv("DISCREET_KEYS", str(folder / "store.keys"))
    found = create_app(
        Settings(store=str(folder / "store.db"), data=folder / "data", origin=ORIGIN, clock=clock, hashing=CHEAP)
    )
    yield found
    found.state.site.close()


def copy_of(browser: Browser, recipient: str) -> list[str]:
    answer = browser.post("/releases/named/spring/deliver", {"recipient": recipient})
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return archive.read("data.csv").decode().splitlines()


def hits_of(app: FastAPI, recipient: str) -> list[str]:
    """Marks in the copy of a recipient, as rows of claims."""
    registry = Registry(app.state.site.ledger)
    codebook = registry.open(registry.require("spring")).codebook
    held = codebook.row(recipient)
    columns = codebook.marks.columns
    return [",".join(columns), *(",".join(map(str, labels)) for labels, one in zip(codebook.marks.labels, held, strict=True) if one)]  # fmt: skip


def send(browser: Browser, kind: str, rows: list[str], name: str = "found.csv", **more: object) -> httpx.Response:
    files = {"file": (name, "\n".join(rows).encode()), **more.pop("files", {})}  # type: ignore[dict-item]
    return browser.post(f"/releases/named/spring/{kind}", {**more}, files=files)


def test_a_leaked_file_names_the_leaker(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    rows = copy_of(browser, "south")
    answer = send(browser, "leak", rows[: len(rows) // 2])
    assert answer.status_code == 303, answer.text
    page = browser.get(answer.headers["location"])
    assert "south is accused" in page.text
    assert "Evidence, not a verdict" in page.text
    (entry,) = [one for one in entries(app) if one["event"] == "releases.traced"]
    assert json.loads(entry["body"])["details"]["accused"] == "south"


def test_columns_that_are_called_otherwise(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    rows = copy_of(browser, "north")
    rows[0] = rows[0].replace("zip", "plz").replace("sex", "geschlecht")
    answer = send(browser, "leak", rows, columns="plz = zip\ngeschlecht = sex")
    assert "north is accused" in browser.get(answer.headers["location"]).text
    assert send(browser, "leak", rows, columns="nonsense").status_code == 422
    assert send(browser, "leak", rows, columns="other = zip").status_code == 422


def test_incidents_add_up_until_somebody_is_named(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    head, *claims = hits_of(app, "west")
    few = [claims[place : place + 4] for place in range(0, len(claims), 4)]
    pages = [browser.get(send(browser, "claims", [head, *some]).headers["location"]).text for some in few]
    assert "Nobody is accused" in pages[0]
    assert "west is accused" in pages[-1]
    assert f"All that {len(few)} incidents hit counts together" in pages[-1]
    alone = send(browser, "claims", [head, *claims[:3]], alone="yes")
    assert "Nobody is accused" in browser.get(alone.headers["location"]).text


def test_own_audits_do_not_count(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    rows = hits_of(app, "west")
    own = {"exclude": ("audit.csv", "\n".join(rows).encode())}
    page = browser.get(send(browser, "claims", rows, files=own).headers["location"]).text
    assert "Nobody is accused" in page
    assert "left out as own audits" in page


def test_pasted_claims_are_counted_and_never_shown(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    rows = [*hits_of(app, "north"), "Zipcanary,1987,Sexcanary"]
    files = folder_files(app)
    answer = browser.post("/releases/named/spring/claims", {"pasted": "\r\n".join(rows)}, files={"exclude": ("", b"")})
    assert answer.status_code == 303, answer.text
    page = browser.get(answer.headers["location"]).text
    assert "north is accused" in page
    assert folder_files(app) == files
    stored = json.dumps(snapshot(app), default=repr)
    for canary in ("Zipcanary", "Sexcanary"):
        assert canary not in page
        assert canary not in stored
    values = re.findall(r">(\d{3})<", page.partition("<main")[2])
    assert not {row.partition(",")[0] for row in rows[1:-1]} & set(values), "no ZIP stands alone in a cell"


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        ("claims", b"", "is empty"),
        ("claims", b"\x89PNG....", "a picture"),
        ("leak", b"PK\x03\x04", "cut off or damaged"),
        ("leak", b"Namecanary,b\n1,2\n", ""),
        ("claims", b"Namecanary\nValuecanary\n", ""),
    ],
)
def test_what_is_no_table_is_refused_in_words(app: FastAPI, kind: str, content: bytes, words: str) -> None:
    browser, files = signed_in(app, "custodian"), folder_files(app)
    answer = browser.post(f"/releases/named/spring/{kind}", files={"file": ("x.csv", content)})
    assert answer.status_code in (413, 415, 422), answer.text
    assert words in answer.text
    assert "Valuecanary" not in answer.text
    assert folder_files(app) == files
    assert [one for one in entries(app) if one["event"] == "releases.traced"] == []


def test_nothing_sent_is_said(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    answer = browser.post("/releases/named/spring/claims", {"pasted": " "}, files={"file": ("", b"")})
    assert answer.status_code == 422
    assert "No file was sent" in answer.text
    both = browser.post("/releases/named/spring/claims", {"pasted": "a\n1"}, files={"file": ("x.csv", b"a\n1\n")})
    assert both.status_code == 422


def test_auditors_read_the_evidence_and_that_is_written_down(app: FastAPI) -> None:
    number = send(signed_in(app, "custodian"), "claims", hits_of(app, "west")).headers["location"].partition("?")[0]
    browser = signed_in(app, "auditor")
    assert "west is accused" in browser.get(number).text
    assert "west is accused" in browser.get(number).text
    report = browser.post(f"{number}/file")
    assert report.status_code == 200
    assert "attachment" in report.headers["content-disposition"]
    shown = [json.loads(one["body"])["details"]["act"] for one in entries(app) if one["event"] == "web.shown"]
    assert shown == ["read", "taken"]
    assert send(browser, "claims", ["a"]).status_code == 403


def test_a_trace_that_cannot_be_written_down_is_not_told(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.errors import StoreUnreachable

    rows, browser = hits_of(app, "west"), signed_in(app, "custodian")

    def fail(**_: object) -> None:
        raise StoreUnreachable("The disk is full.", remedy="Make room.")

    monkeypatch.setattr(app.state.site.ledger, "record", fail)
    answer = send(browser, "claims", rows)
    assert answer.status_code == 503
    assert "west" not in answer.text.partition("<main")[2]


def test_a_release_of_the_command_line_can_be_traced_here(app: FastAPI, tmp_path: Path) -> None:
    from discreet.releases.delivery.release import release
    from tests.releases.world import SETTINGS, town

    world = town(tmp_path)
    made = release(
        world.table,
        world.population,
        ["one", "two"],
        name="by hand",
        force=True,
        store=app.state.site.ledger,
        **SETTINGS,
    )
    made.write(tmp_path / "copies", format="csv")
    browser = signed_in(app, "custodian")
    page = browser.get("/releases/named/by%20hand").text
    assert "by hand" in page
    assert "Hand over" not in page
    leak = (tmp_path / "copies/one/data.csv").read_bytes()
    answer = browser.post("/releases/named/by%20hand/leak", files={"file": ("leak.csv", leak)})
    assert "one is accused" in browser.get(answer.headers["location"]).text
    assert browser.post("/releases/named/by%20hand/deliver", {"recipient": "one"}).status_code == 404
    assert browser.post("/releases/named/by%20hand/recipients", {"recipients": "three"}).status_code == 409
