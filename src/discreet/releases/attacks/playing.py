"""Playing the recipients: make copies in both modes, attack them, and say what came out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.releases.attacks.suite import TARGET, Outcome, run
from discreet.releases.attacks.trial import Stage, baited_cases, marked_cases
from discreet.releases.bait import plan_bait
from discreet.releases.laws import DEFAULT, Law
from discreet.releases.marks.codebook import Codebook
from discreet.releases.marks.selection import Marking, mark
from discreet.releases.population_link import Linked
from discreet.sources.table import Table
from discreet.wording import percent

MODES = ("marks", "bait")
RECIPIENTS = 4


@dataclass(frozen=True, eq=False)
class Played:
    """What the attacks achieved, mode by mode."""

    outcomes: Mapping[str, tuple[Outcome, ...]]
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
    stage, names = Stage.of(linked, table), tuple(f"recipient {number}" for number in range(1, recipients + 1))
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


def _sentence(mode: str, outcomes: tuple[Outcome, ...]) -> str:
    best = max(outcomes, key=lambda one: one.auc)
    telling = [one.attack for one in outcomes if one.tells]
    seen = (
        f"told by {', '.join(telling)}" if telling else f"not told by any of these attacks beyond {TARGET:.2f} and luck"
    )
    return (
        f"Decoys of the {mode} mode are {seen}; the best attack is {best.attack} with an AUC of {best.auc:.2f} (0.5 is "
        f"guessing, up to {best.floor:.2f} may be luck), and {percent(best.precision)} of what it names are decoys."
    )
