"""Minutes of mixed clients at a gateway that enforces: python -m benchmarks.gateway_soak --minutes 10

psycopg (sync and async) and asyncpg ask for what is allowed, answered, refused and denied, cancel what they asked for, and vanish in
the middle of a result. At the end: no answer that should not have been, memory that does not grow, no descriptor and no session
left behind, the exposures in the store equal to a plain recomputation from the rows that the clients received, and a ledger
that verifies. Exit status 1 if any of that is not so.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import select
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.gateway_scoring import POLICY, governed, resident, server

RANGE = 1 << 27  # keys are numbered within ranges of this size
MANY = 3_000  # people that the soak asks about, so that everything is soon known and memory must stay as it is
USERS = ("analyst", "tight", "leaver")
TIGHT = '[[gateway.limits]]\nusers = ["tight"]\nlimit = 0.001\n'
SHOWN = "id, zip, born, sex"
ATTRIBUTES = ("diagnosis", "income")


@dataclass
class Notes:
    """What the clients saw, and what they should not have seen."""

    until: float
    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seen: dict[str, dict[str, set[int]]] = field(default_factory=lambda: {user: {} for user in USERS})
    asked: dict[str, dict[str, set[int]]] = field(default_factory=lambda: {user: {} for user in USERS})
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def on(self) -> bool:
        """Whether to go on."""
        return time.monotonic() < self.until

    def count(self, what: str) -> None:
        """One more answer of a kind."""
        with self.lock:
            self.answers[what] += 1

    def learned(
        self, where: dict[str, dict[str, set[int]]], user: str, names: Iterable[str], keys: Iterable[int]
    ) -> None:
        """Somebody has seen, or asked for, these attributes of these people."""
        listed = list(keys)
        with self.lock:
            for name in names:
                where[user].setdefault(name, set()).update(listed)

    def failed(self, who: str, problem: BaseException) -> None:
        """Something that should not have been."""
        with self.lock:
            self.wrong.append(
                f"{who}: {type(problem).__name__} {getattr(problem, 'sqlstate', '') or ''} {problem}"[:300]
            )


def question(chance: random.Random, *, most: int = 60) -> tuple[str, list[str], int, int]:
    """A text with two places for keys, the attributes that it shows, and the keys."""
    names = chance.choice([["diagnosis"], ["income"], ["diagnosis", "income"]])
    low = chance.randrange(1, MANY - most)
    return (
        f"SELECT {SHOWN}, {', '.join(names)} FROM people WHERE id BETWEEN {{}} AND {{}}",
        names,
        low,
        low + 1 + chance.randrange(most - 1),
    )


def plainly(notes: Notes, port: int, seed: int) -> None:
    """psycopg, one statement after the other, in both protocols."""
    import psycopg

    chance = random.Random(seed)
    while notes.on:
        with psycopg.connect(
            f"postgresql://analyst@127.0.0.1:{port}/postgres", autocommit=chance.random() < 0.5
        ) as connection:
            for _ in range(100):
                text, names, low, high = question(chance)
                rows = connection.execute(text.format("%s", "%s"), [low, high], binary=chance.random() < 0.5).fetchall()
                _expect(notes, rows, low, high)
                notes.learned(notes.seen, "analyst", names, (row[0] for row in rows))
                number = connection.execute("SELECT abalance FROM pgbench_accounts WHERE aid = 7").fetchone()
                _expect_equal(notes, number, (0,))
                _refused(notes, connection, "SELECT diagnosis INTO stolen FROM people")


def _refused(notes: Notes, connection: Any, text: str) -> None:
    import psycopg

    try:
        with connection.transaction():
            connection.execute(text)
        notes.failed("refusing", AssertionError("a statement ran that must not"))
    except psycopg.errors.InsufficientPrivilege:
        notes.count("refused or denied")


def _expect(notes: Notes, rows: Sequence[Any], low: int, high: int) -> None:
    notes.count("answered")
    if sorted(row[0] for row in rows) != list(range(low, high + 1)):
        notes.failed("rows", AssertionError(f"{len(rows)} rows came in place of {high - low + 1}"))


def _expect_equal(notes: Notes, found: Any, expected: Any) -> None:
    notes.count("allowed")
    if found != expected:
        notes.failed("answer", AssertionError("another answer than was expected"))


async def together(notes: Notes, port: int, seed: int) -> None:
    """psycopg, asynchronously, several statements in one pipeline, and a cursor of the server."""
    import psycopg

    chance = random.Random(seed)
    while notes.on:
        url = f"postgresql://analyst@127.0.0.1:{port}/postgres"
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            for _ in range(50):
                text, names, low, high = question(chance)
                async with connection.pipeline():
                    cursors = [await connection.execute(text.format("%s", "%s"), [low, high]) for _ in range(3)]
                for cursor in cursors:
                    rows = await cursor.fetchall()
                    _expect(notes, rows, low, high)
                    notes.learned(notes.seen, "analyst", names, (row[0] for row in rows))
                await asyncio.sleep(0.001)


async def prepared(notes: Notes, port: int, seed: int) -> None:
    """asyncpg: prepared statements, and cursors that fetch in parts."""
    import asyncpg

    chance = random.Random(seed)
    while notes.on:
        connection = await asyncpg.connect(f"postgresql://analyst@127.0.0.1:{port}/postgres")
        try:
            for _ in range(50):
                text, names, low, high = question(chance)
                rows = await connection.fetch(text.format("$1", "$2"), low, high)
                _expect(notes, rows, low, high)
                async with connection.transaction():
                    parts = [row async for row in connection.cursor(text.format("$1", "$2"), low, high, prefetch=17)]
                _expect(notes, parts, low, high)
                notes.learned(notes.seen, "analyst", names, (row[0] for row in [*rows, *parts]))
                _expect_equal(
                    notes, await connection.fetchval("SELECT abalance FROM pgbench_accounts WHERE aid = 7"), 0
                )
        finally:
            await connection.close()


def denied(notes: Notes, port: int, seed: int) -> None:
    """Whoever has a limit that every result exceeds is denied, and goes on in the same session and transaction."""
    import psycopg

    chance = random.Random(seed)
    while notes.on:
        with psycopg.connect(
            f"postgresql://tight@127.0.0.1:{port}/postgres", autocommit=chance.random() < 0.5
        ) as connection:
            for _ in range(20):
                text, _, low, high = question(chance)
                try:
                    connection.execute(
                        text.format(low, high) if chance.random() < 0.5 else text.format("%s", "%s") % (low, high)
                    )
                    notes.failed("denying", AssertionError("rows were given out above the limit"))
                except psycopg.errors.InsufficientPrivilege:
                    notes.count("refused or denied")
                _expect_equal(notes, connection.execute("SELECT 1").fetchone(), (1,))
                time.sleep(0.02)


def cancelled(notes: Notes, port: int, seed: int) -> None:
    """Somebody cancels what takes too long, and goes on."""
    import psycopg

    chance = random.Random(seed)
    while notes.on:
        with psycopg.connect(f"postgresql://analyst@127.0.0.1:{port}/postgres", autocommit=True) as connection:
            for _ in range(5):
                done = threading.Event()
                impatient = threading.Thread(target=_cancel_until, args=(notes, connection, done, chance.random()))
                impatient.start()
                try:
                    connection.execute(
                        "SELECT count(*) FROM pgbench_accounts a, pgbench_accounts b WHERE a.bid <> b.aid"
                    )
                    notes.failed("cancelling", AssertionError("it was not cancelled"))
                except psycopg.errors.QueryCanceled:
                    notes.count("cancelled")
                finally:
                    done.set()
                    impatient.join()
                _expect_equal(notes, connection.execute("SELECT 1").fetchone(), (1,))
                time.sleep(0.2)


def _cancel_until(notes: Notes, connection: Any, done: threading.Event, chance: float) -> None:
    """Cancel, and again if that came before the statement: then there was nothing to cancel yet."""
    time.sleep(0.05 + 0.1 * chance)
    again = False
    while not done.is_set():
        if again:
            notes.count("cancelled too early")
        connection.cancel()
        again = not done.wait(1)


def vanishing(notes: Notes, port: int, seed: int) -> None:
    """Somebody asks for much, takes a little of it, and is gone."""
    import psycopg

    chance = random.Random(seed)
    while notes.on:
        text, names, low, high = question(chance, most=2_000)
        connection = psycopg.connect(f"postgresql://leaver@127.0.0.1:{port}/postgres", autocommit=True)
        notes.learned(notes.asked, "leaver", names, range(low, high + 1))
        connection.pgconn.send_query(text.format(low, high).encode())
        connection.pgconn.flush()
        time.sleep(chance.choice([0, 0, 0.01, 0.05]))
        if chance.random() < 0.5 and select.select([connection.pgconn.socket], [], [], 5)[0]:
            os.read(connection.pgconn.socket, chance.choice([1, 100, 5_000]))
        connection.close()
        notes.count("vanished")
        time.sleep(0.05)


def guarded(notes: Notes, work: Callable[[], Any]) -> Callable[[], None]:
    """Whatever a client meets that it did not expect is written down."""

    def run() -> None:
        try:
            found = work()
            if asyncio.iscoroutine(found):
                asyncio.run(found)
        except Exception as problem:
            notes.failed(threading.current_thread().name, problem)

    return run


def clients(notes: Notes, port: int) -> list[threading.Thread]:
    """One of each kind, two of the usual."""
    kinds: list[Callable[[Notes, int, int], Any]] = [
        plainly,
        plainly,
        together,
        prepared,
        prepared,
        denied,
        cancelled,
        vanishing,
    ]
    return [
        threading.Thread(
            target=guarded(notes, lambda kind=kind, seed=seed: kind(notes, port, seed)), name=kind.__name__
        )  # type: ignore[misc]
        for seed, kind in enumerate(kinds)
    ]


def descriptors(pid: int) -> int:
    """How many files and sockets a process has open; not those of the store, of which connections are pooled."""
    found = [_opened(one) for one in Path(f"/proc/{pid}/fd").iterdir()]
    return sum(not re.search(r"\.db(-wal|-shm|-journal)?( \(deleted\))?$", name) for name in found)


def _opened(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except OSError:  # closed meanwhile
        return ""


def slope(samples: Sequence[tuple[float, float]]) -> float:
    """MiB per minute, by least squares."""
    import numpy as np

    if len(samples) < 2:
        return 0.0
    times, sizes = np.array(samples).T
    return float(np.polyfit(times / 60, sizes, 1)[0])


# What the store should say -------------------------------------------------------------------------------------------


def weight(name: str, value: str) -> float:
    """What a value weighs, by the policy, written out once more."""
    if name == "diagnosis":
        return {"diagnosis 7": 1.0, "diagnosis 8": 0.7}.get(value, 0.2)
    return 0.1 if int(value) <= 30_000 else 0.3 if int(value) <= 60_000 else 0.8


def plain_score(known: dict[str, set[int]], people: dict[int, dict[str, str]], crowds: dict[int, int]) -> float:
    """The largest M over the ensembles, one person after the other, at x = 2."""
    best = 0.0
    for names in (["diagnosis"], ["income"], ["diagnosis", "income"]):
        keys = set.intersection(*(known.get(name, set()) for name in names))
        scores = [min(1.0, sum(weight(name, people[key][name]) for name in names)) / crowds[key] for key in keys]
        best = max(best, len(keys) ** 0.5 * max(scores, default=0.0))
    return best


def source(url: str) -> tuple[dict[int, dict[str, str]], dict[int, int]]:
    """The people that were asked about, and how many look like each."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT id, diagnosis, income::text, count(*) OVER (PARTITION BY zip, born, sex) FROM people"
        ).fetchall()
    people = {row[0]: {"diagnosis": row[1], "income": row[2]} for row in rows}
    return people, {row[0]: row[3] for row in rows}


def stored(store: str) -> tuple[bool, dict[str, Any], int]:
    """Whether the ledger verifies, the exposures of all users, and how many entries there are."""
    from discreet.ledger import Ledger
    from discreet.misuse import Exposure
    from discreet.store import Exposures

    with Ledger.open(store) as ledger:
        kept = {user: Exposures(ledger.store).of(f"postgres/{user}") for user in USERS}
        found = {user: None if its is None else Exposure.from_bytes(its.content) for user, its in kept.items()}
        return ledger.verify().holds, found, sum(1 for _ in ledger.entries())


def keys_of(exposure: Any, name: str) -> dict[int, float]:
    """The people of whom an attribute is known, and what is known weighs."""
    levels = {} if exposure is None else exposure.knowledge.weights.get(f"public.people.{name}", {})
    return {int(entity) % RANGE: level for level, members in levels.items() for entity in members}


def compare(notes: Notes, exposures: dict[str, Any], url: str) -> list[str]:
    """In which the store differs from a plain recomputation."""
    people, crowds = source(url)
    found = []
    for user in USERS:
        for name in ATTRIBUTES:
            keys, seen = keys_of(exposures[user], name), notes.seen[user].get(name, set())
            most = seen | notes.asked[user].get(name, set())
            if not seen <= set(keys) <= most:
                found.append(f"{user}: {name} of {len(keys)} people stored, {len(seen)} seen")
            if any(abs(level - weight(name, people[key][name])) > 1e-9 for key, level in keys.items()):
                found.append(f"{user}: {name} is stored with another weight")
        known = {name: set(keys_of(exposures[user], name)) for name in ATTRIBUTES}
        expected, value = plain_score(known, people, crowds), exposures[user].value if exposures[user] else 0.0
        print(f"exposure of {user:8} {value:10.6f}, recomputed {expected:10.6f}")
        if abs(expected - value) > 1e-6 * max(1.0, expected):
            found.append(f"{user}: the exposure is {value}, recomputed {expected}")
    return found


# The run --------------------------------------------------------------------------------------------------------------


def soak(seconds: float, folder: Path, url: str) -> list[str]:
    """Let clients ask for so long; gives what was not as it should be."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for user in USERS[1:]:
            connection.execute(f"CREATE ROLE {user} LOGIN")
            connection.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {user}")
    store = str(folder / "governed.db")
    with governed(folder, url, policy=POLICY + TIGHT) as (port, pid):
        before = settled(port, pid)
        notes = Notes(time.monotonic() + seconds)
        samples = watch(clients(notes, port), notes, pid)
        after = settled(port, pid)
        left = sessions_left(url)
        os.kill(pid, signal.SIGTERM)
        while Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.1)
        said = (folder / "governed.log").read_text(encoding="utf-8")
    verified, exposures, entries = stored(store)
    half = [sample for sample in samples if sample[0] > seconds / 2]
    growth = slope(half)
    print(
        f"memory {samples[0][1]:.0f} MiB at first, {samples[-1][1]:.0f} at the end; slope of the second half {growth:+.3f} MiB/min"
    )
    print(
        f"descriptors {before} before, {after} after; sessions left at the server {left}; {entries} entries in the ledger"
    )
    wrong = notes.wrong + compare(notes, exposures, url)
    wrong += [f"the gateway said: {line}" for line in said.splitlines() if re.search(r"failed|Traceback|Error", line)]
    wrong += [] if verified else ["the ledger does not verify"]
    wrong += [f"{after - before} descriptors are left"] if after > before + 2 else []
    wrong += [f"{left} sessions are left at the server"] if left else []
    wrong += [f"memory grows by {growth:.2f} MiB a minute"] if seconds >= 300 and growth > 1.0 else []
    return wrong


def settled(port: int, pid: int) -> int:
    """Descriptors of a gateway to which nobody is connected any more."""
    import psycopg

    with psycopg.connect(f"postgresql://analyst@127.0.0.1:{port}/postgres", autocommit=True) as connection:
        connection.execute("SELECT abalance FROM pgbench_accounts WHERE aid = 7")
    time.sleep(1)
    return descriptors(pid)


def sessions_left(url: str) -> int:
    """Sessions of the users that the server still has."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE usename = ANY(%s)", [list(USERS)]
        ).fetchone()
    assert row is not None
    return int(row[0])


def watch(threads: list[threading.Thread], notes: Notes, pid: int) -> list[tuple[float, float]]:
    """Memory now and then, while the clients ask."""
    begin = time.monotonic()
    for one in threads:
        one.start()
    samples, told = [], begin
    while notes.on:
        time.sleep(1)
        samples.append((time.monotonic() - begin, resident(pid)))
        if time.monotonic() - told >= 30:
            told = time.monotonic()
            print(
                f"{told - begin:5.0f} s {samples[-1][1]:6.0f} MiB {descriptors(pid):4} descriptors  {dict(notes.answers)}",
                flush=True,
            )
    for one in threads:
        one.join(60)
    print(f"{sum(notes.answers.values())} answers: {dict(notes.answers)}")
    return samples


def main(words: Sequence[str] | None = None) -> int:
    """The soak; 1 if something was not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    chosen = parser.parse_args(words)
    with ExitStack() as stack:
        keys = stack.enter_context(tempfile.TemporaryDirectory())
        os.environ["DISCREET_KEYS"] = str(Path(keys) / "keys")
        folder, url = server(stack)
        wrong = soak(chosen.minutes * 60, folder, url)
    for one in wrong[:20]:
        print(f"WRONG  {one}")
    print("everything as it should be" if not wrong else f"{len(wrong)} things were not as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
