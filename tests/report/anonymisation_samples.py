"""Small anonymised tables of every shape that a report may meet."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from discreet.anonymity import Anonymised, Point, Seen, anonymise, frontier, sweep
from discreet.kernel import AnyValue, Classes, Mask, Recoding, Widths
from discreet.kernel.hierarchy import Histogram
from discreet.kernel.rules import Rule
from discreet.report import anonymised_page
from discreet.report.anonymisation_findings import Case
from discreet.risk import assess
from tests.report.samples import HOSTILE, WHEN, crowds

RULES: dict[str, Rule] = {"age": Widths((5, 10)), "sex": AnyValue(), "zip": Mask(3)}


def town(people: int = 120) -> Classes:
    """People by age, sex and ZIP, most of them unique."""
    rows = [(str(20 + row * 7 % 41), "FM"[row % 2], f"1{row * row % 23:02}") for row in range(people)]
    return Classes.of(["age", "sex", "zip"], rows, rules=RULES)


def patients() -> Classes:
    """A few classes with the spread of a sensitive column."""
    rows = [(f"z{place}", illness, 2 + place) for place in range(4) for illness in ("flu", "cold", "angina")]
    counts = Histogram.from_rows(["zip"], [[f"z{place}", 3 * (2 + place)] for place in range(4)])
    plain = Classes.from_histogram(counts, rules={"zip": AnyValue()})
    return plain.with_spread(Histogram.from_rows(["zip", "illness"], [list(row) for row in rows]), "illness")


def case_of(classes: Classes, result: Anonymised) -> Case:
    """With the risk before and after."""
    after = result.assess() if result.classes else None
    return Case.of(result, assess(classes, population=result.population), after)


def made(classes: Classes, **options: object) -> Case:
    """Anonymised as asked."""
    return case_of(classes, anonymise(classes, **options))  # type: ignore[arg-type]


def by_class() -> Case:
    """Recoded class by class: young people lose the ZIP, the others their sex."""
    classes = Classes.of(
        ["sex", "zip"], [("F", "1"), ("F", "2"), ("M", "1"), ("M", "2")], [3, 4, 5, 6], rules={"sex": AnyValue()}
    )
    recoding = Recoding(
        classes,
        (("F", "*"), ("1", "2", "*")),
        (np.array([0, 0, 1, 1]), np.array([2, 2, 0, 1])),
        np.ones(4, dtype=bool),
    )
    result = Anonymised(
        levels={},
        loss=0.25,
        loss_name="loss",
        suppressed=0,
        classes=len(recoding.published),
        evaluated=0,
        requirements=("every class has at least 5 people",),
        certificate=None,
        search="local",
        recoding=recoding,
    )
    return case_of(classes, result)


def every_kind() -> Iterator[tuple[str, Case]]:
    """Every shape."""
    yield "optimal", made(town(), k=5, suppression=0.05)
    yield "nothing suppressed", made(town(), k=3)
    yield "one left out", made(crowds(1, 6, 7), k=2, suppression=0.1)
    yield "everybody left out", made(crowds(1, 1, 1), k=2, suppression=1.0)
    yield "unchanged", made(crowds(5, 6, 7), k=5)
    yield "one column", made(town(82).project(["age"]), k=3, suppression=0.1)
    yield "by class", by_class()
    yield "stopped", made(town(), k=5, watch=lambda _: False)
    yield "ola", made(town(), k=5, suppression=0.1, search="ola")
    yield "somebody alone", made(crowds(1, 2, 60), average_risk=0.1)
    yield "above the limit", made(town(), k=2, suppression=0.2)
    yield "diverse", made(patients(), k=2, diversity=2, closeness=0.5)
    yield "population", made(town(40), k=2, k_map=4, presence=(0, 0.9), population=town(400), suppression=0.2)
    for loss in ("aecs", "discernibility", "dm_star", "precision", "entropy"):
        yield loss, made(town(), k=4, suppression=0.05, loss=loss)
    yield (
        "hostile",
        made(Classes.of([HOSTILE, "b"], [("x", "1"), ("y", "2")], [2, 3], rules={HOSTILE: AnyValue()}), k=2),
    )


KINDS = dict(every_kind())


def points(case: Case, *ks: int) -> tuple[Point, ...]:
    """The frontier of a case."""
    share = min(1.0, ((case.suppressible or 0) + 0.5) / case.records)
    classes = case.result.recoding.classes
    return frontier(classes, ks=ks or (2, 3, 5, 10, 20), suppression=share, loss=case.result.loss_name)


def nodes(case: Case) -> tuple[Seen, ...]:
    """The lattice of a case."""
    if case.result.limits is None:
        return ()
    return sweep(case.result.recoding.classes, case.result.limits, loss=case.result.loss_name)


def synthetic(*heights: int) -> tuple[Seen, ...]:
    """A lattice of any size: finer combinations are not allowed, coarser ones lose more."""
    top = sum(height - 1 for height in heights)
    every = sorted(product(*map(range, heights)), key=lambda node: (sum(node), node))
    return tuple(
        Seen(node, 0, allowed, (sum(node) + place % 97 / 97) / (top + 1) if allowed else math.nan)
        for place, node in enumerate(every)
        for allowed in [sum(node) > top / 3]
    )


def page(case: Case, *, full: bool = True, source: str = "people.csv", lattice: tuple[Seen, ...] = ()) -> str:
    """The report with everything else fixed."""
    return anonymised_page(
        case.result,
        before=case.before,
        after=case.after,
        title=f"{source}, anonymised",
        source=source,
        created=WHEN,
        command="discreet anonymise people.csv --policy policy.toml --k 5 --out safe.csv",
        version="0.1.0",
        frontier=points(case) if full else (),
        lattice=lattice or (nodes(case) if full else ()),
    )
