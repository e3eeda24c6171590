"""Bait as a release: the published decoys sealed in a manifest, written into copies, traced like marks.

In the codebook of such a release each mark is in one copy alone, dealt with the secret of the release: decoys, and the
real classes whose same-origin classes are taken out of all other copies (AnonTokens, Section 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import Refused, UsageError
from discreet.kernel import Classes, Countable
from discreet.kernel.arrays import Label
from discreet.policy import Policy
from discreet.releases.bait import BUDGET, DECOYS, REMOVALS, BaitPlan, plan_bait
from discreet.releases.decoys.matching import DecoyRows, Filler
from discreet.releases.manifest import BAIT, ReleaseSettings
from discreet.releases.marks.codebook import Codebook, Marks, derive
from discreet.releases.plan import NO_SECRET, Node, find_node, people_words
from discreet.releases.population_link import Linked
from discreet.sources import Table
from discreet.wording import fine_percent, percent

WARNING = (
    "A recipient with a list of the population can tell these decoys by counting look-alikes, alone or with others: bait "
    "finds only those who have none. The mode marks is made against recipients with such a list."
)


@dataclass(frozen=True)
class BaitSettings:
    """How decoys are chosen and hidden.

    >>> BaitSettings(most_factor=1.5).law, BaitSettings.parse("bait:10/risk/0.05/1/1.5")
    ('bait:10/risk/0.05/1/1.5', BaitSettings(decoys=10, removal='risk', budget=0.05, least_factor=1.0, most_factor=1.5))
    """

    decoys: int = DECOYS
    """Decoy classes per recipient (n_d)."""
    removal: str = "risk"
    budget: float = BUDGET
    """The share of the released classes that a copy may lose."""
    least_factor: float = 1.0
    most_factor: float | None = None

    @property
    def law(self) -> str:
        """All of it as a manifest names it."""
        most = "" if self.most_factor is None else f"{self.most_factor:g}"
        return f"{BAIT}{self.decoys}/{self.removal}/{self.budget:g}/{self.least_factor:g}/{most}"

    @classmethod
    def parse(cls, law: str) -> BaitSettings | None:
        """What a manifest names; None for a release with marks."""
        if not law.startswith(BAIT):
            return None
        decoys, removal, budget, least, most = law.removeprefix(BAIT).split("/")
        return cls(int(decoys), removal, float(budget), float(least), float(most) if most else None)

    @classmethod
    def checked(cls, mode: str, given: dict[str, Any]) -> BaitSettings | None:
        """The settings that a caller gave for bait; None for marks, which have none of them."""
        chosen = {name: value for name, value in given.items() if value is not None}
        if mode != "bait":
            if chosen:
                name = next(iter(chosen)).replace("_", " ")
                raise UsageError(
                    f"The setting '{name}' is one of bait.", remedy="Leave it out, or choose the mode bait."
                )
            return None
        settings = cls(**chosen)
        if settings.removal not in REMOVALS or not 0 <= settings.budget <= 1 or settings.decoys < 1:
            raise UsageError(
                "Bait has at least one decoy, a removal budget from 0 to 1, and one of the removals "
                f"{', '.join(REMOVALS)}.",
                remedy="For example 10 decoys, a budget of 0.05, removal by risk.",
            )
        return settings


BAIT_NAMES = tuple(BaitSettings.__dataclass_fields__)
"""The settings of bait, as options, forms and the API name them."""


@dataclass(frozen=True, eq=False)
class BaitDraft:
    """A plan of bait with the rows of its decoys: all that a manifest needs."""

    plan: BaitPlan
    codebook: Codebook
    rows: DecoyRows

    @property
    def factors(self) -> tuple[float, float]:
        """The least and the largest risk multiplication factor of a decoy."""
        links = np.concatenate([copy.decoy_links for copy in self.plan.copies])
        least = self.plan.linked.candidates.min_link
        return least / int(links.max()), least / int(links.min())

    def words(self) -> tuple[str, ...]:
        """One sentence per thing that a custodian decides on."""
        low, high = self.factors
        first = self.plan.copies[0]
        chance = self.plan.probability_of_decoy(first.recipient)
        return (
            self.plan.words(),
            f"Decoys are {low:.2f} to {high:.2f} times as risky as the riskiest person (risk multiplication factor).",
            (
                f"A class that only one of several colluding copies holds is a decoy with probability {percent(chance)}, "
                "n_d/(n_d + n_e), for coalitions of every size that have nothing but their copies."
            ),
            f"No column changes by more than {fine_percent(self.foreseen['largest_shift'])} in any copy.",
            WARNING,
        )

    @property
    def foreseen(self) -> dict[str, Any]:
        """For the manifest and the pre-flight."""
        plan, first = self.plan, self.plan.copies[0]
        low, high = self.factors
        return {
            "mode": "bait",
            "recipients": len(plan.copies),
            "marks": len(self.codebook.marks),
            "decoys": len(first.decoys),
            "alone": len(first.alone),
            "removed": len(first.removed),
            "candidates": plan.available,
            "removal": plan.removal,
            "most_lost": max(copy.removed_records for copy in plan.copies) / plan.linked.released.records,
            "largest_shift": max(copy.shift for copy in plan.copies),
            "probability_of_decoy": plan.probability_of_decoy(first.recipient),
            "factors": [low, high],
            "warning": WARNING,
        }

    def __repr__(self) -> str:
        return f"BaitDraft({len(self.plan.copies)} recipients, {len(self.rows)} rows of decoys)"


@dataclass(frozen=True, eq=False)
class BaitOutline:
    """What a release with bait would be, made without a store."""

    node: Node
    draft: BaitDraft
    settings: ReleaseSettings
    published: Mapping[str, str]
    """Every column that copies would have, with its role."""

    def words(self) -> tuple[str, ...]:
        """One sentence per thing that a custodian decides on."""
        return (*people_words(self.node, self.published), *self.draft.words())

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**self.node.people(self.settings, self.published), "preflight": self.draft.foreseen}

    def __repr__(self) -> str:
        return f"BaitOutline({self.draft!r})"


def outline_bait(
    table: Table,
    population: Countable | Classes,
    recipients: Sequence[str],
    *,
    bait: BaitSettings,
    k: int = 5,
    suppression: float = 0.1,
    loss: str = "dm_star",
    key: bytes = NO_SECRET,
    release: str = "plan",
) -> BaitOutline:
    """What a release with bait would look like; with the key and name of a release, to the last decoy."""
    settings = ReleaseSettings(k=k, suppression=suppression, loss=loss, law=bait.law)
    node = find_node(table, population, settings)
    draft = draft_bait(node.linked, table, recipients, bait, key=key, release=release)
    return BaitOutline(node, draft, settings, table.published)


def draft_bait(
    linked: Linked, table: Table, recipients: Sequence[str], settings: BaitSettings, *, key: bytes, release: str
) -> BaitDraft:
    """Deal decoys and exclusive classes with the secret of a release, and fill the decoys with left-out rows."""
    if len(recipients) < 2:
        raise UsageError("Bait tells copies apart, so it needs at least two recipients.", remedy="Name all of them.")
    policy = table.policy or Policy()
    if policy.count:
        raise UsageError(
            f"Rows of {table.name} are several people each, and decoys are put among rows of one person each.",
            remedy="Give a table with one row per person; the population may be counts.",
        )
    dealing, filling = (
        np.random.default_rng(list(derive(key, f"{purpose}/{release}"))) for purpose in ("bait", "bait rows")
    )
    candidates, nobody = linked.candidates, np.zeros(0, dtype=np.int64)
    rows = int(linked.released.sizes.max(initial=1)) * settings.decoys * len(recipients)
    filler = Filler.fetch(table, linked, rows, nobody, filling, drop=policy.unpublished)
    # A column that follows from the quasi-identifiers must be known in a decoy's class.
    labels = list(candidates.classes.tuples())
    known = np.array([all(one.knows(label) for one in filler.follows) for label in labels], dtype=bool)
    plan = plan_bait(
        linked,
        recipients,
        rng=dealing,
        decoys=settings.decoys,
        removal=settings.removal,
        budget=settings.budget,
        least_factor=settings.least_factor,
        most_factor=settings.most_factor,
        fillable=known,
    )
    sizes = {
        label: size
        for copy in plan.copies
        for label, size in zip(copy.decoys.tuples(), copy.decoys.sizes.tolist(), strict=True)
    }
    free = candidates.classes.keep(np.array([label in sizes for label in labels], dtype=bool))
    dealt = list(free.tuples())
    filled = filler.decoys(free, dealt, np.array([sizes[label] for label in dealt], dtype=np.int64), filling)
    if (enough := len(np.unique(filled.places))) < len(dealt):
        raise Refused(
            f"Decoys are made of the {linked.suppressed.records:,} people who are left out of all copies, and these "
            f"suffice for {enough:,} of {len(dealt):,} decoys.",
            remedy="Give fewer decoys to each recipient, or allow more suppression.",
        )
    codebook = _codebook(plan, dealt)
    real = len(codebook.marks) - len(dealt)
    return BaitDraft(plan, codebook, filled.at(filled.places + real))


def _codebook(plan: BaitPlan, decoys: Sequence[tuple[Label, ...]]) -> Codebook:
    """Who has which mark: exclusive real classes first, then decoys in the given order."""
    linked, copies = plan.linked, plan.copies
    alone = np.concatenate([copy.alone for copy in copies])
    real = np.array(list(linked.released.tuples()), dtype=object).reshape(len(linked.released), -1)[alone]
    owner: dict[tuple[Label, ...], tuple[int, int, int]] = {}
    for number, copy in enumerate(copies):
        sizes = zip(copy.decoys.tuples(), copy.decoys.sizes.tolist(), copy.decoy_links.tolist(), strict=True)
        owner |= {label: (number, size, link) for label, size, link in sizes}
    dealt = np.array([owner[label] for label in decoys], dtype=np.int64)
    owners = np.concatenate([np.repeat(np.arange(len(copies)), [len(copy.alone) for copy in copies]), dealt[:, 0]])
    marks = Marks(
        columns=linked.released.names,
        labels=(*map(tuple, real.tolist()), *decoys),
        decoy=np.arange(len(owners)) >= len(alone),
        sizes=np.concatenate([linked.released.sizes[alone], dealt[:, 1]]),
        links=np.concatenate([linked.links[alone], dealt[:, 2]]),
        partners=np.arange(len(owners)),
    )
    # Dealt at random: each recipient has each mark with the same probability. That hands have a fixed size only makes
    # many hits on an innocent recipient rarer, so products of factors stay e-values (negative association).
    chance = np.full(len(owners), 1 / len(copies))
    present = owners[None, :] == np.arange(len(copies))[:, None]
    return Codebook(marks, chance, tuple(copy.recipient for copy in copies), present)
