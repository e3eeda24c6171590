"""What somebody hands in to be traced: claims or a leaked file, from wherever, counted by the columns that matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel import Coded, Histogram
from discreet.sources import Table, read


@dataclass(frozen=True, eq=False)
class Given:
    """A table that was handed in."""

    name: str
    columns: tuple[str, ...]
    counted: Callable[[Sequence[str]], Histogram]
    """Rows per tuple of some columns; equal tuples may come several times."""

    @classmethod
    def of(cls, source: Any) -> Given:
        """From a path, a frame, a table that was read, or rows as dictionaries."""
        if isinstance(source, Given):
            return source
        if isinstance(source, (list, tuple)):
            return cls._of_rows(source)
        table = source if isinstance(source, Table) else read(source)
        return cls(table.name, table.columns, table.engine.count)

    @classmethod
    def _of_rows(cls, rows: Sequence[Any]) -> Given:
        if not all(isinstance(row, Mapping) for row in rows):
            raise UsageError(
                "Rows in memory are dictionaries by column.", remedy='For example: [{"zip": "43001", "sex": "F"}]'
            )
        names = tuple(dict.fromkeys(str(name) for row in rows for name in row))

        def counted(by: Sequence[str]) -> Histogram:
            columns = {name: Coded.of([row.get(name) for row in rows]) for name in by}
            return Histogram(columns, np.ones(len(rows), dtype=np.int64))

        return cls("the rows", names, counted)

    def renamed(self, names: Mapping[str, str]) -> Given:
        """The same table with columns called by our names; `names` maps theirs to ours."""
        for theirs in names:
            if theirs not in self.columns:
                raise UsageError(
                    f"{self.name} has no column '{theirs}' that could be called otherwise.",
                    remedy="Map the names that the file has to those of the release, such as --column plz=zip.",
                )
        ours = tuple(names.get(name, name) for name in self.columns)
        if len(set(ours)) < len(ours):
            raise UsageError("Two columns would have the same name.", remedy="Map each name to another one.")
        theirs_of = dict(zip(ours, self.columns, strict=True))

        def counted(by: Sequence[str]) -> Histogram:
            found = self.counted([theirs_of[name] for name in by])
            return Histogram({name: found.columns[theirs_of[name]] for name in by}, found.counts)

        return Given(self.name, ours, counted)
