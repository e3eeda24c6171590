"""Histograms of many classes or columns: they belong together, however they are fetched."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow

import discreet

MANY = 260_000
"""More than one thread of DuckDB reads at a time."""


def test_the_columns_of_many_classes_belong_together() -> None:
    numbers = np.arange(MANY)
    frame = pyarrow.table({"number": numbers, "text": [f"t{number:07}" for number in numbers.tolist()]})
    table = discreet.read(frame)
    found = table.engine.count(["number", "text"])
    one, other = (found.columns[name].ordered() for name in ("number", "text"))
    spelt = np.array([f"t{int(value or 0):07}" for value in one.values], dtype=object)[one.codes]
    assert np.array_equal(spelt, np.array(other.values, dtype=object)[other.codes])
    assert found.counts.tolist() == [1] * MANY


def test_people_with_several_rows_are_counted_alike_in_a_wide_file(tmp_path: Path) -> None:
    names = [f"v{place}" for place in range(70)]
    rows = [[str(row // 4), *(str((row * place + row // 7) % 5) for place in range(70))] for row in range(80)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(map(",".join, [["nr", *names], *rows])) + "\n")
    columns = {name: {"role": "quasi"} for name in names} | {"nr": {"role": "identifier"}}
    table = discreet.read(path, policy=discreet.Policy.from_dict({"data": {"person": "nr"}, "columns": columns}))
    for name, tally, classes in zip(names, table.tallies(names), table.each(names), strict=True):
        column = int(name[1:]) + 1
        people = {value: len({row[0] for row in rows if row[column] == value}) for value in "01234"}
        counted = dict(zip((label for (label,) in classes.tuples()), classes.sizes.tolist(), strict=True))
        assert counted == {value: held for value, held in people.items() if held}
        assert (tally.people, tally.unique) == (20, classes.people(classes.sizes == 1))
