"""Panel of experts, questions on a page, and items from a form.

A column stands in brackets, its values follow. `up to 250` is a range, `over 250` is what lies beyond; a group of values
is named, and its values are set apart by bars: `Heart: I21 | I50`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from discreet.errors import DataError
from discreet.misuse import Sensitivity
from discreet.misuse.elicitation import Compare, Interview, Item, Panel, Question, combine, sections, toml
from discreet.misuse.elicitation.comparisons import TOLERABLE
from discreet.misuse.elicitation.items import REST
from discreet.report.toolkit.words import plural
from discreet.web.framework.problems import Problem
from discreet.web.sensitivity.store import Kept

# What experts say together: scores, agreement, what they dispute, and the text for the policy.
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


# A question on a page: its words, and the buttons with the keys that press them.
@dataclass(frozen=True)
class Button:
    """One answer."""

    value: str
    """As the form sends it."""
    label: str
    words: str
    """What it says when it is read aloud."""
    key: str


RATIOS: dict[str, float] = {
    "a9": 9.0,
    "a7": 7.0,
    "a5": 5.0,
    "a3": 3.0,
    "alike": 1.0,
    "b3": 1 / 3,
    "b5": 1 / 5,
    "b7": 1 / 7,
    "b9": 1 / 9,
}
"""The first over the second; nine steps of Saaty's scale."""
STRENGTHS = {9: "extremely", 7: "very much", 5: "much", 3: "somewhat"}


def comparing() -> list[Button]:
    """From the first far ahead to the second far ahead, on the keys 1 to 9."""
    buttons = []
    for key, value in enumerate(RATIOS, start=1):
        if value == "alike":
            buttons.append(Button(value, "alike", "Both are alike", str(key)))
            continue
        which, times = value[0].upper(), int(value[1])
        words = f"{which} is {STRENGTHS[times]} more harmful, {times} times"
        buttons.append(Button(value, f"{times}×", words, str(key)))
    return buttons


def rating() -> list[Button]:
    """From 0 to 10; the key of 10 is x."""
    return [
        Button(str(number), str(number), f"{number} of 10", "x" if number == 10 else str(number))
        for number in range(11)
    ]


def named(question: Question) -> str:
    """A question as the form names it, so that an answer is never taken for one to another question.

    >>> named(Compare(3, 5))
    'compare 3 5'
    """
    if isinstance(question, Compare):
        return f"compare {question.first} {question.second}"
    return "rate " + " ".join(str(item) for item in question.items)


def value_of(question: Question, said: str) -> float | None:
    """What an answer means; None to pass."""
    if said == "pass":
        return None
    if isinstance(question, Compare):
        if said in RATIOS:
            return RATIOS[said]
    elif said in {str(number) for number in range(11)}:
        return int(said) / 10
    raise Problem(422, "This is no answer to the question.", remedy="Choose one of the buttons.")


@dataclass(frozen=True)
class Shown:
    """A question as the page shows it."""

    name: str
    number: int
    left: int
    percent: int
    compares: bool
    things: list[str]
    buttons: list[Button]


def shown(talk: Interview, question: Question) -> Shown:
    """The question with everything that is needed to answer it."""
    compares = isinstance(question, Compare)
    places = (question.first, question.second) if isinstance(question, Compare) else question.items
    answered = len(talk.answers)
    return Shown(
        named(question),
        answered + 1,
        max(0, talk.left - 1),
        round(100 * answered / max(1, answered + talk.left)),
        compares,
        [str(talk.items[place]) for place in places],
        comparing() if compares else rating(),
    )


FEWEST, MOST, COLUMNS = 2, 40, 12
LONGEST = 120
UPPER = re.compile(r"up to ([0-9]{1,15}(?:\.[0-9]{1,6})?)", re.ASCII)
OVER = re.compile(r"over [0-9]{1,15}(?:\.[0-9]{1,6})?", re.ASCII)
EXAMPLE = """[diagnosis]
Flu
Angina
Depression
HIV
any other value

[bill]
up to 100
up to 1000
over 1000
"""


def items_of(text: str) -> list[Item]:
    """The items that a text means; a Problem says in which line something is wrong.

    >>> [str(item) for item in items_of("[bill]\\nup to 100\\nover 100")]
    ['bill: up to 100', 'bill: over 100']
    """
    found: list[Item] = []
    column: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        words = " ".join(line.split())
        if not words:
            continue
        if len(words) > LONGEST:
            raise _wrong(number, f"is longer than {LONGEST} characters")
        if words.startswith("[") and words.endswith("]"):
            column = words[1:-1].strip()
            if not column:
                raise _wrong(number, "names no column")
        elif column is None:
            raise _wrong(number, "stands before the first column; a column is written [like this]")
        else:
            found.append(_item(column, words))
    _check(found)
    return found


def _item(column: str, words: str) -> Item:
    if (upper := UPPER.fullmatch(words)) is not None:
        return Item(column, words, upper=float(upper[1]))
    if words.lower() == REST or OVER.fullmatch(words):
        return Item(column, words)
    label, colon, members = words.partition(": ")
    if colon and "|" in members:
        return Item(column, label, values=tuple(one.strip() for one in members.split("|") if one.strip()))
    return Item(column, words, values=(words,))


def _check(items: Sequence[Item]) -> None:
    if not FEWEST <= len(items) <= MOST:
        raise _unfit(f"Experts can be asked about {FEWEST} to {MOST} values; these are {len(items)}.")
    if len({item.column for item in items}) > COLUMNS:
        raise _unfit(f"Experts can be asked about up to {COLUMNS} columns.")
    if len({(item.column, item.label) for item in items}) < len(items):
        raise _unfit("A value stands there twice.")
    for column in dict.fromkeys(item.column for item in items):
        _check_column([item for item in items if item.column == column])


def _check_column(items: Sequence[Item]) -> None:
    if sum(item.kind == "rest" for item in items) > 1:
        raise _unfit("A column has only one line for all other values.")
    listed = [value for item in items for value in item.values]
    if len(set(listed)) < len(listed):
        raise _unfit("A value stands in two groups.")
    bounds = [item.upper for item in items if item.upper is not None]
    if any(low >= high for low, high in pairwise(bounds)):
        raise _unfit("The bounds of ranges must rise from line to line.")


def _wrong(number: int, words: str) -> Problem:
    return _unfit(f"Line {number} {words}.")


def _unfit(words: str) -> Problem:
    return Problem(422, words, remedy="Correct the values and send the form again.")


def written(items: Sequence[Item]) -> str:
    """Items as they are typed."""
    lines: list[str] = []
    column = None
    for item in items:
        if item.column != column:
            lines += ["", f"[{item.column}]"]
            column = item.column
        one = item.values == (item.label,) or not item.values
        lines.append(item.label if one else f"{item.label}: {' | '.join(item.values)}")
    return "\n".join(lines).strip() + "\n"
