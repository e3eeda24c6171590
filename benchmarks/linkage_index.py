"""All prices of a pair at 1,000 to 1,000,000 base records: python -m benchmarks.linkage_index [RECORDS ...]

Generated people by six attributes, one in twenty of them twice with the errors that records have; pairs of those are
opened step by step in any order until nothing is left. Each answer is the present k of both rows, k after every next
step, and all prices as exact fractions; making the pair (comparing its six values) is measured apart. Beside it a plain
scan with numpy over the same columns, in the same run, which must find the same numbers. CPU time.
Bars: median 1 ms at 100,000 records and 15 ms at 1,000,000; building below 30 s.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import best_of
from discreet.kernel import Coded
from discreet.linkage import Index, Meter, Pair, load_index, save_index
from discreet.linkage.masking.record_pair import State
from discreet.people import State as Place
from discreet.people import generate

SIZES = (1_000, 10_000, 100_000, 1_000_000)
BARS = {100_000: 1.0, 1_000_000: 15.0}
KINDS: Any = {
    "person_id": "fixed",
    "given_name": "string",
    "surname": "string",
    "birth_date": "date",
    "sex": "category",
    "race": "category",
}
SETTINGS: Any = {"swaps": [("given_name", "surname")], "names": ["given_name", "surname"]}
PAIRS, SCANNED, STRICT = 150, 8, 40
STRICTLY = (10_000, 100_000)


def records(size: int) -> tuple[dict[str, list[Any]], list[tuple[int, int]]]:
    """People, some of them twice, by column; and the pairs of those."""
    doubles, rng = size // 20, random.Random(1)
    found = generate(Place.of(size - doubles), seed=1, columns=tuple(KINDS))
    columns = {name: found.column(name).astype(str).tolist() for name in KINDS}
    pairs = []
    for place, chosen in enumerate(rng.sample(range(size - doubles), k=doubles)):
        again = with_errors({name: cells[chosen] for name, cells in columns.items()}, rng)
        for name, cells in columns.items():
            cells.append(again[name])
        pairs.append((chosen, size - doubles + place))
    return columns, pairs


def with_errors(record: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The same person, written down by somebody else: one to three attributes wrong, names or dates exchanged at times."""
    found = dict(record)
    for name in rng.sample(list(KINDS)[:4], k=rng.randint(1, 3)):
        found[name] = typo(found[name], rng)
    if rng.random() < 0.05:
        found["given_name"], found["surname"] = found["surname"], found["given_name"]
    if rng.random() < 0.05:
        year, month, day = record["birth_date"].split("-")
        found["birth_date"] = f"{year}-{day}-{month}"
    return found


def typo(value: str, rng: random.Random) -> str:
    """One character wrong, or two exchanged."""
    place = rng.choice([place for place, sign in enumerate(value[:-1]) if sign.isalnum()])
    if rng.random() < 0.3 and value[place + 1].isalnum():
        return value[:place] + value[place + 1] + value[place] + value[place + 2 :]
    return value[:place] + rng.choice("0123456789" if value[0].isdigit() else "aeinrst") + value[place + 1 :]


def walks(index: Index, pairs: list[tuple[int, int]]) -> list[tuple[Pair, State]]:
    """Every state of some pairs on the way from masked to open."""
    rng, found = random.Random(2), []
    for chosen in rng.sample(pairs, k=min(PAIRS, len(pairs))):
        pair = index.pair(*chosen)
        state = pair.masked
        while steps := index.quote(pair, state).steps:
            found.append((pair, state))
            state = steps[rng.choice(sorted(steps))].state
    return found


class Scan:
    """The same numbers by looking at every record: columns of texts, compared as numpy compares them."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = {name: np.array(cells) for name, cells in columns.items()}
        self.lengths = {name: np.strings.str_len(cells) for name, cells in self.columns.items()}
        self.shared = {}
        for name, cells in columns.items():
            coded = Coded.of(cells)
            self.shared[name] = (np.bincount(coded.codes) > 1)[coded.codes]
        self.signs = {name: self._signs(cells) for name, cells in self.columns.items()}

    def _signs(self, cells: Any) -> Any:
        return np.ascontiguousarray(cells.view(np.uint32).reshape(len(cells), -1).T)

    def count(self, pair: Pair, row: int, state: State) -> int:
        """Compatible records of a row."""
        found = np.ones(len(next(iter(self.columns.values()))), dtype=bool)
        for name, cell, mode in zip(pair.attributes, pair.cells, state, strict=True):
            side = cell.sides[row]
            if mode == "full":
                found &= self.columns[name] == side.value
            elif mode == "partial" and cell.equal:
                found &= self.shared[name]
            elif mode == "partial":
                found &= self.lengths[name] == len(side.value or "")
                for place, sign in enumerate(side.text("partial")):
                    if sign not in "*-":
                        found &= self.signs[name][place] == ord(sign)
        return int(np.count_nonzero(found))

    def answer(self, pair: Pair, state: State) -> list[tuple[int, int]]:
        """Now, and after every next step."""
        modes = {name: pair.next_mode(state, name) for name in pair.attributes}
        later = [pair.opened(state, name, mode) for name, mode in modes.items() if mode]
        return [(self.count(pair, 0, one), self.count(pair, 1, one)) for one in (state, *later)]


def milliseconds(job: Callable[[], object]) -> float:
    """CPU time of one call, the better of three."""

    def once() -> float:
        start = time.process_time_ns()
        job()
        return (time.process_time_ns() - start) / 1e6

    return min(once() for _ in range(3))


def run(size: int) -> None:
    """One size."""
    columns, pairs = records(size)
    building = best_of(lambda: Index.build(columns, KINDS, **SETTINGS), times=2)
    index = Index.build(columns, KINDS, **SETTINGS)
    folder = Path(tempfile.mkdtemp()) / "index"
    saving = best_of(lambda: save_index(index, folder), times=1)
    opening = best_of(lambda: load_index(folder), times=3)
    mapped, meter = load_index(folder), Meter(PAIRS, len(KINDS))
    states = walks(mapped, pairs)

    def answer(pair: Pair, state: State) -> dict[str, Any]:
        quote = mapped.quote(pair, state)
        return {name: meter.price(quote.contribution, step.contribution) for name, step in quote.steps.items()}

    times = [milliseconds(lambda one=one: answer(*one)) for one in states]
    masked = [time for time, (pair, state) in zip(times, states, strict=True) if state == pair.masked]
    making = [milliseconds(lambda pair=pair: mapped.pair(*pair.records)) for pair, _ in states[:PAIRS]]
    scan = Scan(columns)
    chosen = random.Random(3).sample(states, k=SCANNED)
    for pair, state in chosen:
        quote = mapped.quote(pair, state)
        assert scan.answer(pair, state) == [quote.anonymity, *(step.anonymity for step in quote.steps.values())]
    scanning = float(np.median([milliseconds(lambda one=one: scan.answer(*one)) for one in chosen]))
    median = float(np.median(times))
    print(f"{size:,} base records, {len(KINDS)} attributes, {len(states)} states of {min(PAIRS, len(pairs))} pairs")
    print(f"  all prices of a pair: median {median:.2f} ms, p99 {np.quantile(times, 0.99):.2f} ms", end="")
    print(f"; all masked: median {np.median(masked):.2f} ms" + (f" (bar: {BARS[size]:g} ms)" if size in BARS else ""))
    print(f"  making the pair: median {np.median(making):.2f} ms")
    print(f"  plain numpy scan: median {scanning:.2f} ms, {scanning / median:.0f}x as long")
    print(
        f"  index: built in {building.cpu:.1f} s, {index.nbytes / 1e6:.1f} MB ({index.nbytes / size:.0f} bytes per record)"
    )
    print(f"  folder: written in {saving.wall:.2f} s, opened in {opening.wall * 1000:.0f} ms\n", flush=True)
    shutil.rmtree(folder.parent)


def strictly(size: int) -> None:
    """How many records a masked pair leaves where its own signs count, and what counting them takes."""
    columns, pairs = records(size)
    index = Index.build(columns, KINDS, **SETTINGS)
    chosen = [index.pair(*pair) for pair in random.Random(4).sample(pairs, k=STRICT)]
    times, least = [], []
    for pair in chosen:
        start = time.process_time()
        least.append(min(index.anonymity(pair, pair.masked, strict=True)))
        times.append(time.process_time() - start)
    few = sum(k < 5 for k in least)
    print(
        f"{size:,} base records, strictly: {few} of {STRICT} masked pairs leave fewer than 5 compatible records", end=""
    )
    print(
        f" (median {np.median(least):.0f}); {np.median(times[1:]):.2f} s a pair, the first {times[0]:.2f} s\n",
        flush=True,
    )


def main() -> None:
    """All sizes, or those on the command line."""
    asked = [int(word) for word in sys.argv[1:] if word.isdigit()] if "linkage_index" in sys.argv[0] else []
    for size in asked or SIZES:
        run(size)
        if size in STRICTLY:
            strictly(size)


if __name__ == "__main__":
    main()
