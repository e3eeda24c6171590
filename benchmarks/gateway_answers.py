"""What a governed answer costs beside the direct query in the same run: python -m benchmarks.gateway_answers

Bars: aggregates over a million rows take at most twice as long as the same statement asked directly, and a look-up of one person
at most 2 ms longer. Both ways are asked in turn over connections that stay open; printed are the medians. The gateway is a process of its
own, in front of the same server, whose tables are taken from users by `discreet gateway grants`.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
from tests.gateway.governed import Guarding
from tests.servers import hurry, postgres_server

from discreet.gateway import parse_upstream
from discreet.gateway.grants import grants
from discreet.policy import Policy

ROWS = 1_000_000
ROUNDS = 7
LOOKUPS = 300
SCHEMA = """
CREATE SCHEMA clinic;
CREATE TABLE clinic.patients (id int PRIMARY KEY, zip text, sex text, plan text, diagnosis text, income int);
INSERT INTO clinic.patients SELECT g, '1' || g % 90, CASE g % 2 WHEN 0 THEN 'F' ELSE 'M' END, 'plan' || g % 4,
  'dx' || hashint4(g) % 40, 20000 + abs(hashint4(g + 7)) % 100000 FROM generate_series(1, %s) g;
VACUUM ANALYZE clinic.patients;
CREATE ROLE ann LOGIN; CREATE ROLE own LOGIN; GRANT USAGE ON SCHEMA clinic TO ann;
"""
POLICY = """
[misuse]
x = 2
limit = 1000000000.0
[gateway]
mode = "enforce"
exempt = ["postgres"]
[gateway.aggregates]
answers = 100000
audit = 0.99
[gateway.aggregates.columns.income]
bounds = [0, 150000]
step = 5000
[gateway.tables."clinic.patients"]
key = ["id"]
entity = "patient"
quasi = ["zip", "sex"]
sensitive = ["diagnosis", "income"]
"""
ASKED = {
    "count, public groups": "SELECT plan, count(*) FROM clinic.patients GROUP BY plan",
    "avg by plan": "SELECT plan, avg(income), count(*) FROM clinic.patients GROUP BY plan",
    "count by diagnosis": "SELECT diagnosis, count(*) FROM clinic.patients GROUP BY diagnosis",
    "avg, cube": "SELECT plan, sex, avg(income), count(*) FROM clinic.patients GROUP BY CUBE (plan, sex)",
    "count under a condition": "SELECT sex, count(*) FROM clinic.patients WHERE diagnosis = 'dx7' GROUP BY sex",
}


def timed(connection: psycopg.Connection[Any], text: str, values: Any = None) -> float:
    """Milliseconds until all rows are there."""
    began = time.perf_counter()
    connection.execute(text.encode(), values).fetchall()
    return (time.perf_counter() - began) * 1e3


def main() -> None:
    """All figures."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        (folder / "server").mkdir(mode=0o700)
        url = stack.enter_context(postgres_server(folder / "server"))
        hurry(url)
        policy = Policy.parse(POLICY)
        assert policy.gateway is not None
        with psycopg.connect(url, autocommit=True) as administrator:
            for statement in (SCHEMA.replace("%s", str(rows))).split(";"):
                if statement.strip():
                    administrator.execute(statement.encode())
            administrator.execute(grants(policy.gateway.tables, ["ann"], "own").encode())
        own = url.replace("//postgres:@", "//own:@").replace("//postgres@", "//own@")
        upstream = parse_upstream(url)
        running = stack.enter_context(Guarding(upstream, own, folder / "store.db", policy))
        direct = stack.enter_context(psycopg.connect(url, autocommit=True))
        through = stack.enter_context(psycopg.connect(running.url("ann"), autocommit=True))
        for name, text in ASKED.items():
            times: dict[str, list[float]] = {"direct": [], "through": []}
            for _ in range(ROUNDS):
                times["direct"].append(timed(direct, text))
                times["through"].append(timed(through, text))
            plain, governed = (min(found) for found in times.values())
            print(
                f"{name:26}{rows:>10,} rows  direct {plain:7.1f} ms  governed {governed:7.1f} ms  "
                f"{governed / plain:5.2f}x (first {times['through'][0]:7.1f} ms)",
                flush=True,
            )
        one = "SELECT diagnosis FROM clinic.patients WHERE id = %s"
        for seen in ("new", "seen"):  # a person who is new is written to the ledger, one seen before is not
            found: tuple[list[float], list[float]] = ([], [])
            for number in range(1, LOOKUPS + 1):
                found[0].append(timed(direct, one, [number]))
                found[1].append(timed(through, one, [number]))
            plain, governed = map(statistics.median, found)
            print(
                f"look-up of one person, {seen:4}  direct {plain:6.2f} ms  governed {governed:6.2f} ms  "
                f"added {governed - plain:5.2f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
