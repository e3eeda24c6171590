"""Export of a project: decisions, clusters, the de-identified table, and disclosures."""

from __future__ import annotations

import csv
import hashlib
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sqlalchemy import select

from discreet.errors import Refused, UsageError
from discreet.ledger import Ledger
from discreet.linkage.matching.candidate_pairs import load_candidates
from discreet.linkage.matching.clusters import Clusters, Edges, cluster
from discreet.linkage.project import Project
from discreet.linkage.records.folder import ProjectFolder
from discreet.linkage.review.decisions import Answered, answers_of
from discreet.linkage.review.views import CHOICES
from discreet.sources.desk import connect, copy, literal, quote, translated
from discreet.sources.export.recode import file_cell
from discreet.sources.export.targets import FileTarget, guarded, unwritable
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
        own.register(
            "discreet_clusters", {"record": np.arange(len(clusters.of), dtype=np.int64), "cluster": clusters.of}
        )
        own.execute(f"CREATE TEMP TABLE people AS SELECT record, {_hashed(hidden, 'cluster')} AS {PERSON}, "
                    f"{_hashed(hidden, 'record')} AS {SEAT} FROM discreet_clusters")  # fmt: skip
        own.execute(f"CREATE TEMP TABLE linked AS {_joined(folder, everybody)}")
        kinds = {name: str(kind) for name, kind, *_ in own.execute("DESCRIBE linked").fetchall() if name != SEAT}
        spelt = file_cell(target)
        cells = ", ".join(f"{spelt(quote(name), kind)} AS {quote(target.spell(name))}" for name, kind in kinds.items())
        rows = copy(own.execute, f"SELECT {cells} FROM linked ORDER BY {PERSON}, {SEAT}", target)
        people = own.execute(f"SELECT count(DISTINCT {PERSON}) FROM linked").fetchall()[0][0]
    return LinkedTable(rows, int(people), tuple(kinds))


def _hashed(key: str, column: str) -> str:
    return f"sha256({literal(f'{key}:{column}:')} || {column})[:32]"


def _joined(folder: ProjectFolder, everybody: bool) -> str:
    names = _names(folder)
    if not folder.two:
        return _part(folder, 0, names[0])
    first, second = (_part(folder, place, names[place]) for place in (0, 1))
    listed = ", ".join(quote(name) for called in names for name in called.values())
    kind = "FULL" if everybody else "INNER"
    seat = f"coalesce(a.{SEAT}, '') || coalesce(b.{SEAT}, '') AS {SEAT}"
    also = f", {listed}" if listed else ""
    return f"SELECT {PERSON}{also}, {seat} FROM ({first}) a {kind} JOIN ({second}) b USING ({PERSON})"


def _part(folder: ProjectFolder, place: int, names: dict[str, str]) -> str:
    table = folder.tables[place]
    cells = "".join(f", s.{quote(name)} AS {quote(called)}" for name, called in names.items())
    return (
        f"SELECT p.{PERSON}, p.{SEAT}{cells} FROM people p "
        f"JOIN {folder.scan('bridge', table)} b ON b.record = p.record "
        f"JOIN {folder.scan('sensitive', table)} s ON s.pseudonym = b.pseudonym"
    )


def _sensitive(folder: ProjectFolder, place: int) -> list[str]:
    found: list[str] = folder.about["tables"][place]["sensitive"]
    return found


def _names(folder: ProjectFolder) -> list[dict[str, str]]:
    """What the columns of each table are called: a name that is taken twice is followed by the table."""
    listed = [_sensitive(folder, place) for place in range(len(folder.tables))]
    met = [PERSON, SEAT, *(name for names in listed for name in names)]
    return [
        {name: f"{name}_{folder.tables[place]}" if met.count(name) > 1 else name for name in names}
        for place, names in enumerate(listed)
    ]


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

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        plain = ("digest", "pairs", "undecided", "clusters", "contradictions", "crowded", "entry")
        found = {name: getattr(self, name) for name in plain}
        linked = {"rows": self.linked.rows, "people": self.linked.people, "columns": list(self.linked.columns)}
        return {"folder": str(self.folder), "linked": linked, **found}


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
    undecided = sum(one.verdict not in ("same", "different") for one in answers)
    if undecided and not unfinished:
        raise Refused(
            f"{undecided:,} of {len(answers):,} pairs are not decided.",
            remedy="Decide or adjudicate them, or export with --unfinished, which takes them as different.",
        )
    clusters = clusters_of(home, answers)
    with _staged(Path(out)) as stage:
        linked = write_linked(home, clusters, FileTarget(str(stage / f"linked.{form}")), everybody=everybody)
        _write_rows(stage / "decisions.csv", DECISIONS, _decisions(answers))
        _write_rows(stage / "clusters.csv", ("record", "table", "cluster"), _clusters(home, clusters))
        _write_rows(stage / "contradictions.csv", ("first", "second"), clusters.contradictions.tolist())
        _write_rows(stage / "disclosures.csv", DISCLOSURES, disclosures(ledger.store, project))
        digest = _digest(stage / f"linked.{form}")
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
    """Who is who by the decisions of the machine and of people; pairs that nobody could decide count as nothing."""
    candidates = load_candidates(home)
    taken = _edges(one.records for one in answers)
    said = {}
    for verdict in ("same", "different"):
        machine = candidates.decided(verdict)
        alone = ~np.isin(machine.keys(home.records), taken[:, 0] * home.records + taken[:, 1])
        people = _edges(one.records for one in answers if one.verdict == verdict)
        said[verdict] = np.concatenate([people, np.stack([machine.first, machine.second], axis=1)[alone]])
    once = home.sizes[0] if candidates.once else None
    return cluster(home.records, said["same"], said["different"], once_per_table=once)


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


DECISIONS = ("pair", "first", "second", "probability", "verdict", "worker", "role", "answer", "confidence")


def _decisions(answers: Iterable[Answered]) -> Iterator[Sequence[Any]]:
    """One row per person and pair; a pair that nobody has is one row without a person."""
    for one in answers:
        told = [(worker, "review", choice) for worker, choice in one.reviews.items()]
        told += [(worker, "adjudication", choice) for worker, choice in one.adjudications.items()]
        for worker, role, choice in told or [("", "", None)]:
            answer, sure = ("", "") if choice is None else CHOICES[choice]
            yield one.pair, *one.records, one.probability, one.verdict, worker, role, answer, sure


def _clusters(home: ProjectFolder, clusters: Clusters) -> Iterator[Sequence[Any]]:
    """Clusters are numbered anew; the numbers have nothing to do with the pseudonyms of the linked table."""
    numbers = np.unique(clusters.of, return_inverse=True)[1]
    for record, number in enumerate(numbers.tolist()):
        yield record, home.tables[int(record >= home.sizes[0])], number


def _edges(pairs: Iterable[tuple[int, int]]) -> Edges:
    return np.array(list(pairs), dtype=np.int64).reshape(-1, 2)


def _write_rows(path: Path, titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(titles)
        for row in rows:
            writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in row])


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _staged(out: Path) -> Iterator[Path]:
    """A folder beside the one that is wanted, which takes its place when all is written down."""
    if out.exists():
        raise UsageError(f"{out} exists already.", remedy="Give the name of a new folder.")
    try:
        stage = Path(tempfile.mkdtemp(prefix=".discreet-", dir=out.parent))
    except OSError as error:
        raise unwritable(out, error) from None
    try:
        yield stage
        stage.rename(out)
    except OSError as error:
        raise unwritable(out, error) from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)
