"""Linkage of encoded tables: quality, stated and actual errors, CPU, beside names in clear. python -m benchmarks.linkage_encoded

The tasks of `linkage_corpus` of two tables that have everybody once, each table encoded with the defaults. Beside them
are the names in clear with the same one-to-one rule, machine alone.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas

from benchmarks.linkage_corpus import CorpusTask, corpus, scores, truth_of
from benchmarks.measure import best_of
from benchmarks.reviewers import quality
from discreet.linkage import LinkageSpec, find_pairs, start_project
from discreet.linkage.folder import cleaned_records
from discreet.linkage.matching.bloom_filter import ClkSchema
from discreet.linkage.matching.encoded_pairs import likeness_of
from discreet.linkage.matching.keys import folded

CLK = LinkageSpec.from_dict({"linkage": {"id": "id", "identifying": {"clk": {"kind": "clk"}}}})
SECRET = b"a secret of benchmarks, which hide nobody"
LIMITS = (0.005, 0.05)


def encoded(task: CorpusTask) -> list[pandas.DataFrame]:
    """Both tables of a task as another party sees them."""
    schema, frames = ClkSchema.of(task.spec), []
    for table in task.tables:
        records = cleaned_records(table, task.spec, folded=folded)
        frames.append(
            pandas.DataFrame({"id": records.ids, "clk": schema.encode(records.values, task.spec.names, SECRET)})
        )
    return frames


def run_task(task: CorpusTask) -> None:
    """One task in clear and encoded."""
    with tempfile.TemporaryDirectory() as home:
        plain = start_project(Path(home) / "plain", *task.tables, spec=task.spec, key=b"bench")
        found: Any = best_of(lambda: find_pairs(plain, once=True), times=1)
        true = truth_of(plain, task)
        same = found.answer.pairs.labelled(true, plain.records)
        alone, _ = scores(found.answer, same, len(true), once=True)
        made: Any = best_of(lambda: encoded(task), times=1)
        print(
            f"{task.name}: {plain.records:,} records; in clear F1 {alone:.3f} ({found.cpu:.1f} CPU s); encoding {made.cpu:.1f} CPU s"
        )
        hidden = start_project(Path(home) / "encoded", *made.answer, spec=CLK, key=b"bench")
        true = truth_of(hidden, task)
        for limit in LIMITS:
            linked: Any = best_of(lambda limit=limit: find_pairs(hidden, once=True, false_same=limit), times=1)
            result = linked.answer
            hit, said = result.pairs.labelled(true, hidden.records), result.decisions == 2
            got = quality(said, hit, true_pairs=len(true))
            zones = result.zones
            print(
                f"  --false-same {limit}: from Dice {likeness_of(zones.upper):.2f} on, F1 {got.f1:.3f} ({linked.cpu:.1f} CPU s); wrong stated "
                f"{zones.false_same_share:.4f}, actual {(said & ~hit).sum() / max(said.sum(), 1):.4f}; missed stated "
                f"{zones.missed_share:.3f}, actual {1 - (said & hit).sum() / len(true):.3f}"
            )
        sys.stdout.flush()


def main(*words: str) -> None:
    """All tasks of two tables, or those whose name holds one of the words."""
    for task in corpus():
        if task.once and (not words or any(word in task.name for word in words)):
            run_task(task)


if __name__ == "__main__":
    main(*sys.argv[1:])
