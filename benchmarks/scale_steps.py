"""The steps that `benchmarks.scale` measures, each way in a process of its own, which prints what they took as JSON.

python -m benchmarks.scale_steps duckdb|spark FOLDER COPIES PARTITIONS     without copies, no release is made and nothing linked
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import discreet
from discreet.errors import SourceUnreadable
from discreet.releases import Gates

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.servers import shipped, spark_session

QUASI = ("birth_year", "sex", "race", "zip")
OTHERS = ("diagnosis", "income", "plan", "visits")
COLUMNS = {
    "birth_year": {"role": "quasi", "hierarchy": {"widths": [2, 4, 8, 16]}},
    "sex": {"role": "quasi", "hierarchy": {"any": "Person"}},
    "race": {"role": "quasi", "hierarchy": {"any": "*"}},
    "zip": {"role": "quasi", "hierarchy": {"mask": 5}},
    **{name: {"role": "other"} for name in OTHERS},
}
POLICY = discreet.Policy.from_dict({"columns": COLUMNS})
SENSITIVE = discreet.Policy.from_dict({"columns": {**COLUMNS, "diagnosis": {"role": "sensitive"}}})
GATES = Gates("a generated register", "generated", counts_only=True, sign_off="BENCHMARK")
K, SUPPRESSION = 5, 0.1
TICKS = os.sysconf("SC_CLK_TCK")
DRIVER_JVM = "org.apache.spark.deploy.SparkSubmit"


@dataclass(frozen=True)
class Taken:
    """What one step took."""

    step: str
    rows: int
    """Rows that it reads from the engine, of all tables and copies."""
    driver: float
    """CPU seconds of this process and of the driver's JVM."""
    cluster: float
    """CPU seconds of the master, the workers and their executors."""
    wall: float
    shipped: int
    """Bytes that came to the driver."""
    peak_mb: float
    """The most memory that the driver held: this process and its JVM."""
    classes: int
    refused: str = ""

    @property
    def cpu(self) -> float:
        """Of all processes."""
        return self.driver + self.cluster


@dataclass
class Meter:
    """Measures steps one after the other; `session` is None where there is no cluster."""

    session: Any = None
    taken: list[Taken] = field(default_factory=list)

    def step(self, name: str, rows: int, job: Callable[[], int]) -> None:
        """Run a step, which says how many classes it ended with."""
        _forget_peaks()
        before, sent, started, refused, classes = _cpu(), self._shipped(), time.perf_counter(), "", 0
        try:
            classes = job()
        except SourceUnreadable as error:
            refused = error.problem
        wall, after = time.perf_counter() - started, _cpu()
        driver, cluster = (after[role] - before[role] for role in ("driver", "cluster"))
        told = Taken(name, rows, driver, cluster, wall, self._shipped() - sent, _peak_mb(), classes, refused)
        print(f"  {name}: {told.cpu:.1f} CPU s, {wall:.0f} s {refused}", file=sys.stderr, flush=True)
        self.taken.append(told)

    def _shipped(self) -> int:
        return 0 if self.session is None else shipped(self.session)


def _family() -> dict[int, str]:
    """This process and all that descend from it, each with its role."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(_stat(int(entry.name))[1])
            except OSError:
                continue
    family, fresh = {os.getpid()}, {os.getpid()}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh}
        family |= fresh
    return {pid: _role(pid) for pid in family}


def _role(pid: int) -> str:
    if pid == os.getpid():
        return "driver"
    try:
        return "driver" if DRIVER_JVM in Path(f"/proc/{pid}/cmdline").read_text(errors="replace") else "cluster"
    except OSError:
        return "cluster"


def _stat(pid: int) -> list[str]:
    """The fields after the name of the process: its state, its parent, ..."""
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(") ")[2].split()


def _cpu() -> dict[str, float]:
    """CPU seconds by role, with those of children that have ended."""
    total = {"driver": 0.0, "cluster": 0.0}
    for pid, role in _family().items():
        try:
            total[role] += sum(map(int, _stat(pid)[11:15])) / TICKS
        except OSError:
            continue
    return total


def _drivers() -> list[int]:
    return [pid for pid, role in _family().items() if role == "driver"]


def _forget_peaks() -> None:
    for pid in _drivers():
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")


def _peak_mb() -> float:
    total = 0.0
    for pid in _drivers():
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
        total += next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    return total


@dataclass(frozen=True)
class Way:
    """Where tables are, and where results go."""

    read: Callable[[Path], Any]
    folder: Path
    """With people.parquet, register.parquet and a folder with records to link."""
    out: Path
    copies: int
    session: Any = None

    def table(self, name: str, policy: discreet.Policy) -> discreet.Table:
        """A table that nothing has been counted of yet."""
        return discreet.read(self.read(self.folder / name), policy=policy)


def walk(way: Way, meter: Meter) -> None:
    """All steps, in the order in which a custodian takes them."""
    people, register = (json.loads((way.folder / "sizes.json").read_text())[name] for name in ("people", "register"))
    table, crowd = way.table("people.parquet", POLICY), way.table("register.parquet", POLICY.for_population())
    meter.step("count", register, lambda: len(discreet.count(way.table("register.parquet", POLICY), by=QUASI)))
    meter.step("assess", people + register, lambda: _assessed(table, crowd))
    meter.step("assess with a sensitive column", 2 * people, lambda: _assessed(way.table("people.parquet", SENSITIVE)))
    safe: list[Any] = []
    meter.step("anonymise", 0, lambda: _kept(safe, discreet.anonymise(table, k=K, suppression=SUPPRESSION)).classes)
    meter.step("apply", 2 * people, lambda: safe[0].write(way.out / "safe.parquet") and safe[0].classes)
    if not way.copies:
        return
    meter.step("release", people, lambda: len(_kept(safe, _release(way, table, crowd)).manifest.released))
    meter.step("copies", way.copies * people, lambda: len(safe[1].write(way.out / "copies")))
    _link(way, meter)


def _kept(found: list[Any], what: Any) -> Any:
    found.append(what)
    return what


def _assessed(table: discreet.Table, crowd: discreet.Table | None = None) -> int:
    discreet.assess(table, population=crowd)
    return len(table.classes())


def _release(way: Way, table: discreet.Table, crowd: discreet.Table) -> Any:
    names = [f"recipient-{number}" for number in range(way.copies)]
    settings = {"k": K, "suppression": SUPPRESSION, "gates": GATES, "force": True}
    return discreet.release(table, crowd, names, name="spring", store=way.out / "store.db", **settings)


def _link(way: Way, meter: Meter) -> None:
    """Splink scores the pairs of a trained model; the records come from where the tables are."""
    from discreet.linkage import LinkageSpec, SparkBackend, score_pairs, start_project
    from discreet.linkage.folder import ProjectFolder
    from discreet.linkage.matching.splink_model import Model

    home = way.folder / "to-link"
    if not home.is_dir():
        return
    spec, model = LinkageSpec.load(home / "link.toml"), Model.load(home / "model.json")
    frames = [way.read(home / f"{name}.parquet") for name in ("first", "second")]
    project: list[ProjectFolder] = []
    rows = int(json.loads((way.folder / "sizes.json").read_text())["linked"])
    meter.step("import records", rows, lambda: _kept(project, start_project(way.out / "p", *frames, spec=spec)).records)
    backend = SparkBackend(project[0], way.session) if way.session else None
    meter.step("score pairs", rows, lambda: len(score_pairs(project[0], model, backend=backend)))


@contextmanager
def on(way: str, folder: Path, copies: int, partitions: str) -> Iterator[Way]:
    """One of the two ways, with a place for its results."""
    with tempfile.TemporaryDirectory(prefix=f"{way}-", dir=folder) as out:
        os.environ["DISCREET_KEYS"] = f"{out}/store.keys"
        if way == "duckdb":
            yield Way(Path, folder, Path(out), copies)
            return
        (Path(out) / "cluster").mkdir()
        settings = {
            "spark.executor.memory": "2g",
            "spark.driver.memory": "4g",
            "spark.driver.maxResultSize": "1g",  # Spark's own default
            "spark.sql.shuffle.partitions": partitions,
            "spark.local.dir": out,
        }
        with spark_session(Path(out) / "cluster", memory="3g", **settings) as session:
            session.range(1000).groupBy("id").count().toArrow()
            yield Way(lambda path: session.read.parquet(str(path)), folder, Path(out), copies, session)


def main(way: str, folder: str, copies: str, partitions: str) -> None:
    """Walk one way and print what every step took."""
    with on(way, Path(folder), int(copies), partitions) as place:
        meter = Meter(place.session)
        walk(place, meter)
    print(json.dumps([asdict(taken) for taken in meter.taken]))


if __name__ == "__main__":
    main(*sys.argv[1:])
