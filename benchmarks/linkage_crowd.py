"""200 reviewers on one server: python -m benchmarks.linkage_crowd [sqlite] [postgresql]

A project of 100,000 generated people and six attributes; every reviewer has pairs of her own and a budget that does not
last. Reviewers are threads of one process, which is what a web process is to the ledger.

paced      each thinks 4 s on average between two reveals (the studies: 18 s and about four steps a pair); target: p99 of a
           reveal, durable before it is answered, 100 ms; no errors; every budget exactly what its cells cost.
saturated  nobody thinks; how many reveals a second the server does, and the floor: as many bare spends of the ledger.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.ledger import address
from benchmarks.measure import cpu_seconds

PEOPLE, REVIEWERS, PAIRS = 100_000, 200, 6
THINKS, SECONDS = 4.0, 30.0
LIMIT = "0.3"


@dataclass
class Crowd:
    """What the reviewers met."""

    waits: list[float] = field(default_factory=list)
    refused: int = 0
    errors: list[str] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        """Milliseconds."""
        return 1000 * sorted(self.waits)[min(len(self.waits) - 1, int(share * len(self.waits)))]


def project(ledger: Any, folder: Path, *, people: int = PEOPLE, reviewers: int = REVIEWERS) -> Any:
    """A project of generated people, its pairs given out."""
    import numpy as np

    from discreet.linkage import LinkageSpec, Pairs, adopt_pairs, start_project
    from discreet.linkage.project import register_project
    from discreet.linkage.review.assignments import Limits, assign, bring_pairs
    from discreet.people import State, generate

    columns = ("person_id", "given_name", "surname", "birth_date", "sex", "race")
    table = folder / "people.parquet"
    generate(State.of(people), seed=1, columns=columns).write(table)
    kinds = dict(zip(columns, ("fixed", "string", "string", "date", "category", "category"), strict=True))
    link = {"identifying": {name: {"kind": kind} for name, kind in kinds.items()}, "swap": ["given_name", "surname"]}
    home = start_project(folder / "project", table, spec=LinkageSpec.from_dict({"linkage": link}))
    rng = np.random.default_rng(1)
    first = rng.choice(people - 1, PAIRS * reviewers, replace=False)
    adopt_pairs(home, Pairs.of(first, first + 1, np.full(len(first), np.nan))).save(home)
    made = register_project(ledger, home.path, actor="manager")
    bring_pairs(ledger, made)
    names = [f"reviewer {number}" for number in range(reviewers)]
    assign(ledger, made, names, actor="manager", limits=Limits.of(LIMIT), rng=random.Random(1))
    return made


def work(ledger: Any, made: Any, worker: str, crowd: Crowd, until: float, thinks: float) -> None:
    """One reviewer: opens a cell of one of her pairs, again and again, until there is nothing left that she may open."""
    from discreet.errors import Refused
    from discreet.linkage.review import reveal

    rng = random.Random(worker)
    numbers = pairs_of(ledger, made, worker)
    closed: set[tuple[int, str]] = set()
    turn = 0
    time.sleep(rng.random() * min(thinks, 1))
    while time.monotonic() < until and len(closed) < len(numbers) * len(made.attributes):
        time.sleep(rng.expovariate(1 / thinks) if thinks else 0)
        number, attribute = rng.choice(numbers), rng.choice(made.attributes)
        if (number, attribute) in closed:
            continue
        turn += 1
        start = time.perf_counter()
        try:
            shown = reveal.reveal(ledger, made, worker, number, attribute, key=f"{thinks}-{turn}")
        except Refused:
            closed.add((number, attribute))
            crowd.refused += 1
        except Exception as error:
            crowd.errors.append(type(error).__name__)
        else:
            if shown.cell(attribute).next is None:
                closed.add((number, attribute))
        crowd.waits.append(time.perf_counter() - start)


def pairs_of(ledger: Any, made: Any, worker: str) -> list[int]:
    """The pairs of a reviewer."""
    from discreet.linkage.review.assignments import open_pairs

    with ledger.store.reading() as connection:
        return [row.pair for row in open_pairs(connection, made, worker)]


def run(ledger: Any, made: Any, workers: Sequence[str], *, thinks: float, seconds: float) -> tuple[Crowd, float]:
    """All reviewers at once; gives what they met and the seconds it took."""
    crowd, start = Crowd(), time.monotonic()
    threads = [
        threading.Thread(target=work, args=(ledger, made, worker, crowd, start + seconds, thinks)) for worker in workers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return crowd, time.monotonic() - start


def wrong_budgets(ledger: Any, made: Any, workers: Sequence[str]) -> int:
    """Budgets that are not, to the part, the sum of what the cells of the reviewer's pairs cost as they stand."""
    from discreet.kernel import parts_up
    from discreet.linkage.masking.kapr import PARTS
    from discreet.linkage.review.assignments import open_pairs

    wrong = 0
    for worker in workers:
        with ledger.store.reading() as connection:
            rows = open_pairs(connection, made, worker)
        owed = sum(parts_up(Fraction(row.contribution), PARTS) for row in rows)
        budget = ledger.budget(made.budget(worker))
        wrong += budget.spent != Fraction(owed, PARTS) or budget.spent > budget.limit
    return wrong


def spends(ledger: Any, number: int, clients: int) -> float:
    """The floor: bare spends a second by as many threads."""
    ledger.set_budget("floor", limit=10**9, actor="manager")

    def client(name: int) -> None:
        for turn in range(number // clients):
            ledger.spend("floor", 1, actor="ann", event="linkage.revealed", key=f"floor-{name}-{turn}")

    threads = [threading.Thread(target=client, args=(name,)) for name in range(clients)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return number / (time.monotonic() - start)


def figures(kind: str) -> None:
    """One kind of store."""
    from discreet.ledger import Ledger

    with tempfile.TemporaryDirectory() as place, address(kind, Path(place)) as url, Ledger.open(url) as ledger:
        made = project(ledger, Path(place))
        workers = [f"reviewer {number}" for number in range(REVIEWERS)]
        for name, thinks, seconds in (("paced", THINKS, SECONDS), ("saturated", 0.0, SECONDS / 3)):
            cpu = cpu_seconds()
            crowd, passed = run(ledger, made, workers, thinks=thinks, seconds=seconds)
            count = len(crowd.waits)
            print(
                f"{kind:12}{name:11}{count:7,} reveals {count / passed:7.0f}/s  p50 {crowd.quantile(0.5):7.1f} ms  "
                f"p99 {crowd.quantile(0.99):7.1f} ms  mean {1000 * statistics.fmean(crowd.waits):7.1f} ms  "
                f"CPU {1000 * (cpu_seconds() - cpu) / count:5.1f} ms each  refused {crowd.refused}  "
                f"errors {len(crowd.errors)}  wrong budgets {wrong_budgets(ledger, made, workers)}"
            )
        print(f"{kind:12}{'floor':11}{'':7} bare spends {spends(ledger, 4_000, REVIEWERS):7.0f}/s")
        print(f"{kind:12}ledger holds: {ledger.verify().holds}")


def main() -> None:
    """SQLite and PostgreSQL."""
    for kind in [word for word in sys.argv[1:] if word in ("sqlite", "postgresql")] or ("sqlite", "postgresql"):
        figures(kind)


if __name__ == "__main__":
    main()
