"""The paper of Antonatos et al. on decoy records, gone through; Tables 4 and 5 and Figures 1 to 3 from our computation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from discreet.reference.anontokens_numbers import (
    COLUMNS,
    KS,
    REFERENCE,
    SUPPRESSIONS,
    TABLE_4,
    TITLE,
    SampledState,
    class_sizes,
    collusion,
    examples,
    figure_2,
    figure_3,
    printed_table_5,
    sampled,
    scalability,
    table_2,
    table_4,
    table_5,
    written,
)
from discreet.reference.items import SIGNS, Numbered, PrintedItem, Reproduction
from discreet.reference.states import SAMPLE
from discreet.releases.feasibility_samples import MeanSpread
from discreet.report.charts.axes import linear, logarithmic
from discreet.report.charts.lines import Axes, Line, SinglePoint, line_chart, stacked
from discreet.report.toolkit.page import Figure, Table
from discreet.wording import brief_percent, measure

SHOWN_KS = (2, 10, 20)
"""The paper omits k = 5 for space."""
MOST_POINTS = 120
LARGEST = {1: 69.95, 2: 108.3, 3: 77.45}


def figures(states: tuple[SampledState, ...]) -> tuple[Numbered, ...]:
    """Figures 2 and 3, one each per state."""
    return (
        *(Numbered(f"Figure 2, {one.state.title}", factors(one)) for one in states),
        *(Numbered(f"Figure 3, {one.state.title}", sizes(one)) for one in states),
    )


def factors(one: SampledState) -> Figure:
    """Figure 2: risk multiplication factors in ascending order, both axes logarithmic."""
    charts, rows = [], []
    for k in SHOWN_KS:
        lines, longest, highest = [], 2.0, 2.0
        for share in SUPPRESSIONS[1:]:
            each = one.found.at(k, share / 100).factors
            first = np.sort(max(each, key=len)) if each else np.zeros(0)
            name = f"k = {k}, suppression {share} %"
            if not len(first):
                rows.append((name, "0", "–", "–"))
                continue
            places = np.unique(np.geomspace(1, len(first), MOST_POINTS).round().astype(int))
            lines.append(Line(name, tuple((float(place), float(first[place - 1])) for place in places), steps=False))
            longest, highest = max(longest, len(first)), max(highest, float(first[-1]))
            rows.append((name, f"{len(first):,}", measure(float(first[0])), measure(float(first[-1]))))
        points = (
            [SinglePoint(longest, LARGEST[one.state.number], f"largest printed: {LARGEST[one.state.number]}")]
            if k == SHOWN_KS[-1]
            else []
        )
        tops = [highest, *(point.y for point in points)]
        axes = Axes(
            logarithmic([1.0, longest]),
            logarithmic([1.0, *tops]),
            "Decoy classes, by rising factor",
            "Risk multiplication factor",
        )
        if lines:
            charts.append(line_chart(lines, axes, points=points))
    return Figure(
        key=f"fig2-state{one.state.number}",
        title=f"{one.state.title}: risk multiplication factor minLink/|d|",
        about=f"Up to {rows[-1][3]} at {rows[-1][0]}.",
        reading=(
            (
                "Factors of all decoy classes in ascending order, for k = 2, 10, 20 and suppression of 2, 5, 10 and 15 %. Both axes "
                "are logarithmic."
            ),
            "The ring is the largest factor that the paper prints for this state. The state is generated: it is not disclosed.",
        ),
        chart=stacked(*charts),
        table=Table("Factors by limit", ("Limits", "Decoy classes", "Least", "Largest"), tuple(rows), (1, 2, 3)),
    )


def sizes(one: SampledState) -> Figure:
    """Figure 3: class sizes at k = 10 and 5 % suppression."""
    edges, counts = class_sizes(one)
    points = (*zip(edges[:-1], map(float, counts), strict=True), (edges[-1], float(counts[-1])))
    axes = Axes(
        logarithmic(edges),
        linear([0, *map(float, counts)], zero=True),
        "Size of the equivalence class",
        "Equivalence classes",
    )
    rows = tuple(
        (f"{low:,.0f} to {high:,.0f}", f"{count:,}")
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    )
    return Figure(
        key=f"fig3-state{one.state.number}",
        title=f"{one.state.title}: distribution of class sizes, k = 10, suppression 5 %",
        about=f"{sum(counts):,} classes; the fullest bin has {max(counts):,}.",
        reading=(
            "Classes of one anonymised sample. The paper's bins are not printed; these are ten on a logarithmic scale.",
            "The paper: each bin has tens of classes, the least of all samples being 18 (State 3).",
        ),
        chart=line_chart([Line("Equivalence classes", points)], axes),
        table=Table("Classes by size", ("Size", "Classes"), rows, (1,)),
    )


def tables(states: tuple[SampledState, ...], items: Sequence[PrintedItem]) -> tuple[Table, ...]:
    """Tables 4 and 5: printed, ours and the verdict in each cell."""
    verdicts = {item.id: SIGNS[item.verdict] for item in items}
    scenarios = (
        ("(a) the same D' for all", "discreet anonymise: a re-identification cannot be traced"),
        (
            "(b) a fingerprint per recipient",
            "discreet release fingerprints: a leaked file can be traced, a re-identification cannot",
        ),
        ("(c) fingerprint and decoys", "decoys have no same-origin class in the other copies"),
        ("(d) decoys, and same-origin classes removed from the other copies", "bait with removal: as published"),
    )
    return (
        Table("Figure 1: scenarios of multiple third parties receiving anonymized datasets", ("Scenario", "Here"), scenarios),
        _cells("Table 4: equivalence classes and records of the population below minLink: printed → ours, mean (standard deviation)",
               states, TABLE_4, ("min_link", "candidate_classes", "candidate_records"), verdicts),
        _cells("Table 5: classes of the samples with size close to k: printed → ours, mean (standard deviation)",
               states, printed_table_5(), ("classes", "close_to_k"), verdicts),
    )  # fmt: skip


def _cells(
    caption: str,
    states: tuple[SampledState, ...],
    printed: dict[tuple[int, int, int], dict[str, tuple[float, float]]],
    columns: tuple[str, ...],
    verdicts: Mapping[str, str],
) -> Table:
    rows, name = [], caption.partition(":")[0].lower().replace(" ", "")
    for k in KS:
        for share in SUPPRESSIONS:
            cells = []
            for one in states:
                there = printed.get((one.state.number, k, share), {})
                found = one.found.at(k, share / 100).figures
                for column in columns:
                    mean = there.get(column)
                    printed_there = written(None if mean is None else MeanSpread(*mean))
                    sign = verdicts[f"anontokens.{name}.state{one.state.number}.k{k}.s{share}.{column}"]
                    cells.append(f"{printed_there} → {written(found.get(column))} {sign}")
            rows.append((f"{k}, {share} %", *cells))
    head = ("k, suppr.", *(f"{one.state.title}: {COLUMNS[column]}" for one in states for column in columns))
    return Table(caption, head, tuple(rows), tuple(range(1, len(head))))


def reproduce(*, quick: bool = False, seed: int = 1) -> Reproduction:
    """The whole paper."""
    states = sampled(quick=quick, seed=seed)
    items = (*examples(), *table_2(states), *table_4(states), *table_5(states), *figure_2(states), *figure_3(states),
             *collusion(), *scalability(states, seed))  # fmt: skip
    number = states[0].found.samples
    setting = (
        (
            f"{number} uniform samples of {brief_percent(SAMPLE)} of each state; the paper has 50 and prints no size of its samples. Means with "
            "the standard deviation in parentheses. Optimum by the discernibility of all classes, suppressed ones included."
        ),
        *(
            f"{one.state.title}: {one.population.records:,} people in {len(one.population):,} classes (printed: {one.state.classes:,}), "
            f"{one.state.zips:,} ZIP codes in {one.state.areas} areas."
            for one in states
        ),
        (
            "The states are not disclosed. Ours are generated: people and classes as printed, ZIP codes so that Table 5 comes near. "
            "A cell reproduces if our mean is within one printed standard deviation; otherwise it differs, and the undisclosed data may be why."
        ),
    )
    return Reproduction("anontokens", TITLE, REFERENCE, items, figures(states), tables(states, items), setting, quick)
