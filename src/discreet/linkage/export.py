"""Export of a project: decisions, clusters, the de-identified table, the crosswalk, and disclosures."""

from __future__ import annotations

import csv
import hashlib
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sqlalchemy import select

from discreet.errors import Refused, UsageError
from discreet.kernel.serialise import json_of
from discreet.ledger import Ledger
from discreet.linkage.folder import ProjectFolder, staged
from discreet.linkage.matching.candidate_pairs import load_candidates
from discreet.linkage.matching.clusters import Clusters, Edges, cluster
from discreet.linkage.progress import decision_times
from discreet.linkage.project import Project
from discreet.linkage.review.decisions import Answered, Verdict, answers_of, labels_of
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

    From one table, or more than two: a row per record, the rows of one person under one pseudonym. From two: a row per record of the
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
        titles = [quote(f"{name}_{table}" if folder.two and taken.count(name) > 1 else name) for name in names]
        cells = "".join(f", s.{quote(name)} AS {title}" for name, title in zip(names, titles, strict=True))
        columns += [f", {title}" for title in titles]
        parts.append(
            f"SELECT p.{PERSON}, p.{SEAT}{cells} FROM people p "
            f"JOIN {folder.scan('bridge', table)} b ON b.record = p.record "
            f"JOIN {folder.scan('sensitive', table)} s ON s.pseudonym = b.pseudonym"
        )
    if not folder.two:
        return " UNION ALL BY NAME ".join(parts)
    kind = "FULL" if everybody else "INNER"
    seat = f"coalesce(a.{SEAT}, '') || coalesce(b.{SEAT}, '') AS {SEAT}"
    return f"SELECT {PERSON}{''.join(columns)}, {seat} FROM ({parts[0]}) a {kind} JOIN ({parts[1]}) b USING ({PERSON})"


# Labels that travel: what people decided, by the ids of the tables, so that another run or another project can learn from it.
LABELS = ("first_id", "second_id", "same", "weight")


def write_labels(store: Store, project: Project, path: Path) -> int:
    """Write the pairs that people decided as labels; gives how many there are.

    Where a label sample was drawn, its pairs alone are written, as the others are no fair sample.
    """
    home = ProjectFolder.open(project.folder)
    if any(table["id"] is None for table in home.about["tables"]):
        raise UsageError(
            "Labels are written by id, and the link file names no column for it.",
            remedy='Import again with `id = "COLUMN"` in the link file.',
        )
    if path.exists():
        raise UsageError(f"{path} exists already.", remedy="Give the name of a new file.")
    labels = load_candidates(home).of_sample(labels_of(answers_of(store, project)), home)
    ids = home.ids()
    pairs = zip(labels.pairs.first.tolist(), labels.pairs.second.tolist(), strict=True)
    rows = [
        (ids[first], ids[second], int(same), round(weight, 6))
        for (first, second), same, weight in zip(pairs, labels.same.tolist(), labels.weights.tolist(), strict=True)
    ]
    path.touch(mode=0o600)
    _write_rows(path, LABELS, rows)
    return len(rows)


# The crosswalk: ids of the source tables that belong to one person. It identifies people in both tables, so it is written
# only when asked for, and the entry of the ledger says so.
KEYS = ("first_id", "second_id", "person", "score", "decided_by", "first_table", "second_table")
CHANGES = ("person_before", "person", "change", "records")
PERSON_KEY, PERSONS = "person.key", "persons.parquet"
Rows = list[tuple[Any, ...]]


def pending_changes(folder: ProjectFolder, clusters: Clusters, answers: Sequence[Answered]) -> Rows | None:
    """The persons whom the next crosswalk would merge or split; None before the first."""
    if not (folder.part("bridge") / PERSONS).exists():
        return None
    return crosswalk(folder, clusters, answers, keep=False)[1]


def crosswalk(
    folder: ProjectFolder, clusters: Clusters, answers: Sequence[Answered], *, keep: bool = True
) -> tuple[Rows, Rows]:
    """A row per two records of one person, with the ids of both; and what has changed.

    A person keeps their id over runs: that of the last crosswalk that most of their records had. Where people were merged
    or split since then, the second list says so, for people to look at. A new id follows from a secret of the project
    and says nothing about the person. Unless `keep`, the next crosswalk is compared with the same one again.
    """
    if any(table["id"] is None for table in folder.about["tables"]):
        raise UsageError(
            "A crosswalk is made of ids, and the link file names no column for them.",
            remedy='Import again with `id = "COLUMN"` in the link file.',
        )
    candidates, records = load_candidates(folder), np.arange(folder.records, dtype=np.int64)
    pairs, machine = candidates.pairs, candidates.decided("same")
    by = dict.fromkeys(zip(machine.first.tolist(), machine.second.tolist(), strict=True), "machine")
    by |= {answered.records: _decided_by(answered) for answered in answers if answered.verdict == "same"}
    decided = np.array(list(by), dtype=np.int64).reshape(-1, 2)
    ids = " UNION ALL ".join(f"SELECT record, id FROM {folder.scan('bridge', table)}" for table in folder.tables)
    with connect() as own, translated("the project"):
        of = {"record": records, "cluster": clusters.of, "place": folder.table_of(records)}
        own.register("clusters", of)
        own.register("scores", {"first": pairs.first, "second": pairs.second, "score": pairs.probability})
        own.register(
            "deciders", {"first": decided[:, 0], "second": decided[:, 1], "way": np.array([*by.values()], dtype=str)}
        )
        own.execute(
            f"CREATE TEMP TABLE members AS SELECT record, place, id, cluster FROM ({ids}) JOIN clusters USING (record)"
        )
        changed = _name_persons(own, folder, keep=keep)
        names = f"[{', '.join(map(literal, folder.tables))}]"
        sides = "a.place < b.place" if folder.across else "a.record < b.record"
        rows: Rows = own.execute(
            f"""
            SELECT a.id, b.id, person, CASE WHEN isnan(score) THEN NULL ELSE round(score, 6) END,
                   coalesce(way, 'other pairs'), {names}[a.place + 1], {names}[b.place + 1]
            FROM members a JOIN members b ON a.cluster = b.cluster AND {sides}
            JOIN persons p ON p.cluster = a.cluster
            LEFT JOIN scores s ON s.first = a.record AND s.second = b.record
            LEFT JOIN deciders d ON d.first = a.record AND d.second = b.record
            ORDER BY person, a.record, b.record
            """
        ).fetchall()
    return rows, changed


def _name_persons(own: Any, folder: ProjectFolder, *, keep: bool) -> Rows:
    """Give each cluster the id of a person, kept for the next crosswalk; gives merges and splits."""
    stored = folder.part("bridge") / PERSONS
    earlier = (
        f"SELECT * FROM read_parquet({literal(str(stored))})"
        if stored.exists()
        else "SELECT 0 AS record, '' AS person LIMIT 0"
    )
    own.execute(f"CREATE TEMP TABLE earlier AS {earlier}")
    fresh = literal(f"{_secret(folder)}:person:")
    own.execute(
        f"""
        CREATE TEMP TABLE shared AS
            SELECT cluster, person, count(*) AS n FROM members JOIN earlier USING (record) GROUP BY ALL;
        CREATE TEMP TABLE kept AS  -- an id goes to the cluster with most of its records, a cluster takes the id of most of its own
            SELECT cluster, person FROM (
                SELECT * FROM shared QUALIFY row_number() OVER (PARTITION BY person ORDER BY n DESC, cluster) = 1
            ) QUALIFY row_number() OVER (PARTITION BY cluster ORDER BY n DESC, person) = 1;
        CREATE TEMP TABLE named AS
            SELECT cluster, sha256({fresh} || least)[:32] AS person, sha256({fresh} || least || {literal(secrets.token_hex(16))})[:32] AS other
            FROM (SELECT cluster, min(lpad(place::VARCHAR, 4, '0') || ':' || id) AS least FROM members GROUP BY cluster);
        CREATE TEMP TABLE persons AS
            SELECT n.cluster, coalesce(k.person, CASE WHEN n.person IN (SELECT person FROM earlier) THEN other ELSE n.person END) AS person
            FROM named n LEFT JOIN kept k USING (cluster);
        """
    )
    if keep:
        with tempfile.TemporaryDirectory(dir=stored.parent, prefix=".persons-") as private:
            written = Path(private) / PERSONS
            written.touch(mode=0o600)
            rows = "SELECT record, person FROM members JOIN persons USING (cluster) ORDER BY record"
            own.execute(f"COPY ({rows}) TO {literal(str(written))} (FORMAT parquet)")
            written.chmod(0o600)
            written.replace(stored)
    changed: Rows = own.execute(
        """
        SELECT s.person, p.person, CASE WHEN into_one > 1 THEN 'merged' ELSE 'split' END, n
        FROM (SELECT *, count(*) OVER (PARTITION BY cluster) AS into_one, count(*) OVER (PARTITION BY person) AS into_many FROM shared) s
        JOIN persons p USING (cluster) WHERE into_one > 1 OR into_many > 1 ORDER BY ALL
        """
    ).fetchall()
    return changed


def _decided_by(answered: Answered) -> str:
    return "adjudication" if answered.adjudications else "review"


def _secret(folder: ProjectFolder) -> str:
    """The secret from which ids of people follow; made at the first crosswalk, and kept where only the owner reads."""
    path = folder.part("bridge") / PERSON_KEY
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".key-") as private:
            fresh = Path(private) / PERSON_KEY
            fresh.touch(mode=0o600)
            fresh.write_text(secrets.token_hex(32), encoding="ascii")
            with suppress(FileExistsError):  # of two exports at once, one is first
                path.hardlink_to(fresh)
    return path.read_text(encoding="ascii")


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
    keys: int | None = None
    """Rows of the crosswalk, where one was asked for."""
    changes: int | None = None
    """People of the crosswalk before who were merged or split since then, in rows of `changes.csv`."""

    to_dict = json_of("folder linked digest pairs undecided clusters contradictions crowded entry keys changes")


def export(
    ledger: Ledger,
    project: Project,
    out: str | Path,
    *,
    actor: str,
    unfinished: bool = False,
    everybody: bool = False,
    form: Format = "parquet",
    keys: bool = False,
) -> Exported:
    """Write a folder with the linked table (`linked`), `decisions.csv`, `clusters.csv`, `contradictions.csv` and
    `disclosures.csv`, with `keys` also `crosswalk.csv` and `changes.csv`. The entry of the ledger is durable before the folder is there.

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
        _write_rows(stage / "decisions.csv", DECISIONS, _decisions(answers, decision_times(ledger.store, project)))
        # Clusters are numbered from 0; the numbers have nothing to do with the pseudonyms of the linked table.
        numbers = np.unique(clusters.of, return_inverse=True)[1].tolist()
        tables = home.table_of(np.arange(home.records)).tolist()
        rows = ((record, home.tables[tables[record]], number) for record, number in enumerate(numbers))
        _write_rows(stage / "clusters.csv", ("record", "table", "cluster"), rows)
        _write_rows(stage / "contradictions.csv", ("first", "second"), clusters.contradictions.tolist())
        _write_rows(stage / "disclosures.csv", DISCLOSURES, disclosures(ledger.store, project))
        walk = crosswalk(home, clusters, answers) if keys else None
        if walk is not None:
            _write_rows(stage / "crosswalk.csv", KEYS, walk[0])
            _write_rows(stage / "changes.csv", CHANGES, walk[1])
        with (stage / f"linked.{form}").open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        receipt = ledger.record(
            actor=actor,
            event="linkage.exported",
            subject=project.subject,
            details={"rows": linked.rows, "people": linked.people, "sha256": digest, "undecided": undecided,
                     "contradictions": len(clusters.contradictions), **({} if walk is None else {"keys": len(walk[0])})},
        )  # fmt: skip
    return Exported(
        Path(out), linked, digest, len(answers), undecided, len(clusters), len(clusters.contradictions),
        len(clusters.crowded), receipt.sequence, None if walk is None else len(walk[0]),
        None if walk is None else len(walk[1]),
    )  # fmt: skip


def clusters_of(home: ProjectFolder, answers: Sequence[Answered]) -> Clusters:
    """Clusters by the decisions of the machine and of people; pairs that nobody could decide count as nothing.

    Of pairs of known truth that counts, not what people answered.
    """
    meant: dict[bool | None, Verdict] = {True: "same", False: "different"}
    candidates = load_candidates(home)
    taken = _edges(answered.records for answered in answers)
    decided = {}
    for verdict in ("same", "different"):
        machine = candidates.decided(verdict)
        alone = ~np.isin(machine.keys(home.records), taken[:, 0] * home.records + taken[:, 1])
        people = _edges(
            answered.records for answered in answers if meant.get(answered.gold, answered.verdict) == verdict
        )
        decided[verdict] = np.concatenate([people, np.stack([machine.first, machine.second], axis=1)[alone]])
    once = home.sizes if candidates.once else None
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


def _decisions(answers: Iterable[Answered], times: Mapping[str, Mapping[int, float | None]]) -> Iterator[Sequence[Any]]:
    """One row per person and pair; a pair that nobody has is one row without a person."""
    for answered in answers:
        choices = [(worker, "review", choice) for worker, choice in answered.reviews.items()]
        choices += [(worker, "adjudication", choice) for worker, choice in answered.adjudications.items()]
        for worker, role, choice in choices or [("", "", None)]:
            pair = answered.pair, *answered.records, answered.probability, answered.verdict
            seconds = times.get(worker, {}).get(answered.pair)
            answer = ("", "") if choice is None else CHOICES[choice]
            yield *pair, worker, role, *answer, "" if seconds is None else round(seconds, 1)


def _edges(pairs: Iterable[tuple[int, int]]) -> Edges:
    return np.array(list(pairs), dtype=np.int64).reshape(-1, 2)


def _write_rows(path: Path, titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(titles)
        writer.writerows([guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
