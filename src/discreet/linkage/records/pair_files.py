"""Pair files: two columns of ids, with a score or an answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import ColumnError, DataError
from discreet.linkage.matching.pairs import Labels, Pairs, probability_of
from discreet.linkage.records.folder import ProjectFolder
from discreet.sources import Table, read
from discreet.sources.desk import quote, translated
from discreet.sources.table import local_desk

SAME = ("1", "TRUE", "T", "YES", "Y", "SAME", "MATCH")
DIFFERENT = ("0", "FALSE", "F", "NO", "N", "DIFFERENT", "NONMATCH")


def read_pairs(
    folder: ProjectFolder, source: Any, *, ids: tuple[str, str] | None = None, score: str | None = None
) -> Pairs:
    """Ready candidate pairs: two columns of ids (the first two unless said), and a score if a column of it is named.

    A score is a probability if all of them lie from 0 to 1, else a weight in bits.
    """
    found = _joined(folder, source, ids, {"score": score} if score else {})
    pairs = Pairs.of(found["first"], found["second"], np.full(len(found["first"]), np.nan))
    if score is None:
        return pairs
    return replace(pairs, **_weights(np.ma.filled(found["score"].astype(np.float64), np.nan), score))


def read_labels(
    folder: ProjectFolder,
    source: Any,
    *,
    ids: tuple[str, str] | None = None,
    same: str | None = None,
    weight: str | None = None,
) -> Labels:
    """What is known about pairs: two columns of ids, a column `same` with yes or no (all yes without one), and how many
    pairs each label stands for."""
    wanted = {"same": same, "weight": weight}
    found = _joined(folder, source, ids, {role: name for role, name in wanted.items() if name})
    count = len(found["first"])
    answers = np.ones(count, dtype=np.bool_) if same is None else _answers(found["same"], same)
    stands = np.ones(count) if weight is None else np.ma.filled(found["weight"].astype(np.float64), np.nan)
    if not bool((stands > 0).all()):
        raise DataError(f"Column '{weight}' must hold positive numbers.", remedy="Correct or remove it.")
    return Labels(Pairs.of(found["first"], found["second"], np.zeros(count)), answers, stands)


def _weights(score: Any, name: str) -> dict[str, Any]:
    if bool(np.isnan(score).any()):
        raise DataError(
            f"Column '{name}' holds {int(np.isnan(score).sum()):,} scores that are no numbers.",
            remedy="Correct them, or import the pairs without a score.",
        )
    if len(score) and score.min() >= 0 and score.max() <= 1:
        inner = np.clip(score, 1e-12, 1 - 1e-12)
        return {"weight": np.log2(inner / (1 - inner)), "probability": score}
    return {"weight": score, "probability": probability_of(score)}


def _answers(cells: Any, name: str) -> Any:
    known = {**dict.fromkeys(SAME, True), **dict.fromkeys(DIFFERENT, False)}
    found = [known.get(str(cell).strip().upper()) for cell in np.ma.filled(cells, "").tolist()]
    unknown = sum(one is None for one in found)
    if unknown:
        raise DataError(
            f"Column '{name}' holds {unknown:,} answers that are neither yes nor no.",
            remedy="Write 1 or 0, yes or no, same or different.",
        )
    return np.array(found, dtype=np.bool_)


def _joined(folder: ProjectFolder, source: Any, ids: tuple[str, str] | None, more: dict[str, str]) -> dict[str, Any]:
    """The pairs with record numbers instead of ids, joined on DuckDB; each pair once, the smaller number first."""
    if any(table["id"] is None for table in folder.about["tables"]):
        raise ColumnError(
            "The project was imported without an id, so that nothing says which records a pair means.",
            remedy="Name the `id` column in the link file and import again.",
        )
    table = source if isinstance(source, Table) else read(Path(source) if isinstance(source, str) else source)
    named = ids or _first_two(table)
    with local_desk(table, [*named, *more.values()]) as desk, translated(desk.name):
        # Ids of pairs in one table may be in any order.
        scans = [
            f"(SELECT id, record FROM {folder.scan('bridge', table)})"
            for table in (folder.tables[0], folder.tables[-1])
        ]
        cells = {
            "score": "TRY_CAST(p.{} AS DOUBLE)", "weight": "TRY_CAST(p.{} AS DOUBLE)", "same": "CAST(p.{} AS VARCHAR)",
        }  # fmt: skip
        extra = "".join(f", {cells[role].format(quote(name))} AS {role}" for role, name in more.items())
        text = [f"trim(CAST(p.{quote(name)} AS VARCHAR))" for name in named]
        join_sql = (
            f"SELECT coalesce(least(l.record, r.record), -1) AS first, coalesce(greatest(l.record, r.record), -1) AS second, "
            f"l.record IS NULL OR r.record IS NULL AS lost{extra} "
            f"FROM source p LEFT JOIN {scans[0]} l ON l.id = {text[0]} LEFT JOIN {scans[1]} r ON r.id = {text[1]} "
            f"ORDER BY ALL"
        )
        found: dict[str, Any] = desk.run(join_sql).fetchnumpy()
    return _checked(folder, found, table)


def _first_two(table: Table) -> tuple[str, str]:
    if len(table.columns) < 2:
        raise ColumnError(f"{table.name} has no two columns of ids.", remedy="Give a file of pairs.")
    return table.columns[0], table.columns[1]


def _checked(folder: ProjectFolder, found: dict[str, Any], table: Table) -> dict[str, Any]:
    first, second = (np.ma.getdata(found[name]).astype(np.int64) for name in ("first", "second"))
    lost = int(np.ma.getdata(found["lost"]).sum())
    if lost:
        raise DataError(
            f"{lost:,} of {len(first):,} pairs in {table.name} name an id that the project does not have.",
            remedy="Are the first ids those of the first table, and the second those of the second?",
        )
    keys = first * np.int64(folder.records) + second
    if len(np.unique(keys)) < len(keys) or bool((first == second).any()):
        raise DataError(
            f"{table.name} lists a pair twice, or a record with itself.", remedy="List every pair of two records once."
        )
    return {**found, "first": first, "second": second}
