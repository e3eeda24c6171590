"""Trial of attacks: copies made in memory in both modes, attacked, summarised."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel import Classes, Recoding
from discreet.kernel.arrays import Flags, Ints, Label
from discreet.releases.attacks.suite import TARGET, AttackCase, AttackOutcome, CopyHolder, Holding, run
from discreet.releases.bait import BaitPlan, plan_bait
from discreet.releases.decoys.synthesis import DecoyRows, Filler
from discreet.releases.marks.codebook import DEFAULT, Codebook, Law
from discreet.releases.marks.pairing import labels_of
from discreet.releases.marks.selection import Marking, mark
from discreet.releases.population_link import Linked
from discreet.sources.engine import Cells
from discreet.sources.table import Table, rows_of
from discreet.wording import percent

# Playing the recipients: make copies in both modes, attack them, and say what came out.
MODES = ("marks", "bait")
RECIPIENTS = 4


@dataclass(frozen=True, eq=False)
class Played:
    """What the attacks achieved, mode by mode."""

    outcomes: Mapping[str, tuple[AttackOutcome, ...]]
    recipients: int
    marking: Marking | None

    def words(self) -> tuple[str, ...]:
        """One sentence per mode."""
        return tuple(_sentence(mode, outcomes) for mode, outcomes in self.outcomes.items())

    @property
    def holds(self) -> bool:
        """Whether no attack tells the decoys of the marks mode by more than luck explains."""
        return not any(outcome.tells for outcome in self.outcomes.get("marks", ()))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "recipients": self.recipients,
            "target": TARGET,
            "holds": self.holds,
            "modes": {mode: [one.to_dict() for one in outcomes] for mode, outcomes in self.outcomes.items()},
        }

    def __repr__(self) -> str:
        return f"Played({', '.join(self.outcomes)}; {'holds' if self.holds else 'does not hold'})"


def play(
    linked: Linked,
    table: Table,
    *,
    seed: int = 1,
    recipients: int = RECIPIENTS,
    modes: tuple[str, ...] = MODES,
    law: Law = DEFAULT,
    decoys: int = 10,
    force: bool = False,
) -> Played:
    """Make copies for some recipients in each mode and run every attack against them.

    The copies are drawn from the seed, not from the key of a release; they are made to be attacked and thrown away.
    """
    if recipients < 1 or any(mode not in MODES for mode in modes):
        raise UsageError(
            f"The modes are {' and '.join(MODES)}, played by at least one recipient.", remedy="Leave them out."
        )
    stage, names = TrialStage.of(linked, table), tuple(f"recipient {number}" for number in range(1, recipients + 1))
    outcomes, marking = {}, None
    for mode in modes:
        dice = np.random.default_rng([seed, MODES.index(mode)])
        if mode == "marks":
            key = hashlib.sha256(f"discreet: attacked with seed {seed}".encode()).digest()
            marking = mark(linked, table, key=key, release="attacked", law=law, force=force)
            codebook = Codebook.of(marking.marks, law, names, release="attacked", key=key)
            cases = marked_cases(stage, marking, codebook, dice)
        else:
            plan = plan_bait(linked, names, rng=dice, decoys=decoys, subjects=True)
            cases = baited_cases(stage, plan, table, dice)
        outcomes[mode] = tuple(run(cases))
    return Played(outcomes, recipients, marking)


def _sentence(mode: str, outcomes: tuple[AttackOutcome, ...]) -> str:
    best = max(outcomes, key=lambda one: one.auc)
    telling = [one.attack for one in outcomes if one.tells]
    seen = (
        f"detected by {', '.join(telling)}"
        if telling
        else f"not detected by any of these attacks beyond {TARGET:.2f} and luck"
    )
    return (
        f"Decoys of the {mode} mode are {seen}; the best attack is {best.attack} with an AUC of {best.auc:.2f} (0.5 is "
        f"guessing, up to {best.floor:.2f} may be luck), and {percent(best.precision)} of what it names are decoys."
    )


@dataclass(frozen=True, eq=False)
class TrialStage:
    """The released rows, and rows of decoys, from which copies are put together."""

    linked: Linked
    cells: Cells
    """The released rows as they are published."""
    owners: Ints
    """The place of each row's class among the released classes."""

    @classmethod
    def of(cls, linked: Linked, table: Table) -> TrialStage:
        """Fetch the released rows."""
        released = linked.released
        everybody = np.ones(len(released), dtype=bool)
        drop = table.policy.unpublished if table.policy else ()
        cells = rows_of(table, Recoding.of_levels(released, released.levels, kept=everybody), drop=drop)
        index = {label: place for place, label in enumerate(released.tuples())}
        labels = zip(*(cells[name] for name in released.names), strict=True)
        return cls(linked, cells, np.array([index[label] for label in labels], dtype=np.int64))

    def copy(self, kept: Flags, decoys: Sequence[tuple[Label, ...]], rows: DecoyRows, dice: Any) -> Holding:
        """A copy with some of the released classes and some decoys, its rows shuffled and numbered."""
        names = self.linked.released.names
        real = np.flatnonzero(kept[self.owners]).tolist()
        added = {name: [decoys[place][number] for place in rows.places.tolist()] for number, name in enumerate(names)}
        order = dice.permutation(len(real) + len(rows)).tolist()
        cells = {}
        for name, column in self.cells.items():
            joined = [*(column[row] for row in real), *(added[name] if name in added else rows.columns[name])]
            cells[name] = [joined[row] for row in order]
        return Holding(names, cells, list(range(1, len(order) + 1)))

    def case(self, copies: Sequence[Holding], decoys: Sequence[tuple[Label, ...]]) -> AttackCase:
        """An adversary with these copies."""
        linked = self.linked
        adversary = CopyHolder(tuple(copies), linked.population, linked.k, linked.sampling)
        return AttackCase(adversary, frozenset(decoys))


def marked_cases(stage: TrialStage, marking: Marking, codebook: Codebook, dice: Any) -> list[AttackCase]:
    """Every recipient with a colluding neighbour, holding copies of the marks mode."""
    marks = codebook.marks
    place_of = {label: place for place, label in enumerate(stage.linked.released.tuples())}
    real = np.flatnonzero(~marks.decoy)
    classes = np.array([place_of[marks.labels[mark]] for mark in real.tolist()], dtype=np.int64)
    copies = []
    for present in codebook.present:
        kept = np.ones(len(stage.linked.released), dtype=bool)
        kept[classes] = present[real]
        rows = marking.decoys.only(np.flatnonzero(present & marks.decoy))
        copies.append(stage.copy(kept, marks.labels, rows, dice))
    decoys = [marks.labels[mark] for mark in np.flatnonzero(marks.decoy).tolist()]
    return _round(stage, copies, [decoys] * len(copies))


def baited_cases(stage: TrialStage, plan: BaitPlan, table: Table, dice: Any) -> list[AttackCase]:
    """Every recipient with a colluding neighbour, holding copies of the bait mode."""
    copies, decoys = [], []
    drop = table.policy.unpublished if table.policy else ()
    for copy in plan.copies:
        kept = np.ones(len(stage.linked.released), dtype=bool)
        kept[copy.removed] = False
        labels = labels_of(copy.decoys, np.arange(len(copy.decoys)))
        rows = _bait_rows(table, stage.linked, copy.decoys, labels, dice, drop)
        copies.append(stage.copy(kept, labels, rows, dice))
        decoys.append(labels)
    return _round(stage, copies, decoys)


def _bait_rows(
    table: Table, linked: Linked, decoys: Classes, labels: list[tuple[Label, ...]], dice: Any, drop: Sequence[str]
) -> DecoyRows:
    """The paper does not say what decoys hold; here they are filled as those of the marks mode."""
    filler = Filler.fetch(
        table, linked.released, linked.population, decoys, decoys.sizes, np.arange(0), dice, drop=drop
    )
    for one in filler.follows:
        missing = {one.key(label): 0 for label in labels if one.key(label) not in one.donors}
        one.donors.update(missing)
    return filler.decoys(decoys, labels, decoys.sizes, dice)


def _round(
    stage: TrialStage, copies: Sequence[Holding], decoys: Sequence[Sequence[tuple[Label, ...]]]
) -> list[AttackCase]:
    """Each with the next one as accomplice."""
    count = len(copies)
    pairs = [[copies[number], *([copies[(number + 1) % count]] if count > 1 else [])] for number in range(count)]
    return [stage.case(pair, decoys[number]) for number, pair in enumerate(pairs)]
