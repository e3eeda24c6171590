"""The compiled engine finds bit by bit what numpy finds: nodes, losses, and what was looked at on the way."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.anonymity import LOSSES, anonymise
from discreet.anonymity.lattice import native_engine, tuples
from discreet.anonymity.lattice.evaluate import BySize
from discreet.anonymity.lattice.problem import LatticeProblem
from discreet.anonymity.result import Anonymised
from discreet.errors import UsageError
from discreet.kernel import Classes
from tests.anonymity.brute import Data
from tests.anonymity.strategies import tables, wished_tables
from tests.examples import examples

COMPILED = pytest.mark.skipif(native_engine.library() is None, reason="the search engine was not compiled here")


def both(classes: Classes, **options: object) -> list[Anonymised | str]:
    """The results of both engines, or what they refuse."""
    found: list[Anonymised | str] = []
    for engine in ("numpy", "compiled"):
        try:
            found.append(anonymise(classes, engine=engine, **options))  # type: ignore[arg-type]
        except UsageError as error:
            found.append(error.problem)
    return found


def same(classes: Classes, **options: object) -> None:
    one, other = both(classes, **options)
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    assert (one.levels, one.loss, one.suppressed, one.classes) == (
        other.levels,
        other.loss,
        other.suppressed,
        other.classes,
    )
    assert one.certificate == other.certificate


@COMPILED
@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=examples(120), deadline=None)
@given(data=wished_tables(), k=st.integers(1, 6), share=st.sampled_from([0.0, 0.1, 0.4, 1.0]))
def test_the_same_search(loss: str, data: Data, k: int, share: float) -> None:
    same(data.classes(), k=min(k, len(data.people)), suppression=share, loss=loss)


@COMPILED
@settings(max_examples=examples(60), deadline=None)
@given(data=tables(secrets=3), l=st.integers(1, 3), loss=st.sampled_from(list(LOSSES)))
def test_the_same_search_under_other_requirements(data: Data, l: int, loss: str) -> None:  # noqa: E741
    same(data.classes(sensitive=True), suppression=0.2, loss=loss, diversity={"l": l, "kind": "entropy"})


def many(seed: int, people: int, sizes: tuple[int, ...]) -> Classes:
    """People with so many values per column, some common and most rare."""
    rng = np.random.default_rng(seed)
    columns = [np.minimum(rng.geometric(4 / size, people), size) for size in sizes]
    from discreet.kernel import Widths

    names = [f"q{place}" for place in range(len(sizes))]
    rows = list(zip(*(column.astype(str).tolist() for column in columns), strict=True))
    return Classes.of(names, rows, rules={name: Widths((2, 4, 16)) for name in names})


@COMPILED
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("share", "sizes"), [(0.0, (40, 30, 9)), (0.05, (40, 30, 9)), (0.1, (90, 7, 5, 4))])
def test_the_same_search_in_a_larger_table(loss: str, share: float, sizes: tuple[int, ...]) -> None:
    same(many(5, 1500, sizes), k=4, suppression=share, loss=loss)


@COMPILED
@pytest.mark.parametrize("sizes", [(900, 800, 700), (60, 50), (5,), (40, 30, 20, 10, 9)])
def test_every_node_is_counted_alike(sizes: tuple[int, ...]) -> None:
    """Also where keys are far more than tuples, and from merged tuples as from the finest."""
    problem = LatticeProblem.of(many(3, 900, sizes))
    with mock.patch.object(tuples, "COMBINATIONS", 64):
        numpy_, compiled = (BySize(problem, k=3, engine=engine) for engine in ("numpy", "compiled"))
        nodes = list(product(*map(range, problem.shape)))
        for node in (*nodes, *nodes):
            one, other = numpy_(node), compiled(node)
            for name in ("suppressed", "kept", "squares", "kept_squares"):
                assert getattr(one, name) == getattr(other, name)
            assert sorted(numpy_.counter.sizes(node).tolist()) == sorted(compiled.counter.sizes(node).tolist())
            assert [part.tolist() for part in one.hidden] == [part.tolist() for part in other.hidden]
            if one.suppressed and one.around and other.around:
                assert one.around().tolist() == other.around().tolist()


@COMPILED
def test_what_was_small_is_counted_again_if_another_node_was_looked_at_meanwhile() -> None:
    problem = LatticeProblem.of(many(3, 500, (20, 10)))
    look = BySize(problem, k=5, engine="compiled")
    fine, coarse = look((0, 0)), look((2, 2))
    assert sum(fine.hidden[0]) == fine.suppressed
    assert sum(coarse.hidden[0]) == coarse.suppressed != fine.suppressed


def test_without_the_library_everything_runs_in_numpy() -> None:
    classes = many(1, 200, (9, 8))
    with mock.patch.object(native_engine, "library", return_value=None):
        assert anonymise(classes, k=2).levels == anonymise(classes, k=2, engine="numpy").levels
        with pytest.raises(UsageError, match="compiled engine is not here"):
            anonymise(classes, k=2, engine="compiled")


def test_a_library_that_is_none_or_another_one_is_not_used(tmp_path: Path) -> None:
    assert native_engine.load(tmp_path / "missing.so") is None
    (tmp_path / "broken.so").write_bytes(b"no library")
    assert native_engine.load(tmp_path / "broken.so") is None


def test_more_values_than_sixteen_bits_hold_are_left_to_numpy() -> None:
    people = Classes.of(["number"], [(str(n),) for n in range(2**16 + 1)])
    assert not native_engine.fits(LatticeProblem.of(people))
