"""The questions of an interview in a terminal; every answer is handed over before the next question."""

from __future__ import annotations

import re
from collections.abc import Callable

import click

from discreet.cli import console
from discreet.misuse.elicitation import Compare, Interview, Question, Rate
from discreet.misuse.elicitation.comparisons import TOLERABLE

Save = Callable[[Interview], None]
WELCOME = """\
Two kinds of questions. First: which of two things would harm a person more if it became known, and how much more?
Then: how bad would it be if all of a record became known? Records are made up; they are nobody's.
At any time: s passes, u undoes, q stops (every answer is saved), ? repeats this.
"""
RECHECKS = 2
"""How often a contradiction is put once more."""


class Stop(Exception):
    """The expert wants to stop."""


class Back(Exception):
    """The expert wants to take the last answer back."""


def talk_with(talk: Interview, save: Save) -> Interview:
    """Ask until enough is asked, or the expert stops."""
    console.say(WELCOME)
    rechecked = 0
    while True:
        question = talk.next_question()
        if not isinstance(question, Compare) and rechecked < RECHECKS and not talk.again and not talk.rated:
            talk, rechecked = _recheck(talk), rechecked + 1
            question = talk.next_question()
        if question is None:
            return talk
        try:
            talk = talk.answer(question, ask(talk, question))
        except Back:
            talk = talk.undo()
        except Stop:
            return talk
        save(talk)


def _recheck(talk: Interview) -> Interview:
    found = talk.consistency
    if found.tolerable or found.ratio is None:
        return talk
    console.say(
        f"Some comparisons contradict each other (consistency ratio {found.ratio:.2f}, good is up to {TOLERABLE:.2f}). "
        "The one that fits least comes once more:\n"
    )
    return talk.recheck()


def ask(talk: Interview, question: Question) -> float | None:
    """Put one question until the answer makes sense."""
    console.say(_words(talk, question))
    while True:
        said = click.prompt("Your answer", prompt_suffix=": ", default="", show_default=False, err=True).strip().lower()
        if said in ("q", "quit"):
            raise Stop
        if said in ("u", "undo") and talk.answers:
            raise Back
        if said in ("s", "skip", "pass"):
            return None
        found = read_comparison(said) if isinstance(question, Compare) else read_rating(said)
        if found is not None:
            return found
        if said in ("?", "help"):
            console.say(WELCOME)
        console.say(_help(question))


def _words(talk: Interview, question: Question) -> str:
    number = f"Question {len(talk.answers) + 1}, about {talk.left - 1} more after it"
    if isinstance(question, Rate):
        record = "\n".join(f"    {talk.items[item]}" for item in question.items)
        return f"\n{number}\nSomebody's name becomes known together with this (a made-up record):\n{record}\nHow bad is that, from 0 (harmless) to 10 (as bad as it gets)?"
    first, second = talk.items[question.first], talk.items[question.second]
    return f"\n{number}\nWhich would harm a person more if it became known?\n    a  {first}\n    b  {second}"


def _help(question: Question) -> str:
    if isinstance(question, Rate):
        return "A number from 0 to 10, also 7.5."
    return (
        "= if both are alike, else a or b with a number from 2 (slightly) over 3, 5, 7 to 9 (times) as harmful: a3, b9."
    )


def read_comparison(said: str) -> float | None:
    """A ratio of a over b, or None.

    >>> read_comparison("="), read_comparison("a5"), read_comparison("b 4"), read_comparison("a12")
    (1.0, 5.0, 0.25, None)
    """
    if said in ("=", "1"):
        return 1.0
    found = re.fullmatch(r"([ab]) *([1-9])", said)
    if found is None:
        return None
    return float(found[2]) if found[1] == "a" else 1 / float(found[2])


def read_rating(said: str) -> float | None:
    """A rating from 0 to 1, or None.

    >>> read_rating("10"), read_rating("7,5"), read_rating("11"), read_rating("bad")
    (1.0, 0.75, None, None)
    """
    if not re.fullmatch(r"\d{1,2}([.,]\d{1,2})?", said):
        return None
    number = float(said.replace(",", "."))
    return number / 10 if number <= 10 else None
