"""Sundaramoorthy and Srinivasa Rao Madhane on the misuseability weight (after Harel et al.): Table 1, nine cases, M.

The paper prints no sensitivity function and no score of any table. The distinguishing factors are its own; the
sensitivity function and every score M here are ours, and say so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.kernel import Classes
from discreet.misuse import Exposure, Sensitivity, score
from discreet.misuse.ensembles import Ensembles
from discreet.misuse.scorer import conditions
from discreet.people.population import stream
from discreet.reference.items import PrintedItem, Reproduction, cannot, judge, shown
from discreet.report.charts.axes import linear
from discreet.report.charts.lines import Axes, Line, line_chart
from discreet.report.toolkit.page import Figure, Table
from discreet.wording import measure

TITLE = "Efficient Method of Detecting Data Leakage Using Misuseability Weight Measure"
REFERENCE = (
    "K. Sundaramoorthy, S. Srinivasa Rao Madhane: Efficient Method of Detecting Data Leakage Using Misuseability Weight "
    "Measure (M-score); after A. Harel, A. Shabtai, L. Rokach, Y. Elovici: M-score, IEEE TDSC 2012."
)
QUASI = ("job", "city", "sex")
COLUMNS = (*QUASI, "account", "bill")
SOURCE: list[dict[str, Any]] = [
    dict(zip(COLUMNS, row, strict=True))
    for row in (
        ("Lawyer", "NY", "Female", "Gold", 350),
        ("Gardener", "LA", "Male", "White", 160),
        ("Gardener", "LA", "Female", "Silver", 200),
        ("Lawyer", "NY", "Female", "Bronze", 600),
        ("Teacher", "DC", "Female", "Silver", 300),
        ("Gardener", "LA", "Male", "Bronze", 200),
        ("Teacher", "DC", "Female", "Gold", 875),
        ("Programmer", "DC", "Male", "White", 20),
        ("Teacher", "DC", "Female", "White", 160),
    )
]
"""Table 1(A)."""
PUBLISHED: list[dict[str, Any]] = [
    dict(zip(COLUMNS, row, strict=True))
    for row in (
        ("Lawyer", "NY", "Female", "Gold", 350),
        ("Lawyer", "NY", "Female", "Bronze", 600),
        ("Teacher", "DC", "Female", "Silver", 300),
        ("Gardener", "LA", "Male", "Bronze", 200),
        ("Programmer", "DC", "Male", "White", 20),
        ("Teacher", "DC", "Female", "White", 160),
    )
]
"""Table 1(B)."""
OURS = Sensitivity.from_dict(
    {
        "account": {"values": {"Gold": 1.0, "Silver": 0.7, "Bronze": 0.3, "White": 0.1}},
        "bill": {"bins": [[100, 0.1], [250, 0.2], [400, 0.3], [700, 0.5]], "otherwise": 1.0},
    }
)
"""A sensitivity function of ours: the paper prints none."""
UNPRINTED = "The paper prints no sensitivity function f and no score of this table; the f used here is ours."
RELATIONS = ("equal", "overlapping", "distinct")
CASES = [(entities, attributes) for entities in RELATIONS[::-1] for attributes in RELATIONS]
"""Figure 3, cases 1 to 9: how the two publications relate in entities and in attributes."""
ENTITIES = {"equal": (1, 2), "overlapping": (2, 3), "distinct": (3, 4)}
ATTRIBUTES = {"equal": "ab", "overlapping": "bc", "distinct": "cd"}
CELLS = Sensitivity.from_dict(
    {name: {"values": {"v": weight}} for name, weight in zip("abcd", (0.1, 0.2, 0.3, 0.15), strict=True)}
)
NO_PICTURE = (
    "The picture of Figure 3 is lost in our copy, and the text describes cases 1 and 6 only. It names nine relations (equal, "
    "overlapping or distinct, of entities and of attributes); which of them has this number is our reading."
)
FIGURE_1 = ("First Name", "Last Name", "Job", "City", "Sex", "Area code", "Phone number")
"""The quasi-identifiers of Figure 1."""
FIGURE_1_VALUES: Mapping[str, tuple[str, ...]] = {
    "Customer type": ("Business", "Private"),
    "Average monthly bill": (),
    "Account type": ("Gold", "Silver", "Bronze", "White"),
    "Days to contract expiration": (),
    "Main usage": ("Phonecalls", "SMS", "Data", "Paid services"),
}
"""The sensitive attributes of Figure 1 and their optional values; numbers have none."""
CASES_SEARCHED = 200
"""Random tables among which a counterexample to each dimension is looked for."""


def reproduce(*, quick: bool = False, seed: int = 1) -> Reproduction:
    """The whole paper; only the dimensions look at random tables."""
    items = (*figure_1(), *dimensions(seed), *table_1(), *scores(), *nine_cases(), *extensions())
    setting = (
        "Table 1 is the printed one. " + UNPRINTED,
        (
            "f: account type Gold 1, Silver 0.7, Bronze 0.3, White 0.1; average monthly bill up to 100: 0.1, up to 250: 0.2, up to "
            "400: 0.3, up to 700: 0.5, above: 1."
        ),
    )
    return Reproduction("mscore", TITLE, REFERENCE, items, (), tables(), setting, quick, own=(weight_of_quantity(),))


def relation(one: Sequence[Any], other: Sequence[Any]) -> str:
    """How two sets of entities or attributes relate: equal, overlapping, distinct.

    >>> relation("ab", "ba"), relation("ab", "bc"), relation("ab", "cd")
    ('equal', 'overlapping', 'distinct')
    """
    mine, theirs = set(one), set(other)
    return "equal" if mine == theirs else "overlapping" if mine & theirs else "distinct"


def case_of(entities: tuple[Sequence[Any], Sequence[Any]], attributes: tuple[Sequence[Any], Sequence[Any]]) -> int:
    """The number in Figure 3 of two publications, by their entities and their attributes.

    >>> case_of(([1, 2], [3, 4]), ("ab", "ab")), case_of(([1, 2], [2, 3]), ("ab", "cd"))
    (1, 6)
    """
    return CASES.index((relation(*entities), relation(*attributes))) + 1


def figure_1() -> tuple[PrintedItem, ...]:
    """Figure 1: the example database, as a table that is scored."""
    f = Sensitivity.from_dict({
        name: {"values": dict.fromkeys(values, 0.5)} if values else {"bins": [[100, 0.5]]}
        for name, values in FIGURE_1_VALUES.items()
    })  # fmt: skip
    customer = {
        **dict.fromkeys(FIGURE_1, "a"),
        **{name: values[0] if values else 1 for name, values in FIGURE_1_VALUES.items()},
    }
    plan = score([customer], source=[customer], quasi=FIGURE_1, sensitivity=f).plan
    return (
        judge("mscore.fig1", "Figure 1", "quasi-identifier and sensitive attributes of the example database", {"quasi": 7, "sensitive": 5},
              {"quasi": len(plan.quasi), "sensitive": len(plan.sensitive)},
              note="The paper calls the first sensitive attribute Customer type in Figure 1 and Customer Group in Definition 3."),
    )  # fmt: skip


def dimensions(seed: int) -> tuple[PrintedItem, ...]:
    """Section 2.1: the four dimensions of misuseability, looked for a counterexample in random tables."""

    def value(result: list[dict[str, Any]], source: Any) -> float:
        return score(result, source=source, quasi=("job",), sensitivity=OURS).value

    rng, failed = stream(seed, "dimensions of misuseability"), set()
    jobs, accounts = ("Lawyer", "Gardener", "Teacher"), ("Gold", "Silver", "Bronze", "White")
    for _ in range(CASES_SEARCHED):
        people = [
            {"job": str(rng.choice(jobs)), "account": str(rng.choice(accounts)), "bill": int(rng.integers(1, 900))}
            for _ in range(int(rng.integers(4, 12)))
        ]
        half = people[: len(people) // 2]

        given = value(half, people)
        dearest = [{**row, "bill": 2_000} for row in half]
        failed |= {
            name
            for name, holds in (
                ("entities", value(people[: len(half) + 1], people) >= given),
                ("anonymity", value(half, people * 2) < given),
                (
                    "properties",
                    value([{"job": row["job"], "account": row["account"]} for row in half], people) <= given,
                ),
                ("values", value(dearest, people) >= given and value(dearest[:1], people) >= value(half[:1], people)),
            )
            if not holds
        }
    paid: list[dict[str, Any]] = [
        {"job": name, "bill": salary} for name, salary in (("Ann", 90), ("Bob", 200), ("Cid", 300))
    ]
    doubled = [{**row, "bill": 2 * row["bill"]} for row in paid]
    sizes, values = zip(
        *(
            (Classes.of(["job"], [[row["job"]] for row in rows]).sizes.tolist(), value(rows, paid))
            for rows in (paid, doubled)
        ),
        strict=True,
    )
    note = f"No counterexample in {CASES_SEARCHED} random tables, with our f, at x = 2."
    statements = {
        "entities": "number of entities: data about more entities can do no less damage",
        "anonymity": "anonymity level: with twice as many people alike in the source the score is lower",
        "properties": "number of properties: a further attribute makes the score no lower",
        "values": "values of properties: more sensitive values make the score no lower",
    }
    return (
        *(
            judge(f"mscore.dimension.{name}", "Section 2.1", words, True, name not in failed,
                  note="" if name in failed else note, why="The search over random tables found a counterexample.")
            for name, words in statements.items()
        ),
        judge("mscore.salaries", "Section 2.1", "doubled amounts leave k-anonymity as it is, and raise the misuseability",
              {"k-anonymity": "unchanged", "M-score": "higher"},
              {"k-anonymity": "unchanged" if sizes[0] == sizes[1] else "changed", "M-score": "higher" if values[1] > values[0] else "not higher"},
              note="Three names with salaries of 90, 200 and 300, with our f."),
    )  # fmt: skip


def table_1() -> tuple[PrintedItem, ...]:
    """Table 1 and its distinguishing factors."""
    found = score(PUBLISHED, source=SOURCE, quasi=QUASI, sensitivity=OURS)
    crowds = [int(crowd) for crowd in found.weighed.crowds]
    alone = [{"account": row["account"], "bill": row["bill"]} for row in PUBLISHED]
    without = score(alone, source=SOURCE, quasi=QUASI, sensitivity=OURS)
    capped = score([SOURCE[0]], source=SOURCE, quasi=QUASI, sensitivity=OURS)
    weights = [f"{OURS(name, SOURCE[0][name]):g}" for name in ("account", "bill")]
    largest = max(float(score / crowd) for score, crowd in zip(rrs(PUBLISHED), crowds, strict=True))
    return (
        judge("mscore.table1", "Table 1", "rows of the published table that were selected from the source table", 6,
              sum(row in SOURCE for row in PUBLISHED)),
        judge("mscore.d", "Section 3.4", "distinguishing factors D1, D3, D4, D5 of the published table", [2, 3, 2, 1],
              [crowds[row] for row in (0, 2, 3, 4)]),
        *(
            judge(f"mscore.d{row}", "Section 3.4", f"distinguishing factor D{row}", printed, crowds[row - 1])
            for row, printed in ((1, 2), (3, 3), (4, 2), (5, 1))
        ),
        cannot("mscore.d.others", "Section 3.4", "distinguishing factors D2 and D6 of the published table", None,
               "The text prints the other four only.", ours=[crowds[1], crowds[5]]),
        judge("mscore.d.noquasi", "Section 3.4", "D of each row without quasi-identifiers: the size of the published table",
              [6] * 6, [int(crowd) for crowd in without.weighed.crowds]),
        cannot("mscore.df", "Section 3.4", "the distinguishing factor is from 0 to 1, and lower where a person is harder to find", [0, 1],
               "The paper says that it is not easily acquired, and approximates it by D, which counts people alike and is 1 or more. What comes "
               "nearest is 1/D, for Table 1(B).", ours=[1 / max(crowds), 1 / min(crowds)]),
        judge("mscore.rrs.cap", "Definition 5", "largest raw record score: the sum of sensitivities is bounded at", 1,
              round(float(capped.record_score * capped.weighed.crowds[0]), 9),
              note=f"With our f the first row of Table 1(A) sums {' and '.join(weights)}."),
        judge("mscore.rs", "Definition 6", "RS of Table 1(B) is the largest RRS over D of any record", True,
              math.isclose(found.record_score, largest), note=f"With our f {found.record_score:g}; each record is worked out beside it."),
    )  # fmt: skip


def rrs(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """Raw record scores by Definition 5, with our f, written out."""
    return [min(1.0, sum(OURS(name, row[name]) for name in ("account", "bill"))) for row in rows]


def scores() -> tuple[PrintedItem, ...]:
    """M at x = 1, 2 and infinity, and normalised."""
    items = []
    for name, x in (("1", 1.0), ("2", 2.0), ("inf", math.inf)):
        found = score(PUBLISHED, source=SOURCE, quasi=QUASI, sensitivity=OURS, x=x)
        words = f"M of Table 1(B) at x = {'infinity' if x == math.inf else name}"
        outside = " x = 1 is outside the paper's x > 1; our engine takes it as the lower end." if x == 1 else ""
        items.append(
            cannot(f"mscore.m.x{name}", "Definition 7", words, None, UNPRINTED + outside, ours=round(found.value, 6))
        )
    sizes = [
        score(PUBLISHED, source=SOURCE, quasi=QUASI, sensitivity=OURS, x=x).value
        for x in (1.5, 2.0, 3.0, 10.0, math.inf)
    ]
    found = score(PUBLISHED, source=SOURCE, quasi=QUASI, sensitivity=OURS)
    whole = score(SOURCE, source=SOURCE, quasi=QUASI, sensitivity=OURS)
    normalised = None if found.normalised is None else round(found.normalised, 6)
    return (
        *items,
        judge("mscore.x", "Section 3.6", "the higher x is, the lower the effect of the quantity factor on the M-score", True,
              sizes == sorted(sizes, reverse=True) and len(set(sizes)) == len(sizes),
              note="M of Table 1(B) with our f at x = 1.5, 2, 3, 10 and infinity."),
        cannot("mscore.m.source", "Section 3.6", "M of the source table at x = 2", None, UNPRINTED, ours=round(whole.value, 6)),
        cannot("mscore.norm", "Section 3.6", "NormM-Score of Table 1(B) at x = 2", None, UNPRINTED, ours=normalised),
        judge("mscore.norm.range", "Section 3.6", "the normalised score of the source table, the largest there is", 1, whole.normalised),
    )  # fmt: skip


TAKEN = 2
"""Entities in each of two publications."""


def two_publications(entities: str, attributes: str) -> tuple[tuple[Any, ...], tuple[Any, ...], Exposure]:
    """Two fully identifiable publications (D = 1) that relate so, and what is known after both."""
    first, second = ((1, 2), "ab"), (ENTITIES[entities], ATTRIBUTES[attributes])
    known = Exposure(sensitivity=CELLS)
    for at, (people, names) in enumerate((first, second)):
        known = known.after(entities=list(people), values={name: ["v"] * len(people) for name in names}, at=at)
    return first, second, known


def ensemble_words(ensembles: Ensembles) -> list[str]:
    """Each maximal rectangle of what is known: its attributes and how many entities it has."""
    listed = [
        (sorted(name for bit, name in enumerate(ensembles.names) if attributes >> bit & 1), one.entities)
        for attributes, one in ensembles.found.items()
        if not any(
            attributes != other and attributes & other == attributes and one.entities == larger.entities
            for other, larger in ensembles.found.items()
        )
    ]
    return [f"{'+'.join(names)} of {entities}" for names, entities in sorted(listed)]


def nine_cases() -> tuple[PrintedItem, ...]:
    """Figure 3: two publications in each relation, and their ensemble."""
    items: list[PrintedItem] = []
    for number, (entities, attributes) in enumerate(CASES, start=1):
        _, _, known = two_publications(entities, attributes)
        ensemble = ", ".join(ensemble_words(known.ensembles))
        name, what = f"mscore.case{number}", f"case {number}: entities {entities}, attributes {attributes}"
        if number == 1:
            together = len(known.knowledge.entities())
            items.append(judge(name, "Figure 3, Section 4.1", what, {"same schema": True, "common entities": 0},
                               {"same schema": len(known.ensembles.found) == 1, "common entities": 2 * TAKEN - together},
                               note=f"Construct Publication Ensemble gives: {ensemble}."))  # fmt: skip
        elif number == 6:
            both = max(known.ensembles.found, key=int.bit_count)
            items.append(judge(name, "Figure 3, Section 4.1", what, {"some entities shared": True, "attributes shared": False},
                               {"some entities shared": 0 < known.ensembles.found[both].entities < TAKEN,
                                "attributes shared": len(known.knowledge.weights) < 2 * len(ATTRIBUTES[attributes])},
                               note=f"Construct Publication Ensemble gives: {ensemble}."))  # fmt: skip
        else:
            items.append(cannot(name, "Figure 3", what, None, NO_PICTURE, ours=ensemble))
    one = Exposure(sensitivity=CELLS).after(entities=[1], values={"a": ["v"]}, at=0)
    framed = Exposure(sensitivity=CELLS, frame=10.0).after(entities=[1], values={"a": ["v"]}, at=0)
    later = {at: framed.after(entities=[1], values={"b": ["v"]}, at=at) for at in (9.0, 11.0)}
    held = {at: sorted(known.knowledge.weights) for at, known in later.items()}
    again = one.after(entities=[1], values={"a": ["v"]}, at=1)
    return (
        *items,
        judge("mscore.frame", "Section 4.1", "the ensemble is of the publications within the time frame F only",
              {"within F": ["a", "b"], "after F": ["b"]}, {"within F": held[9.0], "after F": held[11.0]},
              note="F = 10: a at time 0, then b at time 9 or 11. The paper prints no F."),
        judge("mscore.recursive", "Section 4.1", "a publication that tells nothing new leaves the ensemble as it is", True,
              ensemble_words(again.ensembles) == ensemble_words(one.ensembles) and again.value == one.value),
    )  # fmt: skip


def extensions() -> tuple[PrintedItem, ...]:
    """Sections 4.2 and 4.3."""
    crowd = [{"customer": 2, "job": "Lawyer", "account": "White"}, {"customer": 3, "job": "Lawyer", "account": "White"},
             {"customer": 4, "job": "Teacher", "account": "White"}]  # fmt: skip
    mine = [
        {"customer": 1, "job": "Lawyer", "account": "Gold"},
        {"customer": 1, "job": "Lawyer", "account": "Gold"},
        {"customer": 1, "job": "Teacher", "account": "White"},
    ]
    f = Sensitivity.from_dict({"account": {"values": {"Gold": 0.6, "White": 0.1}}})
    entity = score(mine, source=[*mine, *crowd], quasi=["job"], sensitivity=f, entity="customer")
    by_row = score(mine, source=[*mine, *crowd], quasi=["job"], sensitivity=f, entity=None)
    of_entity, of_rows = int(entity.weighed.crowds[0]), [int(one) for one in by_row.weighed.crowds]
    names = [{"job": "Lawyer"}]
    asked = "select job from customers where account = 'Gold'"
    basic = score(names, source=SOURCE, quasi=["job"], sensitivity=OURS)
    told = score(names, source=SOURCE, quasi=["job"], sensitivity=OURS, request=asked)
    known = {name: sorted(map(str, values or ())) for name, values in conditions(asked).items()}
    operators = "The paper names the operator; its definition is not in our copy. Ours is the nearest."
    return (
        judge("mscore.multirelational.once", "Section 4.2", "a value that an entity has in several rows counts", 1,
              round((entity.record_score * of_entity - 0.1) / 0.6, 9),
              note="Gold (0.6) in two rows and White (0.1) of one customer: 0.7, not 1.3."),
        judge("mscore.multirelational.d", "Section 4.2", "D of an entity among all its records' D", "the minimum",
              "the minimum" if of_entity == min(of_rows) < max(of_rows) else str(of_entity), why="The engine takes another one.",
              note=f"One customer with records of D = {', '.join(map(str, of_rows))} has D = {of_entity}; the paper prints no example."),
        judge("mscore.request", "Section 4.3", "Name of customers with Account type = Gold: the basic M-score does not consider the account",
              {"basic score considers it": False}, {"basic score considers it": "account" in basic.plan.sensitive},
              note=f"With our f the basic score is {basic.value:g}, with the request {told.value:g}; the paper prints neither."),
        cannot("mscore.res", "Section 4.3", "operator RES(R)", None, f"{operators} It is the columns of the result.", ours=sorted(names[0])),
        cannot("mscore.cond", "Section 4.3", "operator COND(R)", None, f"{operators} It is what the request fixes for every row.", ours=known),
    )  # fmt: skip


def tables() -> tuple[Table, ...]:
    """Table 1 with what follows from it, and the nine cases."""
    found = score(PUBLISHED, source=SOURCE, quasi=QUASI, sensitivity=OURS)
    printed = {0: "2", 2: "3", 3: "2", 4: "1"}
    rows = tuple(
        (
            str(place + 1),
            *(shown(row[name]) for name in COLUMNS),
            printed.get(place, "–"),
            str(int(found.weighed.crowds[place])),
            measure(rrs([row])[0]),
            measure(float(found.weighed.record_scores[place])),
        )
        for place, row in enumerate(PUBLISHED)
    )
    cases = tuple(
        (
            f"Case {number}",
            entities,
            attributes,
            ", ".join(ensemble_words(two_publications(entities, attributes)[2].ensembles)),
        )
        for number, (entities, attributes) in enumerate(CASES, start=1)
    )
    uses = (
        ("1. Anomaly detection", "discreet misuse anomalies"),
        ("2. Handling of leakage incidents", "discreet misuse incidents"),
        ("3. Dynamic Misuseability-Based Access Control (DMBAC)", "discreet gateway"),
        ("4. Reducing the misuseability of the data", "discreet misuse reduce"),
    )
    head = (
        "Row",
        "Job",
        "City",
        "Sex",
        "Account type",
        "Average monthly bill",
        "D printed",
        "D",
        "RRS (our f)",
        "RS (our f)",
    )
    source = tuple((str(place + 1), *(shown(row[name]) for name in COLUMNS)) for place, row in enumerate(SOURCE))
    attributes = (
        *((name, "quasi-identifier", "") for name in FIGURE_1),
        *((name, "sensitive", "; ".join(values) or "any number") for name, values in FIGURE_1_VALUES.items()),
    )
    return (
        Table("Figure 1: quasi-identifier and sensitive attributes", ("Attribute", "Kind", "Optional values"), attributes),
        Table("Table 1(A): the source table", head[:6], source, (5,)),
        Table("Table 1(B): the published table, its distinguishing factors, and our scores of it", head, rows, (5, 6, 7, 8, 9)),
        Table("Figure 3: nine cases of two fully identifiable publications, and the ensemble of what is known",
              ("Case (our numbers but for 1 and 6)", "Entities", "Sensitive attributes", "Ensemble: attributes of entities"), cases),
        Table("The four usages of the misuseability weight (Section I)", ("Usage", "Here"), uses),
    )  # fmt: skip


def weight_of_quantity() -> Figure:
    """How M grows with the rows, for three values of x."""
    sizes = list(range(1, 7))
    names = {1.0: "x = 1 (the paper: x > 1)", 2.0: "x = 2", math.inf: "x = infinity"}
    found = {
        name: [score(PUBLISHED[:size], source=SOURCE, quasi=QUASI, sensitivity=OURS, x=x).value for size in sizes]
        for x, name in names.items()
    }
    lines = [
        Line(name, tuple(zip(map(float, sizes), values, strict=True)), steps=False) for name, values in found.items()
    ]
    rows = tuple((f"{size}", *(measure(values[size - 1]) for values in found.values())) for size in sizes)
    return Figure(
        key="quantity",
        title="The quantity factor: M of the first rows of Table 1(B)",
        about="; ".join(f"{name}: {measure(values[-1])} for all six rows" for name, values in found.items()),
        reading=(
            "The higher x is, the less the number of records counts. The paper describes this and draws no figure of it.",
            "The scores are those of our sensitivity function: the paper prints none.",
        ),
        chart=line_chart(
            lines, Axes(linear([1, 6]), linear([0, 3], zero=True), "Rows of the published table", "M-score")
        ),
        table=Table("M by the number of rows", ("Rows", *found), rows, (0, 1, 2, 3)),
    )
