"""Leaked files traced by single rows: without the classes in doubt, in part, changed, shuffled, and by several."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import polars
import pytest

from discreet.releases.marks.codebook import DEFAULT, Codebook
from discreet.releases.marks.row_marks import RowCodebook
from discreet.releases.tracing.case import Traceable
from discreet.releases.tracing.joint_evidence import SeenMarks
from discreet.releases.tracing.trace import trace_leak
from tests.releases import marked
from tests.releases.marked import COLUMNS, KEY, POLICY

QUASI, OTHERS = list(POLICY.quasi), [name for name in COLUMNS if name not in POLICY.quasi]
NAMES = [f"Partner {number:02}" for number in range(20)]
Change = Callable[[polars.DataFrame, np.random.Generator], polars.DataFrame]


@lru_cache(maxsize=1)
def case() -> tuple[Traceable, dict[str, polars.DataFrame]]:
    """A release of 20,000 people to 20, and the copies without classes in doubt: the leaker left them out."""
    made, (table, _) = marked.marking(1_000_000), marked.state(1_000_000)
    book = Codebook.of(made.marks, DEFAULT, NAMES, release="spring", key=KEY)
    rows = RowCodebook.of(made.rows, made.row_probabilities, NAMES, release="spring", key=KEY)
    rules = {name: POLICY.rule(name) for name in QUASI}
    traceable = Traceable.of(made.linked, book, release="spring", rules=rules, decoys=made.decoys, rows=rows)
    levels = {column.name: column for column in made.linked.data.columns}
    frame = table.engine.frame  # type: ignore[attr-defined]
    for name, column in levels.items():
        up = dict(zip(column.hierarchy.labels[0], column.hierarchy.map(0, column.level).tolist(), strict=True))
        cells = [column.labels[up[str(value)]] for value in frame[name].to_list()]
        frame = frame.with_columns(polars.Series(name, cells))
    in_doubt = set(made.marks.labels)
    plain = set(made.linked.released.tuples()) - in_doubt
    order = list(made.linked.released.names)
    frame = frame.filter(polars.Series([row in plain for row in frame.select(order).rows()]))
    place_of = {row: place for place, row in enumerate(frame.select(order + OTHERS).cast(str).rows())}
    marks = [
        place_of[(*made.rows.labels[row], *(str(made.rows.cells[name][row]) for name in OTHERS))]
        for row in range(len(made.rows))
    ]
    copies = {}
    for number, name in enumerate(NAMES):
        held = np.ones(len(frame), dtype=bool)
        held[np.array(marks)[~rows.present[number]]] = False
        copies[name] = frame.filter(polars.Series(held))
    return traceable, copies


def accused(leak: polars.DataFrame, **options: object) -> tuple[str, ...]:
    traceable, _ = case()
    return trace_leak(traceable, leak, **options).accused  # type: ignore[arg-type]


def cells_exchanged(leak: polars.DataFrame, random: np.random.Generator) -> polars.DataFrame:
    for name in OTHERS:
        cells, places = leak[name].to_list(), np.flatnonzero(random.random(len(leak)) < 0.1)
        for one, other in zip(places.tolist(), random.permutation(places).tolist(), strict=True):
            cells[one] = leak[name][other]
        leak = leak.with_columns(polars.Series(name, cells, dtype=leak[name].dtype))
    return leak


def income_changed(leak: polars.DataFrame, random: np.random.Generator) -> polars.DataFrame:
    return leak.with_columns((polars.col("income") * (0.9 + 0.2 * polars.Series(random.random(len(leak))))).round())


def shuffled(leak: polars.DataFrame, random: np.random.Generator) -> polars.DataFrame:
    seeds = random.integers(10**9, size=len(OTHERS)).tolist()
    return leak.sort(QUASI).with_columns(
        polars.col(name).shuffle(seed=seed).over(QUASI) for name, seed in zip(OTHERS, seeds, strict=True)
    )


CHANGES: dict[str, Change] = {
    "as it is": lambda leak, random: leak,
    "half of the rows": lambda leak, random: leak.sample(fraction=0.5, seed=3),
    "cells exchanged": cells_exchanged,
    "income changed by up to a tenth": income_changed,
    "columns shuffled within classes": shuffled,
    "without income": lambda leak, random: leak.drop("income"),
    "one column": lambda leak, random: leak.select([*QUASI, "income"]),
    "one quasi-identifier": lambda leak, random: leak.select([QUASI[0], *OTHERS]),
    "quasi-identifiers alone": lambda leak, random: leak.select(QUASI),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_leaker_without_the_classes_in_doubt_is_named(change: str) -> None:
    _, copies = case()
    random = np.random.default_rng(5)
    for leaker in ("Partner 03", "Partner 11"):
        assert accused(CHANGES[change](copies[leaker], random)) == (leaker,)


def test_a_table_of_counts_names_the_leaker() -> None:
    _, copies = case()
    assert accused(copies["Partner 05"].group_by(QUASI).len("people"), count="people") == ("Partner 05",)


def test_two_who_show_what_one_of_them_has_are_named() -> None:
    _, copies = case()
    columns = copies["Partner 01"].columns
    both = polars.concat([copies["Partner 01"].unique(), copies["Partner 02"].unique()])
    one_has = both.group_by(columns).len().filter(polars.col("len") == 1).select(columns)
    common = copies["Partner 01"].join(copies["Partner 02"], on=columns, how="semi", nulls_equal=True)
    for leak in (polars.concat([common, one_has]), common):
        assert set(accused(leak)) <= {"Partner 01", "Partner 02"}
        assert accused(leak)


def test_nobody_is_accused_of_the_table_itself() -> None:
    """The original holds every row mark: that is nobody's copy, and no copy fits it well enough."""
    traceable, copies = case()
    everything = polars.concat(list(copies.values())).unique()
    assert accused(everything) == ()
    words = trace_leak(traceable, everything).words()
    assert "Nobody is accused" in words


def test_a_twentieth_of_the_rows_says_nearly_what_it_could() -> None:
    """Beside who knows which rows are there: rows that are not must not speak by chance."""
    traceable, copies = case()
    book, ours, ideal = traceable.rows, [], []
    assert book is not None
    own = list(zip(*(book.rows.published[name] for name in [*QUASI, *OTHERS]), strict=True))
    for number in range(4):
        leak = copies[NAMES[number]].sample(fraction=0.05, seed=number)
        found = next(one for one in trace_leak(traceable, leak).standings if one.recipient == NAMES[number])
        ours.append(found.log10_e * math.log(10))
        rows = set(leak.select([*QUASI, *OTHERS]).cast(str).rows())
        shown = np.array([row in rows for row in own])
        exact = SeenMarks(
            book.probabilities,
            np.where(shown, math.log(0.05), math.log(0.95)),
            np.where(shown, -12.0, 0.0),
        )
        ideal.append(float(exact.log_e_values(book.present)[number]))
    assert sum(ours) > 0.8 * sum(ideal) > 20
