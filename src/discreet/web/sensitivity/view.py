"""Panel of experts, questions on a page, and items from a form.

In the form a column is written in brackets, and its values follow. `up to 250` is a range, `over 250` everything above it;
a group of values has a name, and bars between its values: `Heart: I21 | I50`.
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
from discreet.misuse.elicitation import Compare, Interview, Item, Question, combine, sections, toml
from discreet.misuse.elicitation.comparisons import TOLERABLE
from discreet.misuse.elicitation.items import REST
from discreet.report.toolkit.words import plural
from discreet.web.framework.problems import Problem
from discreet.web.sensitivity.store import StoredInterview, percent_answered

# -- the panel: combined scores, agreement, disputes, and the text for the policy -----------------------------------------

CLOSE = 0.6
"""Kendall's tau from which on experts mostly agree on the order."""
DISPUTED = 0.5
"""Spread of logarithms above which a value is in dispute: experts differ by a factor of two."""
MOST_DISPUTED = 8
AGAIN = 10
"""Questions that are repeated to each expert."""


@dataclass(frozen=True)
class ScoreRow:
    """One value, its combined score and each expert's."""

    item: str
    score: float
    single: list[float | None]
    disputed: bool


@dataclass(frozen=True)
class Combined:
    """The combined answers of a panel, as the page shows them."""

    experts: tuple[str, ...]
    rows: list[ScoreRow]
    disputed: list[int]
    agreement: float | None
    digest: str
    toml: str
    content: dict[str, Any]

    @property
    def agreement_words(self) -> str:
        """Kendall's tau in words."""
        if self.agreement is None:
            return "There is only one expert, so agreement cannot be measured."
        order = "they mostly agree on the order" if self.agreement >= CLOSE else "they disagree on the order"
        return f"Agreement (Kendall's tau, averaged over pairs of experts): {self.agreement:.2f}, {order}."


def together(interviews: Sequence[StoredInterview]) -> Combined:
    """The scores of all experts who have answered something, with equal weight."""
    talks = [interview.talk for interview in interviews if interview.talk.pairs or interview.talk.rated]
    if not talks:
        raise Problem(409, "No expert has answered yet.", remedy="Wait for the experts.")
    try:
        panel = combine(talks)
    except DataError as error:
        raise Problem(409, error.problem, remedy="Wait until the experts have answered more.") from None
    content = {"sensitivity": sections(panel.items, panel.scores), **panel.to_dict()}
    digest = Sensitivity.from_dict(content["sensitivity"]).version
    spread = panel.disagreement
    rows = [
        ScoreRow(
            str(item),
            float(panel.scores[index]),
            [None if math.isnan(score) else float(score) for score in panel.single[:, index]],
            bool(spread[index] > DISPUTED),
        )
        for index, item in enumerate(panel.items)
    ]
    disputed = [index for index in panel.disputed if spread[index] > DISPUTED][:MOST_DISPUTED]
    return Combined(panel.experts, rows, disputed, panel.agreement, digest, text_of(content, digest), content)


def text_of(content: dict[str, Any], digest: str) -> str:
    """The sections of a version for the policy."""
    experts = plural(len(content["experts"]), "expert", "experts")
    tau = content["agreement"]
    agreement = "" if tau is None else f", agreement (Kendall's tau) {tau:.2f}"
    return toml(content["sensitivity"], notes=[f"Sensitivity version {digest}, from {experts}{agreement}."])


def contradiction(interview: StoredInterview) -> str:
    """The sentence about comparisons that contradict each other; empty if they do not."""
    consistency = interview.talk.consistency
    if consistency.tolerable or consistency.ratio is None:
        return ""
    return (
        f"Some comparisons contradict each other: the consistency ratio is {consistency.ratio:.2f}, and up to "
        f"{TOLERABLE:.2f} is good."
    )


# -- a question on a page: its words, and the buttons with their keys -----------------------------------------------------


@dataclass(frozen=True)
class Button:
    """One answer."""

    value: str
    """As the form sends it."""
    label: str
    words: str
    """The text for a screen reader."""
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
"""The first over the second, in nine steps of Saaty's scale."""
STRENGTHS = {9: "extremely", 7: "very much", 5: "much", 3: "somewhat"}


def comparison_buttons() -> list[Button]:
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


def rating_buttons() -> list[Button]:
    """From 0 to 10; the key of 10 is x."""
    return [
        Button(str(number), str(number), f"{number} of 10", "x" if number == 10 else str(number))
        for number in range(11)
    ]


def named(question: Question) -> str:
    """The name of a question in the form, so that answers are never mixed up.

    >>> named(Compare(3, 5))
    'compare 3 5'
    """
    if isinstance(question, Compare):
        return f"compare {question.first} {question.second}"
    return "rate " + " ".join(str(item) for item in question.items)


def value_of(question: Question, said: str) -> float | None:
    """The value of an answer; None to pass."""
    if said == "pass":
        return None
    if isinstance(question, Compare):
        if said in RATIOS:
            return RATIOS[said]
    elif said in {str(number) for number in range(11)}:
        return int(said) / 10
    raise Problem(422, "This is not an answer to the question.", remedy="Choose one of the buttons.")


@dataclass(frozen=True)
class QuestionView:
    """A question as the page shows it."""

    name: str
    number: int
    left: int
    percent: int
    compares: bool
    things: list[str]
    buttons: list[Button]


def question_view(talk: Interview, question: Question) -> QuestionView:
    """The question with everything that is needed to answer it."""
    compares = isinstance(question, Compare)
    items = (question.first, question.second) if isinstance(question, Compare) else question.items
    return QuestionView(
        named(question),
        len(talk.answers) + 1,
        max(0, talk.left - 1),
        percent_answered(talk),
        compares,
        [str(talk.items[item]) for item in items],
        comparison_buttons() if compares else rating_buttons(),
    )


# -- items from a form --------------------------------------------------------------------------------------------------

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
    """The items that a text describes; a problem names the line that is wrong.

    >>> [str(item) for item in items_of("[bill]\\nup to 100\\nover 100")]
    ['bill: up to 100', 'bill: over 100']
    """
    items: list[Item] = []
    column: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        words = " ".join(line.split())
        if not words:
            continue
        if len(words) > LONGEST:
            raise _unfit(f"Line {number} is longer than {LONGEST} characters.")
        if words.startswith("[") and words.endswith("]"):
            column = words[1:-1].strip()
            if not column:
                raise _unfit(f"Line {number} names no column.")
        elif column is None:
            raise _unfit(f"Line {number} comes before the first column; a column is written [like this].")
        else:
            items.append(_item(column, words))
    _check(items)
    return items


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
        raise _unfit("A value is listed twice.")
    for column in dict.fromkeys(item.column for item in items):
        _check_column([item for item in items if item.column == column])


def _check_column(items: Sequence[Item]) -> None:
    if sum(item.kind == "rest" for item in items) > 1:
        raise _unfit("A column has only one line for all other values.")
    listed = [value for item in items for value in item.values]
    if len(set(listed)) < len(listed):
        raise _unfit("A value is in two groups.")
    bounds = [item.upper for item in items if item.upper is not None]
    if any(low >= high for low, high in pairwise(bounds)):
        raise _unfit("The bounds of ranges must increase from line to line.")


def _unfit(words: str) -> Problem:
    return Problem(422, words, remedy="Correct the values and send the form again.")


def written(items: Sequence[Item]) -> str:
    """Items as they are typed into the form."""
    lines: list[str] = []
    column = None
    for item in items:
        if item.column != column:
            lines += ["", f"[{item.column}]"]
            column = item.column
        single = item.values == (item.label,) or not item.values
        lines.append(item.label if single else f"{item.label}: {' | '.join(item.values)}")
    return "\n".join(lines).strip() + "\n"
