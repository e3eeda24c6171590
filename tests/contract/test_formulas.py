"""CSV cells that a spreadsheet would run: quoted and counted, or kept, whatever engine writes them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.contract.outputs import PLACES, recoding_of
from tests.contract.readers import HOLDERS, READERS
from tests.contract.test_export import LEVELS, POLICY, ROWS, K, arrow_table, expected


def changed() -> int:
    """Cells that quoting changes, the header included: those with an apostrophe that had none."""
    quoted, plain = (apostrophes(guarded=guarded) for guarded in (True, False))
    return quoted - plain


def apostrophes(*, guarded: bool) -> int:
    names, rows = expected(ROWS, guarded=guarded)
    cells = [cell for row, times in rows.items() for cell in row * times if cell is not None]
    return sum(cell.startswith("'") for cell in (*names, *cells))


@pytest.mark.parametrize("engine", HOLDERS)
def test_formulas_are_counted_and_can_be_kept(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    read, place = READERS[engine](request, tmp_path), PLACES["csv"](request, tmp_path)
    table = read(arrow_table(ROWS), POLICY)
    recoding = recoding_of(table, LEVELS, k=K)
    assert changed() > 5
    assert table.formulas(recoding, place.target) == {"mode": "quote", "cells": changed()}
    assert table.formulas(recoding, "published.parquet") is None
    assert table.formulas(recoding, "postgresql://host/db?table=t") is None
    kept = replace(table, policy=replace(POLICY, formulas="keep"))
    assert kept.formulas(recoding, place.target) == {"mode": "keep", "cells": 0}
    kept.export(recoding, place.target)
    assert place.read() == expected(ROWS, guarded=False)
