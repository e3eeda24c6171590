"""The paper of Antonatos et al. on decoy records, gone through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from discreet.anonymity import anonymise
from discreet.anonymity.losses import LOSSES
from discreet.errors import UsageError
from discreet.kernel import AnyValue, Classes
from discreet.people.population import stream
from discreet.reference.anontokens_numbers import (
    COLUMNS,
    KS,
    LARGEST,
    REFERENCE,
    SUPPRESSIONS,
    TABLE_4,
    TITLE,
    SampledState,
    class_sizes,
    figure_2,
    figure_3,
    printed_table_5,
    room_for_decoys,
    sampled,
    table_2,
    table_4,
    table_5,
    written,
)
from discreet.reference.items import SIGNS, Numbered, PrintedItem, Reproduction, cannot, judge, judge_masked
from discreet.reference.states import SAMPLE, STATES
from discreet.releases.bait import BaitCopy, classes_per_recipient, plan_bait, same_origin
from discreet.releases.feasibility_samples import MeanSpread, uniform_samples
from discreet.releases.population_link import Linked
from discreet.report.charts.axes import linear, logarithmic
from discreet.report.charts.lines import Axes, Line, SinglePoint, line_chart, stacked
from discreet.report.toolkit.page import Figure, Table
from discreet.wording import brief_percent, measure

SHOWN_KS = (2, 10, 20)
"""The paper omits k = 5 for space."""
MOST_POINTS = 120


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
            [SinglePoint(longest, LARGEST[one.state.title], f"largest printed: {LARGEST[one.state.title]}")]
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


def examples() -> tuple[PrintedItem, ...]:
    """Table 1, Table 3 and Definition 1."""
    original = [("18", "Male", "13122"), ("18", "Male", "13122"), ("19", "Male", "13122"), ("19", "Male", "13122"),
                ("18", "Male", "13121"), ("20", "Male", "13121"), ("20", "Male", "13121")]  # fmt: skip
    age = AnyValue("18-20")
    people = Classes.of(["age", "gender", "zip"], original, rules={"age": age})
    unique = [list(cells) for cells, size in zip(people.tuples(), people.sizes, strict=True) if size == 1]
    coarse = [[age.path(row[0])[1], *row[1:]] for row in original]
    fewest = min(int(people.project([name]).sizes.min()) for name in people.names)
    rules = STATES[0].rules
    record = Classes.of(["gender", "zip", "yob"], [("Male", "55555", "1981")], rules={**rules})
    mine, theirs = record.at({"zip": 1, "yob": 1}), record.at({"zip": 2, "yob": 0})
    columns = Classes.of(["gender", "race", "yob", "zip"], [("Male", "White", "1981", "55555")], rules=rules)
    heights = dict(zip(columns.names, columns.heights, strict=True))
    zips = [str(label).replace("5", "X") for label in rules["zip"].path("55555") or ()]
    return (
        judge("anontokens.table1", "Table 1", "class sizes of the anonymised example", [4, 3],
              sorted(people.at({"age": 1}).sizes.tolist(), reverse=True)),
        judge("anontokens.table1.rows", "Table 1(b)", "age, gender and ZIP of the seven anonymised records",
              [["18-20", "Male", "13122"]] * 4 + [["18-20", "Male", "13121"]] * 3, coarse),
        judge("anontokens.table1.unique", "Section 2", "combinations of age, gender and ZIP that occur once", [["18", "Male", "13121"]], unique),
        judge("anontokens.table1.alone", "Section 2", "records that share each value of age, gender or ZIP in isolation: at least", 2, fewest),
        judge("anontokens.table1.intervals", "Section 2", "records whose age has been generalised to an interval", 3,
              sum(row[0] != old[0] for row, old in zip(coarse, original, strict=True)),
              why="The paper contradicts itself: the text says the last three records, Table 1(b) has 18-20 for all seven."),
        judge("anontokens.table3", "Table 3", "levels of gender, race and ZIP code", {"gender": 2, "race": 2, "zip": 6},
              {name: heights[name] for name in ("gender", "race", "zip")}),
        judge("anontokens.table3.yob", "Table 3", "levels of YOB: those of its description", 5, heights["yob"],
              note="Value, intervals of 2, 4 and 8 years, *; the number of levels itself is lost in our copy."),
        judge_masked("anontokens.table3.zip", "Table 3", "levels of the ZIP code XXXXX",
                     ["Value", "XXXX*", "XXX**", "XX***", "X***", "****"], ["Value", *zips[1:]],
                     why="Our levels are written otherwise."),
        judge("anontokens.sameorigin", "Section 3", "(0, 1, 1) and (0, 2, 0) of Male, 55555, 1981 are same-origin classes", True,
              bool(same_origin(mine, theirs)[0])),
        judge("anontokens.sameorigin.labels", "Section 3", "these two classes as they are written",
              ["Male, 5555*, 1980-1982", "Male, 555**, 1981"], [", ".join(map(str, next(iter(one.tuples())))) for one in (mine, theirs)],
              why="The same years, written otherwise: 1982 is outside the interval of two years, which ours says by its bracket."),
        judge("anontokens.losses", "Section 2", "information loss metrics that are named, and are there", list(METRICS),
              [name for name, key in METRICS.items() if key in LOSSES]),
    )  # fmt: skip


def algorithm_1(linked: Linked) -> set[tuple[Any, ...]]:
    """Decoy classes by Algorithm 1, line by line on the values themselves."""
    left = {cells: int(size) for cells, size in zip(linked.population.tuples(), linked.population.sizes, strict=True)}
    min_link = min(left[cells] for cells in linked.released.tuples() if cells in left)
    for cells in linked.released.tuples():
        left.pop(cells, None)
    return {cells for cells, size in left.items() if linked.k <= size < min_link}


def discovery(states: tuple[SampledState, ...]) -> Iterator[PrintedItem]:
    """Section 5's algorithm against the engine, which removes nothing from the population."""
    engine = [{*one.linked.candidates.classes.tuples()} for one in states]
    paper = [algorithm_1(one.linked) for one in states]
    yield judge("anontokens.algorithm1", "Algorithm 1", "its candidates, computed line by line, are the classes that the engine finds", True, engine == paper,
                note=f"{', '.join(f'{len(found):,}' for found in paper)} classes of the three states beside one sample each, k = 10, 5 %.")  # fmt: skip


def only_in_one(held: Sequence[BaitCopy]) -> tuple[int, int]:
    """Decoys, and all, of the classes that only one colluder holds."""
    copies = Counter(cells for copy in held for cells in copy.tuples)
    single = [
        decoy for copy in held for cells, decoy in zip(copy.tuples, copy.decoy, strict=True) if copies[cells] == 1
    ]
    return int(sum(single)), len(single)


def by_formula(
    name: str, where: str, what: str, formula: str, example: str, expected: float, ours: float, *, note: str = ""
) -> PrintedItem:
    """A formula that the paper prints, held against an example of ours."""
    words = f"Our example, as the paper prints none: {example} gives {ours:g}. {note}".strip()
    return judge(name, where, what, formula, formula if abs(ours - expected) <= 1e-9 else f"{ours:g} instead of {expected:g}",
                 why="The formula does not hold.", note=words)  # fmt: skip


RECIPIENTS, DECOYS = tuple(f"recipient {number}" for number in range(1, 9)), 4
"""Of the copies that are planned for the collusion attacks, and the decoys of each."""


def collusion(states: tuple[SampledState, ...], seed: int) -> Iterator[PrintedItem]:
    """Sections 3 and 6: coalitions of every size against copies that the engine plans."""
    linked = states[0].linked
    settings: dict[str, Any] = {
        "rng": stream(seed, "collusion"),
        "decoys": DECOYS,
        "removal": "random",
        "subjects": True,
    }
    kept, removed = (plan_bait(linked, RECIPIENTS, budget=budget, **settings) for budget in (0.0, 0.05))
    own = len(removed.copies[0].alone)
    with_all, without_some = ([plan.seen_by(name) for name in RECIPIENTS] for plan in (kept, removed))
    decoys, single = map(sum, zip(*(only_in_one(pair) for pair in combinations(with_all, 2)), strict=True))
    yield judge("anontokens.fig1.c", "Figure 1(c)", "without removal, classes that only one of two colluders holds and that are no decoys", 0,
                single - decoys, note=f"All pairs of {len(RECIPIENTS)} copies of {states[0].state.title} with {DECOYS} decoys each.")  # fmt: skip
    for colluders in range(2, 7):
        found = [only_in_one(coalition) for coalition in combinations(without_some, colluders)]
        # Every coalition has to be at the formula, not only their mean.
        shares = [decoys / single for decoys, single in found]
        expected = DECOYS / (DECOYS + own)
        yield by_formula(
            f"anontokens.collusion.{colluders}", "Section 6, Figure 1(d)",
            f"probability that a class which only one of {colluders} colluding recipients holds is a decoy", "n_d/(n_d + n_e)",
            f"each of {len(shares)} coalitions of {colluders} among {len(RECIPIENTS)} planned copies, n_d = {DECOYS}, n_e = {own},",
            expected, max(shares, key=lambda share: abs(share - expected)),
            note="Only against recipients without population data: anyone who has a list of the population can tell decoys by counting look-alikes.",
        )  # fmt: skip


def scalability(states: tuple[SampledState, ...], seed: int) -> Iterator[PrintedItem]:
    """Section 7: recipients that can be supported, and records that removal costs."""
    most = max(number for number in range(1, 1845) if classes_per_recipient(1, 1845, number) >= 10)
    yield judge("anontokens.kd", "Section 7", "recipients by size-based removal, K = 1845 and d = 10", 184, most,
                note="The largest number of recipients for each of whom ten of 1,845 classes can be removed.")  # fmt: skip
    for name, formula, budget in (("removal", "E_d/N_r", 1), ("budget", "(b E_d)/N_r", 0.05)):
        yield by_formula(f"anontokens.{name}", "Section 7", "non-decoy classes removed for each recipient", formula,
                         f"b = {budget:g}, E_d = 9027, N_r = 20", 9027 * budget // 20, classes_per_recipient(budget, 9027, 20),
                         note="Whole classes, rounded down.")  # fmt: skip
    rng = stream(seed, "rounds of removal")
    for one in states:
        sizes = one.linked.released.sizes
        records: dict[str, Any] = {}
        for strategy, pool in (
            ("random", np.arange(len(sizes))),
            ("size", np.flatnonzero(10 * sizes <= 11 * one.linked.k)),
        ):
            taken = min(20, len(pool))
            records[strategy] = (
                max(int(sizes[rng.choice(pool, taken, replace=False)].sum()) for _ in range(10)) if taken else 0
            )
        yield cannot(f"anontokens.removed.state{one.state.number}", "Section 7",
                     f"{one.state.title}: most records removed in ten rounds of twenty classes, k = 10, 5 %", None,
                     "The text describes the experiment and prints no number of it. The states are not disclosed.", ours=records)  # fmt: skip
    if not states:
        return
    linked = states[0].linked
    # As many candidates as twenty equal hands take: for one recipient more there must be none.
    hand = len(linked.candidates) // 20
    some = np.arange(len(linked.candidates)) < 20 * hand
    served = 0
    for number in (20, 21):
        try:
            plan_bait(
                linked,
                [f"recipient {place}" for place in range(number)],
                rng=rng,
                decoys=hand,
                budget=0.0,
                subjects=True,
                fillable=some,
            )
        except UsageError:
            break
        served = number
    yield by_formula("anontokens.fraction", "Section 7", "recipients at a fraction f of the decoy classes each", "1/f",
                     f"copies planned with f = 0.05 of N_d = {20 * hand} classes of {states[0].state.title}", 20, served)  # fmt: skip
    yield from (biased_sample(one, seed) for one in states)


ELDERLY = 1950
"""Last year of birth in the biased samples."""


def biased_sample(one: SampledState, seed: int) -> PrintedItem:
    """Section 7: a sample of elderly people, and decoys close to it."""
    place = one.population.names.index("yob")
    years = np.array([int(label or 0) for label in one.population.columns[place].labels])[one.population.codes[place]]
    elderly = one.population.keep(years <= ELDERLY)
    sample = next(iter(uniform_samples(elderly, 1, SAMPLE, stream(seed, f"elderly of state {one.state.number}"))))
    linked = Linked.of(anonymise(sample, k=5, suppression=0.1, loss="dm_star"), one.population)
    met = {cells[place] for cells in linked.released.tuples()}
    near = np.array([cells[place] in met for cells in linked.candidates.classes.tuples()], dtype=bool)
    shifts, decoys = {}, max(1, min(10, int(near.sum()) // 2))
    for name, fillable in (("any", np.ones(len(near), dtype=bool)), ("near", near)):
        settings: dict[str, Any] = {
            "decoys": decoys,
            "budget": 0.0,
            "subjects": True,
            "most_factor": 1e9,
            "fillable": fillable,
        }
        plan = plan_bait(linked, ("one", "two"), rng=stream(seed, f"decoys near elderly {name}"), **settings)
        shifts[name] = round(max(copy.shift for copy in plan.copies), 4)
    return cannot(
        f"anontokens.bias.state{one.state.number}", "Section 7",
        f"{one.state.title}: a sample of people born up to {ELDERLY}, k = 5, 10 %: decoy classes, and the largest shift of a column by {decoys} decoys",
        None,
        "The paper names selection by distance and leaves it to future work, without a number. Near are classes whose interval of birth years "
        "is one of the sample's; the state is not disclosed.",
        ours={"candidates": {"any": len(near), "near": int(near.sum())}, "shift": shifts},
    )  # fmt: skip


METRICS = {
    "non-uniform entropy": "entropy", "precision": "precision", "discernibility": "discernibility",
    "average equivalence class size": "aecs", "generalized loss metric": "loss", "global certainty penalty": "gcp",
}  # fmt: skip
"""The metrics that Section 2 names, and what they are called here."""


def reproduce(*, quick: bool = False, seed: int = 1) -> Reproduction:
    """The whole paper."""
    states = sampled(quick=quick, seed=seed)
    items = (*examples(), *table_2(states), *discovery(states), *table_4(states), *room_for_decoys(states), *table_5(states), *figure_2(states),
             *figure_3(states), *collusion(states, seed), *scalability(states, seed))  # fmt: skip
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
            "A cell reproduces if our mean is within one printed standard deviation and a quarter of the printed mean, or within 0.5; otherwise it "
            "differs, and the undisclosed data may be why."
        ),
    )
    return Reproduction("anontokens", TITLE, REFERENCE, items, figures(states), tables(states, items), setting, quick)
