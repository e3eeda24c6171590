"""Where the sensitivity of a value comes from: people who know what it can do are asked, few and simple questions.

Two instruments together: pairwise comparison keeps the order right, rating made-up records gives the size.
"""

from discreet.misuse.elicitation.experts import Panel, combine, kendall_tau
from discreet.misuse.elicitation.interview import Answer, Interview
from discreet.misuse.elicitation.items import Item, categories, ranges
from discreet.misuse.elicitation.questions import Compare, Question, Rate
from discreet.misuse.elicitation.simulated import SimulatedExpert
from discreet.misuse.elicitation.written import sections, toml

__all__ = [
    "Answer",
    "Compare",
    "Interview",
    "Item",
    "Panel",
    "Question",
    "Rate",
    "SimulatedExpert",
    "categories",
    "combine",
    "kendall_tau",
    "ranges",
    "sections",
    "toml",
]
