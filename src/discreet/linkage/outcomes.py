"""The documented name of `discreet.linkage.review.decisions`."""

from discreet.linkage.review.decisions import (
    CANNOT_TELL,
    DIFFERENT,
    DISPUTED,
    OPEN,
    SAME,
    Answered,
    Verdict,
    answers_of,
    labels_of,
    read_answers,
)

__all__ = [
    "CANNOT_TELL",
    "DIFFERENT",
    "DISPUTED",
    "OPEN",
    "SAME",
    "Answered",
    "Verdict",
    "answers_of",
    "labels_of",
    "read_answers",
]
