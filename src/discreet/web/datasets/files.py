"""A data set as a table that can be counted, from wherever it is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import SourceNotFound
from discreet.kernel import Histogram, Recoding
from discreet.ledger.keys import Keys
from discreet.policy import Policy
from discreet.sources import Engine, Field, Numbering, Table, read
from discreet.web.datasets.allowed import ServerTable, allowed_or_none
from discreet.web.datasets.folder import Folder
from discreet.web.datasets.sealing import unseal
from discreet.web.datasets.store import Dataset

CHUNK = 1024 * 1024


@dataclass(frozen=True)
class Places:
    """Where data sets may be."""

    folder: Folder
    folders: tuple[Path, ...]
    keys: Keys

    def path(self, dataset: Dataset) -> Path | None:
        """The file of a data set, if it is one; asked anew every time, since folders change."""
        if dataset.kind == "postgres":
            return None
        if dataset.kind == "upload":
            found = self.folder.find(dataset.place)
        else:
            found = allowed_or_none(dataset.place, self.folders)
        if found is None:
            raise SourceNotFound(
                f"The file of {dataset.name} is not there any more, or its folder is not open any more.",
                remedy="Put it back, or remove the data set and add it again.",
            )
        return found

    def open(self, dataset: Dataset, policy: Policy, counted: Callable[[], None]) -> Table:
        """The table, seen through a policy; `counted` is called after every count."""
        return Table(WatchedEngine(self.bare(dataset, policy).engine, dataset.name, counted), policy)

    def bare(self, dataset: Dataset, policy: Policy) -> Table:
        """The table on the engine that holds it, for work that needs its rows."""
        path = self.path(dataset)
        if path is not None:
            return read(path, policy)
        password = None if dataset.secret is None else unseal(self.keys, dataset.secret)
        return read(ServerTable(dataset.place, password).url(), policy)

    def hash(self, dataset: Dataset) -> str | None:
        """SHA-256 of the file as it is now; None for a table of a server."""
        path = self.path(dataset)
        if path is None:
            return None
        found = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(CHUNK):
                found.update(piece)
        return found.hexdigest()


@dataclass(frozen=True, eq=False)
class WatchedEngine:
    """An engine that goes by the name of the data set and says when it has counted."""

    engine: Engine
    name: str
    counted: Callable[[], None]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        return self.engine.fields

    def count(self, by: Sequence[str], *, weight: str | None = None) -> Histogram:
        """People per distinct tuple."""
        found = self.engine.count(by, weight=weight)
        self.counted()
        return found

    def count_each(self, names: Sequence[str], *, weight: str | None = None) -> Iterator[Histogram]:
        """People per distinct value of each column alone."""
        for found in self.engine.count_each(names, weight=weight):
            self.counted()
            yield found

    def numbering(self, column: str) -> Numbering:
        """Whether the numbers of a column are on one row each."""
        return self.engine.numbering(column)

    def export(self, recoding: Recoding, target: Any, *, drop: Sequence[str], shuffled: bool = True) -> int:
        """Write the rows as the recoding publishes them."""
        return self.engine.export(recoding, target, drop=drop, shuffled=shuffled)
