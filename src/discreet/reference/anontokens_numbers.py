"""Antonatos, Braghin, Holohan, MacAonghusa, "AnonTokens": its Tables 1 to 5, Figures 2 and 3, and what it concludes.

The three states are not disclosed. What depends on them is computed on generated states (`discreet.reference.states`),
and the verdict says so cell by cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.kernel import Classes
from discreet.people.population import stream
from discreet.reference.items import PrintedItem, cannot, judge
from discreet.reference.states import SAMPLE, STATES, PaperState
from discreet.releases.feasibility_samples import (
    MeanSpread,
    SampledFeasibility,
    feasibility_samples,
    uniform_samples,
)
from discreet.releases.population_link import Linked
from discreet.wording import measure

TITLE = "AnonTokens: tracing re-identification attacks through decoy records"
REFERENCE = (
    "S. Antonatos, S. Braghin, N. Holohan, P. MacAonghusa: AnonTokens: Tracing Re-identification Attacks Through Decoy Records. "
    "arXiv:1906.09829, 2019."
)
SAMPLES, QUICK_SAMPLES = 50, 3
KS, SUPPRESSIONS = (2, 5, 10, 20, 50), (0, 2, 5, 10, 15)
UNDISCLOSED = (
    "The states are not disclosed; a generated state of the same number of people and classes gives what is shown."
)
GENERATED = (
    "On a generated state whose shape was fitted to Table 5, within the printed deviation and a quarter of the printed mean, "
    "or within 0.5."
)
LOST = "Our copy of the paper has no legible number in this cell."
Printed = tuple[float, float]
"""A mean and its standard deviation."""

TABLE_5 = """
2 0 179,43,1,1 90,69,0,0 47,39,0,1
2 2 14236,40,3057,50 4983,17,883,22 2300,75,445,69
2 5 22891,64,8294,81 9436,231,3374,204 3974,23,1210,30
2 10 23161,62,8819,71 12581,268,5536,240 5875,29,2379,31
2 15 31297,97,18517,81 13242,46,6144,55 5875,29,2379,31
5 0 105,86,0,0 29,53,0,0 23,32,0,0
5 2 3713,230,211,29 2618,10,231,9 1080,6,110,7
5 5 6614,22,738,21 2618,10,231,9 1080,6,110,7
5 10 9027,35,1845,35 3740,19,633,22 1702,10,263,13
5 15 9917,38,2139,36 4003,272,804,144 1702,10,263,13
10 0 25,0,0,0 7,8,0,0 10,13,0,0
10 2 1887,5,31,5 893,225,40,14 537,47,28,5
10 5 3489,11,135,9 1262,8,88,8 511,4,26,4
10 10 3489,11,135,9 2073,12,195,13 818,9,83,8
10 15 4944,18,550,20 2073,12,195,13 818,9,83,8
20 0 25,0,0,0 6,8,0,0 8,6,0,0
20 2 945,3,11,3 319,70,3,4 267,2,6,2
20 5 1748,6,48,7 626,5,33,5 254,2,9,2
20 10 1748,6,48,7 1016,40,75,9 406,4,20,4
20 15 2771,14,229,15 925,7,66,6 406,4,20,4
50 0 25,0,0,0 6,8,0,0 6,6,0,0
50 2 464,1,5,1 282,1,5,1 133,15,2,1
50 5 837,3,28,4 282,1,5,1 137,1,2,1
50 10 838,3,28,4 282,1,5,1 160,25,5,3
50 15 999,147,65,34 407,3,27,4 186,2,7,2"""
"""k, suppression in per cent, and per state: #EQ in D' and its deviation, closeToK and its deviation."""
TABLE_4: dict[tuple[int, int, int], dict[str, Printed]] = {
    (1, 2, 0): {"candidate_records": (71, 82)},
    (1, 2, 2): {"min_link": (7, 2), "candidate_classes": (1555, 601)},
    (1, 2, 5): {"min_link": (5, 1)},
    (1, 2, 10): {"min_link": (3, 1), "candidate_classes": (3008, 2341), "candidate_records": (7587, 6750)},
    (1, 2, 15): {"min_link": (2, 0), "candidate_classes": (4655, 4138), "candidate_records": (10534, 10388)},
    (1, 5, 0): {"min_link": (131110, 120_000), "candidate_classes": (0, 1), "candidate_records": (17, 66)},
    (1, 5, 2): {"min_link": (108, 27), "candidate_classes": (1268, 466), "candidate_records": (49240, 21482)},
    (1, 10, 0): {"min_link": (242409, 0), "candidate_classes": (0, 0), "candidate_records": (0, 0)},
    (1, 10, 2): {"min_link": (504, 88), "candidate_classes": (324, 20)},
    (1, 20, 15): {"candidate_classes": (2671, 80)},
    (1, 50, 15): {"min_link": (3814, 297), "candidate_classes": (1064, 316), "candidate_records": (939288, 356937)},
    (2, 2, 0): {"min_link": (147364, 1_019_000), "candidate_records": (71, 70)},
    (2, 2, 2): {"min_link": (10, 5), "candidate_classes": (740, 240), "candidate_records": (3384, 2014)},
    (2, 2, 5): {"min_link": (5, 2), "candidate_classes": (1569, 816)},
    (2, 2, 10): {"min_link": (5, 2), "candidate_classes": (1493, 911), "candidate_records": (4876, 3966)},
    (2, 2, 15): {"min_link": (4, 1), "candidate_classes": (2595, 1429), "candidate_records": (7315, 4934)},
    (2, 5, 0): {"min_link": (1_902_000, 3_191_000), "candidate_classes": (1, 1), "candidate_records": (70, 69)},
    (2, 5, 2): {"min_link": (140, 33), "candidate_classes": (639, 48), "candidate_records": (23140, 6943)},
    (2, 5, 10): {"min_link": (109, 27)},
    (2, 5, 15): {"min_link": (86, 21), "candidate_classes": (2998, 459)},
    (2, 10, 0): {"min_link": (3_659_000, 3_625_000), "candidate_classes": (0, 1), "candidate_records": (56, 72)},
    (2, 10, 2): {"min_link": (550, 74)},
    (2, 10, 10): {"min_link": (414, 55)},
    (2, 10, 15): {"min_link": (414, 55), "candidate_classes": (798, 76)},
    (2, 20, 0): {"min_link": (5_262_000, 3_244_000)},
    (2, 20, 5): {"candidate_classes": (252, 23)},
    (2, 20, 15): {"min_link": (1131, 139)},
    (2, 50, 15): {"min_link": (3776, 286), "candidate_classes": (499, 18), "candidate_records": (734368, 69058)},
    (3, 2, 0): {"candidate_classes": (4, 7), "candidate_records": (77, 92)},
    (3, 2, 2): {"min_link": (11, 7), "candidate_classes": (483, 170), "candidate_records": (2277, 1468)},
    (3, 2, 5): {"candidate_classes": (1654, 577), "candidate_records": (5890, 3174)},
    (3, 2, 10): {"min_link": (4, 1), "candidate_classes": (2533, 1097), "candidate_records": (7128, 4231)},
    (3, 2, 15): {"min_link": (4, 1), "candidate_classes": (2533, 1097), "candidate_records": (7128, 4231)},
    (3, 5, 0): {"min_link": (6927, 10869), "candidate_classes": (2, 2), "candidate_records": (68, 80)},
    (3, 5, 2): {"min_link": (168, 40), "candidate_classes": (388, 27), "candidate_records": (16290, 4769)},
    (3, 5, 5): {"candidate_classes": (388, 27), "candidate_records": (16290, 4769)},
    (3, 5, 10): {"candidate_classes": (2126, 276), "candidate_records": (71915, 20844)},
    (3, 5, 15): {"candidate_classes": (2126, 276), "candidate_records": (71915, 20844)},
    (3, 10, 0): {"min_link": (12014, 14357), "candidate_classes": (1, 1), "candidate_records": (67, 74)},
    (3, 10, 2): {"candidate_records": (28099, 7847)},
    (3, 10, 5): {"candidate_records": (81040, 15631)},
    (3, 10, 10): {"candidate_records": (63042, 13506)},
    (3, 10, 15): {"candidate_records": (63042, 13506)},
    (3, 20, 0): {"candidate_records": (55, 57)},
    (3, 20, 2): {"candidate_records": (38821, 7280)},
    (3, 20, 5): {"candidate_classes": (238, 8), "candidate_records": (106560, 11347)},
    (3, 20, 10): {"candidate_classes": (650, 20), "candidate_records": (190298, 25627)},
    (3, 20, 15): {"candidate_classes": (650, 20), "candidate_records": (190298, 25627)},
    (3, 50, 0): {"min_link": (1_145_000, 1_640_000), "candidate_records": (27, 38)},
    (3, 50, 2): {"candidate_records": (49771, 9019)},
    (3, 50, 5): {"candidate_records": (51800, 7714)},
    (3, 50, 10): {"candidate_records": (158766, 121948)},
    (3, 50, 15): {"min_link": (4078, 368), "candidate_classes": (302, 7), "candidate_records": (303774, 27657)},
}  # fmt: skip
"""The cells of Table 4 that are legible in our copy, by state, k and suppression in per cent."""
COLUMNS = {"min_link": "minLink", "candidate_classes": "< minLinkEQ", "candidate_records": "< minLinkRecords",
           "classes": "#EQ in D'", "close_to_k": "closeToK"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class SampledState:
    """A state with what its samples show."""

    state: PaperState
    population: Classes
    found: SampledFeasibility
    one: Classes
    """One of the samples, for Figure 3 and the removals."""

    @cached_property
    def linked(self) -> Linked:
        """That sample anonymised at k = 10 and 5 % suppression, beside the population."""
        from discreet.anonymity import anonymise

        return Linked.of(anonymise(self.one, k=10, suppression=0.05, loss="dm_star"), self.population)


def sampled(*, quick: bool, seed: int) -> tuple[SampledState, ...]:
    """All three states; quickly, with few samples."""
    number, found = QUICK_SAMPLES if quick else SAMPLES, []
    for state in STATES:
        population = state.classes_of(state.counts(seed), seed)
        rng = stream(seed, f"samples of state {state.number}")
        cells = feasibility_samples(
            population,
            samples=number,
            fraction=SAMPLE,
            rng=rng,
            ks=KS,
            suppressions=[share / 100 for share in SUPPRESSIONS],
        )
        one = next(iter(uniform_samples(population, 1, SAMPLE, stream(seed, "one sample"))))
        found.append(SampledState(state, population, cells, one))
    return tuple(found)


def table_2(states: tuple[SampledState, ...]) -> Iterator[PrintedItem]:
    """People and classes of each state."""
    for one in states:
        name, where = f"anontokens.table2.state{one.state.number}", "Table 2"
        yield cannot(f"{name}.rows", where, f"{one.state.title}: rows", one.state.people,
                     "An input of the generated state, so no result. The states are not disclosed.", ours=one.population.records)  # fmt: skip
        yield cannot(f"{name}.eq", where, f"{one.state.title}: equivalence classes", one.state.classes,
                     "Fitted, so no result: the generated state was searched for so that it comes near. The states are not disclosed.",
                     ours=len(one.population))  # fmt: skip
    # A class of the table whose people are not all its own would have another of same origin beside itself.
    tables = [one.linked.released for one in states]
    twice = sum(int((released.link(released) != released.sizes).sum()) for released in tables)
    yield judge("anontokens.sameorigin.within", "Section 3, Definition 1", "same-origin classes within one dataset", 0, twice,
                note=f"Among {', '.join(f'{len(one):,}' for one in tables)} classes of one anonymised sample of each state, k = 10, 5 %.")  # fmt: skip


def cell(name: str, where: str, what: str, printed: Printed | None, ours: MeanSpread | None) -> PrintedItem:
    """The verdict on a printed mean with its deviation."""
    found = None if ours is None else {"mean": round(ours.mean, 1), "sd": round(ours.sd, 1)}
    if printed is None:
        return cannot(name, where, what, None, f"{LOST} {UNDISCLOSED}", ours=found)
    mean, sd = printed
    shown = {"mean": mean, "sd": sd}
    # A deviation as large as the mean would let nearly anything pass.
    if ours is not None and abs(ours.mean - mean) <= max(min(sd, mean / 4), 0.5):
        return PrintedItem(name, where, what, shown, found, "reproduces", GENERATED)
    if found is None:
        return cannot(name, where, what, shown, UNDISCLOSED)
    return PrintedItem(name, where, what, shown, found, "differs", UNDISCLOSED)


def beside(name: str, where: str, what: str, printed: Any, ours: Any, *, more: str = "") -> PrintedItem:
    """A printed number about the undisclosed states beside that of the generated ones: the same to 2 %, or it differs."""
    numbers = (
        list(zip(printed.values(), ours.values(), strict=True)) if isinstance(printed, dict) else [(printed, ours)]
    )
    near = all(abs(one - other) <= 0.02 * abs(one) for one, other in numbers)
    why = f"{GENERATED.partition(',')[0]}, to 2 %." if near else UNDISCLOSED
    return PrintedItem(name, where, what, printed, ours, "reproduces" if near else "differs", f"{why} {more}".strip())


def table_4(states: tuple[SampledState, ...]) -> Iterator[PrintedItem]:
    """Room for decoys in the population, cell by cell."""
    for one in states:
        for k in KS:
            for share in SUPPRESSIONS:
                printed = TABLE_4.get((one.state.number, k, share), {})
                for column in ("min_link", "candidate_classes", "candidate_records"):
                    yield cell(
                        f"anontokens.table4.state{one.state.number}.k{k}.s{share}.{column}", "Table 4",
                        f"{one.state.title}, k = {k}, {share} %: {COLUMNS[column]}", printed.get(column),
                        one.found.at(k, share / 100).figures.get(column),
                    )  # fmt: skip
    text = states[0].found.at(5, 0.1).figures
    for column, number in (("candidate_classes", 2779), ("candidate_records", 95808)):
        ours = text[column]
        yield beside(f"anontokens.table4.text.{column}", "Section 5", f"State 1, k = 5, 10 %: {COLUMNS[column]}", number,
                     round(ours.mean, 1))  # fmt: skip


def room_for_decoys(states: tuple[SampledState, ...]) -> Iterator[PrintedItem]:
    """What Section 5 says of Table 4 in words."""
    classes = {
        (k, share): [one.found.at(k, share / 100).figures["candidate_classes"].mean for one in states]
        for k in KS
        for share in SUPPRESSIONS[1:]
        if all("candidate_classes" in one.found.at(k, share / 100).figures for one in states)
    }
    least, most = (round(end(mean for means in classes.values() for mean in means)) for end in (min, max))
    words = "a few hundred to a few thousand"
    yield judge("anontokens.table4.room", "Section 5", "classes that can be decoys at 2 to 15 % suppression, all states and k", words,
                words if least >= 100 and 1_000 <= most < 10_000 else f"{least:,} to {most:,}", why=UNDISCLOSED,
                note=f"Means from {least:,} to {most:,}.")  # fmt: skip
    by_k = {k: float(np.mean([means for (size, _), means in classes.items() if size == k])) for k in KS}
    yield judge("anontokens.table4.drop", "Section 5", "a drop in scale for high values of k: fewer classes at k = 50 than at any other k", True,
                min(by_k, key=by_k.__getitem__) == 50, why=UNDISCLOSED,
                note="Means over states and suppressions: " + ", ".join(f"k = {k}: {mean:,.0f}" for k, mean in by_k.items()) + ".")  # fmt: skip


def printed_table_5() -> dict[tuple[int, int, int], dict[str, Printed]]:
    """Table 5 by state, k and suppression in per cent."""
    found = {}
    for line in TABLE_5.split("\n")[1:]:
        k, share, *states = line.split()
        for number, numbers in enumerate(states, start=1):
            eq, eq_sd, close, close_sd = map(float, numbers.split(","))
            found[number, int(k), int(share)] = {"classes": (eq, eq_sd), "close_to_k": (close, close_sd)}
    return found


def table_5(states: tuple[SampledState, ...]) -> Iterator[PrintedItem]:
    """Classes of the samples, cell by cell."""
    printed = printed_table_5()
    for one in states:
        for k in KS:
            for share in SUPPRESSIONS:
                for column in ("classes", "close_to_k"):
                    yield cell(
                        f"anontokens.table5.state{one.state.number}.k{k}.s{share}.{column}", "Table 5",
                        f"{one.state.title}, k = {k}, {share} %: {COLUMNS[column]}",
                        printed[one.state.number, k, share][column], one.found.at(k, share / 100).figures.get(column),
                    )  # fmt: skip
    least = min(
        one.found.at(k, share / 100).figures["classes"].mean for one in states for k in KS for share in SUPPRESSIONS[1:]
    )
    yield beside(
        "anontokens.table5.least",
        "Section 7",
        "least #EQ in D' without the cases of 0 % suppression",
        133,
        round(least, 1),
    )
    close = [
        one.found.at(k, share / 100).figures["close_to_k"].mean
        for one in states
        for k in KS[:3]
        for share in SUPPRESSIONS[1:]
    ]
    words, least, most = "from tens up to thousands", round(min(close)), round(max(close))
    yield judge("anontokens.table5.room", "Section 6", "classes with size close to k at 2 to 15 % suppression, k up to 10", words,
                words if 10 <= least < 100 and most >= 1_000 else f"{least:,} to {most:,}", why=UNDISCLOSED,
                note=f"Means from {least:,} to {most:,}. Table 5 itself has fewer than ten at k = 20 and 50.")  # fmt: skip


LARGEST = {"State 1": 69.95, "State 2": 108.3, "State 3": 77.45}
"""The largest risk multiplication factors that the paper prints."""
LARGER_KS = (10, 20)
"""Where it has them: "for larger values of k, namely 10 and 20"."""


def largest_factor(one: SampledState) -> float:
    """The largest risk factor of any sample, suppression and candidate at the larger k of Figure 2."""
    return max(
        float(factors[0])
        for k in LARGER_KS
        for share in SUPPRESSIONS[1:]
        for factors in one.found.at(k, share / 100).factors
        if len(factors)
    )


def shares_of_factors(one: SampledState) -> tuple[float, float]:
    """Least share of factors up to 1.5, and largest share above 4."""
    low, high = [], []
    for k in KS[:4]:
        for share in SUPPRESSIONS[1:]:
            each = np.concatenate([*one.found.at(k, share / 100).factors, []])
            if len(each):
                low.append(float((each <= 1.5).mean()))
                high.append(float((each > 4).mean()))
    return min(low), max(high)


def figure_2(states: tuple[SampledState, ...]) -> Iterator[PrintedItem]:
    """The risk multiplication factor minLink/|d|."""
    largest = {one.state.title: round(largest_factor(one), 2) for one in states}
    yield beside("anontokens.fig2", "Figure 2", "maximum risk multiplication factor", LARGEST, largest)
    for one, low, high in zip(states, (0.09, 0.056, 0.076), (0.237, 0.301, 0.47), strict=True):
        least, most = shares_of_factors(one)
        name = f"anontokens.fig2.state{one.state.number}"
        yield beside(f"{name}.upto1_5", "Section 6", f"{one.state.title}: minimum share of decoy classes of a factor up to 1.5", low, round(least, 4))  # fmt: skip
        yield beside(f"{name}.above4", "Section 6", f"{one.state.title}: share of decoy classes of a factor above 4", high, round(most, 4),
                     more="The text does not say at which k and suppression; ours is the largest share.")  # fmt: skip
    few = [int((factors <= 1.2).sum()) for factors in states[0].found.at(10, 0.1).factors]
    yield beside("anontokens.fig2.state1.upto1_2", "Section 5", "State 1, k = 10, 10 %: classes of a factor up to 1.2", 123, round(float(np.mean(few)), 1))  # fmt: skip
    low_k = max(
        float(factors[0])
        for share in SUPPRESSIONS[1:]
        for factors in states[0].found.at(2, share / 100).factors
        if len(factors)
    )
    yield beside("anontokens.fig2.state1.k2", "Section 5", "State 1, k = 2: decoys have up to so many times the risk", 4, round(low_k, 2))  # fmt: skip


BINS = 10


def class_sizes(one: SampledState) -> tuple[list[float], list[int]]:
    """The distribution of class sizes at k = 10 and 5 %: ten bins of equal width on a logarithmic scale, as numbers of classes."""
    sizes = one.linked.released.sizes
    edges = np.geomspace(10, float(sizes.max()) + 1, BINS + 1)
    counts, _ = np.histogram(sizes, edges)
    return edges.tolist(), counts.tolist()


def figure_3(states: tuple[SampledState, ...]) -> Iterator[PrintedItem]:
    """Class sizes of the samples."""
    least = {one.state.title: min(class_sizes(one)[1][:-1]) for one in states}
    bins = f"The bins of the figure are not printed; ours are {BINS} on a logarithmic scale, the last one left out."
    yield beside("anontokens.fig3", "Figure 3", "fewest classes in a bin, over the three states", 18, min(least.values()),
                 more=bins)  # fmt: skip


def written(figure: MeanSpread | None) -> str:
    """A mean and its deviation as the paper writes them.

    >>> written(MeanSpread(2300.4, 75.2)), written(None)
    ('2300 (75)', '–')
    """
    return "–" if figure is None else f"{_short(figure.mean)} ({_short(figure.sd)})"


def _short(number: float) -> str:
    return (
        f"{number / 1000:.0f}K"
        if number >= 1_000_000
        else f"{number:.0f}"
        if number >= 1 or number == 0
        else measure(number, digits=1)
    )
