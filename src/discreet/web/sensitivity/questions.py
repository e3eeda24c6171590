"""A question on a page: its words, and the buttons with the keys that press them."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.misuse.elicitation import Compare, Interview, Question
from discreet.web.framework.problems import Problem


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
