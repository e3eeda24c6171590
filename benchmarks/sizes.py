"""Large and wide tables, looked at for the first time: python -m benchmarks sizes

A table of 5 million rows and 7 columns is profiled and a policy drafted for it; the floor is reading the same file once
into a table of DuckDB. Bars: 3 times the CPU of that, 600 MB; 300 columns of 3,000 rows in 3 CPU seconds.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from benchmarks.measure import DATA, alone, best_of, report, show

ROWS, COLUMNS = 5_000_000, 302
BIG, WIDE = DATA / "sizes_big.csv", DATA / "sizes_wide.csv"


def make() -> None:
    """Both files, where they are not there yet."""
    import duckdb

    DATA.mkdir(exist_ok=True)
    if not BIG.exists():
        duckdb.sql(f"""
            COPY (SELECT 1000000 + (i * 7919) % {3 * ROWS} AS record_number,
                CASE WHEN hash(i) % 2 = 0 THEN 'F' ELSE 'M' END AS sex,
                DATE '1930-01-01' + CAST(hash(i * 3) % 30000 AS INTEGER) AS birth_date,
                printf('%05d', CAST(hash(i * 5) % 9000 AS INTEGER) + 10000) AS postcode,
                'occupation ' || CAST(hash(i * 7) % 400 AS VARCHAR) AS occupation,
                CAST(hash(i * 11) % 9000000 AS DOUBLE) / 100 AS income,
                chr(65 + CAST(hash(i * 13) % 20 AS INTEGER)) || printf('%02d', CAST(hash(i * 17) % 90 AS INTEGER)) AS diagnosis
            FROM range({ROWS}) AS numbers(i)) TO '{BIG}' (HEADER)""")
    if not WIDE.exists():
        chance = random.Random(1)
        values = [chance.choice([2, 5, 10, 100, 3000]) for _ in range(COLUMNS)]
        rows = [",".join(f"v{place}" for place in range(COLUMNS))]
        rows += [",".join(str(chance.randrange(most)) for most in values) for _ in range(3_000)]
        WIDE.write_text("\n".join(rows) + "\n", encoding="utf-8")


def read_once(path: Path) -> None:
    """Every cell into a table of DuckDB, all as text."""
    import duckdb

    duckdb.connect(config={"preserve_insertion_order": "false"}).execute(
        f"CREATE TEMP TABLE whole AS SELECT * FROM read_csv('{path}', all_varchar = true)"
    )


def drafted(path: Path) -> None:
    """What `discreet policy init` does."""
    import discreet
    from discreet.policy import write_draft

    write_draft(discreet.profile(discreet.read(path), largest=1).drafts())


def profiled(path: Path) -> None:
    """What `discreet profile` does."""
    import discreet

    discreet.profile(discreet.read(path))


def main() -> None:
    """Each in a process of its own, the start of Python not counted."""
    make()
    jobs = {
        "DuckDB reads the file once": ("read", BIG),
        "policy init, 5 M rows": ("draft", BIG),
        "profile, 5 M rows": ("profile", BIG),
        "profile, 302 columns": ("profile", WIDE),
    }
    rows = [(name, alone("benchmarks.sizes", job, str(path))) for name, (job, path) in jobs.items()]
    show(rows, base="DuckDB reads the file once")
    costs = dict(rows)
    floor = costs["DuckDB reads the file once"].cpu
    for name in ("policy init, 5 M rows", "profile, 5 M rows"):
        cost = costs[name]
        print(f"{name}: {cost.cpu / floor:.1f} times reading once (bar 3), {cost.peak_mb:.0f} MB (bar 600)")
    print(f"profile, 302 columns: {costs['profile, 302 columns'].cpu:.2f} CPU s (bar 3)")


if __name__ == "__main__":
    match sys.argv[1:]:
        case [job, path]:
            work = {"read": read_once, "draft": drafted, "profile": profiled}[job]
            report(best_of(lambda: work(Path(path)), times=3))
        case _:
            main()
