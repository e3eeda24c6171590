"""What a paper prints beside what we compute: one item per number, with a verdict and its reason."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discreet.errors import UsageError
from discreet.kernel.serialise import json_of
from discreet.report.toolkit.page import Figure, Table
from discreet.wording import measure

Verdict = Literal["reproduces", "differs", "cannot"]
VERDICTS: Mapping[Verdict, str] = {
    "reproduces": "comes out as printed",
    "differs": "comes out differently",
    "cannot": "cannot be computed: the data or the definition are not disclosed",
}


@dataclass(frozen=True)
class PrintedItem:
    """One number, table, figure or statement of a paper."""

    id: str
    where: str
    """The place in the paper, in its own numbering."""
    what: str
    printed: Any
    """Numbers are numbers, exact shares are text; None where our copy of the paper has nothing legible there."""
    ours: Any
    verdict: Verdict
    why: str = ""

    def __post_init__(self) -> None:
        if self.verdict != "reproduces" and not self.why:
            raise ValueError(f"{self.id} does not reproduce and says no reason")

    to_dict = json_of("id where what printed ours verdict why")


def judge(
    name: str, where: str, what: str, printed: Any, ours: Any, *, why: str = "", within: float = 0.0, note: str = ""
) -> PrintedItem:
    """The verdict follows from the two values: the same up to `within`, which is what the paper rounds away.

    `why` is the reason where they differ, `note` a remark that holds in any case.

    >>> judge("a.b", "Section 1", "a share", 0.94, 0.9411, within=0.005).verdict
    'reproduces'
    """
    same = _same(printed, ours, within)
    words = " ".join(part for part in (note, "" if same else why) if part)
    return PrintedItem(name, where, what, printed, ours, "reproduces" if same else "differs", words)


def cannot(name: str, where: str, what: str, printed: Any, why: str, *, ours: Any = None) -> PrintedItem:
    """What depends on something that was never disclosed; `ours` is what comes nearest to it."""
    return PrintedItem(name, where, what, printed, ours, "cannot", why)


def _same(printed: Any, ours: Any, within: float) -> bool:
    if isinstance(printed, Mapping) and isinstance(ours, Mapping):
        return printed.keys() == ours.keys() and all(_same(printed[key], ours[key], within) for key in printed)
    if isinstance(printed, Sequence) and not isinstance(printed, str):
        same = isinstance(ours, Sequence) and len(printed) == len(ours)
        return same and all(map(_same, printed, ours, [within] * len(printed)))
    if isinstance(printed, float | int) and isinstance(ours, float | int):
        return math.isclose(printed, ours, rel_tol=0, abs_tol=within)
    return bool(printed == ours)


@dataclass(frozen=True, eq=False)
class Numbered:
    """A figure under the number that it has in the paper."""

    number: str
    figure: Figure


@dataclass(frozen=True, eq=False)
class Reproduction:
    """A paper gone through from beginning to end."""

    paper: str
    title: str
    reference: str
    items: tuple[PrintedItem, ...]
    figures: tuple[Numbered, ...] = ()
    tables: tuple[Table, ...] = ()
    setting: tuple[str, ...] = ()
    """What data and settings the computation had, in sentences."""
    quick: bool = False

    def __post_init__(self) -> None:
        if twice := [name for name, number in Counter(item.id for item in self.items).items() if number > 1]:
            raise ValueError(f"{self.paper} has two items {twice[0]}")

    def item(self, name: str) -> PrintedItem:
        """One item by its name."""
        for item in self.items:
            if item.id == name:
                return item
        raise UsageError(f"{self.title} has no item '{name}'.", remedy=f"discreet reproduce {self.paper} lists them.")

    @property
    def counts(self) -> dict[Verdict, int]:
        """Items by verdict."""
        return {verdict: sum(item.verdict == verdict for item in self.items) for verdict in VERDICTS}

    def words(self) -> str:
        """The verdicts counted."""
        counts = self.counts
        return (
            f"Of {len(self.items):,} printed items {counts['reproduces']:,} come out as printed, {counts['differs']:,} "
            f"come out differently, and {counts['cannot']:,} cannot be computed from what the paper discloses."
        )

    to_dict = json_of("paper title reference quick setting counts items")


def shown(value: Any) -> str:
    """A value as a page or a terminal shows it.

    >>> shown(6018999), shown(0.63), shown([14, 29]), shown({"a": 9, "b": None}), shown(True), shown(None)
    ('6,018,999', '0.63', '14, 29', 'a: 9; b: none', 'yes', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return measure(value, digits=4)
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {shown(one)}" for key, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(shown, value))
    return str(value)
