"""What it costs to decide a release by the number of rows, on DuckDB: python -m benchmarks.releases_scale [ROWS ...]

So many generated people, and half as many again in a register, as in `benchmarks.scale`. Every size is walked in a process
of its own. The floor is counting both tables and finding the levels, without which there is no release. Printed: CPU
seconds of the floor, and of a release to 20 recipients, decided and sealed, without its copies; the ratio; the most memory
held; and what came of it. Then what two who compare their copies would find with fewer marks than there are:
the expected AUC of the attack by intersection. Sizes are 200,000 and 1,000,000 unless given.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import best_of

SIZES = (200_000, 1_000_000)
RECIPIENTS = 20
FEWER = (0.9, 0.5, 0.1)
"""Shares of the pairs that are tried in place of all of them."""


def main(sizes: Sequence[int] = SIZES) -> None:
    """Decide a release of every size and print."""
    titles = ("count s", "release s", "ratio", "peak MB", "classes", "marks", "rows lost", "colluding", "gate")
    print(f"{'rows':>12}" + "".join(f"{title:>13}" for title in titles), flush=True)
    for rows in sizes:
        with tempfile.TemporaryDirectory(prefix="discreet-releases-") as folder:
            words = [sys.executable, "-m", "benchmarks.releases_scale", "decide", folder, str(rows)]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
        show(rows, json.loads(done.stdout.splitlines()[-1]))


def fewer(codebook: Any, released: Any) -> list[tuple[str, int, float]]:
    """With all pairs, with the riskiest, and with some that are drawn: how many, and the AUC of the intersection."""
    from discreet.releases.marks.pairing import expected_aucs

    marks, half, dice = codebook.marks, len(codebook.marks) // 2, np.random.default_rng(1)
    tried = [("all", np.arange(half))]
    for share in FEWER:
        count = round(share * half)
        tried += [("riskiest", np.arange(count)), ("drawn", np.sort(dice.permutation(half)[:count]))]
    found = []
    for name, kept in tried:
        chance = codebook.probabilities[np.concatenate([kept, kept + half])]
        aucs = expected_aucs(marks.links[kept], marks.links[kept + half], chance, released, len(kept))
        found.append((name, len(kept), aucs[1]))
    return found


def show(rows: int, told: dict[str, Any]) -> None:
    """One size on one line."""
    cells = [f"{told['count']:.2f}", f"{told['release']:.1f}", f"{told['release'] / told['count']:.0f}x"]
    cells += [f"{told['peak_mb']:.0f}", f"{told['classes']:,}", f"{told['marks']:,}", f"{told['lost']:.2%}"]
    cells += [str(told["coalition"])]
    print(f"{rows:>12,}" + "".join(f"{cell:>13}" for cell in [*cells, f"{told['gate']:.2f}"]))
    print(
        "  intersection: " + ", ".join(f"{name} {count:,} pairs {auc:.2f}" for name, count, auc in told["fewer"]),
        flush=True,
    )


def decide(folder: Path, rows: int) -> dict[str, Any]:
    """Decide and seal a release; the people are made first, and are not measured."""
    os.environ["DISCREET_KEYS"] = str(folder / "store.keys")
    subprocess.run([sys.executable, "-m", "benchmarks.releases_scale", "make", str(folder), str(rows)], check=True)

    import discreet
    from benchmarks.scale_steps import GATES, POLICY, SUPPRESSION, K
    from discreet.releases.manifest import ReleaseSettings
    from discreet.releases.plan import find_node

    table = discreet.read(folder / "people.parquet", policy=POLICY)
    register = discreet.read(folder / "register.parquet", policy=POLICY.for_population())
    limits = {"k": K, "suppression": SUPPRESSION, "loss": "dm_star"}
    floor = best_of(
        lambda: len(find_node(table, register, ReleaseSettings(**limits, law="0.2/0.5")).linked.released), 1
    )

    names = [f"recipient-{number}" for number in range(RECIPIENTS)]
    made: list[Any] = []
    given = {**limits, "gates": GATES, "name": "spring", "store": folder / "store.db", "force": True}
    cost = best_of(lambda: made.append(discreet.release(table, register, names, **given)), 1)
    manifest, flight = made[0].manifest, made[0].preflight
    return {
        "count": floor.cpu,
        "release": cost.cpu,
        "peak_mb": cost.peak_mb,
        "classes": floor.answer,
        "marks": flight["marks"],
        "lost": flight["rows_lost"],
        "coalition": flight["coalition"],
        "gate": flight["auc"],
        "fewer": fewer(manifest.codebook, manifest.links),
    }


def _make(folder: Path, rows: int) -> None:
    from benchmarks.scale import make

    make(folder, rows, linked=False)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", folder, rows]:
            _make(Path(folder), int(rows))
        case ["decide", folder, rows]:
            print(json.dumps(decide(Path(folder), int(rows))))
        case words:
            main([int(word.replace(",", "").replace("_", "")) for word in words] or SIZES)
