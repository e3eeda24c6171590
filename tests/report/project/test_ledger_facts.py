"""What the ledger says was disclosed; nothing is told from one that was changed."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.demo.chapters import open_ledger
from discreet.demo.store_chapters import CLERK, RECIPIENTS
from discreet.demo.store_chapters import PROJECT as NAME
from discreet.errors import IntegrityError, StoreUnreachable, UsageError
from discreet.ledger import Ledger
from discreet.policy import Policy
from discreet.report.project import ProjectFile, Story
from discreet.report.project.ledger_facts import Disclosed, disclosed
from tests.report.project.world import asks


def read_again(file: Path, **changes: object) -> Disclosed:
    project = replace(ProjectFile.load(file), **changes)  # type: ignore[arg-type]
    return disclosed(project, str(project.store))


def test_copies_are_those_of_the_ledger(story: Story) -> None:
    assert story.disclosed is not None
    (release,) = story.disclosed.releases
    assert release.name == "spring"
    assert release.holders == RECIPIENTS
    assert all(copy.rows and copy.file and copy.time for copy in release.copies)
    assert len(release.traces) == 1
    assert (release.traces[0].kind, release.traces[0].source) == ("leak", "leak.csv")


def test_reviewers_are_told_with_their_limits(story: Story) -> None:
    assert story.disclosed is not None
    (project,) = story.disclosed.linkage
    (clerk,) = project.workers
    assert (project.project.name, clerk.worker, clerk.decided) == (NAME, CLERK, clerk.pairs)
    assert 0 < float(clerk.risk.used) < 0.12
    assert clerk.risk.limit is not None
    assert float(clerk.risk.limit) == 0.12


def test_users_are_listed_by_what_they_were_answered(story: Story) -> None:
    assert story.disclosed is not None
    told = {user.user: user for user in story.disclosed.users}
    assert [user.user for user in story.disclosed.users] == ["eve", "ann", "bob"]
    assert (told["eve"].rows, told["eve"].refused, told["eve"].limit) == (2, 1, 2.0)
    assert told["eve"].exposure == pytest.approx(2**0.5, abs=1e-6)
    assert told["ann"].exposure == 1.0
    assert (told["bob"].rows, told["bob"].answers, told["bob"].exposure) == (1, 1, 1.0), "also if the client has gone"
    assert not any(user.exceeded for user in told.values())


def test_a_user_whose_limit_was_lowered_is_above_it(mine: Path) -> None:
    policy = Policy.load(mine.parent / "policy.toml")
    with open_ledger(mine.parent / "store.db") as ledger:
        asyncio.run(asks(ledger, policy, "ann", ["7", "8", "9"], limit=1.5))
    found = read_again(mine)
    assert [user.user for user in found.users if user.exceeded] == ["ann"]


def test_what_a_watching_gateway_let_through_is_counted(mine: Path) -> None:
    subject = "database:clinic/user:mallory"
    with open_ledger(mine.parent / "store.db") as ledger:
        ledger.record(
            actor="mallory", event="gateway.answered", subject=subject, details={"reason": "x", "enforced": False}
        )
        ledger.record(actor="mallory", event="gateway.repeated", subject=subject, details={"results": 4})
    (mallory,) = [user for user in read_again(mine).users if user.user == "mallory"]
    assert (mallory.overlooked, mallory.repeated, mallory.refused, mallory.used) == (1, 4, 0, None)


@pytest.mark.parametrize("kind", ["releases", "linkage", "databases"])
def test_only_what_is_named_is_told_and_strangers_are_refused(whole: Path, kind: str) -> None:
    nothing = read_again(whole, **{kind: ()})
    assert not {"releases": nothing.releases, "linkage": nothing.linkage, "databases": nothing.users}[kind]
    with pytest.raises(UsageError, match="'nobody'"):
        read_again(whole, **{kind: ("nobody",)})


def test_a_store_that_is_not_there_or_empty_is_said_so(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match="no store"):
        read_again(whole, store=str(tmp_path / "none.db"))
    assert not (tmp_path / "none.db").exists()
    from discreet.store import Store

    Store.open(tmp_path / "new.db").close()
    with pytest.raises(UsageError, match="Nothing was ever written down"):
        read_again(whole, store=str(tmp_path / "new.db"))


CHANGES = (
    "UPDATE ledger_entry SET actor = 'eve' WHERE sequence = 3",
    "DELETE FROM ledger_entry WHERE sequence = 5",
    "UPDATE ledger_budget SET spent = 0 WHERE spent > 0",
    "UPDATE release_copy SET rows = rows - 1 WHERE recipient = 'west-clinic'",
    "UPDATE release_copy SET file = NULL WHERE recipient = 'west-clinic'",
    "DELETE FROM release_copy WHERE recipient = 'west-clinic'",
    "INSERT INTO release_copy SELECT release, version, 'friend', 9, 'delivered', file, rows, changed FROM release_copy LIMIT 1",
)


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_told_from_a_store_that_was_changed(mine: Path, change: str) -> None:
    with sqlite3.connect(mine.parent / "store.db") as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:  # whoever may write to the file may do this, too
            connection.execute(f"DROP TRIGGER {name}")
        assert connection.execute(change).rowcount > 0
    connection.close()
    with pytest.raises(IntegrityError) as caught:
        read_again(mine)
    assert caught.value.exit_code == 6
    assert "discreet ledger verify" in caught.value.remedy


def test_a_head_that_was_kept_is_continued_and_one_of_another_ledger_is_not(mine: Path, tmp_path: Path) -> None:
    project = ProjectFile.load(mine)
    with open_ledger(mine.parent / "store.db") as ledger:
        head = ledger.head()
        ledger.record(actor="ann", event="web.shown")
    found = disclosed(project, str(project.store), heads=[head])
    assert (found.ledger.heads, found.ledger.size) == (1, int(head["size"]) + 1)
    with Ledger.open(tmp_path / "other.db") as other, pytest.raises(IntegrityError):
        disclosed(project, str(project.store), heads=[other.head()])


def test_reading_needs_no_keys_and_writes_nothing(mine: Path) -> None:
    (mine.parent / "store.db.keys").unlink()
    before = read_again(mine).ledger.head
    assert read_again(mine).ledger.head == before
    assert not (mine.parent / "store.db.keys").exists()


def test_either_database_tells_the_same(store_url: str, whole: Path) -> None:
    with Ledger.open(store_url) as ledger:
        ledger.record(actor="gateway", event="gateway.started", subject="database:clinic", details={"mode": "shadow"})
        ledger.record(actor="ann", event="web.shown")
        subject, told = "database:clinic/user:ann", {"reason": "x", "enforced": False}
        ledger.refuse(actor="ann", event="gateway.answered", subject=subject)
        ledger.record(actor="ann", event="gateway.answered", subject=subject, details=told)
        head = ledger.head()
    found = disclosed(ProjectFile.load(whole), store_url, heads=[head])
    assert (found.releases, found.linkage) == ((), ())
    assert [(user.user, user.refused, user.overlooked) for user in found.users] == [("ann", 1, 1)]
    assert (found.ledger.size, found.ledger.refused) == (5, 1)
    assert found.ledger.events["gateway.answered"] == 2
    assert found.ledger.head == head
