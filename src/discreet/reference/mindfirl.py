"""Li, D'Souza, Schmit, Kum on MINDFIRL: display modes, the KAPR score, and the tables of its example."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.linkage import Display, compare
from discreet.linkage.masking.comparison import KINDS as KINDS_OF_ATTRIBUTES
from discreet.linkage.masking.comparison import MODES, Mode
from discreet.people.population import stream
from discreet.reference.items import PrintedItem, Reproduction, cannot, judge, judge_masked
from discreet.report.toolkit.page import Table

TITLE = "Increasing Transparent and Accountable Use of Data by Quantifying the Actual Privacy Risk in Interactive Record Linkage"
REFERENCE = (
    "Q. Li, A. G. D'Souza, C. Schmit, H.-C. Kum: Increasing Transparent and Accountable Use of Data by Quantifying the Actual "
    "Privacy Risk in Interactive Record Linkage (MINDFIRL and the KAPR score)."
)
RECORDS = [
    {"Name": "Mary", "DOB": "08/09/1964", "Race": "Hispanic"},
    {"Name": "Mark", "DOB": "08/09/1964", "Race": "Hispanic"},
    {"Name": "Mary", "DOB": "09/08/1964", "Race": "Black"},
    {"Name": "Mary", "DOB": "09/08/1964", "Race": "Black"},
]
"""Table 2, without the sensitive attribute."""
KINDS: Any = {"Name": "string", "DOB": "date", "Race": "category"}
PAIRS = tuple(itertools.combinations(range(4), 2))
PRINTED: Mapping[str, str] = {
    "masked": """
        ***@ **/**/**** N/A 4 0,0,0 0
        ***& **/**/**** N/A 4 0,0,0 0
        **** *@/*&/**** N/A 4 0,0,0 0
        **** *&/*@/**** N/A 4 0,0,0 0
        **** *@/*&/**** N/A 4 0,0,0 0
        **** *&/*@/**** N/A 4 0,0,0 0
        ***@ *@/*&/**** N/A 4 0,0,0 0
        ***& *&/*@/**** N/A 4 0,0,0 0
        ***@ *@/*&/**** N/A 4 0,0,0 0
        ***& *&/*@/**** N/A 4 0,0,0 0
        **** **/**/**** N/A 4 0,0,0 0
        **** **/**/*** N/A 4 0,0,0 0""",
    "partial": """
        ***y **/**/**** N/A 3 1/4,0,0 1/432
        ***k **/**/**** N/A 1 1/4,0,0 1/144
        **** *8/*9/**** N/A 1 0,2/8,0 1/144
        **** *9/*8/**** N/A 2 0,2/8,0 1/288
        **** *8/*9/**** N/A 1 0,2/8,0 1/144
        **** *9/*8/**** N/A 2 0,2/8,0 1/288
        ***k *8/*9/**** N/A 1 1/4,2/8,0 1/72
        ***y *9/*8/**** N/A 2 1/4,2/8,0 1/144
        ***k *8/*9/**** N/A 1 1/4,2/8,0 1/72
        ***y *9/*8/**** N/A 2 1/4,2/8,0 1/144
        **** **/**/**** N/A 3 0,0,0 0
        **** **/**/*** N/A 3 0,0,0 0""",
    "full": """
        Mary 08/09/1964 Hispanic 1 1,1,1 1/12
        Mark 08/09/1964 Hispanic 1 1,1,1 1/12
        Mary 08/09/1964 Hispanic 1 1,1,1 1/12
        Mary 09/08/1964 Black 2 1,1,1 1/24
        Mary 08/09/1964 Hispanic 1 1,1,1 1/12
        Mary 09/08/1964 Black 2 1,1,1 1/24
        Mark 08/09/1964 Hispanic 1 1,1,1 1/12
        Mary 09/08/1964 Black 2 1,1,1 1/24
        Mark 08/09/1964 Hispanic 1 1,1,1 1/12
        Mary 09/08/1964 Black 2 1,1,1 1/24
        Mary 09/08/1964 Black 2 1,1,1 1/24
        Mary 09/08/1964 Black 2 1,1,1 1/24""",
}
"""Tables 3, 4 and 5 as our copy has them, row by row: name, date of birth, race, k, p and K."""
NUMBERS = {"masked": "3", "partial": "4", "full": "5"}
NOT_SHOWN = "N/A"
"""What Table 1 has for an attribute without partial mode, and Tables 3 and 4 for any race that is not disclosed."""
EXAMPLES: tuple[tuple[str, Any, tuple[str, str], dict[Mode, tuple[str, str]]], ...] = (
    ("ID", "fixed", ("1742682819", "1742668281"),
     {"masked": ("*******@", "****&****"), "partial": ("********9", "*****6****"), "full": ("1742682819", "1742668281")}),
    ("Name", "string", ("SANCHEZ JR", "SANCHEZ"),
     {"masked": ("*****@@@@", "*****"), "partial": ("***** JR", "*****"), "full": ("SANCHEZ JR", "SANCHEZ")}),
    ("DOB", "date", ("08/09/1964", "09/08/1964"),
     {"masked": ("@@/&&/****", "&&/@@/****"), "partial": ("08/09/****", "09/08/****"), "full": ("08/09/1964", "09/08/1964")}),
    ("Race", "category", ("White", "Asian"),
     {"masked": ("@", "&"), "partial": (NOT_SHOWN, NOT_SHOWN), "full": ("White", "Asian")}),
)  # fmt: skip
"""Table 1 as our copy has it: attribute, kind, both values, and what both rows show in each mode."""
WHY_1 = {
    "id.partial": "Either of the two sixes in a row can be the inserted digit; both alignments cost one insertion and one deletion. Ours "
    "marks the first. The paper shows the second here, and in the masked cell of the same row has its & in fifth place, as ours.",
    "name.masked": "The paper marks four characters as inserted; ' JR' has three. Its cell has nine signs for a name of ten characters.",
}
CONTRADICTION = (
    "The paper contradicts itself: Table 1 shows a race that is not disclosed as @ and &, Tables 3 and 4 as N/A. Our display "
    "follows Table 1: one sign, which is * where both races are the same."
)
CASES = 200
"""Random displays among which a counterexample to each property is looked for."""
STUDY = (
    "This is what 104 people did with five interfaces. `discreet link` can run such a study (a project of kind study) and "
    "evaluate it; nobody's answers of the authors' study are disclosed."
)


def display(**settings: Any) -> Display:
    """All pairs of Table 2 on show."""
    return Display(RECORDS, kinds=KINDS, pairs=PAIRS, **settings)


def reproduce(*, quick: bool = False, seed: int = 1) -> Reproduction:
    """The whole paper; only the properties look at random displays."""
    items = (*modes(), *table_1(), *scores(), *example_tables(), *properties(seed), *study())
    setting = (
        (
            "Table 2 of the paper: four records with name, date of birth and race; all six pairs are on show. The paper prints no "
            "kappa for them; K = 1/432 for row 1 needs kappa = 1."
        ),
        (
            "The N of the score is the number of rows on show, 2n = 12, as in the paper's example; its Definition 4.2 calls N the records "
            "of the data set, which are 4 (see `mindfirl.kapr.definition`)."
        ),
        "Dates: Tables 3 and 4 show the digits that differ (our default), Table 1 shows month and day whole (our option).",
    )
    return Reproduction("mindfirl", TITLE, REFERENCE, items, (), tables(), setting, quick)


def modes() -> tuple[PrintedItem, ...]:
    """Section 3.2: display modes, kinds of attributes, and what markup tells of."""
    kinds = {
        "fixed": "fixed length string",
        "string": "variable length string",
        "date": "date",
        "category": "categorical",
    }
    pairs: tuple[tuple[Any, str | None, str], ...] = (
        ("string", None, "Ann"), ("category", "White", "Asian"), ("string", "Ann", "Ann"), ("date", "08/09/1964", "09/08/1964"),
        ("string", "Sanchez", "Sanchez JR"), ("string", "Mary", "Mark"), ("string", "Brain", "Brian"),
    )  # fmt: skip
    edits = dict.fromkeys(("indel", "replace", "transpose"), "string-edit operations")
    issues = {"missing": "missing values", "different": "differing values", "equal": "identical values",
              "date-swap": "swaps between values", **edits}  # fmt: skip
    marked = [issues[icon.name] for kind, *values in pairs for icon in compare(kind, *values).markup]
    return (
        judge("mindfirl.modes", "Section 3.2", "data display modes of an attribute", ["masked", "partial", "full"], list(MODES)),
        judge("mindfirl.kinds", "Section 3.2", "types of attributes",
              ["fixed length string", "variable length string", "date", "categorical"],
              [kinds[kind] for kind in ("fixed", "string", "date", "category") if kind in KINDS_OF_ATTRIBUTES]),
        judge("mindfirl.markup", "Section 3.2", "issues that markup indicates",
              ["missing values", "differing values", "identical values", "swaps between values", "string-edit operations"],
              list(dict.fromkeys(marked)), note="Markup of seven pairs of values, one for each issue and each edit."),
    )  # fmt: skip


def scores() -> tuple[PrintedItem, ...]:
    """KAPR of the three states, and by the definition of N."""
    whole = display(date_swap="whole").open_all("partial").score
    partial, full = display().open_all("partial").score, display().open_all("full").score
    records = Fraction(2 * len(PAIRS), len(RECORDS))
    return (
        judge("mindfirl.table2", "Table 2", "records, and individuals among them", {"records": 4, "individuals": 3},
              {"records": len(display().index), "individuals": len({tuple(record.values()) for record in RECORDS})}),
        judge("mindfirl.n", "Section 4.3", "rows on show N and attributes D of the example", {"N": 12, "D": 3},
              {"N": len(display().anonymity), "D": display().meter.attributes}),
        judge("mindfirl.kapr.masked", "Section 4.3, Table 3", "KAPR of the masked state", 0, int(display().score)),
        judge("mindfirl.kapr.partial", "Section 4.3, Table 4", "KAPR of the partial state", "31/432", str(partial),
              note=f"With Table 1's rule for dates it would be {whole}."),
        judge("mindfirl.kapr.full", "Section 4.3, Table 5", "KAPR of the full state", "3/4", str(full)),
        judge("mindfirl.kapr.partial.decimal", "Section 4.3, Table 4", "the same with three decimals", 0.072, float(partial), within=0.0005),
        judge("mindfirl.kapr.full.decimal", "Section 4.3, Table 5", "the same with three decimals", 0.750, float(full), within=0.0005),
        judge("mindfirl.kapr.definition", "Definitions 4.2 and 4.6", "KAPR of the partial and the full state, N being the records of the data set",
              {"partial": 0.072, "full": 0.75}, {"partial": round(float(partial * records), 4), "full": float(full * records)}, within=0.0005,
              why="The paper contradicts itself: Definition 4.2 calls N the records of the data set, 4 in Table 2, while the example computes "
              "with N = 12, the rows on show. With N = 4 the score of the full state is 2.25, above the 1 of Property 4.3. We take the example's N."),
    )  # fmt: skip


def table_1() -> tuple[PrintedItem, ...]:
    """Table 1: one item for the table, one for each attribute in each mode."""
    items = []
    for attribute, kind, values, cells in EXAMPLES:
        compared = compare(kind, *values, date_swap="whole")
        for mode, printed in cells.items():
            name = f"{attribute.lower()}.{mode}"
            lacking = mode == "partial" and not compared.has_partial
            about = f"mindfirl.table1.{name}", "Table 1", f"{attribute}, {mode}: both rows", list(printed)
            if lacking:
                items.append(judge(*about, [NOT_SHOWN] * 2, note=f"Not applicable: the engine has no {mode} mode here, and the screen keeps the mask."))  # fmt: skip
                continue
            items.append(judge_masked(*about, list(compared.text(mode)), why=WHY_1.get(name, "")))
    same = sum(item.verdict == "reproduces" for item in items)
    return (
        judge("mindfirl.table1", "Table 1", "attributes in display modes, of twelve, that come out in both rows", 12, same,
              why="The partial ID and the masked name do not: see their items."),
        *items,
    )  # fmt: skip


def row_of(mode: Mode, row: int) -> tuple[str, ...]:
    """A row of Tables 3 to 5 as our display has it."""
    state = display().open_all(mode)
    pair, side = divmod(row, 2)
    seen = {name: state.text(pair, name)[side] for name in KINDS}
    cells = {name: state.cell(pair, name).sides[side] for name in KINDS}
    shares = [
        f"{view.disclosed(state.mode(pair, name))}/{view.total}" if 0 < view.disclosed(state.mode(pair, name)) < view.total
        else str(int(view.disclosed(state.mode(pair, name)) > 0))
        for name, view in cells.items()
    ]  # fmt: skip
    p = sum((view.share(state.mode(pair, name)) for name, view in cells.items()), start=Fraction(0))
    k = state.anonymity[row]
    return (*seen.values(), str(k), ",".join(shares), str(p / (len(KINDS) * 2 * len(PAIRS) * k)))


def printed_row(mode: Mode, row: int) -> tuple[str, ...]:
    """The same row as the paper prints it."""
    return tuple(PRINTED[mode].split("\n")[1:][row].split())


def example_tables() -> tuple[PrintedItem, ...]:
    """Tables 3, 4 and 5: the tables, their rows, their races."""
    items: list[PrintedItem] = []
    for mode in MODES:
        table, judged, races = NUMBERS[mode], [], []
        for row in range(2 * len(PAIRS)):
            ids = ", ".join(str(place + 1) for place in PAIRS[row // 2])
            (*printed, printed_race, k, p, risk), (*ours, race, our_k, our_p, our_risk) = (
                printed_row(mode, row),
                row_of(mode, row),
            )
            races.append((printed_race, race))
            judged.append(judge_masked(f"mindfirl.table{table}.row{row + 1}", f"Table {table}", f"pair ({ids}), i = {row + 1}: name, date, k, p, K",
                                       [*printed, k, p, risk], [*ours, our_k, our_p, our_risk]))  # fmt: skip
        same = sum(item.verdict == "reproduces" for item in judged)
        items += [
            judge(f"mindfirl.table{table}", f"Table {table}", "rows whose name, date, k, p and K come out as text", 12, same),
            *judged,
            judge(f"mindfirl.table{table}.race", f"Table {table}", "column Race, all twelve rows", *map(list, zip(*races, strict=True)),
                  why=CONTRADICTION),
        ]  # fmt: skip
    return tuple(items)


@dataclass
class PropertySearch:
    """Search for counterexamples to the properties of Section 4.4."""

    rng: np.random.Generator
    failed: set[str] = field(default_factory=set)
    scores: list[Fraction] = field(default_factory=list)
    steps: int = 0
    """Cells that were opened."""

    def look(self) -> None:
        """One display of random records, opened cell by cell in two random orders."""
        number = int(self.rng.integers(3, 7))
        chosen = {name: self.rng.choice(values, number) for name, values in VALUES.items()}
        records = [{name: str(cells[row]) for name, cells in chosen.items()} for row in range(number)]
        if self.rng.random() < 0.3:  # all records distinct, so that the score can reach 1
            records = [{**record, "Name": name} for record, name in zip(records, VALUES["Name"], strict=False)]
        start = Display(records, kinds=KINDS, pairs=list(itertools.combinations(range(number), 2)))
        cells = [(pair, name) for pair in range(len(start)) for name in KINDS]
        targets = [(*cells[place], MODES[self.rng.integers(1, 3)]) for place in self.rng.permutation(len(cells))]
        targets = [(pair, name, mode) for pair, name, mode in targets if start.cell(pair, name).takes(mode)]
        state = start
        for pair, name, mode in targets:
            after = state.open(pair, name, mode)
            self.compare_step(state, after, pair, name)
            state, self.steps = after, self.steps + 1
        again = start
        for place in self.rng.permutation(len(targets)):
            again = again.open(*targets[place])
        self.failed |= {"order"} if (again.score, again.anonymity) != (state.score, state.anonymity) else set()
        self.check_norm(state)
        self.scores += [start.score, state.score, state.open_all("full").score]

    def compare_step(self, before: Display, after: Display, pair: int, name: str) -> None:
        """An opened cell costs its characters over k, or more."""
        gained = after.score - before.score
        views, mode = after.cell(pair, name).sides, after.mode(pair, name)
        shares = [view.share(mode) for view in views]
        k, k_after = (state.anonymity[2 * pair : 2 * pair + 2] for state in (before, after))
        # Property 4.5: by the derivative 1/k, at the k that the row had before.
        by_k = before.meter.scale * sum(
            (share / size for share, size in zip(shares, k, strict=True)), start=Fraction(0)
        )
        self.failed |= {"rises"} if (gained <= 0 and any(shares)) or gained < 0 else set()
        self.failed |= {"price"} if gained < by_k or (k == k_after and gained != by_k) else set()

    def check_norm(self, state: Display) -> None:
        """The score is kappa/ND times the L1,1 norm of p/k."""
        rows = range(len(state.anonymity))
        entries = [[state.cell(row // 2, name).sides[row % 2].share(state.mode(row // 2, name)) / state.anonymity[row] for name in KINDS]
                   for row in rows]  # fmt: skip
        one, other = (self.rng.integers(-9, 10, (len(rows), len(KINDS))) for _ in range(2))
        factor = int(self.rng.integers(-5, 6))

        def norm(matrix: Any) -> Fraction:
            return state.meter.score(sum(map(abs, map(Fraction, map(int, row))), start=Fraction(0)) for row in matrix)

        held = (
            state.score == state.meter.score(sum(map(abs, row), start=Fraction(0)) for row in entries),
            norm(one) >= 0 and (norm(one) == 0) == (not one.any()),
            norm(factor * one) == abs(factor) * norm(one),
            norm(one + other) <= norm(one) + norm(other),
        )
        self.failed |= set() if all(held) else {"norm"}


VALUES = {
    "Name": ("Mary", "Mark", "Maria", "Ann", "Anne", "Otto"),
    "DOB": ("08/09/1964", "09/08/1964", "08/09/1946", "01/12/2001"),
    "Race": ("White", "Black", "Asian"),
}
"""Values of the random records: such that some are alike, swapped, and one edit apart."""


def properties(seed: int) -> tuple[PrintedItem, ...]:
    """Section 4.4: a counterexample to each property is looked for among random displays."""
    search = PropertySearch(stream(seed, "properties of the score"))
    for _ in range(CASES):
        search.look()
    found = f"No counterexample in {CASES} displays of 3 to 6 random records, in which {search.steps:,} cells were opened in random order."
    why = f"The search over {CASES} random displays found a counterexample."

    def held(number: int, key: str, what: str) -> PrintedItem:
        holds = key not in search.failed
        return judge(
            f"mindfirl.property{number}",
            f"Property 4.{number}",
            what,
            True,
            holds,
            note=found if holds else "",
            why=why,
        )

    return (
        held(1, "norm", "the score is a norm of the information disclosure state p/k: non-negative, homogeneous, triangle inequality"),
        held(2, "order", "the score does not depend on the order of disclosure"),
        judge("mindfirl.property3", "Property 4.3", "least score (nothing disclosed) and largest (everything, all records distinct)", [0, 1],
              [int(min(search.scores)), float(max(search.scores))], note=f"Over {len(search.scores)} scores of {CASES} random displays.", why=why),
        held(4, "rises", "the score rises as characters are disclosed"),
        held(5, "price", "disclosing attribute values of a record costs 1/k for the same characters, and more where k falls"),
    )  # fmt: skip


def study() -> tuple[PrintedItem, ...]:
    """What the paper reports of people, and Figure 1."""
    different = compare("fixed", "1040579167", "1100082276").markup
    return (
        cannot("mindfirl.study.masked", "Section 2", "accuracy with fully masked data", 0.745, STUDY),
        cannot("mindfirl.study.full", "Section 2", "accuracy with full access", 0.841, STUDY),
        cannot("mindfirl.study.partial", "Section 2", "share of the content at which decisions are as good as with all of it", 0.30, STUDY),
        cannot("mindfirl.study.people", "Section 2", "participants, with five static interfaces", 104, STUDY),
        judge("mindfirl.fig1.diff", "Figure 1, pair 3", "markup of the IDs 1040579167 and 1100082276", "DIFF",
              "DIFF" if [icon.name for icon in different] == ["different"] else ", ".join(icon.words for icon in different),
              why="Our markup has other words."),
        cannot("mindfirl.fig1", "Figure 1", "meters of the screen: characters disclosed and privacy risk, in per cent, and the next step",
               {"characters": [28.9, 14.1], "risk": [25.8, 15.3]},
               "The base table behind the screen is not disclosed. The review page has the same parts: pairs, markup, meters, "
               "price of the next step, choice panel H M L | L M H."),
    )  # fmt: skip


def tables() -> tuple[Table, ...]:
    """Tables 1 and 3 to 5 from our computation."""
    head = ("Attribute", "Type", "Masked", "Partial", "Full")
    kinds = {"fixed": "String", "string": "Varchar", "date": "Date", "category": "Category"}
    rows = []
    for name, kind, values, _ in EXAMPLES:
        compared = compare(kind, *values, date_swap="whole")
        shown = [compared.masked, compared.partial or (NOT_SHOWN, NOT_SHOWN), compared.full]
        rows += [(name, kinds[kind], *(cell[side] for cell in shown)) for side in (0, 1)]
    found = [
        Table("Table 1: display modes of the attributes, as our display has them", head, tuple(rows)),
        Table("Table 2: fully disclosed attributes, without the income that nobody is shown", ("ID", *KINDS),
              tuple((str(number), *record.values()) for number, record in enumerate(RECORDS, start=1))),
    ]  # fmt: skip
    words = {"masked": "masked pairs", "partial": "partial disclosure", "full": "full disclosure"}
    for mode in MODES:
        lines = []
        for row in range(2 * len(PAIRS)):
            ids = ", ".join(str(place + 1) for place in PAIRS[row // 2])
            name, born, race, k, p, risk = row_of(mode, row)
            lines.append((f"({ids})", str(row + 1), name, born, race, k, f"({p.replace(',', ', ')})", risk))
        total = display().open_all(mode).score
        lines.append(("K", "", "", "", "", "", "", f"{total} = {float(total):.3f}"))
        caption = f"Table {NUMBERS[mode]}: {words[mode]}, as our display has them"
        found.append(Table(caption, ("ID", "i", "Name", "DOB", "Race", "k", "p", "K"), tuple(lines), (1, 5, 7)))
    return tuple(found)
