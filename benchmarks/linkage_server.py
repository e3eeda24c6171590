"""200 reviewers before one web server: python -m benchmarks.linkage_server [seconds]

A server in a process of its own on loopback, on SQLite, with a project of 100,000 generated people. Every reviewer has a
session and pairs of her own and a budget that does not last; she opens cells as the page's script does (a form, a fragment
back, durable before it is sent) and thinks 4 s on average in between. Target: p99 of a reveal 100 ms, no errors, and every
budget exactly what its cells cost; the pairs of some reviewers are also held against a Display, which knows no store.

Beside it in the same run and from the same people: the same page asked for without opening anything (look), and, as the
floor, a page that reads nothing but the session (about).
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.linkage_crowd import LIMIT, PAIRS, REVIEWERS, THINKS, pairs_of, project, wrong_budgets

SECONDS = 40.0
TARGET = 100.0
COMPARED = 3
"""Reviewers whose pairs are held against a Display: it counts by brute force."""
ATTRIBUTES = 6


@dataclass
class Heard:
    """What the reviewers met."""

    reveals: list[float] = field(default_factory=list)
    looks: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)
    refused: int = 0
    errors: list[str] = field(default_factory=list)


def quantile(waits: list[float], share: float) -> float:
    """Milliseconds."""
    return 1000 * sorted(waits)[min(len(waits) - 1, int(share * len(waits)))]


class Reviewer:
    """One browser: asks for a page, then opens cell after cell."""

    def __init__(self, client: Any, token: str, at: str, pairs: list[int], heard: Heard, seed: int) -> None:
        self.client, self.at, self.pairs, self.heard = client, at, pairs, heard
        self.headers = {"Cookie": f"__Host-discreet={token}", "Sec-Fetch-Site": "same-origin"}
        self.rng = random.Random(seed)

    async def work(self, until: float) -> None:
        await asyncio.sleep(self.rng.random() * THINKS)
        while time.monotonic() < until:
            pair = self.rng.choice(self.pairs)
            text = await self._look(pair)
            await asyncio.sleep(self.rng.expovariate(1 / THINKS))
            await self._timed(self.heard.floor, "GET", "/about")
            for _ in range(4):
                await asyncio.sleep(self.rng.expovariate(1 / THINKS))
                if text is None or time.monotonic() > until:
                    break
                text = await self._open(pair, text)

    async def _look(self, pair: int) -> str | None:
        return await self._timed(self.heard.looks, "GET", f"{self.at}/pairs/{pair}")

    async def _open(self, pair: int, text: str) -> str | None:
        cells = re.findall(r'<button name="cell" value="(\d+)"', text)
        if not cells:
            return None
        names = {name: re.findall(rf'name="{name}" value="(\w+)"', text)[0] for name in ("key", "seen")}
        form = {**names, "cell": self.rng.choice(cells), "live": "1"}
        return await self._timed(self.heard.reveals, "POST", f"{self.at}/pairs/{pair}/reveal", data=form)

    async def _timed(self, waits: list[float], method: str, path: str, **more: Any) -> str | None:
        start = time.perf_counter()
        try:
            answer = await self.client.request(method, path, headers=self.headers, **more)
        except Exception as error:
            self.heard.errors.append(type(error).__name__)
            return None
        waits.append(time.perf_counter() - start)
        if answer.status_code == 403:
            self.heard.refused += 1
        elif answer.status_code != 200:
            self.heard.errors.append(str(answer.status_code))
            return None
        text: str = answer.text
        return text


async def crowd(origin: str, tokens: list[str], made: Any, pairs: list[list[int]], seconds: float) -> Heard:
    """All reviewers at once."""
    import httpx

    heard = Heard()
    limits = httpx.Limits(max_connections=REVIEWERS, max_keepalive_connections=REVIEWERS)
    async with httpx.AsyncClient(base_url=origin, limits=limits, timeout=30, trust_env=False) as client:
        until = time.monotonic() + seconds
        at = f"/linkage/{made.id}"
        people = [Reviewer(client, *one, heard, seed) for seed, one in enumerate(zip(tokens, [at] * len(tokens), pairs, strict=True))]  # fmt: skip
        await asyncio.gather(*(one.work(until) for one in people))
    return heard


def sessions(store: Path, data: Path) -> list[str]:
    """An account and a session for everybody."""
    from discreet.web import Settings, create_app
    from discreet.web.accounts import accounts, credentials

    app = create_app(Settings(store=str(store), data=data))
    site = app.state.site
    with site.store.writing() as connection:
        numbers = [
            accounts.add(connection, name=f"reviewer {number}", role="worker", now=site.stamp(), password="none")  # noqa: S106 - a hash that no password has
            for number in range(REVIEWERS)
        ]
        tokens = [credentials.begin_session(connection, site, number, proven="none") or "" for number in numbers]
    site.close()
    return tokens


def serve(store: str, data: str) -> None:
    """The server's own process: says where it listens, and serves until it is ended."""
    from discreet.web import Settings, create_app
    from discreet.web.framework import app as framework_app

    ear = framework_app.listen("127.0.0.1", 0)
    origin = f"http://127.0.0.1:{ear.getsockname()[1]}"
    app = create_app(Settings(store=store, data=Path(data), origin=origin))
    framework_app.serve(app, ear, ready=lambda: print(origin, flush=True))


def differing(ledger: Any, made: Any, workers: list[str]) -> int:
    """Reviewers whose spent budget is further from the score of a Display than rounding explains."""
    from sqlalchemy import select

    from discreet.linkage import Display, ProjectFolder
    from discreet.linkage.review.assignments import open_pairs, records_of
    from discreet.store.tables.linkage import CELL

    home = ProjectFolder.open(made.folder)
    columns = home.identifying()
    people = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    wrong, meter = 0, made.meter(PAIRS)
    for worker in workers:
        with ledger.store.reading() as connection:
            rows = open_pairs(connection, made, worker)
            records = records_of(connection, made)
            cells = {row.id: connection.execute(select(CELL).where(CELL.c.assignment == row.id)).all() for row in rows}
        display = Display(
            people, kinds=dict(made.kinds), pairs=[records[row.pair] for row in rows], swaps=[home.spec.swap or ()]
        )
        for place, row in enumerate(rows):
            for cell in sorted(cells[row.id], key=lambda one: one.mode, reverse=True):
                if display.next_mode(place, cell.attribute) is not None:
                    display = display.open(place, cell.attribute, cell.mode)
        spent = meter.spent(ledger.budget(made.budget(worker)).spent)
        wrong += not Fraction(0) <= spent - display.score <= meter.slack or display.score > Fraction(LIMIT)
    return wrong


def main() -> None:
    """Set up, let them work, print."""
    words = [word for word in sys.argv[1:] if word.replace(".", "", 1).isdigit()]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DISCREET_KEYS"] = f"{folder}/keys"
        measure(Path(folder), float(words[0]) if words else SECONDS)


def measure(folder: Path, seconds: float) -> None:
    """One server, one crowd."""
    from discreet.ledger import Ledger
    from discreet.linkage.review import reveal

    store, data = folder / "store.db", folder / "data"
    tokens = sessions(store, data)
    workers = [f"reviewer {number}" for number in range(REVIEWERS)]
    with Ledger.open(store) as ledger:
        made = project(ledger, folder)
        reveal.prepare(made)
        pairs = [pairs_of(ledger, made, worker) for worker in workers]
    command = [sys.executable, "-m", "benchmarks.linkage_server", "--serve", str(store), str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            origin = server.stdout.readline().strip()
            heard = asyncio.run(crowd(origin, tokens, made, pairs, seconds))
        finally:
            server.terminate()
    with Ledger.open(store) as ledger:
        tell(heard, wrong_budgets(ledger, made, workers), differing(ledger, made, workers[:COMPARED]), ledger, seconds)


def tell(heard: Heard, wrong: int, differ: int, ledger: Any, seconds: float) -> None:
    """The figures."""
    for name, waits in (("reveal", heard.reveals), ("look", heard.looks), ("floor", heard.floor)):
        print(
            f"{name:8}{len(waits):7,} answers {len(waits) / seconds:6.0f}/s  p50 {quantile(waits, 0.5):6.1f} ms  "
            f"p99 {quantile(waits, 0.99):6.1f} ms  worst {quantile(waits, 1):6.1f} ms"
        )
    ratios = [quantile(heard.reveals, 0.5) / quantile(waits, 0.5) for waits in (heard.looks, heard.floor)]
    met = "met" if quantile(heard.reveals, 0.99) <= TARGET else "missed"
    print(f"a reveal takes {ratios[0]:.2f} times as long as a look, {ratios[1]:.2f} times the floor (p50)")
    print(f"target p99 {TARGET:.0f} ms: {met}")
    print(
        f"refused {heard.refused}  errors {len(heard.errors)} {sorted(set(heard.errors))}  wrong budgets {wrong}  "
        f"unlike a Display {differ} of {COMPARED}  ledger holds: {ledger.verify().holds}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], sys.argv[3])
    else:
        main()
