"""Scoring a result of 100,000 rows by 10 columns against a source of a million: python -m benchmarks.misuse

CPU time is compared, so that nobody gains by using more cores. Beside the best of DuckDB and polars joining the same columns with the same counts and adding the same weights, in the
same run. Bars: 20 ms CPU for look-up and scoring of decoded columns, 10 microseconds for one row after preparation,
10 ms CPU for learning about 100,000 entities.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.measure import Cost, best_of, show
from discreet.kernel import Classes, Coded, Histogram
from discreet.misuse import Exposure, Prepared, Sensitivity, prepare, score

PEOPLE, ROWS = 1_000_000, 100_000
SHAPES = ((20, 20, 10, 2), (20_000, 400, 422, 2))
"""Distinct values of the four quasi-identifiers: many people look alike, or nearly everybody is unique."""
LEVELS = ("Gold", "Silver", "Bronze", "White")
QUASI = ("zip", "year", "job", "sex")
SENSITIVE = ("account", "illness", "bill", "debt")
OTHER = ("note", "shop")
BINS = [[100.0, 0.1], [250.0, 0.2], [400.0, 0.3], [700.0, 0.5]]
F = Sensitivity.from_dict(
    {
        "account": {"values": dict(zip(LEVELS, (0.4, 0.3, 0.2, 0.1), strict=True))},
        "illness": {"values": dict(zip(LEVELS, (0.5, 0.3, 0.1, 0.0), strict=True))},
        "bill": {"bins": BINS, "otherwise": 1.0},
        "debt": {"bins": BINS, "otherwise": 0.6},
    }
)
Columns = dict[str, Any]


def people(sizes: Sequence[int], seed: int = 1) -> Columns:
    """A million people: two quasi-identifiers are numbers, two are texts; two sensitive columns of each kind."""
    rng = np.random.default_rng(seed)
    columns: Columns = {name: rng.integers(0, size, PEOPLE) for name, size in zip(QUASI, sizes, strict=True)}
    columns |= {name: rng.integers(0, len(LEVELS), PEOPLE) for name in (*SENSITIVE[:2], *OTHER)}
    return columns | {name: np.round(rng.gamma(2.0, 150.0, PEOPLE), 2) for name in SENSITIVE[2:]}


def decoded(columns: Columns, rows: Any = slice(None)) -> Columns:
    """The columns as a gateway decodes them: numbers as arrays, texts as codes into a dictionary."""
    texts = {"job": lambda size: [f"job {code}" for code in range(size)], "sex": lambda size: ["F", "M", "X"][:size]}
    found: Columns = {}
    for name, cells in columns.items():
        if name in texts:
            found[name] = Coded(tuple(texts[name](int(cells.max()) + 1)), cells[rows])
        elif name in (*SENSITIVE[:2], *OTHER):
            found[name] = Coded(LEVELS, cells[rows])
        else:
            found[name] = cells[rows]
    return found


def prepared(columns: Columns) -> Prepared:
    """The source counted by its quasi-identifiers, as an engine hands it over."""
    coded = {
        name: cells if isinstance(cells, Coded) else Coded(tuple(map(str, range(int(cells.max()) + 1))), cells)
        for name, cells in decoded({name: columns[name] for name in QUASI}).items()
    }
    return prepare(Classes.from_histogram(Histogram(coded, np.ones(PEOPLE, dtype=np.int64))), QUASI)


def plain(columns: Columns, rows: Any = slice(None)) -> Columns:
    """The same for peers, with codes instead of texts: they join and add up numbers only."""
    return {name: cells[rows] for name, cells in columns.items()}


def duckdb_peer(source: Columns, result: Columns) -> Callable[[], float]:
    """A hash join with the counts, and the weights as CASE expressions."""
    import duckdb

    connection = duckdb.connect(config={"threads": 1})
    connection.register("handed", {name: source[name] for name in QUASI})
    by = ", ".join(QUASI)
    connection.execute(f"CREATE TABLE counted AS SELECT {by}, count(*) AS d FROM handed GROUP BY {by}")
    connection.register("result_view", result)
    connection.execute("CREATE TABLE result AS SELECT * FROM result_view")
    on = " AND ".join(f"r.{name} = s.{name}" for name in QUASI)
    total = " + ".join(_case(name) for name in SENSITIVE)
    sql = (
        f"SELECT sqrt(count(*)) * max(least(1.0, {total}) / coalesce(s.d, 1)) FROM result r LEFT JOIN counted s ON {on}"
    )
    return lambda: float(connection.execute(sql).fetchone()[0])


def _case(name: str) -> str:
    weights = F.weights[name]
    if weights.bounds:
        steps = " ".join(
            f"WHEN {name} <= {bound} THEN {weight}"
            for bound, weight in zip(weights.bounds, weights.weights, strict=True)
        )
    else:
        steps = " ".join(f"WHEN {name} = {code} THEN {weights(level)}" for code, level in enumerate(LEVELS))
    return f"CASE {steps} ELSE {weights.otherwise} END"


def polars_peer(source: Columns, result: Columns) -> Callable[[], float]:
    """A join with the counts, and the weights as chains of when/then."""
    import polars

    counted = polars.DataFrame({name: source[name] for name in QUASI}).group_by(QUASI).len("d")
    frame = polars.DataFrame(result)
    total: Any = sum(_chain(polars, name) for name in SENSITIVE)
    alike = polars.col("d").fill_null(1)

    def run() -> float:
        joined = frame.lazy().join(counted.lazy(), on=QUASI, how="left")
        worst = joined.select((polars.min_horizontal(polars.lit(1.0), total) / alike).max()).collect()
        return float(ROWS**0.5 * worst.item())

    return run


def _chain(polars: Any, name: str) -> Any:
    weights, column = F.weights[name], polars.col(name)
    chain: Any = polars
    if weights.bounds:
        for bound, weight in zip(weights.bounds, weights.weights, strict=True):
            chain = chain.when(column <= bound).then(weight)
    else:
        for code, level in enumerate(LEVELS):
            chain = chain.when(column == code).then(weights(level))
    return chain.otherwise(weights.otherwise)


def scoring(sizes: Sequence[int]) -> None:
    """A large result against a source with few or with many classes."""
    source = people(sizes)
    rows = np.random.default_rng(2).choice(PEOPLE, ROWS, replace=False)
    prepared_source, result = prepared(source), decoded(source, rows)
    ours = best_of(lambda: score(result, source=prepared_source, sensitivity=F).value, times=9)
    costs: list[tuple[str, Cost]] = [("discreet.score", ours)]
    for name, peer in (("DuckDB join", duckdb_peer), ("polars join", polars_peer)):
        cost = best_of(peer(plain(source), plain(source, rows)), times=5)
        assert abs(float(str(cost.answer)) - float(str(ours.answer))) < 1e-9, (name, cost.answer, ours.answer)
        costs.append((name, cost))
    print(f"{ROWS:,} rows x {len(source)} columns, {PEOPLE:,} people in {len(prepared_source.counted):,} classes")
    show(costs, base="discreet.score")
    best = min(cost.cpu for _, cost in costs[1:])
    print(f"{ours.cpu * 1000:.1f} ms CPU (bar: 20), {ours.cpu / best:.2f} of the best join\n")
    one_row(source, prepared_source)


def one_row(source: Columns, prepared_source: Prepared) -> None:
    """A result of one row, as a dictionary."""
    row = {
        name: cells.values[cells.codes[0]] if isinstance(cells, Coded) else cells[0].item()
        for name, cells in decoded(source, slice(1)).items()
    }
    times = 20_000

    def many() -> None:
        for _ in range(times):
            score([row], source=prepared_source, sensitivity=F)

    cost = best_of(many, times=5)
    print(f"one row of {len(row)} columns: {cost.cpu / times * 1e6:.1f} us CPU (bar: 10)\n")


def merging() -> None:
    """What a user knows, after one more result about 100,000 entities by five attributes."""
    tables = {f"a{place}": {"values": {f"v{level}": level / 5 for level in range(6)}} for place in range(5)}
    f, rng = Sensitivity.from_dict(tables), np.random.default_rng(3)
    dictionary = tuple(f"v{level}" for level in range(6))
    values = {name: Coded(dictionary, rng.integers(0, 6, ROWS)) for name in tables}
    entities = np.arange(ROWS)
    empty = Exposure(sensitivity=f, bucket=86_400)
    first = empty.after(entities=entities, values=values, at=0)
    some = {name: values[name] for name in ("a0", "a1")}
    jobs: dict[str, Callable[[], object]] = {
        "the first result": lambda: empty.after(entities=entities, values=values, at=0).value,
        "the same again": lambda: first.after(entities=entities, values=values, at=1).value,
        "half new, all attributes": lambda: first.after(entities=entities + ROWS // 2, values=values, at=1).value,
        "half new, two attributes": lambda: first.after(entities=entities + ROWS // 2, values=some, at=1).value,
    }
    rows = [(name, best_of(job, times=9)) for name, job in jobs.items()]
    print(f"learning about {ROWS:,} entities (bar: 10 ms CPU)")
    show(rows, base="the first result")
    one = {"a0": ["v5"], "a1": ["v3"]}
    times = 1000

    def single() -> None:
        for place in range(times):
            _ = first.after(entities=[place * 7], values=one, at=1).value

    print(f"one entity more, {ROWS:,} known: {best_of(single, times=3).cpu / times * 1e6:.0f} us CPU")
    print(f"stored: {len(first.to_bytes()):,} bytes for {len(tables)} attributes x {ROWS:,} entities\n")


def main() -> None:
    """Everything, or the parts named on the command line."""
    for sizes in SHAPES:
        scoring(sizes)
    merging()


if __name__ == "__main__":
    merging() if sys.argv[1:] == ["merging"] else main()
