"""The share of the work done: it never falls, ends at one, and is unknown where nothing is counted."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import EmptySource
from discreet.sources.duckdb_scratch import PrivateDesk, connect
from discreet.sources.engine import WorkDone

SHARES = st.lists(st.none() | st.floats(0, 1), max_size=4)


@given(st.lists(SHARES, min_size=1, max_size=6), st.floats(1, 5))
def test_the_share_never_falls(steps: list[list[float | None]], first: float) -> None:
    work, seen = WorkDone(), [0.0]
    for statements in work.each(steps, len(steps), first=first):
        for statement in statements:
            share = work.share(statement)
            assert share is not None
            seen.append(share)
    assert seen == sorted(seen)
    assert seen[-1] <= 1.0
    assert work.share(None) is None


def test_the_columns_of_a_profile_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("sex,age,town\n" + "F,30,here\nM,40,there\n" * 50, encoding="utf-8")
    table = discreet.read(path)
    seen = [table.progress() for _ in table.tallies(table.columns)]
    assert seen == pytest.approx([0.0, 2.5 / 4.5, 3.5 / 4.5])
    assert table.progress() is None


def test_nothing_is_under_way_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "nobody.csv"
    path.write_text("sex,age\n", encoding="utf-8")
    table = discreet.read(path, policy={"columns": {"sex": {"role": "quasi"}, "age": {"role": "sensitive"}}})
    with pytest.raises(EmptySource):
        table.classes(sensitive=["age"])
    assert table.progress() is None


def test_duckdb_says_how_far_a_statement_is() -> None:
    connection = connect()
    desk = PrivateDesk.on(connection, "SELECT i FROM range(5_000_000) AS numbers(i)", "numbers")
    assert desk.progress() is None
    worker = threading.Thread(target=desk.run, args=["SELECT COUNT(*) FROM source GROUP BY hash(i) % 100_000"])
    worker.start()
    seen: set[float | None] = set()
    while worker.is_alive():
        seen.add(desk.progress())
        time.sleep(0.01)
    worker.join()
    shares = [share for share in seen if share is not None]
    assert shares
    assert 0 <= min(shares) <= max(shares) <= 1
    connection.close()
    assert desk.progress() is None


def test_control_c_in_a_statement_is_no_bug() -> None:
    desk = PrivateDesk.on(connect(), "SELECT i FROM range(20_000_000) AS numbers(i)", "numbers")
    timer = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT])
    # A process that was started in the background ignores the signal, and so would this one.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            desk.run("SELECT COUNT(*) FROM (SELECT DISTINCT hash(i) FROM source)")
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
