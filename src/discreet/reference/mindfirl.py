"""Li, D'Souza, Schmit, Kum on MINDFIRL: display modes, the KAPR score, and the tables of its example."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.linkage import Display, compare
from discreet.linkage.masking.comparison import Comparison, Mode
from discreet.reference.items import PrintedItem, Reproduction, cannot, judge
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
NOT_SHOWN = "N/A"
"""What the tables of the paper have for a category that is not disclosed."""
FULL = "full"
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
        **** **/**/**** N/A 4 0,0,0 0""",
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
        **** **/**/**** N/A 3 0,0,0 0""",
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
"""Tables 3, 4 and 5, row by row: name, date of birth, race, k, p and K."""
NUMBERS = {"masked": "3", "partial": "4", "full": "5"}
STAR_LOST = "The table prints the date of row 12 with one star less, which is a misprint: dates have ten characters."
EXAMPLES: tuple[tuple[str, Any, tuple[str, str], tuple[str, str, str, str, str, str]], ...] = (
    ("ID", "fixed", ("1742682819", "1742668281"),
     ("*********@", "****&*****", "*********9", "****6*****", "1742682819", "1742668281")),
    ("Name", "string", ("SANCHEZ JR", "SANCHEZ"),
     ("*******@@@", "*******", "******* JR", "*******", "SANCHEZ JR", "SANCHEZ")),
    ("DOB", "date", ("08/09/1964", "09/08/1964"),
     ("@@/&&/****", "&&/@@/****", "08/09/****", "09/08/****", "08/09/1964", "09/08/1964")),
    ("Race", "category", ("White", "Asian"), ("@", "&", NOT_SHOWN, NOT_SHOWN, "White", "Asian")),
)  # fmt: skip
"""Table 1: attribute, kind, both values, and its six cells."""
LEGIBLE = "Our copy of the paper has lost some stars of this cell; their number follows from the values."
STUDY = (
    "This is what 104 people did with five interfaces. `discreet link` can run such a study (a project of kind study) and "
    "evaluate it; nobody's answers of the authors' study are disclosed."
)


def display(**settings: Any) -> Display:
    """All pairs of Table 2 on show."""
    return Display(RECORDS, kinds=KINDS, pairs=PAIRS, **settings)


def reproduce(*, quick: bool = False, seed: int = 1) -> Reproduction:
    """The whole paper; nothing in it is random, and nothing takes long."""
    del seed
    items = (*scores(), *table_1(), *example_tables(), *properties(), *study())
    setting = (
        "Table 2 of the paper: four records with name, date of birth and race; all six pairs are on show. kappa = 1.",
        "The N of the formula is the number of rows on show, 2n = 12, as the paper's example has it.",
        "Dates: Tables 3 and 4 show the digits that differ (our default), Table 1 shows month and day whole (our option).",
    )
    return Reproduction("mindfirl", TITLE, REFERENCE, items, (), tables(), setting, quick)


def scores() -> tuple[PrintedItem, ...]:
    """KAPR of the three states of the example."""
    whole = display(date_swap="whole").open_all("partial").score
    return (
        judge("mindfirl.kapr.masked", "Section 4.3, Table 3", "KAPR of the masked state", 0, int(display().score)),
        judge("mindfirl.kapr.partial", "Section 4.3, Table 4", "KAPR of the partial state", "31/432", str(display().open_all("partial").score),
              note=f"With Table 1's rule for dates it would be {whole}."),
        judge("mindfirl.kapr.full", "Section 4.3, Table 5", "KAPR of the full state", "3/4", str(display().open_all("full").score)),
        judge("mindfirl.kapr.partial.decimal", "Section 4.3, Table 4", "the same with three decimals", 0.072,
              float(display().open_all("partial").score), within=0.0005),
        judge("mindfirl.kapr.full.decimal", "Section 4.3, Table 5", "the same with three decimals", 0.750,
              float(display().open_all("full").score), within=0.0005),
    )  # fmt: skip


def cells_of(compared: Comparison) -> tuple[str, str, str, str, str, str]:
    """The six cells that Table 1 has for a pair of values."""
    category = compared.kind == "category"
    partial = (NOT_SHOWN, NOT_SHOWN) if category or compared.partial is None else compared.partial
    return (*compared.masked, *partial, *compared.full)


def table_1() -> tuple[PrintedItem, ...]:
    """Table 1: one item for the table, one for each attribute."""
    items, same = [], True
    for name, kind, values, printed in EXAMPLES:
        ours = cells_of(compare(kind, *values, date_swap="whole"))
        same &= ours == printed
        note = LEGIBLE if name in ("ID", "Name") else ""
        items.append(judge(f"mindfirl.table1.{name.lower()}", "Table 1", f"{name}: masked, partial and full, both rows",
                           list(printed), list(ours), note=note))  # fmt: skip
    return (judge("mindfirl.table1", "Table 1", "all cells of the table come out", True, same), *items)


def row_of(mode: Mode, row: int) -> tuple[str, ...]:
    """A row of Tables 3 to 5 as text: name, date, race, k, p and K."""
    state = display().open_all(mode)
    pair, side = divmod(row, 2)
    seen = {name: state.text(pair, name)[side] for name in KINDS}
    if mode != FULL:
        seen["Race"] = NOT_SHOWN
    cells = {name: state.cell(pair, name).sides[side] for name in KINDS}
    shares = [
        f"{view.disclosed(state.mode(pair, name))}/{view.total}" if 0 < view.disclosed(state.mode(pair, name)) < view.total
        else str(int(view.disclosed(state.mode(pair, name)) > 0))
        for name, view in cells.items()
    ]  # fmt: skip
    p = sum((view.share(state.mode(pair, name)) for name, view in cells.items()), start=Fraction(0))
    k = state.anonymity[row]
    return (*seen.values(), str(k), ",".join(shares), str(p / (len(KINDS) * 2 * len(PAIRS) * k)))


def example_tables() -> tuple[PrintedItem, ...]:
    """Tables 3, 4 and 5: one item for each table, one for each of its twelve rows."""
    items: list[PrintedItem] = []
    modes: tuple[Mode, ...] = ("masked", "partial", "full")
    for mode in modes:
        table, rows = NUMBERS[mode], PRINTED[mode].split("\n")[1:]
        judged = []
        for row, line in enumerate(rows):
            ids = ", ".join(str(place + 1) for place in PAIRS[row // 2])
            note = STAR_LOST if row == 11 and mode != FULL else ""
            judged.append(judge(f"mindfirl.table{table}.row{row + 1}", f"Table {table}", f"pair ({ids}), i = {row + 1}: name, date, race, k, p, K",
                                " ".join(line.split()), " ".join(row_of(mode, row)), note=note))  # fmt: skip
        same = sum(item.verdict == "reproduces" for item in judged)
        items += [judge(f"mindfirl.table{table}", f"Table {table}", "rows that come out as text", 12, same), *judged]
    return tuple(items)


def properties() -> tuple[PrintedItem, ...]:
    """Section 4.4 on the example: order, range, monotone."""
    one = display().open(0, "Name", "full").open(3, "DOB", "full").score
    other = display().open(3, "DOB", "full").open(0, "Name", "full").score
    distinct = [{"Name": name} for name in ("Ada", "Bob", "Cid")]
    unique = Display(distinct, kinds={"Name": "string"}, pairs=[(0, 1), (1, 2)]).open_all("full").score
    steps = [display().score, display().open_all("partial").score, display().open_all("full").score]
    state = display().open_all("partial")
    cells = {(row, name): view.share(state.mode(row // 2, name)) / state.anonymity[row]
             for row in range(2 * len(PAIRS)) for name in KINDS for view in [state.cell(row // 2, name).sides[row % 2]]}  # fmt: skip
    whole = Fraction(1, 2 * len(PAIRS) * len(KINDS))
    norm = [state.score == whole * sum(map(abs, cells.values())), min(cells.values()) >= 0]
    return (
        judge("mindfirl.property1", "Property 4.1", "the score is a norm: a positive constant times the sum of absolute entries p/k of the "
              "information disclosure state", True, all(norm), note="Checked on all 36 entries of Table 4: an L1,1 norm by its form."),
        judge("mindfirl.table2", "Table 2", "records, and individuals among them", {"records": 4, "individuals": 3},
              {"records": len(RECORDS), "individuals": len({tuple(record.values()) for record in RECORDS})}),
        judge("mindfirl.n", "Section 4.3", "rows on show N and attributes D of the example", {"N": 12, "D": 3},
              {"N": 2 * len(PAIRS), "D": len(KINDS)}),
        judge("mindfirl.property2", "Property 4.2", "the score does not depend on the order of disclosure", True, one == other),
        judge("mindfirl.property3", "Property 4.3", "from 0 (nothing disclosed) to 1 (everything, all records distinct)", [0, 1],
              [int(steps[0]), int(unique)]),
        judge("mindfirl.property4", "Property 4.4", "the score rises as characters are disclosed", True, steps == sorted(steps),
              note="Held by a property test over random tables and orders."),
        judge("mindfirl.property5", "Property 4.5", "the price of a cell is smaller for a record with more like it", True,
              display().open_all("full").index is not None
              and display().open(5, "Race", "full").price(5, "Name") <= display().open(0, "Race", "full").price(0, "Name")),
    )  # fmt: skip


def study() -> tuple[PrintedItem, ...]:
    """What the paper reports of people, and Figure 1."""
    return (
        cannot("mindfirl.study.masked", "Section 2", "accuracy with fully masked data", 0.745, STUDY),
        cannot("mindfirl.study.full", "Section 2", "accuracy with full access", 0.841, STUDY),
        cannot("mindfirl.study.partial", "Section 2", "share of the content at which decisions are as good as with all of it", 0.30, STUDY),
        cannot("mindfirl.study.people", "Section 2", "participants, with five static interfaces", 104, STUDY),
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
        ours = cells_of(compare(kind, *values, date_swap="whole"))
        rows += [(name, kinds[kind], *ours[side::2]) for side in (0, 1)]
    found = [
        Table("Table 1: display modes of the attributes", head, tuple(rows)),
        Table("Table 2: fully disclosed attributes, without the income that nobody is shown", ("ID", *KINDS),
              tuple((str(number), *record.values()) for number, record in enumerate(RECORDS, start=1))),
    ]  # fmt: skip
    modes: tuple[Mode, ...] = ("masked", "partial", "full")
    words = {"masked": "masked pairs", "partial": "partial disclosure", "full": "full disclosure"}
    for mode in modes:
        lines = []
        for row in range(2 * len(PAIRS)):
            ids = ", ".join(str(place + 1) for place in PAIRS[row // 2])
            name, born, race, k, p, risk = row_of(mode, row)
            lines.append((f"({ids})", str(row + 1), name, born, race, k, f"({p.replace(',', ', ')})", risk))
        total = display().open_all(mode).score
        lines.append(("K", "", "", "", "", "", "", f"{total} = {float(total):.3f}"))
        caption = f"Table {NUMBERS[mode]}: {words[mode]}"
        found.append(Table(caption, ("ID", "i", "Name", "DOB", "Race", "k", "p", "K"), tuple(lines), (1, 5, 7)))
    return tuple(found)
