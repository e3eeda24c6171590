"""The paper of Xia et al. on planning adversaries, gone through; Figures 5 to 10 with what it prints marked by rings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from discreet.attacker import Attack
from discreet.kernel.arrays import Floats
from discreet.people.population import stream
from discreet.reference.fmdp_numbers import (
    CASE,
    GENERATED,
    LISTED,
    LISTS,
    POPULATION,
    PRINTED_SECONDS,
    REFERENCE,
    SENSITIVITY,
    SIZES,
    TITLE,
    Carolina,
    FmdpStudy,
    believed,
    data,
    figure_items,
    findings,
    sensitivity,
    settings,
    thresholds,
    with_detection,
)
from discreet.reference.items import Numbered, PrintedItem, Reproduction, cannot, judge
from discreet.reference.process import ACCESS, EXPLOIT, LINK, TERMINATE, State, lp, table, two_level_lp
from discreet.report.attack_charts import stepped
from discreet.report.charts.axes import Frame, dot, linear, logarithmic
from discreet.report.charts.bars import Drawing, text
from discreet.report.charts.lines import Axes, Line, SinglePoint, line_chart
from discreet.report.toolkit.html import join
from discreet.report.toolkit.page import Figure, Table
from discreet.wording import measure, percent

NAMES = {
    "a": "a) constant detection, repeated penalties (h1 = 0, n_f unlimited)",
    "b": "b) one-time penalty (n_f = 1)",
    "c": "c) increasing detection, repeated penalties (h1 = 0.18, n_f unlimited)",
}
BASELINE = "Baseline (Wan et al.)"
GROUP = "Equivalence group size of the target record"
RINGS = "A ring is a number that the paper prints."
LISTED_SIZES = (1, 2, 5, 10, 13, 14, 15, 20, 23, 24, 28, 29, 30, 40, 44, 45, 47, 48, 50, 60)


def figures(study: FmdpStudy) -> tuple[Numbered, ...]:
    """All six."""
    drawn = (
        runtime(study),
        risk(),
        payoff(),
        exploited(),
        inconsistent(study),
        *panels(),
    )
    numbers = ("5", "6", "7", "8", "9", "10a", "10b", "10c", "10d")
    return tuple(Numbered(f"Figure {number}", figure) for number, figure in zip(numbers, drawn, strict=True))


def runtime(study: FmdpStudy) -> Figure:
    """Figure 5."""
    seconds = study.runtimes
    names = {"lp": "LP", "two_level_lp": "Two-level LP", "table": "Our table (not in the paper)"}
    lines = [
        Line(name, tuple(zip(map(float, LISTS), seconds[key], strict=True)), steps=False) for key, name in names.items()
    ]
    points = [SinglePoint(LISTS[-1], PRINTED_SECONDS[key], f"{PRINTED_SECONDS[key]:,} s") for key in PRINTED_SECONDS]
    every = [value for values in seconds.values() for value in values] + [
        float(one) for one in PRINTED_SECONDS.values()
    ]
    axes = Axes(
        replace(logarithmic(list(map(float, LISTS))), ticks=tuple(map(float, LISTS))),
        logarithmic(every),
        "Size of the external dataset",
        "Runtime in seconds, 5,000 records",
    )
    rows = tuple(
        (f"{people:,}", *(measure(seconds[key][place]) for key in names)) for place, people in enumerate(LISTS)
    )
    return Figure(
        key="fig5",
        title="Runtime of the FMDP solving algorithms for 5,000 de-identified records",
        about="; ".join(f"{names[key]}: {measure(values[-1])} s at 500,000" for key, values in seconds.items()),
        reading=(
            "Both axes are logarithmic. LP and two-level LP solve some of the records and are scaled to 5,000.",
            RINGS + " 13,444 s (LP) and 616 s (two-level LP), on another processor with another solver.",
        ),
        chart=line_chart(lines, axes, points=points),
        table=Table("CPU seconds, one core", ("External dataset", *names.values()), rows, (0, 1, 2, 3)),
    )


def _by_size(
    key: str, title: str, upwards: str, values: dict[str, Floats], *, points: Sequence[SinglePoint] = (), reading: str,
    written: Callable[[float], str] | None = None,
) -> Figure:  # fmt: skip
    """A figure with one line per setting over the group sizes."""
    top = max(float(each.max()) for each in values.values())
    lines = [stepped(name, SIZES, each.astype(float).tolist()) for name, each in values.items()]
    axes = Axes(linear([0, 60]), linear([0, top], zero=True), GROUP, upwards, written)
    write = written or measure
    rows = tuple((f"{size:,}", *(write(float(each[size - 1])) for each in values.values())) for size in LISTED_SIZES)
    return Figure(
        key=key,
        title=title,
        about="; ".join(
            f"{name}: {write(float(each[0]))} at 1 person, {write(float(each[-1]))} at 60"
            for name, each in values.items()
        ),
        reading=(reading, RINGS),
        chart=line_chart(lines, axes, points=points),
        table=Table(title, ("Group size", *values), rows, tuple(range(1, len(values) + 1))),
    )


def risk() -> Figure:
    """Figure 6."""
    values = {NAMES[key]: attack.known(SIZES).reidentification for key, attack in settings(CASE).items()}
    values[BASELINE] = CASE.baseline(SIZES).risk
    return _by_size(
        "fig6",
        "Group size and re-identification risk, known group scenario",
        "Re-identification risk",
        values,
        points=[SinglePoint(13.5, 0.63, "k = 14"), SinglePoint(47.5, 0.63, "k = 48")],
        reading="The baseline exploits one random individual while that pays; it stops attacking at its own threshold of 24 "
        "people. The FMDP's risk is the prior, 0.63, where all are exploited.",
        written=percent,
    )


def payoff() -> Figure:
    """Figure 7."""
    values = {NAMES[key]: attack.known(SIZES).value for key, attack in settings(CASE).items()}
    values[BASELINE] = np.maximum(CASE.baseline(SIZES).payoff, 0)
    return _by_size(
        "fig7",
        "Group size and the adversary's expected payoff, known group scenario",
        "Expected payoff",
        values,
        reading="The baseline's payoff drops faster, and is not discounted; the FMDP's is discounted by 0.9 per step.",
    )


def exploited() -> Figure:
    """Figure 8."""
    plans = {key: attack.known(SIZES) for key, attack in settings(CASE).items()}
    values = {NAMES[key]: (plan.exploits * plan.accesses).astype(np.float64) for key, plan in plans.items()}
    rising = values[NAMES["c"]]
    return _by_size(
        "fig8",
        "Group size and the individuals exploited before terminating, known group scenario",
        "Number exploited",
        values,
        points=[SinglePoint(14, float(rising[13]), "k = 14"), SinglePoint(28.5, float(rising[27]), "k' = 29")],
        reading="With increasing detection (c) the adversary exploits everybody below k = 14, some of the group from there to "
        "k' = 29, and nobody from 29 on.",
    )


def inconsistent(study: FmdpStudy) -> Figure:
    """Figure 9."""
    struck = study.struck["b"]
    known, unknown = struck.known.reidentification, struck.unknown.reidentification
    below, above = unknown < known - 1e-12, unknown > known + 1e-12
    marked = below | above
    groups, people = struck.groups.astype(float), struck.densities * study.state.population.sum()
    frame = Frame(
        linear(groups[marked].tolist() or [0, 60]),
        linear(people[marked].tolist() or [0, 90]),
        72,
        260,
    )
    seen = {(g, d, bool(b)) for g, d, b in zip(groups[marked], people[marked], below[marked], strict=True)}
    dots = [
        dot(frame.across(group), frame.down(expected), r=3.5, class_="dot" if lower else "dot open")
        for group, expected, lower in sorted(seen)
    ]
    legend = [
        dot("1%", 34, r=3.5, class_="dot"),
        text("risk 0.63 in the known, 0 in the unknown group scenario", x="2.5%", y=39, class_="label"),
        dot("1%", 54, r=3.5, class_="dot open"),
        text("the exact opposite", x="2.5%", y=59, class_="label"),
    ]
    counts = struck.differs
    drawn = frame.drawing(*dots, join(legend), upwards="People of the population who look alike", across=GROUP)
    total = counts["lower"] + counts["higher"]
    rows = (
        ("risk differs", "1,920", f"{total:,}"),
        ("known 0.63, unknown 0", "1,118 (58 %)", f"{counts['lower']:,} ({percent(counts['lower'] / max(total, 1))})"),
        ("the exact opposite", "802 (42 %)", f"{counts['higher']:,} ({percent(counts['higher'] / max(total, 1))})"),
        ("the same risk", "30,641 (94 %)", f"{int((~marked).sum()):,} ({percent(study.inconsistent['same'])})"),
        ("group larger than 55", "20,891 (64 %)", f"{int((struck.groups > 55).sum()):,} ({percent(study.inconsistent['above55'])})"),
    )  # fmt: skip
    return Figure(
        key="fig9",
        title="Records with inconsistent risk in the known and unknown group scenarios (n_f = 1)",
        about=f"{total:,} records: {counts['lower']:,} with lower and {counts['higher']:,} with higher risk in the unknown group.",
        reading=(
            (
                "Each dot is a kind of record whose risk differs. Its population density is drawn as the number of people of the "
                "population who look like it; the adversary of the unknown group knows only that."
            ),
            "The paper also draws the risk as a third axis: it is 0.63 or 0 for each of these records.",
        ),
        chart=Drawing(drawn.parts, drawn.height, drawn.class_),
        table=Table("Records, printed and ours", ("", "Printed", "Ours"), rows, (1, 2)),
    )


def _amount(name: str) -> Callable[[Attack, float], Attack]:
    def change(attack: Attack, value: float) -> Attack:
        changed: dict[str, Any] = {name: value}
        return replace(attack, **changed)

    return change


PANELS: dict[str, tuple[str, str, list[float], Callable[[Attack, float], Attack], tuple[SinglePoint, ...]]] = {
    "a": ("the external dataset cost C_a", "Access cost", np.linspace(0, 800, 41).tolist(), _amount("access_cost"), ()),
    "b": ("the exploit cost C_e", "Exploit cost", np.linspace(0, 200, 41).tolist(), _amount("exploit_cost"), ()),
    "c": ("the penalty", "Penalty", np.linspace(2_500, 60_000, 47).tolist(), _amount("penalty"),
          (SinglePoint(10_000, 9, "9 at 10,000"), SinglePoint(50_000, 2, "2 at 50,000"))),
    "d": ("the detection probability P_det", "Detection probability of the first exploit", np.geomspace(0.002, 0.1, 40).tolist(),
          with_detection, ()),
}  # fmt: skip
"""Figure 10: what varies, its axis, its values, and the points that the text prints."""


@cache
def panel_sizes(letter: str) -> dict[str, list[int]]:
    """Thresholds k along a panel, per setting."""
    _, _, values, change, _ = PANELS[letter]
    return {
        key: [change(attack, value).thresholds().no_access or 1 for value in values]
        for key, attack in settings(SENSITIVITY).items()
    }


def panels() -> tuple[Figure, ...]:
    """The four panels of Figure 10, with the adversary of Section 7."""

    def panel(letter: str) -> Figure:
        what, across, values, _, points = PANELS[letter]
        found = {NAMES[key]: sizes for key, sizes in panel_sizes(letter).items()}
        lines = [
            Line(name, tuple(zip(values, map(float, sizes), strict=True)), steps=False) for name, sizes in found.items()
        ]
        tops = [float(size) for sizes in found.values() for size in sizes] + [point.y for point in points]
        axes = Axes(
            logarithmic(values) if letter == "d" else linear(values),
            linear([0, *tops], zero=True),
            across,
            "k: the adversary walks away",
        )
        shown = list(range(0, len(values), max(1, len(values) // 10)))
        rows = tuple((measure(values[place]), *(f"{sizes[place]:,}" for sizes in found.values())) for place in shown)
        return Figure(
            key=f"fig10{letter}",
            title=f"Group size threshold (k) as a function of {what}",
            about="; ".join(f"{name}: from {sizes[0]} down to {sizes[-1]}" for name, sizes in found.items()),
            reading=(
                (
                    "The threshold k is the group size from which the adversary walks away. Section 7: prior 1, G = 1,000, "
                    "C_p = 20,000, C_e = 10, C_l = 0, C_a = 100; one of them varies."
                ),
                *((RINGS,) if points else ()),
            ),
            chart=line_chart(lines, axes, points=points),
            table=Table(f"k by {what}", (across, *found), rows, (0, 1, 2, 3)),
        )

    return tuple(map(panel, PANELS))


def unevenly_listed(state: Carolina, *, spread: float = 0.3, seed: int = 1) -> Carolina:
    """The same people and a list on which kinds of people differ in registration."""
    rng = stream(seed, "uneven list")
    rates = LISTED / POPULATION * np.exp(rng.normal(-(spread**2) / 2, spread, state.population.shape))
    return replace(state, listed=rng.binomial(state.population, np.minimum(rates, 1.0)))


def statements(study: FmdpStudy) -> tuple[PrintedItem, ...]:
    """What the text says of the solver, Figure 9 and Figure 10."""
    attack = settings(CASE)["b"]
    beliefs = [believed(density, 5_000) for density in (0.0006, 0.002, 0.006)]
    values = [(lp(attack, belief), two_level_lp(attack, belief), table(attack, belief)) for belief in beliefs]
    apart = max(max(each) - min(each) for each in values)
    seconds, struck = study.runtimes, study.struck["b"]
    known, unknown = struck.known.reidentification, struck.unknown.reidentification
    lower, higher = unknown < known - 1e-12, unknown > known + 1e-12
    surprised = struck.groups[higher]
    shares = [round(float(one.sum() / max((lower | higher).sum(), 1)), 4) for one in (lower, higher)]
    in_hand = settings(CASE)["c"].known(SIZES).exploits
    tried = {
        "none": bool((in_hand == 0).any()),
        "one": bool((in_hand[1:] == 1).any()),
        "more": bool((in_hand > 1).any()),
    }
    partly = settings(CASE)["c"].known(SIZES)
    stopped = partly.reidentification[partly.accesses & (partly.exploits > 0) & (partly.exploits < SIZES)]
    baseline = CASE.baseline(SIZES)
    start = [{True: "T", False: "F"}.get(value, value) if isinstance(value, bool) else value for value in State()]
    uneven = unevenly_listed(study.state).under(attack).differs
    return (
        judge("fmdp.x0", "Section 5", "the state before anything is accessed", ["F", "F", 0, "F", "F", "F", 0, 0], start),
        judge("fmdp.exact", "Section 5", "the two-level LP reports an exact answer: largest difference of LP, two-level LP and our table", 0,
              round(apart, 9), within=1e-6, why="The solvers do not agree.", note=f"Values of {len(beliefs)} records against 5,000 people."),
        judge("fmdp.pruning", "Section 5", "the value of a linked group decreases as its size increases", {"a": True, "b": True, "c": True},
              {key: bool((np.diff(one.known(SIZES).access_value) <= 0).all()) for key, one in settings(CASE).items()},
              note="Group sizes 1 to 60."),
        judge("fmdp.fig5.faster", "Section 6, runtime", "the two-level LP is always faster than the standard LP", [True] * len(LISTS),
              [fast < slow for fast, slow in zip(seconds["two_level_lp"], seconds["lp"], strict=True)]),
        judge("fmdp.abstract", "Abstract", "an optimal attack may exploit none, one or more individuals of the pool",
              dict.fromkeys(("none", "one", "more"), True), tried,
              note="With the list in hand and h1 = 0.18, groups of 2 to 60."),
        judge("fmdp.finding3.risk", "Finding 3", "risks of attacks that stop part way are between 0 and the prior, 0.63", True,
              bool(((stopped > 0) & (stopped < 0.63)).all()) and len(stopped) > 0,
              note=f"h1 = 0.18: {len(stopped)} group sizes with risks from {stopped.min():.3f} to {stopped.max():.3f}." if len(stopped) else ""),
        judge("fmdp.baseline.falls", "Section 6, case study", "with the baseline, records of smaller groups have more risk than those of larger ones",
              True, bool((np.diff(baseline.risk[baseline.attacks]) < 0).all()), note="Where the baseline attacks at all: see `fmdp.finding1`."),
        judge("fmdp.fig9.shares", "Section 6, unknown group", "shares of those records with lower and with higher risk", [0.58, 0.42], shares,
              within=0.005, why=GENERATED),
        cannot("fmdp.fig9.uneven", "Section 6, unknown group", "Figure 9 with a list on which people are registered unevenly", None,
               "Not in the paper. The share registered of each kind of people varies here by 0.3 on a logarithmic scale, an assumption of ours.",
               ours={"differ": uneven["lower"] + uneven["higher"], **uneven}),
        judge("fmdp.fig9.never", "Section 6, unknown group", "records with a group above 55 that are exploited in either scenario", 0,
              int(((struck.groups > 55) & ((known > 0) | (unknown > 0))).sum())),
        judge("fmdp.finding4.cause", "Finding 4", "records with lower risk have a group below the threshold 48", True,
              bool((struck.groups[lower] < 48).all())),
        judge("fmdp.finding5.cause", "Finding 5", "groups of the records with higher risk: from 48 to below the sunk threshold 51", [48, 50],
              [int(surprised.min()), int(surprised.max())] if len(surprised) else [],
              why="The sunk threshold comes out as 54: see `fmdp.k.sunk`."),
        *(
            judge(f"fmdp.fig10{letter}", f"Figure 10({letter})", f"as {what} rises, the threshold k falls: settings a, b, c",
                  {"a": True, "b": True, "c": True},
                  {key: bool((np.diff(sizes) <= 0).all() and sizes[-1] < sizes[0]) for key, sizes in panel_sizes(letter).items()},
                  note=f"At {len(values)} values.")
            for letter, (what, _, values, _, _) in PANELS.items()
        ),
    )  # fmt: skip


def reproduce(*, quick: bool = False, seed: int = 1) -> Reproduction:
    """The whole paper."""
    study = FmdpStudy(Carolina.of(seed=seed), quick)
    items = (*thresholds(), *data(study), *figure_items(study), *findings(study), *sensitivity(), *statements(study))
    return Reproduction(
        "fmdp",
        TITLE,
        REFERENCE,
        items,
        figures(study),
        model_tables(),
        (*study.state.words(), *settings_words()),
        quick,
    )


def model_tables() -> tuple[Table, ...]:
    """Tables 1 and 2 from our decision process, and what answers to Figures 1 to 4, which show no data."""
    variables = zip(("X_t", "X_d", "X_p", "X_s", "X_a", "X_l", "X_g", "X_r"), State._fields, strict=True)
    meaning = {
        TERMINATE: "abort; possible at any time", ACCESS: "access the external dataset, at C_d",
        LINK: "link the record to it, at C_c", EXPLOIT: "exploit one individual of the group, at C_e",
    }  # fmt: skip
    diagrams = (
        (
            "Figure 1: an example of a re-identification scenario",
            "known and unknown group of one target: discreet attack",
        ),
        ("Figure 2: the sequential decision process", "access, link, exploit, terminate: Table 2 below"),
        (
            "Figure 3: architecture of the risk framework",
            "FMDP formalisation, solver, risk: discreet.reference.process, discreet.attacker",
        ),
        (
            "Figure 4: a dynamic Bayesian network per action",
            "the transitions of each action: discreet.reference.process",
        ),
    )
    return (
        Table("Figures 1 to 4: diagrams, and where the same is here", ("Paper", "Here"), diagrams),
        Table("Table 1: the state variables of the FMDP", ("Paper", "Here"), tuple(variables)),
        Table("Table 2: the actions", ("Action", "Meaning"), tuple(meaning.items())),
    )


def settings_words() -> tuple[str, ...]:
    """The adversary's amounts, and what the paper leaves out."""
    return (
        (
            "Section 6: prior 0.63, G = 8000, C_d = 100, C_c = 0, C_e = 10, C_p = 10000, h0 = -4.59. Settings: a) h1 = 0, "
            "n_f unlimited; b) n_f = 1; c) h1 = 0.18, n_f unlimited."
        ),
        "Section 7 (Figure 10): prior 1, G = 1000, C_p = 20000, C_e = 10, C_l = 0, C_a = 100.",
        "The paper prints no discount. Of the discounts 0.5, 0.55 ... 1 only 0.9 gives 48, 14 and 29 together; it is used.",
    )
