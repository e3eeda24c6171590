"""People are told once what waits for them, whatever process looks; heads go out; the ledger is verified by itself."""

from __future__ import annotations

import json
from datetime import time, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from discreet.ledger import Ledger
from discreet.operations.channels import Channel, channel_of
from discreet.web import Settings, create_app
from discreet.web.framework.settings import Operations
from discreet.web.operations.watch import MOST_TRIES, StoreWatch
from tests.operations.places import mail_server, web_hook
from tests.web.client import BOTH_STORES, CHEAP, ORIGIN, Clock, make_accounts, signed_in
from tests.web.test_four_eyes import decide, propose, propose_role


def told(app: FastAPI, channels: list[Channel], **more: Any) -> StoreWatch:
    """A watch over the store of an application, with a settings of its own."""
    site = app.state.site
    operations = Operations(notify=tuple(channels), **more)
    object.__setattr__(site.settings, "operations", operations)
    return StoreWatch(site)


@BOTH_STORES
def test_each_thing_is_told_once_over_two_processes(app: FastAPI, store_url: str, tmp_path: Path) -> None:
    make_accounts(app, "custodian2")
    clock = app.state.site.settings.clock
    other = create_app(Settings(store=store_url, data=tmp_path, origin=ORIGIN, clock=clock, hashing=CHEAP))
    try:
        with web_hook() as hook:
            watches = [told(one, [channel_of(hook.url)]) for one in (app, other)]
            number = propose(signed_in(app, "custodian"))
            path = propose_role(signed_in(app, "administrator"), "worker", "custodian")
            for _ in range(3):
                for watch in watches:
                    watch.look()
            assert sorted(message["kind"] for message in hook.messages) == ["limit", "role"]
            limit = next(message for message in hook.messages if message["kind"] == "limit")
            assert limit["text"].endswith(f"{ORIGIN}/gateway/limits/{number}")
            assert "eve" in limit["subject"]
            assert decide(signed_in(app, "custodian2"), number) == 303
            assert signed_in(app, "custodian2").post(f"{path}/reject", {"reason": "no"}).status_code == 303
            for watch in watches:
                watch.look()
            assert len(hook.came) == 2
        events = [entry.event for entry in app.state.site.ledger.entries(event="web.notified")]
        assert len(events) == 2
        assert app.state.site.ledger.verify().holds
    finally:
        other.state.site.close()


def test_refusals_are_told_by_the_hour_and_in_numbers(app: FastAPI) -> None:
    clock: Clock = app.state.site.settings.clock
    with web_hook() as hook:
        watch = told(app, [channel_of(hook.url)])
        watch.look()
        number = propose(signed_in(app, "custodian"))
        for _ in range(3):
            assert decide(signed_in(app, "custodian"), number) == 403
            clock.wait(minutes=2)
        watch.look()
        assert [message["kind"] for message in hook.messages] == ["limit"]
        clock.wait(hours=1)
        watch.look()
        watch.look()
        (refused,) = [message for message in hook.messages if message["kind"] == "refused"]
        assert refused["subject"] == "3 requests were refused between 09:00 and 10:00 UTC: 3 in web."


def test_the_ledger_is_verified_daily_and_a_fault_is_told(app: FastAPI) -> None:
    clock: Clock = app.state.site.settings.clock
    with web_hook() as hook:
        watch = told(app, [channel_of(hook.url)])
        watch.look()
        assert "intact" in signed_in(app, "auditor").get("/").text
        with app.state.site.store.writing() as connection:
            connection.exec_driver_sql("DROP TRIGGER IF EXISTS ledger_entry_no_update")
            connection.exec_driver_sql("UPDATE ledger_entry SET subject = 'x' WHERE sequence = 1")
        watch.look()
        assert hook.came == []
        clock.wait(days=1)
        watch.look()
        assert [message["kind"] for message in hook.messages] == ["faults"]
        assert "Disclose nothing more" in hook.messages[0]["text"]


def test_what_does_not_get_through_is_sent_again_and_then_left_to_the_digest(app: FastAPI) -> None:
    clock: Clock = app.state.site.settings.clock
    with web_hook(500, 500) as hook:
        watch = told(app, [channel_of(hook.url)])
        propose(signed_in(app, "custodian"))
        watch.look()
        for _ in range(20):
            clock.wait(seconds=60)
            watch.look()
        assert len(hook.came) == 3, "twice in vain, then it got through"
    with web_hook(*[500] * 50) as hook, mail_server() as mails:
        mail = channel_of("mailto:dpo@example.org", smtp=mails.url)
        watch = told(app, [channel_of(hook.url), mail], digest=time(12, 0))
        propose_role(signed_in(app, "administrator"), "worker", "custodian")
        for _ in range(40):
            clock.wait(minutes=2)
            watch.look()
        assert len(hook.came) == MOST_TRIES
        assert [mail["Subject"].strip() for mail in mails.came] == [
            "The role custodian for worker awaits approval, proposed by administrator."
        ]
        clock.wait(hours=2)
        watch.look()
        watch.look()
        assert len(mails.came) == 2
        digest = mails.came[-1].get_content()
        assert "A limit for eve in clinic awaits approval" in digest
        assert "The role custodian for worker awaits approval" in digest
        assert digest.rstrip().endswith(f"{ORIGIN}/")


def test_heads_go_out_only_if_something_was_written(app: FastAPI, tmp_path: Path) -> None:
    clock, ledger = app.state.site.settings.clock, app.state.site.ledger
    tmp_path.joinpath("heads").mkdir()
    watch = told(app, [], heads=(channel_of(str(tmp_path / "heads")),), heads_every=timedelta(hours=1))
    for _ in range(5):
        watch.look()
        clock.wait(hours=1)
    assert len(list((tmp_path / "heads").iterdir())) == 1
    ledger.record(actor="ann", event="web.shown", subject="x")
    watch.look()
    ledger.record(actor="ann", event="web.shown", subject="x")
    watch.look()
    heads = [json.loads(path.read_text()) for path in sorted((tmp_path / "heads").iterdir())]
    assert len(heads) == 2
    assert ledger.verify(heads=heads).holds
    with ledger.store.writing() as connection:
        connection.exec_driver_sql("UPDATE ledger_tree SET root = 'x'")
    assert not ledger.verify(heads=heads).holds


@pytest.mark.parametrize("word", ["J45", "Nilsson"])
def test_no_message_says_what_was_asked(app: FastAPI, word: str) -> None:
    """A reason that a person typed may hold anything, and is not sent anywhere."""
    with web_hook() as hook:
        watch = told(app, [channel_of(hook.url)], digest=time(0, 0))
        answer = signed_in(app, "custodian").post(
            "/gateway/limits",
            {"database": "clinic", "name": "eve", "limit": "2", "action": "deny", "until": "", "reason": word},
        )
        assert answer.status_code == 303
        watch.look()
        assert len(hook.came) == 2
        assert word not in str(hook.came)


def test_a_ledger_that_cannot_be_written_tells_nobody_twice(app: FastAPI, store_url: str) -> None:
    with web_hook() as hook:
        watch = told(app, [channel_of(hook.url)])
        propose(signed_in(app, "custodian"))
        watch.look()
        with Ledger.open(store_url, clock=app.state.site.settings.clock) as again:
            kinds = [entry.details["kind"] for entry in again.entries(event="web.notified")]
        told(app, [channel_of(hook.url)]).look()
        assert (kinds, len(hook.came)) == (["limit"], 1)
