"""Where the sensitivity of a value comes from: people who know what it can do are asked, few and simple questions.

Two instruments together: pairwise comparison keeps the order right, rating made-up records gives the size.
"""

from discreet.misuse.elicitation.interview import Answer, Interview, Panel, SimulatedExpert, combine, kendall_tau
from discreet.misuse.elicitation.items import Item, categories, ranges, sections, toml
from discreet.misuse.elicitation.joint_fit import Compare, Question, Rate

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
