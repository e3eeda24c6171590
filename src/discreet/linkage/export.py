"""Export of a project: decisions, clusters, the de-identified table, and disclosures."""

from __future__ import annotations

import csv
import hashlib
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sqlalchemy import select

from discreet.errors import Refused
from discreet.kernel.serialise import json_of
from discreet.ledger import Ledger
from discreet.linkage.evaluation import times_by_pair
from discreet.linkage.folder import ProjectFolder, staged
from discreet.linkage.matching.candidate_pairs import Clusters, Edges, cluster, load_candidates
from discreet.linkage.project import Project
from discreet.linkage.review.decisions import Answered, answers_of
from discreet.linkage.review.views import CHOICES
from discreet.sources.duckdb_scratch import connect, copy, literal, quote, translated
from discreet.sources.export.recode import file_cell
from discreet.sources.export.targets import FileTarget, guarded
from discreet.store import Store
from discreet.store.tables.linkage import ASSIGNMENT, CELL

# The linked, de-identified table: sensitive columns that belong to one person, under a pseudonym that nothing else has.
#
# It is joined on DuckDB through the random pseudonyms of the import. Every person gets a new pseudonym, made with a key
# that is forgotten at the end, and rows are written in the order of it: nothing in the file says which record of the
# identifying file a row belongs to.
PERSON, SEAT = "person", "discreet_seat"


@dataclass(frozen=True)
class LinkedTable:
    """What was written."""

    rows: int
    people: int
    columns: tuple[str, ...]


def write_linked(
    folder: ProjectFolder, clusters: Clusters, target: FileTarget, *, everybody: bool = False, key: bytes | None = None
) -> LinkedTable:
    """Write the linked table to a file.

    From one table: a row per record, the rows of one person under one pseudonym. From two: a row per record of the
    first table and record of the second that are one person, columns side by side; with `everybody` also those who are
    in one table only. `key` is for tests.
    """
    hidden = (key or secrets.token_bytes(32)).hex()
    with connect() as own, translated("the project"):
        numbers = np.arange(len(clusters.of), dtype=np.int64)
        own.register("discreet_clusters", {"record": numbers, "cluster": clusters.of})
        person, seat = (
            f"sha256({literal(f'{hidden}:{column}:')} || {column})[:32]" for column in ("cluster", "record")
        )
        own.execute(
            f"CREATE TEMP TABLE people AS SELECT record, {person} AS {PERSON}, {seat} AS {SEAT} FROM discreet_clusters"
        )
        own.execute(f"CREATE TEMP TABLE linked AS {_joined(folder, everybody)}")
        kinds = {name: str(kind) for name, kind, *_ in own.execute("DESCRIBE linked").fetchall() if name != SEAT}
        spelt = file_cell(target)
        cells = ", ".join(f"{spelt(quote(name), kind)} AS {quote(target.spell(name))}" for name, kind in kinds.items())
        rows = copy(own.execute, f"SELECT {cells} FROM linked ORDER BY {PERSON}, {SEAT}", target)
        people = own.execute(f"SELECT count(DISTINCT {PERSON}) FROM linked").fetchall()[0][0]
    return LinkedTable(rows, int(people), tuple(kinds))


def _joined(folder: ProjectFolder, everybody: bool) -> str:
    """The rows of the linked table; a column whose name is taken twice is followed by the table."""
    sensitive: list[list[str]] = [table["sensitive"] for table in folder.about["tables"]]
    taken = [PERSON, SEAT, *(name for names in sensitive for name in names)]
    parts, columns = [], []
    for table, names in zip(folder.tables, sensitive, strict=True):
        titles = [quote(f"{name}_{table}" if taken.count(name) > 1 else name) for name in names]
        cells = "".join(f", s.{quote(name)} AS {title}" for name, title in zip(names, titles, strict=True))
        columns += [f", {title}" for title in titles]
        parts.append(
            f"SELECT p.{PERSON}, p.{SEAT}{cells} FROM people p "
            f"JOIN {folder.scan('bridge', table)} b ON b.record = p.record "
            f"JOIN {folder.scan('sensitive', table)} s ON s.pseudonym = b.pseudonym"
        )
    if not folder.two:
        return parts[0]
    kind = "FULL" if everybody else "INNER"
    seat = f"coalesce(a.{SEAT}, '') || coalesce(b.{SEAT}, '') AS {SEAT}"
    return f"SELECT {PERSON}{''.join(columns)}, {seat} FROM ({parts[0]}) a {kind} JOIN ({parts[1]}) b USING ({PERSON})"


Format = Literal["parquet", "csv"]


@dataclass(frozen=True)
class Exported:
    """What was written, in numbers."""

    folder: Path
    linked: LinkedTable
    digest: str
    """The SHA-256 of the linked table, which the ledger has too."""
    pairs: int
    undecided: int
    """Pairs that people have not decided in the end; they are taken as different."""
    clusters: int
    contradictions: int
    """Pairs that were decided different although other decisions make their records one person."""
    crowded: int
    """People with two records in a table that has everybody once at most."""
    entry: int

    to_dict = json_of("folder linked digest pairs undecided clusters contradictions crowded entry")


def export(
    ledger: Ledger,
    project: Project,
    out: str | Path,
    *,
    actor: str,
    unfinished: bool = False,
    everybody: bool = False,
    form: Format = "parquet",
) -> Exported:
    """Write a folder with the linked table (`linked`), `decisions.csv`, `clusters.csv`, `contradictions.csv` and
    `disclosures.csv`. The entry of the ledger is durable before the folder is there.

    While pairs are undecided nothing is exported, unless `unfinished`.
    """
    home = ProjectFolder.open(project.folder)
    answers = answers_of(ledger.store, project)
    undecided = sum(answered.verdict not in ("same", "different") for answered in answers)
    if undecided and not unfinished:
        raise Refused(
            f"{undecided:,} of {len(answers):,} pairs are not decided.",
            remedy="Decide or adjudicate them, or export with --unfinished, which takes them as different.",
        )
    clusters = clusters_of(home, answers)
    with staged(Path(out)) as stage:
        linked = write_linked(home, clusters, FileTarget(str(stage / f"linked.{form}")), everybody=everybody)
        _write_rows(stage / "decisions.csv", DECISIONS, _decisions(answers, times_by_pair(ledger.store, project)))
        # Clusters are numbered from 0; the numbers have nothing to do with the pseudonyms of the linked table.
        numbers = np.unique(clusters.of, return_inverse=True)[1].tolist()
        rows = ((record, home.tables[int(record >= home.sizes[0])], number) for record, number in enumerate(numbers))
        _write_rows(stage / "clusters.csv", ("record", "table", "cluster"), rows)
        _write_rows(stage / "contradictions.csv", ("first", "second"), clusters.contradictions.tolist())
        _write_rows(stage / "disclosures.csv", DISCLOSURES, disclosures(ledger.store, project))
        with (stage / f"linked.{form}").open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        receipt = ledger.record(
            actor=actor,
            event="linkage.exported",
            subject=project.subject,
            details={"rows": linked.rows, "people": linked.people, "sha256": digest, "undecided": undecided,
                     "contradictions": len(clusters.contradictions)},
        )  # fmt: skip
    return Exported(
        Path(out), linked, digest, len(answers), undecided, len(clusters), len(clusters.contradictions),
        len(clusters.crowded), receipt.sequence,
    )  # fmt: skip


def clusters_of(home: ProjectFolder, answers: Sequence[Answered]) -> Clusters:
    """Clusters by the decisions of the machine and of people; pairs that nobody could decide count as nothing."""
    candidates = load_candidates(home)
    taken = _edges(answered.records for answered in answers)
    decided = {}
    for verdict in ("same", "different"):
        machine = candidates.decided(verdict)
        alone = ~np.isin(machine.keys(home.records), taken[:, 0] * home.records + taken[:, 1])
        people = _edges(answered.records for answered in answers if answered.verdict == verdict)
        decided[verdict] = np.concatenate([people, np.stack([machine.first, machine.second], axis=1)[alone]])
    once = home.sizes[0] if candidates.once else None
    return cluster(home.records, decided["same"], decided["different"], once_per_table=once)


DISCLOSURES = ("at", "worker", "role", "pair", "attribute", "mode", "reason")


def disclosures(store: Store, project: Project) -> list[tuple[Any, ...]]:
    """Who saw which cell in which mode, when and why; never what it says."""
    with store.reading() as connection:
        rows = connection.execute(
            select(CELL.c.at, ASSIGNMENT.c.worker, ASSIGNMENT.c.role, ASSIGNMENT.c.pair, CELL.c.attribute, CELL.c.mode,
                   CELL.c.reason)
            .join(ASSIGNMENT, ASSIGNMENT.c.id == CELL.c.assignment)
            .where(ASSIGNMENT.c.project == project.id)
            .order_by(CELL.c.at, ASSIGNMENT.c.worker, ASSIGNMENT.c.pair, CELL.c.attribute)
        )  # fmt: skip
        return [tuple(row) for row in rows]


DECISIONS = ("pair", "first", "second", "probability", "verdict", "worker", "role", "answer", "confidence",
             "seconds")  # fmt: skip


def _decisions(answers: Iterable[Answered], times: Mapping[tuple[int, str], float | None]) -> Iterator[Sequence[Any]]:
    """One row per person and pair; a pair that nobody has is one row without a person."""
    for answered in answers:
        choices = [(worker, "review", choice) for worker, choice in answered.reviews.items()]
        choices += [(worker, "adjudication", choice) for worker, choice in answered.adjudications.items()]
        for worker, role, choice in choices or [("", "", None)]:
            pair = answered.pair, *answered.records, answered.probability, answered.verdict
            seconds = times.get((answered.pair, worker))
            answer = ("", "") if choice is None else CHOICES[choice]
            yield *pair, worker, role, *answer, "" if seconds is None else round(seconds, 1)


def _edges(pairs: Iterable[tuple[int, int]]) -> Edges:
    return np.array(list(pairs), dtype=np.int64).reshape(-1, 2)


def _write_rows(path: Path, titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(titles)
        writer.writerows([guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
