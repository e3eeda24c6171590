"""What experts say together: scores, agreement, what they dispute, and the text for the policy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import DataError
from discreet.misuse import Sensitivity
from discreet.misuse.elicitation import Panel, combine, sections, toml
from discreet.misuse.elicitation.comparisons import TOLERABLE
from discreet.report.toolkit.words import plural
from discreet.web.framework.problems import Problem
from discreet.web.sensitivity.store import Kept

CLOSE = 0.6
"""From which tau on experts mostly agree about the order."""
DISPUTED = 0.5
"""Spread of logarithms above which a value is in dispute: experts differ by a factor of two."""
SHOWN = 8
AGAIN = 10
"""Questions that are put once more to each expert."""


@dataclass(frozen=True)
class Row:
    """One value, and what everybody says about it."""

    item: str
    score: float
    single: list[float | None]
    disputed: bool


@dataclass(frozen=True)
class Combined:
    """What the page shows."""

    experts: tuple[str, ...]
    rows: list[Row]
    disputed: list[int]
    agreement: float | None
    digest: str
    toml: str
    content: dict[str, Any]

    @property
    def agreement_words(self) -> str:
        """Kendall's tau in words."""
        if self.agreement is None:
            return "With one expert alone there is nobody to agree with."
        order = "they mostly agree about the order" if self.agreement >= CLOSE else "they see the order differently"
        return f"Agreement (Kendall's tau, averaged over pairs of experts): {self.agreement:.2f}, {order}."


def together(kept: Sequence[Kept]) -> Combined:
    """All experts who have said something, with the same say."""
    talks = [one.talk for one in kept if one.talk.pairs or one.talk.rated]
    if not talks:
        raise Problem(409, "Nobody has answered anything yet.", remedy="Wait for the experts.")
    try:
        panel = combine(talks)
    except DataError as error:
        raise Problem(409, error.problem, remedy="Wait until the experts have answered more.") from None
    return _combined(panel)


def _combined(panel: Panel) -> Combined:
    content = sections(panel.items, panel.scores)
    digest = Sensitivity.from_dict(content).version
    spread = panel.disagreement
    rows = [
        Row(
            str(item),
            float(panel.scores[place]),
            [None if math.isnan(score) else float(score) for score in panel.single[:, place]],
            bool(spread[place] > DISPUTED),
        )
        for place, item in enumerate(panel.items)
    ]
    disputed = [place for place in panel.disputed if spread[place] > DISPUTED][:SHOWN]
    kept = {"sensitivity": content, **panel.to_dict()}
    return Combined(
        panel.experts, rows, disputed, panel.agreement, digest, toml(content, notes=_notes(panel, digest)), kept
    )


def _notes(panel: Panel, digest: str) -> list[str]:
    agreement = "" if panel.agreement is None else f", agreement (Kendall's tau) {panel.agreement:.2f}"
    return [f"Sensitivity version {digest}, from {plural(len(panel.experts), 'expert', 'experts')}{agreement}."]


def text_of(content: dict[str, Any], digest: str) -> str:
    """The sections of a stored version."""
    experts = plural(len(content["experts"]), "expert", "experts")
    tau = content["agreement"]
    agreement = "" if tau is None else f", agreement (Kendall's tau) {tau:.2f}"
    return toml(content["sensitivity"], notes=[f"Sensitivity version {digest}, from {experts}{agreement}."])


def contradiction(kept: Kept) -> str:
    """What to say about comparisons that contradict each other; empty if they do not."""
    found = kept.talk.consistency
    if found.tolerable or found.ratio is None:
        return ""
    return (
        f"Some comparisons contradict each other: the consistency ratio is {found.ratio:.2f}, and up to {TOLERABLE:.2f} "
        "is good."
    )
