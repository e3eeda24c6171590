"""Sundaramoorthy and Srinivasa Rao Madhane on the misuseability weight (after Harel et al.): Table 1, nine cases, M.

The paper prints no sensitivity function and no score of any table. The distinguishing factors are its own; the
sensitivity function and every score M here are ours, and say so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from discreet.misuse import Exposure, Sensitivity, score
from discreet.misuse.ensembles import Ensembles
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
PUBLISHED = [SOURCE[place] for place in (0, 3, 4, 5, 7, 8)]
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
    "The picture of Figure 3 is lost in our copy. The text names the nine relations and describes cases 1 and 6, from which "
    "the order of the others follows."
)


def reproduce(*, quick: bool = False, seed: int = 1) -> Reproduction:
    """The whole paper; nothing in it is random, and nothing takes long."""
    del seed
    items = (*table_1(), *scores(), *nine_cases(), *extensions())
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


def table_1() -> tuple[PrintedItem, ...]:
    """Table 1 and its distinguishing factors."""
    found = score(PUBLISHED, source=SOURCE, quasi=QUASI, sensitivity=OURS)
    crowds = [int(found.weighed.crowds[row]) for row in (0, 2, 3, 4)]
    alone = [{"account": row["account"], "bill": row["bill"]} for row in PUBLISHED]
    without = score(alone, source=SOURCE, quasi=QUASI, sensitivity=OURS)
    capped = score([SOURCE[0]], source=SOURCE, quasi=QUASI, sensitivity=OURS)
    return (
        judge("mscore.table1.source", "Table 1(A)", "rows of the source table", 9, len(SOURCE)),
        judge("mscore.table1.published", "Table 1(B)", "rows of the published table", 6, len(PUBLISHED)),
        judge("mscore.d", "Section 3.4", "distinguishing factors D1, D3, D4, D5 of the published table", [2, 3, 2, 1], crowds),
        *(
            judge(f"mscore.d{row}", "Section 3.4", f"distinguishing factor D{row}", printed, int(found.weighed.crowds[row - 1]))
            for row, printed in ((1, 2), (3, 3), (4, 2), (5, 1))
        ),
        judge("mscore.d.noquasi", "Section 3.4", "D of each row without quasi-identifiers: the size of the published table",
              [6] * 6, [int(crowd) for crowd in without.weighed.crowds]),
        judge("mscore.rrs.cap", "Definition 5", "largest raw record score: the sum of sensitivities is bounded at", 1,
              float(capped.record_score * capped.weighed.crowds[0]),
              note="Gold and a bill of 350 sum to 1.3 with our f."),
    )  # fmt: skip


def scores() -> tuple[PrintedItem, ...]:
    """M at x = 1, 2 and infinity, and normalised."""
    items = []
    for name, x in (("1", 1.0), ("2", 2.0), ("inf", math.inf)):
        found = score(PUBLISHED, source=SOURCE, quasi=QUASI, sensitivity=OURS, x=x)
        words = f"M of Table 1(B) at x = {'infinity' if x == math.inf else name}"
        items.append(cannot(f"mscore.m.x{name}", "Definition 7", words, None, UNPRINTED, ours=round(found.value, 6)))
    found = score(PUBLISHED, source=SOURCE, quasi=QUASI, sensitivity=OURS)
    whole = score(SOURCE, source=SOURCE, quasi=QUASI, sensitivity=OURS)
    items.append(
        cannot(
            "mscore.m.source",
            "Section 3.6",
            "M of the source table at x = 2",
            None,
            UNPRINTED,
            ours=round(whole.value, 6),
        )
    )
    normalised = None if found.normalised is None else round(found.normalised, 6)
    items.append(
        cannot("mscore.norm", "Section 3.6", "NormM-Score of Table 1(B) at x = 2", None, UNPRINTED, ours=normalised)
    )
    return tuple(items)


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
    """Figure 3: the relation of two publications, and the ensemble of all that is known."""
    items = []
    for number, (entities, attributes) in enumerate(CASES, start=1):
        first, second, known = two_publications(entities, attributes)
        found = case_of((first[0], second[0]), (first[1], second[1]))
        printed = {"case": number, "entities": entities, "attributes": attributes}
        ours = {"case": found, "entities": relation(first[0], second[0]), "attributes": relation(first[1], second[1])}
        ensemble = f"Construct Publication Ensemble gives: {', '.join(ensemble_words(known.ensembles))}."
        note = ensemble if number in (1, 6) else f"{ensemble} {NO_PICTURE}"
        items.append(
            judge(
                f"mscore.case{number}",
                "Figure 3",
                f"case {number}: entities {entities}, attributes {attributes}",
                printed,
                ours,
                note=note,
            )
        )
    return tuple(items)


def extensions() -> tuple[PrintedItem, ...]:
    """Sections 4.2 and 4.3."""
    rows = [
        {"customer": 1, "job": "Lawyer", "account": "Gold"},
        {"customer": 1, "job": "Lawyer", "account": "Gold"},
        {"customer": 1, "job": "Teacher", "account": "White"},
    ]
    f = Sensitivity.from_dict({"account": {"values": {"Gold": 0.6, "White": 0.1}}})
    one = score(rows, source=rows, quasi=["job"], sensitivity=f, entity="customer")
    names = [{"job": "Lawyer"}]
    asked = "select job from customers where account = 'Gold'"
    basic = score(names, source=SOURCE, quasi=["job"], sensitivity=OURS)
    told = score(names, source=SOURCE, quasi=["job"], sensitivity=OURS, request=asked)
    return (
        judge("mscore.multirelational.once", "Section 4.2", "a value that an entity has in several rows counts", 1,
              round((one.record_score * one.weighed.crowds[0] - 0.1) / 0.6, 9),
              note="Gold (0.6) in two rows and White (0.1) of one customer: 0.7, not 1.3."),
        judge("mscore.multirelational.d", "Section 4.2", "D of an entity: the least of its rows", 1, int(one.weighed.crowds[0])),
        judge("mscore.request", "Section 4.3", "customers selected by account = 'Gold': the basic score misses the account",
              {"basic": 0, "with the condition": True}, {"basic": basic.value, "with the condition": told.value > 0}),
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
            measure(min(1.0, sum(OURS.weights[name](str(row[name])) for name in ("account", "bill")))),
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
    return (
        Table("Table 1(B): the published table, its distinguishing factors, and our scores of it", head, rows, (5, 6, 7, 8, 9)),
        Table("Figure 3: nine cases of two fully identifiable publications, and the ensemble of what is known",
              ("Case", "Entities", "Sensitive attributes", "Ensemble: attributes of entities"), cases),
        Table("The four usages of the misuseability weight (Section I)", ("Usage", "Here"), uses),
    )  # fmt: skip


def weight_of_quantity() -> Figure:
    """How M grows with the rows, for three values of x."""
    sizes = list(range(1, 7))
    names = {1.0: "x = 1", 2.0: "x = 2", math.inf: "x = infinity"}
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
