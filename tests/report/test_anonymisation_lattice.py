"""The lattice: every combination is counted once, dots or cells, and the file stays small."""

from __future__ import annotations

import re
import time

import pytest

from discreet.anonymity import Seen
from discreet.report.anonymisation_charts import lattice, lattice_of
from discreet.report.toolkit.page import Figure, figure
from tests.report.anonymisation_samples import KINDS, made, nodes, synthetic, town
from tests.report.documents import markup_of
from tests.report.samples import Outline


def parts(shown: Figure) -> str:
    Outline(markup_of(shown))
    return markup_of(shown)


def numbers(shown: Figure, column: int) -> list[int]:
    return [int(str(row[column]).replace(",", "")) for row in shown.table.rows]


def test_a_small_lattice_is_drawn_in_dots() -> None:
    case = KINDS["optimal"]
    seen = nodes(case)
    shown = lattice(case, seen)
    allowed = sum(one.allowed for one in seen)
    assert len(re.findall(r'class="node"', parts(shown))) == allowed
    assert numbers(shown, 1)[-1] == len(seen)
    assert numbers(shown, 3)[-1] == allowed


def test_this_table_is_marked_and_nothing_loses_less() -> None:
    case = KINDS["optimal"]
    shown = lattice(case, nodes(case))
    assert ">this table</text>" in parts(shown)
    total = sum(case.result.levels.values())
    assert [row[0] for row in shown.table.rows if "this table" in str(row[0])] == [f"{total} (this table)"]
    assert any("none loses less than this table" in text for text in shown.reading)


def test_better_ones_are_admitted() -> None:
    case = KINDS["optimal"]
    this = tuple(case.result.levels.values())
    cheaper = tuple(
        Seen(one.node, one.suppressed, one.allowed, one.loss if one.node == this else one.loss / 2)
        for one in nodes(case)
    )
    shown = lattice(case, cheaper)
    assert any(re.search(r"allowed, \d+ loses? less than this table", text) for text in shown.reading)


@pytest.mark.parametrize("heights", [(2, 3, 4), (2, 5, 2, 3, 4, 3, 3, 3, 2), (60, 60), (3_000,), (1,), (1, 1)])
def test_every_combination_is_counted_once(heights: tuple[int, ...]) -> None:
    seen = synthetic(*heights)
    shown = lattice(KINDS["by class"], seen)
    for column in (1, 2, 3):
        assert sum(numbers(shown, column)[:-1]) == numbers(shown, column)[-1]
    assert numbers(shown, 1)[-1] == len(seen)
    assert sum(numbers(shown, 2)) + sum(numbers(shown, 3)) == sum(numbers(shown, 1))
    assert len(lattice_of(seen, None).steps) <= 48
    parts(shown)


@pytest.mark.parametrize("heights", [(2, 5, 2, 3, 4, 3, 3, 3, 2), (4, 5, 5, 5, 4), (150, 150), (9_000,)])
def test_a_large_lattice_is_a_small_picture(heights: tuple[int, ...]) -> None:
    seen = synthetic(*heights)
    start = time.process_time()
    markup = str(figure(lattice(KINDS["by class"], seen), 1))
    assert time.process_time() - start < 2
    assert len(markup.encode()) < 300_000
    assert len(re.findall("<rect", markup)) <= 48 * 24 + 48 + 1


def test_the_real_adult_shape_has_12_960_nodes() -> None:
    seen = synthetic(2, 5, 2, 3, 4, 3, 3, 3, 2)
    shown = lattice(KINDS["by class"], seen)
    assert numbers(shown, 1)[-1] == len(seen) == 12_960
    assert len(parts(shown).encode()) < 60_000
    shades = [float(shade) for shade in re.findall(r'fill-opacity="([\d.]+)"', parts(shown))]
    assert min(shades) >= 0.2
    assert max(shades) == 1


def test_no_cell_lies_below_the_least_loss() -> None:
    seen = synthetic(2, 5, 2, 3, 4, 3, 3, 3, 2)
    markup = parts(lattice(KINDS["by class"], seen))
    cells = markup.split('class="cells"')[1].split("</g>")[0]
    bottoms = [float(y) + float(high) for y, high in re.findall(r'y="([\d.]+)" height="([\d.]+)"', cells)]
    least = min(one.loss for one in seen if one.allowed)
    assert max(bottoms) == pytest.approx(28 + 264 * (1 - least), abs=1)


def test_where_nothing_is_allowed_the_strip_remains() -> None:
    seen = tuple(Seen(one.node, 9, False, float("nan")) for one in synthetic(3, 4))
    shown = lattice(KINDS["by class"], seen)
    assert numbers(shown, 2)[-1] == 12
    assert {row[4] for row in shown.table.rows} == {"none allowed"}
    parts(shown)


def test_where_everything_is_allowed_no_strip_is_spoken_of() -> None:
    case = made(town(), k=1)
    shown = lattice(case, nodes(case))
    assert not any("strip" in text for text in shown.reading)
    assert numbers(shown, 2)[-1] == 0


def test_the_same_lattice_gives_the_same_picture() -> None:
    case = KINDS["optimal"]
    assert parts(lattice(case, nodes(case))) == parts(lattice(case, nodes(case)))
