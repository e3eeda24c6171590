"""What every step costs on a Spark cluster by the number of rows: python -m benchmarks.scale [ROWS ...] [only-counts]

So many generated people in a table, and half as many again in a register, lie as Parquet in a temporary folder. A standalone
cluster of two workers on loopback walks the whole way, then DuckDB in one process does, which is the peer. Printed for each
step: CPU seconds of all processes and how many of them are the driver's, what DuckDB takes, the ratio, the bytes that came
to the driver, the most memory that the driver held, and classes; then a line through the sizes: a constant, and so much per
row. Sizes are 30,000 and 1,000,000 unless given; beyond a million rows fewer copies are written, and counted one by one.
`only-counts` leaves out the release, its copies and the linkage, which take longest; what a release alone costs without Spark
is measured by `benchmarks.releases_scale`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.scale_steps import OTHERS, QUASI, Taken
from discreet.people import State, generate, write_extracts

SIZES = (30_000, 1_000_000)
CROWD = 1.5
"""People in the register per person in the table."""
COPIES, COPIED_ROWS = 20, 20_000_000
"""Copies of a release; and how many rows all copies of one size may have together, beyond one copy."""
LINKED, MOST_LINKED = 0.01, 50_000
"""People to link per row of the table, and at most."""
ROWS_PER_PARTITION = 250_000
BYTES_PER_ROW = 60
"""Of the table, the register and, twice each, what is made of them."""
BILLION = 1_000_000_000


def main(sizes: Sequence[int] = SIZES, *, only_counts: bool = False) -> None:
    """Measure every size on both ways and print."""
    spark: list[list[Taken]] = []
    duckdb: list[list[Taken]] = []
    for rows in sizes:
        with tempfile.TemporaryDirectory(prefix="discreet-scale-") as folder:
            _refuse_full(Path(folder), rows)
            make(Path(folder), rows, linked=not only_counts)
            copies = 0 if only_counts else copies_of(rows)
            spark.append(walked("spark", Path(folder), rows, copies))
            duckdb.append(walked("duckdb", Path(folder), rows, copies))
        show(rows, spark[-1], duckdb[-1])
        if len(spark) > 1:
            extrapolate(sizes[: len(spark)], spark)


def _refuse_full(folder: Path, rows: int) -> None:
    wanted = rows * BYTES_PER_ROW * copies_of(rows)
    if shutil.disk_usage(folder).free < 2 * wanted:
        raise SystemExit(f"{rows:,} rows may take {wanted / 1e9:.0f} GB in {folder}, and half of the space stays free.")


def copies_of(rows: int) -> int:
    """How many copies of a table of so many rows are written.

    >>> copies_of(1_000_000), copies_of(50_000_000)
    (20, 1)
    """
    return max(1, min(COPIES, COPIED_ROWS // rows))


def make(folder: Path, rows: int, *, linked: bool) -> None:
    """Write the generated people."""
    everybody = generate(State.of(round(CROWD * rows)), seed=1, columns=(*QUASI, *OTHERS))
    everybody.select(*QUASI).write(folder / "register.parquet")
    everybody.sample(rows, seed=2).write(folder / "people.parquet")
    records = _make_extracts(folder / "to-link", min(MOST_LINKED, round(LINKED * rows))) if linked else 0
    sizes = {"people": rows, "register": round(CROWD * rows), "linked": records}
    (folder / "sizes.json").write_text(json.dumps(sizes), encoding="ascii")


def _make_extracts(home: Path, people: int) -> int:
    """Records to link as Parquet, and a model that DuckDB has trained on them."""
    import duckdb

    from discreet.linkage import LinkageSpec, start_project, train

    files = write_extracts(home, people=people, seed=1)
    project = start_project(home / "project", files.first, files.second, spec=LinkageSpec.load(files.link))
    train(project).save(home / "model.json")
    with duckdb.connect() as own:
        for name in ("first", "second"):
            source = f"read_csv('{home}/{name}.csv', all_varchar = true)"
            own.execute(f"COPY (SELECT * FROM {source}) TO '{home}/{name}.parquet' (FORMAT parquet)")
    return project.records


def walked(way: str, folder: Path, rows: int, copies: int) -> list[Taken]:
    """What every step took, in a process of its own."""
    print(f"{rows:,} rows on {way}", file=sys.stderr, flush=True)
    words = [way, str(folder), str(copies), str(max(8, rows // ROWS_PER_PARTITION))]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale_steps", *words], stdout=subprocess.PIPE, text=True, check=True
    )
    return [Taken(**told) for told in json.loads(done.stdout.splitlines()[-1])]


def show(rows: int, spark: Sequence[Taken], duckdb: Sequence[Taken]) -> None:
    """One size, step by step; copies are those of one recipient."""
    print(f"\n{rows:,} rows, {round(CROWD * rows):,} in the register; {copies_of(rows)} copies, figures are of one")
    titles = ("CPU s", "driver", "DuckDB", "ratio", "wall s", "to driver", "driver MB", "DuckDB MB", "classes")
    print(f"{'':32}" + "".join(f"{title:>11}" for title in titles))
    for one, peer in zip(spark, duckdb, strict=True):
        many = copies_of(rows) if one.step == "copies" else 1
        cells = [f"{one.cpu / many:.2f}", f"{one.driver / many:.2f}", f"{peer.cpu / many:.2f}"]
        cells += [f"{one.cpu / peer.cpu:.1f}x" if peer.cpu else "-", f"{one.wall / many:.1f}"]
        cells += [f"{one.shipped / many / 1e6:.2f} MB", f"{one.peak_mb:.0f}", f"{peer.peak_mb:.0f}", f"{one.classes:,}"]
        print(f"{one.step:32}" + "".join(f"{cell:>11}" for cell in cells))
        if one.refused:
            print(f"  refused: {one.refused}")
    sys.stdout.flush()


def extrapolate(sizes: Sequence[int], spark: Sequence[Sequence[Taken]]) -> None:
    """A line through the sizes for every step, and where it is at a billion rows."""
    print(f"\n{'a line through the sizes':32}{'constant s':>12}{'µs per row':>12}{'core hours for a billion':>26}")
    for steps in zip(*spark, strict=True):
        if any(step.refused for step in steps) or steps[0].step in ("import records", "score pairs"):
            continue
        many = [copies_of(rows) if steps[0].step == "copies" else 1 for rows in sizes]
        constant, slope = line(sizes, [step.cpu / times for step, times in zip(steps, many, strict=True)])
        hours = (constant + slope * BILLION) / 3600
        print(f"{steps[0].step:32}{constant:12.1f}{slope * 1e6:12.2f}{hours:26.2f}")


def line(sizes: Sequence[int], costs: Sequence[float]) -> tuple[float, float]:
    """The constant, which is not below nothing, and the cost per row, of the line with the least relative errors.

    >>> constant, slope = line([10, 20, 40], [3.0, 5.0, 9.0])
    >>> round(constant, 6), round(slope, 6)
    (1.0, 0.2)
    """
    x, y = np.asarray(sizes, dtype=np.float64), np.maximum(np.asarray(costs, dtype=np.float64), 1e-9)
    constant, slope = np.linalg.lstsq(np.stack([1 / y, x / y], axis=1), np.ones(len(y)), rcond=None)[0]
    if constant < 0:
        return 0.0, float((x / y).sum() / (x * x / y / y).sum())
    return float(constant), float(slope)


if __name__ == "__main__":
    words = sys.argv[1:]
    numbers = [int(word.replace(",", "").replace("_", "")) for word in words if word != "only-counts"]
    main(numbers or SIZES, only_counts="only-counts" in words)
