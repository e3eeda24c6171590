"""Attacks on releases by recipients with a list of the population, played on copies made in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Flags, Ints, Label
from discreet.kernel.serialise import json_of
from discreet.releases.attack_suite import ATTACKS, TARGET, AttackCase, AttackOutcome, CopyHolder, Holding, run
from discreet.releases.bait import BaitPlan, plan_bait
from discreet.releases.decoys.donors import rows_of_classes
from discreet.releases.decoys.matching import DecoyRows, Filler
from discreet.releases.leak_suite import LeakOutcome, LeakStage, leak, leak_words
from discreet.releases.marks.codebook import DEFAULT, Codebook, Law
from discreet.releases.marks.pairing import labels_of
from discreet.releases.marks.selection import Marking, mark
from discreet.releases.population_link import Linked
from discreet.releases.power import MEASURED_FOR, coalition_supported
from discreet.sources.engine import Cells
from discreet.sources.table import Table
from discreet.wording import percent

__all__ = ["ATTACKS", "Adversary", "Case", "Holding", "Outcome", "Played", "play", "run"]

Adversary, Case, Outcome = CopyHolder, AttackCase, AttackOutcome
MODES = ("marks", "bait")
RECIPIENTS = 4


@dataclass(frozen=True, eq=False)
class Played:
    """What the attacks achieved, mode by mode."""

    outcomes: Mapping[str, tuple[AttackOutcome, ...]]
    recipients: int
    marking: Marking | None
    leaks: tuple[LeakOutcome, ...] = ()
    """Who was named after leaks of the marks mode, where these were played."""

    def words(self) -> tuple[str, ...]:
        """One sentence per mode, then about leaks."""
        sentences = []
        for mode, outcomes in self.outcomes.items():
            best = max(outcomes, key=lambda outcome: outcome.auc)
            telling = [outcome.attack for outcome in outcomes if outcome.tells]
            seen = (
                f"detected by {', '.join(telling)}"
                if telling
                else f"not detected by any of these attacks beyond {TARGET:.2f} and luck"
            )
            sentences.append(
                f"Decoys of the {mode} mode are {seen}; the best attack is {best.attack} with an AUC of {best.auc:.2f} (0.5 is "
                f"guessing, up to {best.floor:.2f} may be luck), and {percent(best.precision)} of what it names are decoys."
            )
        if self.leaks and self.marking is not None:
            marks = len(self.marking.marks) + len(self.marking.rows)
            sentences += leak_words(self.leaks, stated=coalition_supported(marks, MEASURED_FOR))
        return tuple(sentences)

    @property
    def holds(self) -> bool:
        """Whether no attack tells the decoys of the marks mode by more than luck explains."""
        return not any(outcome.tells for outcome in self.outcomes.get("marks", ()))

    to_dict = json_of("recipients holds leaks modes=outcomes", target=lambda self: TARGET)

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
    leaks: int = 0,
    force: bool = False,
) -> Played:
    """Run every attack against copies of each mode, drawn from the seed.

    With `leaks`, copies of the marks mode are also leaked in every way of the leak suite, so many times each, and traced.
    """
    if recipients < 1 or any(mode not in MODES for mode in modes):
        raise UsageError(
            f"The modes are {' and '.join(MODES)}, played by at least one recipient.", remedy="Leave them out."
        )
    stage, names = TrialStage.of(linked, table), tuple(f"recipient {number}" for number in range(1, recipients + 1))
    outcomes: dict[str, tuple[AttackOutcome, ...]] = {}
    marking: Marking | None = None
    leaked: tuple[LeakOutcome, ...] = ()
    for mode in modes:
        dice = np.random.default_rng([seed, MODES.index(mode)])
        if mode == "marks":
            key = hashlib.sha256(f"discreet: attacked with seed {seed}".encode()).digest()
            marking = mark(linked, table, key=key, release="attacked", law=law, force=force)
            codebook = Codebook.of(marking.marks, law, names, release="attacked", key=key)
            held = _marked_copies(stage, marking, codebook, dice)
            if leaks:
                scene = LeakStage.of(marking, table, law, key=key, release="attacked")
                leaked = tuple(leak(scene, np.random.default_rng([seed, len(MODES)]), runs=leaks))
        else:
            plan = plan_bait(linked, names, rng=dice, decoys=decoys, subjects=True)
            held = _baited_copies(stage, plan, table, dice)
        # Every recipient attacks with the next one as accomplice.
        cases = []
        for number, (own, planted) in enumerate(held):
            accomplices = [held[(number + 1) % len(held)][0]] if len(held) > 1 else []
            adversary = CopyHolder((own, *accomplices), linked.population, linked.k, linked.sampling)
            cases.append(AttackCase(adversary, frozenset(planted)))
        outcomes[mode] = tuple(run(cases))
    return Played(outcomes, recipients, marking, leaked)


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
        drop = table.policy.unpublished if table.policy else ()
        everybody = np.ones(len(linked.released), dtype=bool)
        return cls(linked, *rows_of_classes(table, linked.released, everybody, drop=drop))

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


def _marked_copies(
    stage: TrialStage, marking: Marking, codebook: Codebook, dice: Any
) -> list[tuple[Holding, list[tuple[Label, ...]]]]:
    """The copy of every recipient in the marks mode, and the decoys that are planted."""
    marks, released = codebook.marks, stage.linked.released
    place_of = {label: place for place, label in enumerate(released.tuples())}
    real = np.flatnonzero(~marks.decoy)
    classes = np.array([place_of[marks.labels[mark]] for mark in real.tolist()], dtype=np.int64)
    decoys = [marks.labels[mark] for mark in np.flatnonzero(marks.decoy).tolist()]
    copies = []
    for present in codebook.present:
        kept = np.ones(len(released), dtype=bool)
        kept[classes] = present[real]
        rows = marking.decoys.only(np.flatnonzero(present & marks.decoy))
        copies.append((stage.copy(kept, marks.labels, rows, dice), decoys))
    return copies


def _baited_copies(
    stage: TrialStage, plan: BaitPlan, table: Table, dice: Any
) -> list[tuple[Holding, list[tuple[Label, ...]]]]:
    """The copy of every recipient in the bait mode, and its decoys, filled as those of the marks mode."""
    copies, linked = [], stage.linked
    drop = table.policy.unpublished if table.policy else ()
    for copy in plan.copies:
        kept = np.ones(len(linked.released), dtype=bool)
        kept[copy.removed] = False
        decoys, sizes = copy.decoys, copy.decoys.sizes
        labels = labels_of(decoys, np.arange(len(decoys)))
        filler = Filler.fetch(table, linked, int(sizes.sum()), np.arange(0), dice, drop=drop)
        for dependence in filler.follows:
            keys = [dependence.key(label) for label in labels]
            dependence.donors.update({key: 0 for key in keys if key not in dependence.donors})
        rows = filler.decoys(decoys, labels, sizes, dice)
        copies.append((stage.copy(kept, labels, rows, dice), labels))
    return copies
