"""A new signing key: old heads verify, running programs go on, and whatever stops it, nothing is lost."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from discreet.errors import IntegrityError, UsageError
from discreet.ledger import Keys, Ledger
from discreet.ledger import ledger as opening
from discreet.ledger.ledger import rotate_key
from discreet.ledger.merkle import MerkleTree
from discreet.ledger.verifier import canonical, verify_export
from discreet.store import Store
from discreet.store.tables.ledger import TREE
from tests.cli.test_ledger import run


def note(ledger: Ledger, subject: str) -> None:
    ledger.record(actor="ann", event="web.shown", subject=subject)


def test_old_heads_and_new_ones_verify_and_running_programs_go_on(store_url: str) -> None:
    with Ledger.open(store_url) as ledger, Ledger.open(store_url) as other:
        note(ledger, "a")
        heads = [ledger.head()]
        for turn in range(2):
            entry = rotate_key(ledger.store, actor="ann")
            assert entry.details["was"] == heads[-1]["key"]
            heads.append(ledger.head())
            note(other, f"b{turn}")
            note(ledger, f"c{turn}")
            assert ledger.keys.public == other.keys.public == entry.details["key"]
        assert len({head["key"] for head in heads}) == 3
        assert other.verify(heads=heads).holds
        assert verify_export(other.export(), heads=heads).holds
    with Ledger.open(store_url) as again:
        note(again, "d")
        assert again.verify(heads=heads).holds


def test_the_old_key_signs_nothing_any_more(store_url: str) -> None:
    """Neither a head after the rotation, nor with the tree put back to it."""
    with Ledger.open(store_url) as ledger:
        note(ledger, "a")
        old = ledger.keys
        rotate_key(ledger.store, actor="ann")
        note(ledger, "b")
        with ledger.store.reading() as connection:
            tree = MerkleTree.read(connection)
        tree.key = old.public
        forged = {**tree.head(), "signature": ""}
        forged["signature"] = old.sign(opening_part(forged))
        assert not ledger.verify(heads=[forged]).holds
        with ledger.store.writing() as connection:
            connection.execute(update(TREE).values(key=old.public, signature=forged["signature"]))
        with pytest.raises(IntegrityError):
            note(ledger, "c")
        assert not verify_export(ledger.export()).holds


def opening_part(head: dict[str, Any]) -> bytes:
    return canonical({name: value for name, value in head.items() if name != "signature"})


@pytest.mark.parametrize("change", ["key", "endorsed"])
def test_a_key_that_the_one_before_does_not_endorse_is_found(store_url: str, change: str) -> None:
    with Ledger.open(store_url) as ledger:
        note(ledger, "a")
        rotate_key(ledger.store, actor="ann")
        lines = list(ledger.export())
    entry = json.loads(lines[-2])
    entry["details"][change] = Keys.generate().public * (1 if change == "key" else 2)
    lines[-2] = canonical(entry) + b"\n"
    problems = verify_export(lines).problems
    assert any("did not endorse" in words for words in problems), problems


def killed_at(step: int, work: Any) -> bool:
    """Do it in a process that is killed before this step; False if it ended before."""
    child = os.fork()
    if child == 0:
        left = [step]

        def counted(real: Any) -> Any:
            def call(*args: Any, **options: Any) -> Any:
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*args, **options)

            return call

        try:
            os.fsync = counted(os.fsync)
            Path.replace = counted(Path.replace)  # type: ignore[method-assign, assignment]
            opening._append = counted(opening._append)
            MerkleTree.save = counted(MerkleTree.save)  # type: ignore[method-assign]
            Store.reading = counted(Store.reading)  # type: ignore[method-assign]
            work()
        except BaseException:
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, status
    return os.WIFSIGNALED(status)


def test_killed_at_every_step_the_ledger_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_KEYS", raising=False)
    address, step = str(tmp_path / "store.db"), 0
    with Ledger.open(address) as ledger:
        note(ledger, "a")
        heads = [ledger.head()]

    def work() -> None:
        with Store.open(address) as store:
            rotate_key(store, actor="ann")

    going = True
    while going:
        going = killed_at(step, work)
        with Ledger.open(address) as ledger:
            note(ledger, f"b{step}")
            heads.append(ledger.head())
            assert ledger.verify(heads=heads).holds
        step += 1
    assert step >= 6, "it was killed at many steps"
    assert len({head["key"] for head in heads}) >= 2
    assert Keys.load(tmp_path / "store.db.keys").following is None


def test_keys_from_the_environment_or_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_KEYS", raising=False)
    address, keys = str(tmp_path / "store.db"), Keys.generate()
    (tmp_path / "vault").write_text(keys.text())
    monkeypatch.setenv("DISCREET_KEYS_COMMAND", f"cat {tmp_path / 'vault'}")
    with Ledger.open(address) as ledger:
        note(ledger, "a")
        assert ledger.keys == keys
        head = ledger.head()
        with pytest.raises(UsageError, match="not in a file"):
            rotate_key(ledger.store, actor="ann")
    assert [path.name for path in tmp_path.iterdir() if "keys" in path.name] == []
    done = run("rotate-key", "--prepare", "--store", address, env={"DISCREET_KEYS_CONTENT": keys.text()})
    assert done.returncode == 0, done.stderr
    (tmp_path / "vault").write_text(done.stdout)
    done = run("rotate-key", "--store", address, env={"DISCREET_KEYS_COMMAND": f"cat {tmp_path / 'vault'}"})
    assert done.returncode == 0, done.stderr
    with Ledger.open(address) as ledger:
        note(ledger, "b")
        assert ledger.keys.public != keys.public
        assert ledger.verify(heads=[head]).holds
    monkeypatch.setenv("DISCREET_KEYS_CONTENT", keys.text())
    with pytest.raises(UsageError, match="given twice"):
        Ledger.open(address)
    monkeypatch.delenv("DISCREET_KEYS_CONTENT")
    for command, why in (("false", "exit code 1"), ("echo {}", "not a file of keys")):
        monkeypatch.setenv("DISCREET_KEYS_COMMAND", command)
        with pytest.raises(UsageError, match=why):
            Ledger.open(address)


def test_the_command_rotates(tmp_path: Path) -> None:
    address = tmp_path / "store.db"
    with Ledger.open(address) as ledger:
        note(ledger, "a")
    assert run("head", "--store", address, "--out", tmp_path / "old.json").returncode == 0
    done = run("rotate-key", "--store", address, "--as", "ann")
    assert done.returncode == 0, done.stderr
    assert "signs from entry 2 on" in done.stderr
    assert run("verify", "--store", address, "--head", tmp_path / "old.json").returncode == 0
    assert run("export", "--store", address, "--out", tmp_path / "all.jsonl").returncode == 0
    assert run("verify", tmp_path / "all.jsonl", "--head", tmp_path / "old.json").returncode == 0
