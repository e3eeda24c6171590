"""/metrics, /healthz and /readyz of the web application apart from its pages, and the log of requests."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families

from discreet.web.operations.figures import gauges
from tests.web.client import BOTH_STORES, Browser, signed_in
from tests.web.running import discreet_serve
from tests.web.test_four_eyes import decide, propose


@BOTH_STORES
def test_gauges_are_what_the_store_holds(app: FastAPI) -> None:
    site, clock = app.state.site, app.state.site.settings.clock
    custodian = signed_in(app, "custodian")
    assert decide(custodian, propose(custodian)) == 403
    assert signed_in(app, "auditor").post("/ledger/verify", {"head": ""}).status_code == 303
    clock.wait(minutes=5)
    found = gauges(site)
    assert found["ledger_entries"] == site.ledger.head()["size"]
    assert (found["ledger_verify_age_seconds"], found["ledger_faults"]) == (300, 0)
    assert (found["refusals_day"], found['waiting{kind="limit"}'], found['waiting{kind="role"}']) == (1, 1, 0)
    assert found["sessions"] == 2
    clock.wait(days=2)
    assert gauges(site)["refusals_day"] == 0


def test_a_server_answers_on_its_monitoring_port_only_and_logs_json(tmp_path: Path) -> None:
    options = ("--store", str(tmp_path / "store.db"), "--data", str(tmp_path / "data"))
    options += ("--monitoring", "127.0.0.1:0", "--log", str(tmp_path / "log"))
    secret = "a-one-time-secret-in-a-path"
    with discreet_serve(*options) as server:
        origin = server.origin
        monitoring = "http://" + server.wait_for(r"Monitoring answers on (\S+)")
        with httpx.Client() as client:
            assert client.get(f"{monitoring}/healthz").text == "ok\n"
            assert client.get(f"{monitoring}/readyz").text == "ready\n"
            assert client.get(f"{origin}/metrics").status_code == 404
            given = client.get(f"{origin}/welcome/{secret}", headers={"X-Request-Id": "from-the-proxy"})
            assert given.headers["X-Request-Id"] == "from-the-proxy"
            made = client.get(f"{origin}/about", headers={"X-Request-Id": "no\tplain word"}).headers["X-Request-Id"]
            assert len(made) == 16
            text = client.get(f"{monitoring}/metrics").text
    families = {family.name: family for family in text_string_to_metric_families(text)}
    routes = {sample.labels["route"]: sample.value for sample in families["discreet_web_requests"].samples}
    assert routes["/welcome/{secret}"] == routes["/about"] == 1
    assert families["discreet_web_store_readable"].samples[0].value == 1
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    requests = {line["request"]: line for line in lines if line["event"] == "request"}
    assert requests["from-the-proxy"]["route"] == "/welcome/{secret}"
    assert requests[made]["status"] == 200
    assert 0 <= requests[made]["seconds"] < 60
    assert secret not in (tmp_path / "log").read_text()


def test_a_store_that_cannot_be_read_is_not_ready(tmp_path: Path) -> None:
    options = ("--store", str(tmp_path / "store.db"), "--data", str(tmp_path / "data"), "--monitoring", "127.0.0.1:0")
    with discreet_serve(*options) as server, httpx.Client() as client:
        monitoring = "http://" + server.wait_for(r"Monitoring answers on (\S+)")
        assert client.get(f"{monitoring}/readyz").status_code == 200
        for path in tmp_path.glob("store.db*"):
            if not path.name.endswith("keys"):
                path.write_bytes(b"nonsense" * 4096)
        end = time.monotonic() + 20
        while (answer := client.get(f"{monitoring}/readyz")).status_code == 200 and time.monotonic() < end:
            time.sleep(0.05)
        assert (answer.status_code, answer.text) == (503, "the store cannot be read\n")
        assert client.get(f"{monitoring}/healthz").status_code == 200
        assert "discreet_web_store_readable 0" in client.get(f"{monitoring}/metrics").text


def test_the_log_names_users_and_objects_and_no_value(app: FastAPI, tmp_path: Path, browser: Browser) -> None:
    from discreet.operations.event_log import EventLog
    from discreet.web.framework.request_events import LOGGED

    site = app.state.site
    site.events.log = EventLog(tmp_path / "log", named=LOGGED)
    custodian = signed_in(app, "custodian")
    custodian.get("/datasets/12345")
    custodian.get("/ledger?subject=a-value-of-a-person")
    browser.post("/sign-in", {"name": "custodian", "password": "a wrong password"})
    site.events.log.close()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    (dataset,) = [line for line in lines if line["route"] == "/datasets/{number}"]
    assert (dataset["object"], dataset["user"], dataset["status"]) == ("12345", "custodian", 404)
    text = (tmp_path / "log").read_text()
    assert "a-value-of-a-person" not in text
    assert "wrong" not in text
