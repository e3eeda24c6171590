"""What a loss means in words: per person where it is a sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.wording import measure

SCALE = "on a scale from 0 (the data as they were) to 1 (nothing left)"


@dataclass(frozen=True)
class Loss:
    """One way of measuring loss."""

    name: str
    meaning: str
    said: Callable[[float, int], str]
    """The sentence for a loss among so many people, without a full stop."""
    source: str
    """Key of the reference."""


def _sized(loss: float, people: int) -> str:
    return f"On average {measure(loss)} people look alike, all who are left out counted as one class"


def _discerned(loss: float, people: int) -> str:
    return (
        f"A person looks like {measure(loss / people)} people on average; whoever is left out counts as like everybody"
    )


def _squared(loss: float, people: int) -> str:
    return f"A person looks like {measure(loss / people)} people on average, those left out included"


def _guessed(loss: float, people: int) -> str:
    return f"It takes {measure(loss / people)} bits (yes-no questions) per person to guess the values back"


LOSSES = {
    loss.name: loss
    for loss in (
        Loss(
            "loss",
            "how much of its hierarchy each published value covers; somebody who is left out counts as all of it",
            lambda loss, _: f"The loss is {measure(loss)} {SCALE}",
            "iyengar",
        ),
        Loss("aecs", "the average size of a class", _sized, "lefevre"),
        Loss(
            "discernibility",
            "the size of each person's class, and of the whole table for somebody who is left out, added up",
            _discerned,
            "bayardo",
        ),
        Loss("dm_star", "the size of each person's class, added up, also for those who are left out", _squared, "ola"),
        Loss(
            "precision",
            "how far up its hierarchy each column is published, averaged over columns",
            lambda loss, _: f"The loss of precision is {measure(loss)} {SCALE}",
            "precision",
        ),
        Loss("entropy", "the bits it takes to guess the values back", _guessed, "gionis"),
    )
}


def loss_in_words(name: str, loss: float, people: int) -> str:
    """What was lost, as a sentence without its full stop.

    >>> loss_in_words("loss", 0.241932, 30162)
    'The loss is 0.242 on a scale from 0 (the data as they were) to 1 (nothing left)'
    """
    return LOSSES[name].said(loss, people) if name in LOSSES else f"The loss ({name}) is {measure(loss)}"
