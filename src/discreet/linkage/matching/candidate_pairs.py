"""Candidate pairs of a project: found, adopted, divided; and the clusters that decisions make."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import UsageError
from discreet.kernel.arrays import Flags, Floats
from discreet.linkage.folder import ProjectFolder, Records
from discreet.linkage.matching.backends import Backend, DuckDBBackend
from discreet.linkage.matching.blocking import blocking_of, suggest_rules
from discreet.linkage.matching.pairs import Labels, Pairs
from discreet.linkage.matching.splink_model import Model, retrain, score_pairs, train
from discreet.linkage.matching.thresholds import (
    DIFFERENT,
    FALSE_SAME,
    MISSED,
    PEOPLE,
    SAME,
    Calibration,
    Zones,
    calibrate,
    zones_by_capacity,
    zones_by_errors,
)
from discreet.sources.duckdb_scratch import connect, literal, quote, translated

Edges = npt.NDArray[np.int64]
DECISIONS = (DIFFERENT, PEOPLE, SAME)
UNCALIBRATED = "Probabilities are the model's own: no labels have shown yet whether they are of the right size."


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidate pairs, who decides each of them, and how that came about."""

    pairs: Pairs
    decisions: npt.NDArray[np.int8]
    """Per pair 0 for different by machine, 1 for people, 2 for same by machine."""
    zones: Zones | None
    """None where pairs came without a score: then people decide all of them."""
    model: Model | None = None
    calibration: Calibration | None = None
    once: bool = False
    """Whether each table has every person once at most."""

    @property
    def counts(self) -> dict[str, int]:
        """Pairs per decision."""
        return dict(zip(DECISIONS, np.bincount(self.decisions, minlength=3).tolist(), strict=True))

    def decided(self, decision: str) -> Pairs:
        """The pairs of one decision: `different`, `people` or `same`."""
        return self.pairs.where(self.decisions == DECISIONS.index(decision))

    def to_dict(self) -> dict[str, Any]:
        """For JSON: counts, thresholds and expected errors."""
        return {
            "pairs": len(self.pairs),
            "decisions": self.counts,
            "calibrated": self.pairs.calibrated,
            "labels": self.calibration.labels if self.calibration else 0,
            "one_to_one": self.once,
            "zones": self.zones.to_dict() if self.zones else None,
            "rules": [rule.to_dict() for rule in self.model.blocking.rules] if self.model else [],
            "recall": self.model.blocking.recall if self.model else None,
        }

    def save(self, folder: ProjectFolder) -> None:
        """Write pairs, model and zones into the project, in place of earlier ones."""
        home = folder.pairs_folder
        home.mkdir(mode=0o700, exist_ok=True)
        self.pairs.write(home / "pairs.parquet", decisions=self.decisions, names=DECISIONS)
        if self.model is not None:
            self.model.save(home / "model.json")
        about = {**self.to_dict(), "calibration": self.calibration.to_dict() if self.calibration else None}
        (home / "zones.json").write_text(json.dumps(about, indent=1), encoding="utf-8")

    def __repr__(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in self.counts.items())
        return f"Candidates({counts})"


def find_pairs(
    folder: ProjectFolder,
    *,
    most_pairs: int | None = None,
    rules: Iterable[Sequence[str]] | None = None,
    seed: int = 1,
    labels: Labels | None = None,
    review: int | None = None,
    false_same: float = FALSE_SAME,
    missed: float = MISSED,
    once: bool = False,
    backend: Backend | None = None,
) -> Candidates:
    """Choose rules, train, score, learn from labels where there are any, and cut the zones.

    Zones are cut by the errors the machine may make, or by `review`, the number of pairs people can look at. `once` says
    that each table has every person once at most.
    """
    desk = backend or DuckDBBackend(folder)
    counting = desk if isinstance(desk, DuckDBBackend) else DuckDBBackend(folder)
    blocking = (
        suggest_rules(folder, most_pairs=most_pairs, backend=counting)
        if rules is None
        else blocking_of(folder, rules, backend=counting)
    )
    model = train(folder, blocking=blocking, seed=seed, backend=desk)
    pairs = score_pairs(folder, model, backend=desk)
    calibration = None
    if labels is not None:
        model = retrain(folder, model, labels, pairs, backend=desk)
        pairs = score_pairs(folder, model, backend=desk)
        calibration = calibrate(folder, pairs, labels)
        pairs = calibration.applied(pairs)
    zones = cut(pairs, review=review, false_same=false_same, missed=missed)
    return _candidates(folder, pairs, zones, model=model, calibration=calibration, once=once)


def adopt_pairs(
    folder: ProjectFolder,
    pairs: Pairs,
    *,
    labels: Labels | None = None,
    review: int | None = None,
    false_same: float = FALSE_SAME,
    missed: float = MISSED,
    once: bool = False,
) -> Candidates:
    """Take pairs from elsewhere as candidates; without scores all of them go to people."""
    if not pairs.scored:
        return Candidates(pairs, np.ones(len(pairs), dtype=np.int8), None)
    calibration = None if labels is None else calibrate(folder, pairs, labels)
    pairs = pairs if calibration is None else calibration.applied(pairs)
    zones = cut(pairs, review=review, false_same=false_same, missed=missed)
    return _candidates(folder, pairs, zones, calibration=calibration, once=once)


def cut(pairs: Pairs, *, review: int | None, false_same: float = FALSE_SAME, missed: float = MISSED) -> Zones:
    """Zones by what people can review, or else by the errors the machine may make."""
    if review is not None:
        return zones_by_capacity(pairs, review=review)
    return zones_by_errors(pairs, false_same=false_same, missed=missed)


def load_candidates(folder: ProjectFolder) -> Candidates:
    """The candidates of a project that `save` wrote."""
    home = folder.pairs_folder
    if not (home / "zones.json").is_file():
        raise UsageError("There are no candidate pairs yet.", remedy="Find them with: discreet link pairs PROJECT")
    about = json.loads((home / "zones.json").read_text(encoding="utf-8"))
    pairs = Pairs.read(home / "pairs.parquet")
    with connect() as own, translated("the pairs"):
        rows = own.execute(
            f"SELECT decision FROM read_parquet({literal(str(home / 'pairs.parquet'))}) ORDER BY first, second"
        ).fetchall()
    decisions = np.array([DECISIONS.index(decision) for (decision,) in rows], dtype=np.int8)
    zones = None
    if about["zones"] is not None:
        stored: dict[str, Any] = {
            field.name: float("inf") if about["zones"][field.name] is None else about["zones"][field.name]
            for field in fields(Zones)
        }
        zones = Zones(**stored)
    model = Model.load(home / "model.json") if (home / "model.json").is_file() and about["rules"] else None
    calibration = Calibration.from_dict(about["calibration"]) if about["calibration"] else None
    return Candidates(pairs, decisions, zones, model, calibration, about["one_to_one"])


def _candidates(folder: ProjectFolder, pairs: Pairs, zones: Zones, **more: Any) -> Candidates:
    decisions = zones.of(pairs)
    if more["once"]:
        if not folder.two:
            raise UsageError(
                "Only two tables can each have every person once.",
                remedy="Leave it out where duplicates are looked for.",
            )
        decisions = _once(pairs, decisions)
    return Candidates(pairs, decisions, zones, **more)


def _once(pairs: Pairs, decisions: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Pairs that lose a record to a surer, certain pair are different; ties go to people."""
    won, tied = one_to_one(pairs.first, pairs.second, pairs.weight)
    sure = won & (decisions == 2)
    partner = np.isin(pairs.first, pairs.first[sure]) | np.isin(pairs.second, pairs.second[sure])
    found = np.where(partner & ~sure & (decisions > 0), np.int8(0), decisions)
    return np.where(tied & (found == 2), np.int8(1), np.where(~won & ~tied & (found == 2), np.int8(1), found))


def divided(folder: ProjectFolder, found: Candidates, zones: Zones) -> Candidates:
    """Candidates divided between the machine and people by other zones."""
    about = {"model": found.model, "calibration": found.calibration, "once": found.once}
    return _candidates(folder, found.pairs, zones, **about)


# Candidate pairs by a quick rule: no model, no training, a second for some hundred records. For demonstrations and tests.
LEAST = 0.5
"""Such a share of the attributes is equal in a pair that is worth a look."""
EVEN = 0.9
"""With such a likeness it is even whether two records are one person;"""
BITS = 48.0
"""and this much speaks for or against it per unit of likeness."""
UNKNOWN = 0.5
"""The likeness of a value to a missing one."""


def likely_pairs(folder: ProjectFolder, *, review: int) -> Candidates:
    """Pairs by how alike their attributes are on average, Jaro-Winkler each; the most doubtful ones go to people.

    Compares every record with every other, so it is for small tables; `find_pairs` is for all others.
    """
    names = [quote(name) for name in folder.spec.names]
    equal = " + ".join(f"coalesce((a.{name} = b.{name})::INT, 0)" for name in names)
    alike = " + ".join(f"coalesce(jaro_winkler_similarity(a.{name}, b.{name}), {UNKNOWN})" for name in names)
    crossed = "0"
    if folder.spec.swap:
        one, other = (quote(name) for name in folder.spec.swap)
        crossed = f"coalesce((a.{one} = b.{other} AND a.{other} = b.{one})::INT, 0)"
    first, second = (folder.scan("identifying", table) for table in (folder.tables[0], folder.tables[-1]))
    with connect() as own, translated("the project"):
        rows = own.execute(
            f"SELECT a.record AS first, b.record AS second, ({alike} + {crossed}) / {len(names)} AS likeness "
            f"FROM {first} a JOIN {second} b ON a.record < b.record "
            f"AND {equal} + 2 * {crossed} >= {LEAST * len(names)} ORDER BY ALL"
        ).fetchnumpy()
    weight = BITS * (np.asarray(rows["likeness"], dtype=np.float64) - EVEN)
    return adopt_pairs(folder, Pairs.of(rows["first"], rows["second"], weight), review=review)


# Clusters: records that decisions join to one person, and contradictions.
@dataclass(frozen=True, eq=False)
class Clusters:
    """Per record the smallest record of its cluster, and the pairs that contradict a cluster."""

    of: Records
    contradictions: Edges
    """Pairs that were decided different, but whose records are one person by other decisions; one row each."""
    crowded: Records
    """Clusters with two records of one table where each table has every person once at most."""

    def __len__(self) -> int:
        return len(np.unique(self.of))

    @property
    def sound(self) -> bool:
        """Whether nothing contradicts."""
        return not len(self.contradictions) and not len(self.crowded)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Records per cluster, in the order of their smallest record."""
        return np.unique(self.of, return_counts=True)[1]

    def __repr__(self) -> str:
        wrong = len(self.contradictions) + len(self.crowded)
        return f"Clusters({len(self):,} of {len(self.of):,} records, {wrong:,} contradictions)"


def cluster(
    records: int, same: Edges, different: Edges | None = None, *, once_per_table: int | None = None
) -> Clusters:
    """Connected components of the pairs decided same, checked against the pairs decided different.

    `same` and `different` have one row of two record numbers per pair. Where each table has every person once at most,
    `once_per_table` is the number of records of the first table.

    >>> import numpy as np
    >>> found = cluster(4, np.array([[0, 1], [1, 2]]), np.array([[0, 2]]))
    >>> found.of.tolist(), found.contradictions.tolist()
    ([0, 0, 0, 3], [[0, 2]])
    """
    edges, apart = _edges(same, records), _edges(different, records)
    of = components(records, edges)
    against = apart[of[apart[:, 0]] == of[apart[:, 1]]]
    crowded = np.zeros(0, dtype=np.int64)
    if once_per_table is not None:
        counted = [np.unique(part, return_counts=True) for part in (of[:once_per_table], of[once_per_table:])]
        crowded = np.unique(np.concatenate([labels[counts > 1] for labels, counts in counted]))
    return Clusters(of, against, crowded)


def components(records: int, edges: Edges) -> Records:
    """Per record the smallest record it is connected with, by labels that fall along edges.

    Every round at least halves the distance to the smallest number, so a chain of a million takes about twenty.
    """
    label = np.arange(records, dtype=np.int64)
    while True:
        before = label.copy()
        least = np.minimum(label[edges[:, 0]], label[edges[:, 1]])
        for side in (0, 1):
            np.minimum.at(label, label[edges[:, side]], least)
            np.minimum.at(label, edges[:, side], least)
        label = label[label]
        if np.array_equal(label, before):
            return label


def one_to_one(first: Records, second: Records, weight: Floats) -> tuple[Flags, Flags]:
    """Which pairs win, and which are tied, where no record may have two partners.

    Pairs are taken by falling weight while both records are free. Pairs of one weight that compete for a record are
    tied: none of them wins, and no lighter pair of those records does.

    >>> import numpy as np
    >>> won, tied = one_to_one(np.array([0, 0, 1]), np.array([5, 6, 6]), np.array([3.0, 2.0, 1.0]))
    >>> won.tolist(), tied.tolist()
    ([True, False, True], [False, False, False])
    """
    won, tied = np.zeros(len(weight), dtype=np.bool_), np.zeros(len(weight), dtype=np.bool_)
    order = np.argsort(-weight, kind="stable")
    sides = list(zip(first[order].tolist(), second[order].tolist(), strict=True))
    ends = np.append(np.flatnonzero(np.diff(weight[order])) + 1, len(order)).tolist() if len(order) else []
    taken: tuple[set[int], set[int]] = set(), set()
    for begin, end in zip([0, *ends], ends, strict=False):
        free = [
            place for place in range(begin, end) if sides[place][0] not in taken[0] and sides[place][1] not in taken[1]
        ]
        wanted = [Counter(sides[place][side] for place in free) for side in (0, 1)] if len(free) > 1 else None
        for place in free:
            here, there = sides[place]
            alone = wanted is None or wanted[0][here] == wanted[1][there] == 1
            won[order[place]], tied[order[place]] = alone, not alone
        for side in (0, 1):
            taken[side].update(sides[place][side] for place in free)
    return won, tied


def _edges(pairs: Edges | None, records: int) -> Edges:
    edges = np.zeros((0, 2), dtype=np.int64) if pairs is None else np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if len(edges) and (edges.min() < 0 or edges.max() >= records):
        raise UsageError(
            f"A pair names a record outside of the {records:,} there are.", remedy="Give numbers from 0 up."
        )
    return edges
