"""The class histogram of 13 million people by four columns, from Parquet: python -m benchmarks.counting

Peers in the same run: a bare scan of the same columns, DuckDB's own GROUP BY, polars, pandas.
Bar: no more CPU than the best of those three, peak memory at most 400 MB; stretch: three times the bare scan.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import DATA, Cost, alone, best_of, report, show

BY = ("zip", "sex", "birth_year", "race")
PEOPLE = DATA / "state-one.parquet"


def bare_scan(path: str) -> int:
    """Decode every value of the four columns and nothing else."""
    import duckdb

    sums = ", ".join(f"SUM(LENGTH({name}))" for name in BY if name != "birth_year")
    return int(duckdb.sql(f"SELECT {sums}, SUM(birth_year) FROM '{path}'").fetchall()[0][-1])


def discreet_default(path: str) -> int:
    """As a user with the `fast` extra gets it."""
    import discreet

    return len(discreet.count(discreet.read(path), by=BY))


def discreet_lean(path: str) -> int:
    """As a user without pyarrow gets it."""
    import discreet
    from discreet.sources.files import parquet

    parquet.arrow_installed = lambda: False
    return len(discreet.count(discreet.read(path), by=BY))


def duckdb_group_by(path: str) -> int:
    """GROUP BY, fetched as numpy arrays."""
    import duckdb

    return len(duckdb.sql(f"SELECT {', '.join(BY)}, COUNT(*) AS n FROM '{path}' GROUP BY ALL").fetchnumpy()["n"])


def duckdb_group_by_arrow(path: str) -> int:
    """GROUP BY, fetched as Arrow."""
    import duckdb

    return int(
        duckdb.sql(f"SELECT {', '.join(BY)}, COUNT(*) AS n FROM '{path}' GROUP BY ALL").to_arrow_table().num_rows
    )


def polars_group_by(path: str) -> int:
    """Lazy scan, group_by, len."""
    import polars

    return polars.scan_parquet(path).group_by(BY).len().collect().height


def pandas_group_by(path: str) -> int:
    """read_parquet, groupby, size."""
    import pandas

    return len(pandas.read_parquet(path, columns=list(BY)).groupby(list(BY), observed=True).size())


CANDIDATES: dict[str, Callable[[str], int]] = {
    "bare scan": bare_scan,
    "discreet.count": discreet_default,
    "discreet.count without pyarrow": discreet_lean,
    "DuckDB GROUP BY to numpy": duckdb_group_by,
    "DuckDB GROUP BY to Arrow": duckdb_group_by_arrow,
    "polars group_by": polars_group_by,
    "pandas groupby": pandas_group_by,
}
PEERS = ("DuckDB GROUP BY to numpy", "DuckDB GROUP BY to Arrow", "polars group_by", "pandas groupby")


def people() -> Path:
    """The generated state, made once."""
    if not PEOPLE.exists():
        from discreet.people import State, generate

        DATA.mkdir(exist_ok=True)
        generate(State.one(), seed=1, columns=BY).write(PEOPLE)
    return PEOPLE


def main() -> None:
    """Run every candidate in a process of its own and print the ratios."""
    path = str(people())
    rows = [(name, alone("benchmarks.counting", name, path)) for name in CANDIDATES]
    show(rows, base="bare scan")
    costs = dict(rows)
    _verdict(costs)


def _verdict(costs: dict[str, Cost]) -> None:
    best = min(PEERS, key=lambda name: costs[name].cpu)
    ours = costs["discreet.count"]
    print(
        f"\n{ours.answer:,} classes. CPU against the best peer ({best}): {ours.cpu / costs[best].cpu:.2f}x (bar: 1.00x)"
    )
    print(f"without pyarrow: {costs['discreet.count without pyarrow'].cpu / costs[best].cpu:.2f}x")
    print(f"against the bare scan: {ours.cpu / costs['bare scan'].cpu:.2f}x (stretch: 3.00x)")
    print(
        f"peak memory: {ours.peak_mb:.0f} MB, without pyarrow {costs['discreet.count without pyarrow'].peak_mb:.0f} MB (bar: 400 MB)"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        report(best_of(lambda: CANDIDATES[sys.argv[1]](sys.argv[2]), times=3))
    else:
        main()
