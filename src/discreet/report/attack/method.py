"""How the adversary plans, what the model leaves out, and whose work it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.report.assessment.report import REFERENCES as MEASURES
from discreet.report.attack.case import Case

XIA = (
    "Xia, W., Kantarcioglu, M., Wan, Z., Heatherly, R., Vorobeychik, Y. & Malin, B. (2015). Process-driven data privacy. "
    "CIKM."
)
REFERENCES = (MEASURES["wan"], XIA)


def remains(case: Case) -> tuple[str, ...]:
    """What the model does not see."""
    return tuple(_remains(case))


def _remains(case: Case) -> Iterator[str]:
    yield (
        "The adversary is rational: he acts only where it pays. One who acts out of spite, curiosity or for show does not "
        "count costs, and is not deterred by them."
    )
    yield (
        "His gain, his costs and the chance that he is detected are guesses. Vary them (`discreet attack sweep`) before a "
        "decision rests on them."
    )
    yield (
        "Each person is attacked on their own, and the list is paid for each time. Who attacks many buys it once: then people "
        "whom nobody would attack alone can be attacked together."
    )
    yield (
        "An attempt is detected independently of the others and of whether it is right, with a probability that depends only "
        "on how many came before."
    )
    yield "He knows at once whether he was right. Somebody who cannot tell goes on longer, and harms more people."
    yield (
        "Only the columns named below count, and the list is taken as coded like the data. Whoever knows more makes groups "
        "smaller than shown here."
    )
    if case.unlisted:
        yield (
            "People whom nobody in this list looks like are safe from this list only: another one may hold them under the "
            "same values."
        )


def method(case: Case) -> tuple[str, ...]:
    """How it was computed, with authors and years."""
    return (
        (
            "The attack is a sequence of decisions: buy the list of named people, link it, try one candidate after another, stop. "
            "It is a factored Markov decision process (Xia et al. 2015), solved exactly for every group size by one backward "
            "recursion; an action is taken only if it is worth more than stopping."
        ),
        (
            "With g candidates and i of them tried in vain, the next is right with probability 1/(g/p - i), where p is the "
            "probability that the target is in the list, and detected with probability 1/(1 + exp(-(h0 + h1 i))). Gain and fine "
            "arrive one step after the cost, and later steps are discounted."
        ),
        (
            "Knowing the group, he buys if that is worth more than the price. Not knowing it, he expects binomially many people, by "
            f"the share of the population that looks alike among {case.struck.external_size:,} people. The probability of a "
            "re-identification is that of his plan on the real group, not discounted."
        ),
        (
            "One guess each is the single-shot game (Wan et al. 2015): one random candidate where p/g times the gain exceeds all "
            "costs and the expected fine."
        ),
        (
            "The least fine, price and group size that deter him from everybody are exact, found where what the attack is worth "
            "reaches nothing for the smallest group in the data."
        ),
    )
