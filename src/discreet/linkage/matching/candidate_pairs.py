"""Candidate pairs of a project: found, adopted, divided; and the clusters that decisions make."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import UsageError
from discreet.kernel.arrays import Floats
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.matching.backends import Backend, DuckDBBackend
from discreet.linkage.matching.blocking import blocking_of, histories_of, recaptured, suggest_rules
from discreet.linkage.matching.clusters import one_to_one
from discreet.linkage.matching.encoded_pairs import find_encoded, score_likeness
from discreet.linkage.matching.pairs import COLUMNS, Labels, Pairs, sample_to_label
from discreet.linkage.matching.splink_model import Model, retrain_and_score, score_pairs, train_and_score
from discreet.linkage.matching.thresholds import (
    DIFFERENT,
    FALSE_SAME,
    MISSED,
    PEOPLE,
    SAME,
    Calibration,
    Zones,
    calibrate,
    stated_by_sample,
    zones_by_capacity,
    zones_by_errors,
    zones_without_people,
)
from discreet.sources.duckdb_scratch import connect, literal, translated

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
    stands: Floats = field(default_factory=lambda: np.zeros(0))
    """Per pair how many pairs its label will count for, 0 for those outside of the label sample; empty without one."""
    floor: float | None = None
    """Of encoded records the least likeness of a candidate."""

    @property
    def to_review(self) -> Pairs:
        """What people are given now: the label sample first, then all that is theirs."""
        return self.pairs.where(self.stands > 0) if len(self.stands) else self.decided("people")

    @property
    def labels(self) -> int:
        """Labels by which probabilities are calibrated."""
        return self.calibration.labels if self.calibration else 0

    @property
    def counts(self) -> dict[str, int]:
        """Pairs per decision."""
        return dict(zip(DECISIONS, np.bincount(self.decisions, minlength=3).tolist(), strict=True))

    def decided(self, decision: str) -> Pairs:
        """The pairs of one decision: `different`, `people` or `same`."""
        return self.pairs.where(self.decisions == DECISIONS.index(decision))

    def of_sample(self, labels: Labels, folder: ProjectFolder) -> Labels:
        """Labels of the label sample with their weights; all where there is no sample.

        The others are no fair sample: people were given them because they are doubtful.
        """
        if not len(self.stands):
            return labels
        place, hit = labels.matched(self.pairs, folder)
        drawn = self.stands[place] > 0
        return Labels(labels.pairs.where(hit).where(drawn), labels.same[hit][drawn], self.stands[place][drawn])

    def to_dict(self) -> dict[str, Any]:
        """For JSON: counts, thresholds and expected errors."""
        return {
            "pairs": len(self.pairs),
            "decisions": self.counts,
            "calibrated": self.pairs.calibrated,
            "labels": self.labels,
            "sample": int((self.stands > 0).sum()),
            "one_to_one": self.once,
            "floor": self.floor,
            "zones": self.zones.to_dict() if self.zones else None,
            "rules": [rule.to_dict() for rule in self.model.blocking.rules] if self.model else [],
            "recall": self.model.blocking.recall if self.model else None,
        }

    def save(self, folder: ProjectFolder) -> None:
        """Write pairs, model and zones into the project, in place of earlier ones."""
        home = folder.pairs_folder
        home.mkdir(mode=0o700, exist_ok=True)
        self.pairs.write(home / "pairs.parquet", decisions=self.decisions, names=DECISIONS, stands=self.stands)
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
    sample: int = 0,
    backend: Backend | None = None,
) -> Candidates:
    """Choose rules, train, score, learn from labels where there are any, and cut the zones.

    Zones are cut by the errors the machine may make, or by `review`, the number of pairs people can look at. `once` says
    that each table has every person once at most. `sample` pairs are drawn at random, to be labelled by people before
    anything else: what they answer says how large the errors of the machine are.
    """
    if folder.spec.encoded:
        if review or sample:
            folder.reviewable()
        if rules is not None:
            raise UsageError("Encoded records have no attributes for rules.", remedy="Leave out --rule.")
        return candidates_encoded(folder, seed=seed, labels=labels, false_same=false_same, once=once)
    desk = backend or DuckDBBackend(folder)
    counting = desk if isinstance(desk, DuckDBBackend) else DuckDBBackend(folder)
    blocking = (
        suggest_rules(folder, most_pairs=most_pairs, backend=counting)
        if rules is None
        else blocking_of(folder, rules, backend=counting)
    )
    model, pairs = train_and_score(folder, blocking=blocking, seed=seed, backend=desk)
    calibration = None
    if labels is not None:
        model, pairs = retrain_and_score(folder, model, labels, pairs, backend=desk)
        calibration = calibrate(folder, pairs, labels)
        pairs = calibration.applied(pairs)
    histories = histories_of(folder, model.blocking.rules, pairs, counting)
    recall = min(model.blocking.recall, recaptured(pairs.probability, histories))
    model = replace(model, blocking=replace(model.blocking, recall=recall))
    zones = cut(pairs, review=review, false_same=false_same, missed=missed)
    found = _candidates(folder, pairs, zones, labels, model=model, calibration=calibration, once=once)
    found = found if labels is not None or review is not None else relatives_held(found)
    return sampled(found, sample, seed=seed) if sample else found


def candidates_encoded(
    folder: ProjectFolder, *, seed: int, labels: Labels | None, false_same: float, once: bool
) -> Candidates:
    """Candidates among encoded records: the machine decides all of them by their likeness."""
    pairs, calibration, floor = find_encoded(folder, seed=seed)
    if labels is not None:
        calibration = calibrate(folder, pairs, labels)
        pairs = calibration.applied(pairs)
    zones = zones_without_people(pairs, false_same=false_same)
    return _candidates(folder, pairs, zones, labels, calibration=calibration, once=once, floor=floor)


def relatives_held(found: Candidates) -> Candidates:
    """Candidates of which people decide all that may be relatives and would be called the same.

    No share of errors is spent on them: nothing says yet how many of them there are.
    """
    decisions = np.where(found.pairs.relatives & (found.decisions == 2), np.int8(1), found.decisions)
    if found.zones is None:
        return replace(found, decisions=decisions)
    same = decisions == 2
    zones = replace(
        found.zones,
        same=int(same.sum()),
        people=int((decisions == 1).sum()),
        false_same=float((1 - found.pairs.probability[same]).sum()),
    )
    return replace(found, decisions=decisions, zones=zones)


def sampled(found: Candidates, size: int, *, seed: int) -> Candidates:
    """Candidates with a label sample of about this size, to be reviewed first."""
    chosen, counts = sample_to_label(found.pairs, size, seed=seed)
    stands = np.zeros(len(found.pairs))
    stands[chosen] = counts
    return replace(found, stands=stands)


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
    return _candidates(folder, pairs, zones, labels, calibration=calibration, once=once)


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
            f"SELECT * FROM read_parquet({literal(str(home / 'pairs.parquet'))}) ORDER BY first, second"
        ).fetchnumpy()
    decisions = np.array([DECISIONS.index(decision) for decision in rows["decision"]], dtype=np.int8)
    zones = None
    if about["zones"] is not None:
        stored: dict[str, Any] = {
            name: float("inf") if about["zones"][name] is None and name in ("lower", "upper") else about["zones"][name]
            for name in (one.name for one in fields(Zones))
        }
        zones = Zones(**stored)
    model = Model.load(home / "model.json") if (home / "model.json").is_file() and about["rules"] else None
    calibration = Calibration.from_dict(about["calibration"]) if about["calibration"] else None
    stands = np.asarray(rows.get("stands", np.zeros(0)), dtype=np.float64)
    return Candidates(pairs, decisions, zones, model, calibration, about["one_to_one"], stands, about.get("floor"))


def _candidates(folder: ProjectFolder, pairs: Pairs, zones: Zones, labels: Labels | None, **more: Any) -> Candidates:
    decisions = zones.of(pairs)
    if more["once"]:
        if not folder.across:
            raise UsageError(
                "Only different tables can each have every person once.",
                remedy="Leave it out where duplicates are looked for.",
            )
        decisions = once_between_tables(folder, pairs, decisions)
    if folder.spec.encoded:  # where equally alike pairs compete for a record, nobody could look which one it is
        decisions = np.where(decisions == 1, np.int8(0), decisions)
    if labels is not None:
        zones = stated_by_sample(zones, decisions, pairs, labels, folder)
    return Candidates(pairs, decisions, zones, **more)


def once_between_tables(folder: ProjectFolder, pairs: Pairs, decisions: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Decisions where every record has one partner at most in each other table."""
    found, first, second = decisions.copy(), folder.table_of(pairs.first), folder.table_of(pairs.second)
    for one, other in {*zip(first.tolist(), second.tolist(), strict=True)}:
        between = (first == one) & (second == other)
        found[between] = _once(pairs.where(between), decisions[between])
    return found


def _once(pairs: Pairs, decisions: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Pairs that lose a record to a surer, certain pair are different; ties go to people."""
    won, tied = one_to_one(pairs.first, pairs.second, pairs.weight)
    sure = won & (decisions == 2)
    partner = np.isin(pairs.first, pairs.first[sure]) | np.isin(pairs.second, pairs.second[sure])
    found = np.where(partner & ~sure & (decisions > 0), np.int8(0), decisions)
    return np.where(tied & (found == 2), np.int8(1), np.where(~won & ~tied & (found == 2), np.int8(1), found))


def extended(folder: ProjectFolder, before: Candidates, *, new: int, backend: Backend | None = None) -> Candidates:
    """Candidates with the pairs of the last `new` records, by the same model and thresholds.

    What was decided about earlier records stays as it is.
    """
    if before.zones is None or (before.model is None and before.floor is None):
        raise UsageError(
            "The pairs of this project came from a file: there is no model for further records.",
            remedy="Find pairs with: discreet link pairs PROJECT",
        )
    if before.floor is not None:
        scored = score_likeness(folder, before.floor)
    else:
        assert before.model is not None  # noqa: S101 - said above
        scored = score_pairs(folder, before.model, backend=backend)
    scored = scored if before.calibration is None else before.calibration.applied(scored)
    fresh = scored.where(scored.second >= folder.records - new)
    parts: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in (before.pairs, fresh)])
        for name in (*COLUMNS, "relatives")
    }
    both = replace(before.pairs, **parts)
    order = np.lexsort((both.second, both.first))
    decided = before.zones.of(fresh)
    decided = once_between_tables(folder, fresh, decided) if before.once else decided
    decided = np.where(decided == 1, np.int8(0), decided) if folder.spec.encoded else decided
    parts = {"decisions": np.concatenate([before.decisions, decided])[order], "stands": np.zeros(0)}
    return replace(before, pairs=both.where(order), **parts)


def changes(folder: ProjectFolder, before: Candidates, after: Candidates) -> list[tuple[str, str, int]]:
    """How many pairs are decided otherwise than before, most first."""
    ways = [np.full(0, 0, dtype=np.int8)] * 2
    keys = [found.pairs.keys(folder.records) for found in (before, after)]
    everything = np.union1d(*keys)
    for place, (key, found) in enumerate(zip(keys, (before, after), strict=True)):
        ways[place] = np.full(len(everything), len(DECISIONS), dtype=np.int8)
        ways[place][np.searchsorted(everything, key)] = found.decisions
    names = [*DECISIONS, "not a candidate"]
    moved = Counter(zip(ways[0].tolist(), ways[1].tolist(), strict=True))
    return [(names[was], names[now], count) for (was, now), count in moved.most_common() if was != now]


def divided(folder: ProjectFolder, found: Candidates, zones: Zones) -> Candidates:
    """Candidates divided between the machine and people by other zones."""
    if zones.people:
        folder.reviewable()
    about = {"model": found.model, "calibration": found.calibration, "once": found.once, "floor": found.floor}
    return _candidates(folder, found.pairs, zones, None, **about)
