"""Statistics that touch a sensitive column: sticky noise, audit of who sets, budget of answers."""

from discreet.gateway.statistics.answers import Admission, AnswerPrice, AnswerRefused, Answers, AnswersLeft
from discreet.gateway.statistics.quantities import Moment, NoisedCell, StatisticCell, WhoSet

__all__ = [
    "Admission",
    "AnswerPrice",
    "AnswerRefused",
    "Answers",
    "AnswersLeft",
    "Moment",
    "NoisedCell",
    "StatisticCell",
    "WhoSet",
]
