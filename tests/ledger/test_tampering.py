"""Whatever is done to an export or to the stored rows, somebody who kept an earlier head sees it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Table, delete, insert, select, text, update
from sqlalchemy.exc import DBAPIError

from discreet.errors import IntegrityError
from discreet.ledger import Ledger, Request, verifier
from discreet.ledger.entry import row_of
from discreet.ledger.queries import check_store
from discreet.ledger.verifier import canonical, leaf_hash, verify_export
from discreet.store.tables import metadata
from discreet.store.tables.ledger import BUDGET, ENTRY, NODE, RESERVATION, TREE
from tests.ledger.conftest import Clock

WHO = {"actor": "ann", "event": "gateway.answered"}
LEDGER = [table for table in metadata.sorted_tables if table.name.startswith("ledger_")]


@pytest.fixture
def heads() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def busy(ledger: Ledger, clock: Clock, heads: list[dict[str, Any]]) -> Ledger:
    """A ledger of twelve entries of every kind; a head was kept after the sixth."""
    ledger.set_budget("ann", limit=10, actor="custodian")
    ledger.spend("ann", 3, key="a", subject="statement:1", risk_after="1/3", **WHO)
    held = ledger.reserve("ann", 3, key="b", **WHO)
    ledger.settle(held, 2)
    ledger.spend("ann", 9, key="c", **WHO)
    heads.append(ledger.head())
    clock.turn(seconds=1)
    ledger.set_budget("bob", limit=5, parts=3, actor="custodian")
    ledger.reserve("bob", 1, key="d", **WHO)
    ledger.reserve("bob", 1, key="e", **WHO)
    ledger.spend("ann", 2, key="f", **WHO)
    ledger.refuse(key="g", **WHO)
    ledger.record(key="h", **WHO)
    return ledger


def export(ledger: Ledger) -> list[bytes]:
    return list(ledger.export())


# -- the export -------------------------------------------------------------------------------------------------------


@pytest.fixture
def lines(busy: Ledger) -> list[bytes]:
    return export(busy)


def found(lines: list[bytes], heads: list[dict[str, Any]]) -> bool:
    return not verify_export(lines, heads=heads).holds


def as_file(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def test_the_untouched_export_holds(lines: list[bytes], heads: list[dict[str, Any]]) -> None:
    verdict = verify_export(lines, heads=heads)
    assert (verdict.problems, verdict.size, verdict.heads) == ((), 12, 1)
    assert verify_export(lines).holds


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_every_changed_byte_is_found(lines: list[bytes], heads: list[dict[str, Any]]) -> None:
    data = b"".join(lines)
    for place in range(len(data)):
        other = b"x" if data[place : place + 1] != b"x" else b"y"
        assert found(as_file(data[:place] + other + data[place + 1 :]), heads), place


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_every_deleted_byte_and_every_truncation_is_found(lines: list[bytes], heads: list[dict[str, Any]]) -> None:
    data = b"".join(lines)
    for place in range(len(data)):
        assert found(as_file(data[:place]), heads), place
        if place % 7 == 0:
            assert found(as_file(data[:place] + data[place + 1 :]), heads), place


def test_every_deleted_swapped_doubled_or_inserted_line_is_found(
    lines: list[bytes], heads: list[dict[str, Any]]
) -> None:
    for one in range(len(lines)):
        assert found(lines[:one] + lines[one + 1 :], heads)
        assert found(lines[:one], heads)
        assert found([*lines[:one], b"\n", *lines[one:]], heads)
        for other in range(len(lines)):
            assert found([*lines[:other], lines[one], *lines[other:]], heads)
            if one < other:
                swapped = [*lines]
                swapped[one], swapped[other] = swapped[other], swapped[one]
                assert found(swapped, heads)
    assert found([*lines, lines[-1]], heads)
    assert found([*lines, b"\n"], heads)


def forge(lines: list[bytes], number: int, change: Callable[[dict[str, Any]], None]) -> list[bytes]:
    """Change an entry and mend the chain after it, as somebody would who knows how the ledger is made."""
    forged, previous = lines[:number], ""
    for place, line in enumerate(lines[number:-1], start=number):
        body = json.loads(line)
        if place == number:
            change(body)
        else:
            body["previous"] = previous
        forged.append(canonical(body) + b"\n")
        previous = leaf_hash(canonical(body)).hex()
    return [*forged, lines[-1]]


def root_of(lines: list[bytes]) -> str:
    tree = verifier.Frontier()
    for line in lines:
        tree.append(leaf_hash(line.removesuffix(b"\n")))
    return tree.root().hex()


@pytest.mark.parametrize("number", range(12))
def test_a_mended_chain_is_found_by_the_head_at_the_end(
    lines: list[bytes], heads: list[dict[str, Any]], number: int
) -> None:
    forged = forge(lines, number, lambda body: body.update(actor="eve"))
    assert found(forged, [])
    assert found(forged, heads)


@pytest.mark.parametrize("number", range(12))
def test_even_with_the_key_only_what_came_after_the_kept_head_can_be_changed(
    busy: Ledger, lines: list[bytes], heads: list[dict[str, Any]], number: int
) -> None:
    """The limit of the promise: an owner of the key can rewrite what no head outside his reach has seen."""
    forged = forge(lines, number, lambda body: body.update(actor="eve"))
    head = {**busy.head(), "root": root_of(forged[:-1])}
    head["signature"] = busy.keys.sign(verifier.signed_part(head))
    forged[-1] = canonical(head) + b"\n"
    assert not found(forged, [])
    assert found(forged, heads) == (number < heads[0]["size"])


def test_an_older_head_at_the_end_is_a_truncation_that_a_newer_head_finds(
    busy: Ledger, lines: list[bytes], heads: list[dict[str, Any]]
) -> None:
    older = [*lines[: heads[0]["size"]], canonical(heads[0]) + b"\n"]
    assert not found(older, heads)
    assert found(older, [busy.head()])


def test_a_head_of_another_ledger_or_key_does_not_fit(busy: Ledger, lines: list[bytes], tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "other.db") as other:  # with the same keys: DISCREET_KEYS
        assert other.keys.public == busy.keys.public
        problems = verify_export(lines, heads=[other.head()]).problems
    assert any("another ledger" in words for words in problems)


def test_problems_name_entries_and_never_what_they_say(lines: list[bytes], heads: list[dict[str, Any]]) -> None:
    forged = forge(lines, 3, lambda body: body.update(actor="Zaphod", subject="Zaphod"))
    problems = " ".join(verify_export(forged, heads=heads).problems)
    assert "entries" in problems
    assert "Zaphod" not in problems


def test_the_verifier_is_one_file_that_runs_on_its_own(
    lines: list[bytes], heads: list[dict[str, Any]], tmp_path: Path
) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(Path(verifier.__file__), alone / "verifier.py")
    (alone / "export").write_bytes(b"".join(lines))
    (alone / "head").write_text(json.dumps(heads[0]))
    (alone / "cut").write_bytes(b"".join([*lines[:3], *lines[4:]]))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        bare = "import sys; sys.modules['discreet'] = None; import runpy; runpy.run_path('verifier.py', run_name='__main__')"
        command = [sys.executable, "-c", bare, *words]
        return subprocess.run(command, cwd=alone, capture_output=True, text=True, check=False)

    held = run("export", "head")
    assert (held.returncode, held.stderr) == (0, "")
    assert "12 entries" in held.stdout
    broken = run("cut", "head")
    assert broken.returncode == 6
    assert "NOT what was written" in broken.stdout
    assert run("nowhere").returncode == run("export", "export").returncode == run().returncode == 2


# -- the stored rows --------------------------------------------------------------------------------------------------


class Undo(Exception):
    """Ends a transaction that was only a try."""


def tampered(ledger: Ledger, heads: list[dict[str, Any]], change: Callable[[Connection], object]) -> bool:
    """Is a change of stored rows found? It is undone again."""
    verdicts = []
    try:
        with ledger.store.writing() as connection:
            _without_rules(connection)
            change(connection)
            verdicts.append(check_store(connection, heads=heads))
            raise Undo
    except Undo:
        return not verdicts[0].holds


def _without_rules(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.execute(text("PRAGMA defer_foreign_keys = ON"))
        connection.execute(text("DROP TRIGGER ledger_entry_no_update"))
        connection.execute(text("DROP TRIGGER ledger_entry_no_delete"))
    else:
        connection.execute(text("SET LOCAL session_replication_role = replica"))


def others(value: Any) -> Iterator[Any]:
    """Values that could stand there instead."""
    if value is None:
        yield 1
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    else:
        yield from (f"{value}x", value[:-1], value.replace("a", "b", 1).replace("0", "1", 1))


def where(table: Table, row: Any) -> Any:
    key = [column == row._mapping[column.name] for column in table.primary_key]
    return key[0] if len(key) == 1 else key[0] & key[1]


@pytest.mark.parametrize("table", LEDGER, ids=lambda table: table.name)
def test_every_changed_deleted_or_added_row_is_found(busy: Ledger, heads: list[dict[str, Any]], table: Table) -> None:
    if table is NODE:
        for future in [busy.submit(Request.of(**WHO, key=f"n{number}")) for number in range(300)]:
            future.result()
    with busy.store.reading() as connection:
        rows = connection.execute(select(table)).all()
    assert rows
    tried = 0
    for row in rows[-12:]:
        assert tampered(
            busy, heads, lambda connection, row=row: connection.execute(delete(table).where(where(table, row)))
        )
        for name, value in row._mapping.items():
            for other in others(value):
                if other == value:
                    continue
                change = update(table).where(where(table, row)).values({name: other})
                try:
                    assert tampered(busy, heads, lambda connection, change=change: connection.execute(change)), (
                        name,
                        other,
                    )
                    tried += 1
                except (DBAPIError, IntegrityError):  # a rule of the tables forbids it already
                    continue
    assert tried >= len(rows[-12:]) * 3
    extra = {**rows[-1]._mapping, **{column.name: _new(rows[-1]._mapping[column.name]) for column in table.primary_key}}
    extra |= {"key": "new"} if table is ENTRY else {}
    if table is not TREE:
        assert tampered(busy, heads, lambda connection: connection.execute(insert(table), [extra]))
    assert busy.verify(heads=heads).holds


def _new(value: Any) -> Any:
    return value + 1000 if isinstance(value, int) else f"{value} more"


def test_swapped_bodies_and_moved_entries_are_found(busy: Ledger, heads: list[dict[str, Any]]) -> None:
    with busy.store.reading() as connection:
        rows = [dict(row._mapping) for row in connection.execute(select(ENTRY).order_by(ENTRY.c.sequence))]

    def swap(connection: Connection, one: int, other: int) -> None:
        for at in (one, other):
            connection.execute(delete(ENTRY).where(ENTRY.c.sequence == at))
        connection.execute(insert(ENTRY), [rows[one] | {"sequence": other}, rows[other] | {"sequence": one}])

    for one in range(len(rows)):
        for other in range(one):
            assert tampered(busy, heads, lambda connection, one=one, other=other: swap(connection, one, other))


@pytest.mark.parametrize("kept", range(12))
def test_a_cut_tail_is_found_even_if_the_tree_is_cut_with_it(
    busy: Ledger, heads: list[dict[str, Any]], kept: int
) -> None:
    def cut(connection: Connection) -> None:
        connection.execute(delete(ENTRY).where(ENTRY.c.sequence >= kept))

    def cut_with_tree(connection: Connection) -> None:
        """The tree of the first entries, but nobody can sign it without the key."""
        lines = export(busy)[:kept]
        tree = verifier.Frontier()
        for line in lines:
            tree.append(leaf_hash(line.removesuffix(b"\n")))
        peaks = "".join(peak.hex() for peak in tree.peaks)
        cut(connection)
        connection.execute(update(TREE).values(size=kept, root=tree.root().hex(), peaks=peaks))

    assert tampered(busy, heads, cut)
    assert tampered(busy, heads, cut_with_tree)


def test_money_given_back_in_the_budget_alone_is_found(busy: Ledger, heads: list[dict[str, Any]]) -> None:
    assert tampered(busy, heads, lambda connection: connection.execute(update(BUDGET).values(spent=0)))
    assert tampered(busy, heads, lambda connection: connection.execute(update(RESERVATION).values(closed=1)))
    assert tampered(
        busy, [], lambda connection: connection.execute(update(BUDGET).values(allowed=BUDGET.c.allowed * 2))
    )


@pytest.mark.parametrize(
    "change",
    [{"peaks": "0" * 128}, {"size": 11}, {"last": "0" * 64}, {"time": "2026"}, {"key": "0" * 64}, {"signature": ""}],
    ids=str,
)
def test_nothing_is_built_on_a_tree_that_was_changed(busy: Ledger, store_url: str, change: dict[str, Any]) -> None:
    """A new head over a changed tree would cover up for the change, so there is none."""
    with busy.store.writing() as connection:
        connection.execute(update(TREE).values(change))
    with pytest.raises(IntegrityError):
        busy.record(key="later", **WHO)
    with pytest.raises(IntegrityError), Ledger.open(store_url) as restarted:
        restarted.record(key="later", **WHO)


@pytest.mark.parametrize("forged", ["changed", "slipped in"])
def test_a_row_that_was_changed_or_slipped_in_grants_nothing(busy: Ledger, forged: str) -> None:
    """Who asks with the key of a refusal gets that refusal, whatever somebody wrote into its row."""
    (refused,) = [entry for entry in busy.entries(outcome="refused") if entry.budget is not None]
    grant = replace(refused, outcome="done", sequence=12 if forged == "slipped in" else refused.sequence)
    row = row_of(grant, grant.body(), grant.leaf)
    with busy.store.writing() as connection:
        _without_rules(connection)
        connection.execute(delete(ENTRY).where(ENTRY.c.sequence == refused.sequence))
        connection.execute(insert(ENTRY), [row])
    with pytest.raises(IntegrityError):
        busy.spend("ann", 9, key="c", **WHO)
    with pytest.raises(IntegrityError):
        busy.receipt(actor="ann", key="c")


def test_nothing_is_built_on_an_older_state_that_was_put_back(busy: Ledger) -> None:
    with busy.store.reading() as connection:
        before = dict(connection.execute(select(TREE)).one()._mapping)
    busy.record(key="newest", **WHO)
    with busy.store.writing() as connection:
        _without_rules(connection)
        connection.execute(delete(ENTRY).where(ENTRY.c.key == "newest"))
        connection.execute(update(TREE).values(before))
    with pytest.raises(IntegrityError, match="behind"):
        busy.record(key="later", **WHO)
