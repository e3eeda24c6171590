"""Pairs with their scores: read from files, labelled, sampled; no personal values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import ColumnError, DataError, UsageError
from discreet.kernel.arrays import Flags, Floats
from discreet.linkage.folder import ProjectFolder, Records
from discreet.sources import Table, read
from discreet.sources.duckdb_scratch import connect, literal, quote, translated
from discreet.sources.table_rows import local_desk

COLUMNS = ("first", "second", "weight", "probability")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two records each, the smaller number first; how much speaks for one person, and how probable that is.

    `weight` is in bits: one more doubles the odds. `probability` is what the model says, or what it was calibrated to.
    Both are NaN for pairs that came without a score.
    """

    first: Records
    second: Records
    weight: Floats
    probability: Floats
    calibrated: bool = False
    relatives: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Pairs that may be two people of one household; none where it is empty."""

    def __post_init__(self) -> None:
        if not len(self.relatives):
            object.__setattr__(self, "relatives", np.zeros(len(self.first), dtype=np.bool_))
        if not len(self.first) == len(self.second) == len(self.weight) == len(self.probability):
            raise UsageError("Pairs need columns of one length.", remedy="Read them with read_pairs.")
        for array in (self.first, self.second, self.weight, self.probability):
            array.setflags(write=False)

    @classmethod
    def of(cls, first: Any, second: Any, weight: Any) -> Pairs:
        """Pairs whose probability is that of their weight.

        >>> Pairs.of([0, 1], [7, 9], [0.0, 10.0]).probability.round(3).tolist()
        [0.5, 0.999]
        """
        weights = np.array(weight, dtype=np.float64)
        return cls(np.array(first, dtype=np.int64), np.array(second, dtype=np.int64), weights, probability_of(weights))

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        return f"Pairs({len(self):,}, {'calibrated' if self.calibrated else 'not calibrated'})"

    @property
    def scored(self) -> bool:
        """Whether every pair has a weight."""
        return not bool(np.isnan(self.weight).any())

    @property
    def expected(self) -> float:
        """How many of the pairs are one person, by their probabilities."""
        return float(np.nansum(self.probability))

    def where(self, chosen: Any) -> Pairs:
        """Some of the pairs."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in (*COLUMNS, "relatives")})

    def keys(self, records: int) -> Records:
        """One number for each pair, for look-ups."""
        return np.asarray(self.first * np.int64(records) + self.second)

    def labelled(self, truth: Pairs, records: int) -> npt.NDArray[np.bool_]:
        """Which of the pairs are among other pairs."""
        return np.isin(self.keys(records), truth.keys(records))

    def write(
        self,
        path: Path,
        *,
        decisions: npt.NDArray[np.int8] | None = None,
        names: Sequence[str] = (),
        stands: Floats | None = None,
    ) -> Path:
        """Write the pairs as Parquet, with decisions and the label sample where there are such."""
        columns = {name: np.array(getattr(self, name)) for name in (*COLUMNS, "relatives")}
        said = ", relatives"
        if stands is not None and len(stands):
            columns["stands"], said = stands, f"{said}, stands"
        if decisions is not None:
            columns["decision"] = decisions.astype(np.int32)
            said += f", [{', '.join(map(literal, names))}][decision + 1] AS decision"
        with connect() as own, translated("the pairs"):
            own.register("handed", columns)
            rows = f"SELECT {', '.join(COLUMNS)}, {str(self.calibrated).upper()} AS calibrated{said} FROM handed"
            target = f"{literal(str(path))} (FORMAT parquet, COMPRESSION zstd)"
            own.execute(f"COPY ({rows} ORDER BY first, second) TO {target}")
        return path

    @classmethod
    def read(cls, path: Path) -> Pairs:
        """Pairs that were written."""
        if not path.is_file():
            raise UsageError("There are no candidate pairs yet.", remedy="Find them with: discreet link pairs PROJECT")
        with connect() as own, translated("the pairs"):
            found = own.execute(f"SELECT * FROM read_parquet({literal(str(path))}) ORDER BY first, second").fetchnumpy()
        numbers = [np.asarray(np.ma.getdata(found[name]), dtype=np.int64) for name in COLUMNS[:2]]
        scores = [np.asarray(np.ma.filled(found[name].astype(np.float64), np.nan)) for name in COLUMNS[2:]]
        calibrated, relatives = (
            np.asarray(found.get(name, [False] * len(scores[0])), dtype=np.bool_)
            for name in ("calibrated", "relatives")
        )
        return cls(numbers[0], numbers[1], scores[0], scores[1], calibrated=bool(calibrated.any()), relatives=relatives)


def probability_of(weight: Floats) -> Floats:
    """The probability of a weight in bits."""
    small = np.exp2(-np.abs(weight))
    return np.asarray(np.where(weight >= 0, 1 / (1 + small), small / (1 + small)))


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of some pairs: whether they are one person, and how many pairs each label counts for."""

    pairs: Pairs
    same: npt.NDArray[np.bool_]
    weights: Floats = field(default_factory=lambda: np.zeros(0))
    """One over the share of such pairs that was labelled; 1 for all where it is empty."""

    def __post_init__(self) -> None:
        if not len(self.weights):
            object.__setattr__(self, "weights", np.ones(len(self.same)))
        if not len(self.pairs) == len(self.same) == len(self.weights) or bool((self.weights <= 0).any()):
            raise UsageError(
                "Labels need one answer and one positive weight per pair.", remedy="Read them with read_labels."
            )

    def __len__(self) -> int:
        return len(self.same)

    def __repr__(self) -> str:
        return f"Labels({len(self):,} pairs, {int(self.same.sum()):,} the same)"

    def matched(self, pairs: Pairs, folder: ProjectFolder) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """The places of labelled pairs among candidate pairs, and which labels have one."""
        wanted, there = self.pairs.keys(folder.records), pairs.keys(folder.records)
        order = np.argsort(there, kind="stable")
        if not len(there):
            return np.zeros(0, dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
        place = np.minimum(np.searchsorted(there[order], wanted), len(there) - 1)
        hit = there[order][place] == wanted
        return order[place[hit]], hit


# Pairs to label are drawn at random from layers of probability: some evenly, since the model may be sure and wrong, some
# where it is open, and half of them in proportion to the true pairs that are expected, since those tell how much of what
# the machine calls the same is wrong. Each label counts for as many pairs as its layer has per label drawn. Without that,
# pairs that were never in doubt would be calibrated by those that were.
LAYERS = (0.0, 0.0001, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999, 1.0)
EVENLY, OPEN, EXPECTED = 0.25, 0.25, 0.5


def sample_to_label(pairs: Pairs, size: int, *, seed: int) -> tuple[Records, Floats]:
    """Places of pairs to label, and how many pairs each label counts for."""
    if size < 1 or not pairs.scored:
        raise UsageError(
            "A sample to label has at least one pair, and its pairs have scores.", remedy="Score the pairs first."
        )
    rng = np.random.default_rng(seed)
    layer = np.digitize(pairs.probability, LAYERS[1:-1])
    counts = np.bincount(layer, minlength=len(LAYERS) - 1)
    # The best allocation over layers is in proportion to how uncertain an answer is (Neyman 1934).
    deviation = np.sqrt(pairs.probability * (1 - pairs.probability))
    doubt = np.bincount(layer, weights=deviation, minlength=len(counts))
    there = counts > 0
    mass = np.bincount(layer, weights=pairs.probability, minlength=len(counts))
    shares = EVENLY * there / there.sum() + sum(
        share * part / max(part.sum(), 1e-12) for share, part in ((OPEN, doubt), (EXPECTED, mass))
    )
    wanted = np.minimum(counts, np.ceil(size * shares).astype(np.int64))
    drawn = [
        rng.choice(np.flatnonzero(layer == place), wanted[place], replace=False) for place in np.flatnonzero(wanted)
    ]
    chosen = np.sort(np.concatenate(drawn))
    return chosen, (counts / np.maximum(wanted, 1))[layer[chosen]]


MEANINGS = {
    **dict.fromkeys(("1", "TRUE", "T", "YES", "Y", "SAME", "MATCH"), True),
    **dict.fromkeys(("0", "FALSE", "F", "NO", "N", "DIFFERENT", "NONMATCH"), False),
}


def read_pairs(
    folder: ProjectFolder, source: Any, *, ids: tuple[str, str] | None = None, score: str | None = None
) -> Pairs:
    """Candidate pairs from a file: two columns of ids (the first two), perhaps a score.

    A score is a probability if all of them are from 0 to 1, else a weight in bits.
    """
    rows = _joined(folder, source, ids, {"score": score})
    pairs = Pairs.of(rows["first"], rows["second"], np.full(len(rows["first"]), np.nan))
    if score is None:
        return pairs
    scores = np.ma.filled(rows["score"].astype(np.float64), np.nan)
    if bool(np.isnan(scores).any()):
        raise DataError(
            f"Column '{score}' holds {int(np.isnan(scores).sum()):,} scores that are no numbers.",
            remedy="Correct them, or import the pairs without a score.",
        )
    if len(scores) and scores.min() >= 0 and scores.max() <= 1:
        inner = np.clip(scores, 1e-12, 1 - 1e-12)
        return replace(pairs, weight=np.log2(inner / (1 - inner)), probability=scores)
    return replace(pairs, weight=scores, probability=probability_of(scores))


def read_labels(
    folder: ProjectFolder,
    source: Any,
    *,
    ids: tuple[str, str] | None = None,
    same: str | None = None,
    weight: str | None = None,
) -> Labels:
    """Labels of pairs: two columns of ids, and what is known about each pair.

    The column `same` says yes or no (all yes without one), `weight` how many pairs each label counts for.
    """
    rows = _joined(folder, source, ids, {"same": same, "weight": weight})
    count = len(rows["first"])
    answers: list[bool | None] = [True] * count
    if same is not None:
        answers = [MEANINGS.get(str(cell).strip().upper()) for cell in np.ma.filled(rows["same"], "").tolist()]
    if unknown := answers.count(None):
        raise DataError(
            f"Column '{same}' holds {unknown:,} answers that are neither yes nor no.",
            remedy="Write 1 or 0, yes or no, same or different.",
        )
    weights = np.ones(count) if weight is None else np.ma.filled(rows["weight"].astype(np.float64), np.nan)
    if not bool((weights > 0).all()):
        raise DataError(f"Column '{weight}' must hold positive numbers.", remedy="Correct or remove it.")
    return Labels(Pairs.of(rows["first"], rows["second"], np.zeros(count)), np.array(answers, dtype=np.bool_), weights)


def _joined(
    folder: ProjectFolder, source: Any, ids: tuple[str, str] | None, columns: dict[str, str | None]
) -> dict[str, Any]:
    """The pairs with record numbers instead of ids, joined on DuckDB; each pair once, the smaller number first."""
    if any(table["id"] is None for table in folder.about["tables"]):
        raise ColumnError(
            "The project was imported without an id, so that nothing says which records a pair means.",
            remedy="Name the `id` column in the link file and import again.",
        )
    table = source if isinstance(source, Table) else read(Path(source) if isinstance(source, str) else source)
    if ids is None and len(table.columns) < 2:
        raise ColumnError(f"{table.name} has no two columns of ids.", remedy="Give a file of pairs.")
    named = ids or table.columns[:2]
    more = {role: name for role, name in columns.items() if name}
    with local_desk(table, [*named, *more.values()]) as desk, translated(desk.name):
        # Ids of pairs in one table may be in any order.
        left, right = (
            f"(SELECT id, record FROM {folder.scan('bridge', name)})" for name in (folder.tables[0], folder.tables[-1])
        )
        if len(folder.sizes) > 2:  # of several tables an id is meant where only one has it
            union = " UNION ALL ".join(
                f"SELECT id, record FROM {folder.scan('bridge', name)}" for name in folder.tables
            )
            left = right = f"(SELECT id, min(record) AS record FROM ({union}) GROUP BY id HAVING count(*) = 1)"
        kinds = {
            "score": "TRY_CAST(p.{} AS DOUBLE)",
            "weight": "TRY_CAST(p.{} AS DOUBLE)",
            "same": "CAST(p.{} AS VARCHAR)",
        }
        extra = "".join(f", {kinds[role].format(quote(name))} AS {role}" for role, name in more.items())
        one, other = (f"trim(CAST(p.{quote(name)} AS VARCHAR))" for name in named)
        rows: dict[str, Any] = desk.run(
            f"SELECT coalesce(least(l.record, r.record), -1) AS first, coalesce(greatest(l.record, r.record), -1) AS second, "
            f"l.record IS NULL OR r.record IS NULL AS lost{extra} "
            f"FROM source p LEFT JOIN {left} l ON l.id = {one} LEFT JOIN {right} r ON r.id = {other} "
            f"ORDER BY ALL"
        ).fetchnumpy()
    first, second = (np.ma.getdata(rows[name]).astype(np.int64) for name in ("first", "second"))
    if lost := int(np.ma.getdata(rows["lost"]).sum()):
        raise DataError(
            f"{lost:,} of {len(first):,} pairs in {table.name} name an id that the project does not have.",
            remedy="Are the first ids those of the first table, and the second those of the second?",
        )
    keys = first * np.int64(folder.records) + second
    if len(np.unique(keys)) < len(keys) or bool((first == second).any()):
        raise DataError(
            f"{table.name} lists a pair twice, or a record with itself.", remedy="List every pair of two records once."
        )
    return {**rows, "first": first, "second": second}
