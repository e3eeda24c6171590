"""Row marks: which rows may be lacking, what that costs each value, and who has which."""

from __future__ import annotations

from collections import Counter

import numpy as np

from discreet.releases.marks.codebook import derive
from discreet.releases.marks.pairing import ambiguous
from discreet.releases.marks.row_marks import (
    FEW_PEOPLE,
    ROW_LAW,
    ROWS_LOST,
    SMALLEST_CLASS,
    VALUE_LOST,
    VALUE_WORST,
    RowCodebook,
    RowMarks,
)
from tests.releases import marked
from tests.releases.marked import KEY

NAMES = [f"r{number}" for number in range(60)]


def book() -> RowCodebook:
    made = marked.marking()
    return RowCodebook.of(made.rows, made.row_probabilities, NAMES, release="spring", key=KEY)


def test_rows_are_of_classes_that_have_rows_to_spare_and_are_not_in_doubt() -> None:
    made, linked = marked.marking(), marked.linked()
    sizes = dict(zip(linked.released.tuples(), linked.released.sizes.tolist(), strict=True))
    links = dict(zip(linked.released.tuples(), linked.links.tolist(), strict=True))
    lacking = Counter(made.rows.labels[: len(made.rows)])
    assert len(made.rows) > 100
    assert not set(lacking) & set(made.marks.labels)
    assert min(sizes[labels] for labels in lacking) >= SMALLEST_CLASS
    assert all(number <= sizes[labels] - linked.k for labels, number in lacking.items())
    of_marks = np.array([links[labels] for labels in lacking])
    assert not ambiguous(of_marks, sampling=linked.sampling, k=linked.k).any()


def test_every_marked_row_is_a_row_of_the_table_once() -> None:
    made, (table, _) = marked.marking(), marked.state()
    names = ("diagnosis", "income", "plan", "visits")
    frame = table.engine.frame  # type: ignore[attr-defined]
    held = Counter(frame.select(names).with_columns(frame[name].cast(str) for name in ("income", "visits")).rows())
    asked = Counter(zip(*(made.rows.cells[name] for name in names), strict=True))
    assert all(held[row] >= number for row, number in asked.items())
    assert len(made.rows.labels) > len(made.rows)


def test_no_value_loses_more_than_its_share_where_class_marks_leave_room() -> None:
    made = marked.marking()
    alone = marked.marking_without_rows()
    for losses, before in zip(made.losses, alone.losses, strict=True):
        touched = losses.mean > before.mean + 1e-9
        assert losses.shares[touched].max(initial=0.0) <= VALUE_LOST
        many = touched & (losses.people >= FEW_PEOPLE)
        assert losses.worst[many].max(initial=0.0) <= VALUE_WORST
    assert (1 - made.row_probabilities.mean()) * len(made.rows) <= 1.2 * ROWS_LOST * made.linked.released.records


def test_a_value_loses_what_was_foreseen_in_200_copies() -> None:
    made = marked.marking()
    names = [f"copy {number}" for number in range(200)]
    rows = RowCodebook.of(made.rows, made.row_probabilities, names, release="spring", key=KEY)
    plans = made.rows.cells["plan"][: len(made.rows)]
    losses, alone = (
        next(one for one in found.losses if one.name == "plan") for found in (made, marked.marking_without_rows())
    )
    for place, value in enumerate(losses.values):
        held = np.array([plan == value for plan in plans])
        foreseen = losses.mean[place] - alone.mean[place]
        assert abs((~rows.present[:, held]).sum(axis=1).mean() - foreseen) <= 4 * np.sqrt(max(foreseen, 1.0))


def test_bits_follow_the_law_and_depend_on_row_and_recipient_alone() -> None:
    found = book()
    assert set(found.probabilities) == set(ROW_LAW.values)
    assert abs(found.present.mean(axis=0) - found.probabilities).max() < 5 * np.sqrt(0.25 / len(NAMES))
    more = found.with_recipients(["late"], release="spring", key=KEY)
    assert np.array_equal(more.present[:-1], found.present)
    again = RowCodebook.of(found.rows, found.probabilities, ["late", "r3"], release="spring", key=KEY)
    assert np.array_equal(again.present[0], more.present[-1])
    assert np.array_equal(again.present[1], found.present[3])
    kept = np.arange(0, len(found.rows), 2)
    part = RowCodebook.of(found.rows.only(kept), found.probabilities[kept], NAMES, release="spring", key=KEY)
    assert np.array_equal(part.present, found.present[:, kept])


def test_equal_rows_are_different_marks() -> None:
    rows = RowMarks(("zip",), (("1",), ("1",)), {"x": ["a", "a"]}, 2)
    assert len(set(rows.messages)) == 2
    assert derive(KEY, "law") != derive(KEY, "presence")
