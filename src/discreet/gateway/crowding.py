"""How many people of the source each row of a result may be about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.gateway.analysis.column_origin import IDENTIFIER, QUASI, SENSITIVE, Shown, role_of
from discreet.gateway.disclosure.disclosure import Decoder, Undecodable, Values
from discreet.gateway.reading import Reading
from discreet.kernel import Coded
from discreet.kernel.arrays import Ints
from discreet.sql.facts import EVERYTHING
from discreet.sql.facts import Values as Fixed

if TYPE_CHECKING:
    from discreet.gateway.disclosure.assessor import Publishing


class Crowding:
    """One result, and whom its rows hide among."""

    def __init__(
        self,
        what: Publishing,
        decoder: Decoder,
        rows: int,
        columns: Sequence[Shown],
        reading: Reading,
        digest: bytes,
        fixed: Mapping[str, Fixed],
        before: int,
    ) -> None:
        self.what, self.decoder, self.rows, self.columns, self.reading = what, decoder, rows, columns, reading
        self.digest, self.fixed, self.before = digest, fixed, before
        self._values: dict[int, Values] = {}

    def _decoded(self, place: int) -> Values:
        if place not in self._values:
            self._values[place] = self.decoder.values(place)
        return self._values[place]

    def _places(self, role: str, table: str | None = None) -> dict[str, int]:
        """The first column of each name that has this role."""
        found: dict[str, int] = {}
        for place, one in enumerate(self.columns):
            if one.role == role and table in (None, one.table):
                found.setdefault(one.column, place)
        return found

    def _has_sensitive(self, one: Shown) -> bool:
        return any(role_of(leaf, self.what.catalog.governed[leaf[0]]) == SENSITIVE for leaf in one.leaves)

    def _crowds(self, identity: str) -> Ints:
        """How many people each row may be about."""
        if self.reading.aggregated:
            return self._crowds_of_groups(identity)
        if not self.reading.simple or identity == IDENTIFIER or self.reading.ordered or self._names_somebody():
            return np.ones(self.rows, dtype=np.int64)
        by_quasi = self._crowds_by_quasi()
        if by_quasi is not None:
            return by_quasi
        return np.full(self.rows, self.rows + self.before if self._hide_each_other() else 1, dtype=np.int64)

    def _hide_each_other(self) -> bool:
        """Whether rows that do not say whom they are about are about as many people as they are."""
        people = self.reading.bare and self.reading.tables <= self.what.catalog.unique
        return people and not self.what.unnamed_alone

    def _names_somebody(self) -> bool:
        if EVERYTHING in self.fixed or self._places_identifier():
            return True
        tables = (self.what.catalog.governed[name] for name in self.reading.tables)
        named = (column for table in tables for column in (*table.key, *table.identifiers))
        values = [self.fixed[name] for name in (column.casefold() for column in named) if name in self.fixed]
        return any(its is None or len(its) == 1 for its in values)

    def _places_identifier(self) -> bool:
        """Whether a name stands anywhere else than in what is given out: LIKE and < can be about one person, too."""
        return any(role_of(leaf, self.what.catalog.governed[leaf[0]]) == IDENTIFIER for leaf in self.reading.placed)

    def _crowds_by_quasi(self) -> Ints | None:
        """The least D by the quasi-identifiers that are shown or fixed; None without any."""
        least: Ints | None = None
        for name in sorted(self.reading.tables):
            prepared = self.what.counted(name).prepared
            places, known = self._places(QUASI, name), self.what.known_quasi(name, self.fixed)
            quasi = tuple(one for one in self.what.catalog.governed[name].quasi if one in places or one in known)
            if not quasi:
                continue
            if prepared is None:
                return np.ones(self.rows, dtype=np.int64)
            its = self._looked_up(prepared, quasi, places, known)
            if self._narrows(name, quasi):
                alike = [places[one] for one in quasi if one in places]
                its = np.minimum(its, self._alike(alike) if name in self.what.catalog.unique else 1)
            least = its if least is None else np.minimum(least, its)
        return least

    def _narrows(self, table: str, known: tuple[str, ...]) -> bool:
        """Whether conditions speak of other quasi-identifiers, so that fewer people may be meant than look alike."""
        quasi = self.what.catalog.governed[table].quasi
        return self.reading.viewed or any(
            leaf[0] == table and leaf[1] in quasi and leaf[1] not in known for leaf in self.reading.placed
        )

    def _alike(self, places: Sequence[int]) -> Ints:
        """How many rows of the result look like each."""
        if not places:
            return np.full(self.rows, self.rows, dtype=np.int64)
        try:
            cells = [self._decoded(place) for place in places]
        except Undecodable:
            return np.ones(self.rows, dtype=np.int64)
        codes = np.stack([one if isinstance(one, np.ndarray) else one.codes for one in cells], axis=1)
        _, found, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
        return np.asarray(counts[found.reshape(-1)], dtype=np.int64)

    def _looked_up(
        self, prepared: Any, quasi: tuple[str, ...], places: Mapping[str, int], known: Mapping[str, Any]
    ) -> Ints:
        constant = np.zeros(self.rows, dtype=np.int64)
        try:
            cells = [self._decoded(places[one]) if one in places else Coded((known[one],), constant) for one in quasi]
        except Undecodable:
            return np.ones(self.rows, dtype=np.int64)
        found: Ints = prepared.crowds(quasi).many(cells, self.rows)
        return found

    def _crowds_of_groups(self, identity: str) -> Ints:
        """People in the group that a row stands for, where that is certain; else one."""
        alone = np.ones(self.rows, dtype=np.int64)
        kinds = {one.kind for one in self.columns if self._has_sensitive(one) and not one.role}
        if identity == IDENTIFIER or not self.reading.simple or kinds - {"group"}:
            return alone
        if not any(self._has_sensitive(one) for one in self.columns):
            return self._crowds_of_counts(identity)
        if self.reading.whole:
            rows = min((self.what.counted(name).rows for name in self.reading.tables), default=1)
            return np.full(self.rows, max(rows, 1), dtype=np.int64)
        by_count = self._sizes_of_groups()
        by_quasi = self._crowds_by_quasi() if identity == QUASI and self.reading.unconditional else None
        found = alone if by_count is None else by_count
        return found if by_quasi is None else np.maximum(found, by_quasi)

    def _crowds_of_counts(self, identity: str) -> Ints:
        """Counts show nobody's values; what is known of the people counted is what the conditions say."""
        asked = np.full(self.rows, self.what.crowd_of_question(self.reading, self.fixed), dtype=np.int64)
        shown = self._crowds_by_quasi() if identity == QUASI else None
        by_quasi = asked if shown is None else np.minimum(asked, shown)
        by_count = self._sizes_of_groups()
        return by_quasi if by_count is None else np.maximum(by_quasi, by_count)

    def _sizes_of_groups(self) -> Ints | None:
        """How many people are in a group; in a table where somebody may have several rows only by counting keys."""
        kinds = ("people", "count") if self.reading.tables <= self.what.catalog.unique else ("people",)
        place = next((place for place, one in enumerate(self.columns) if one.kind in kinds), None)
        if place is None or not self.reading.counted:
            return None
        values = self._decoded(place)
        numbers = values if isinstance(values, np.ndarray) else _numbers(values)
        return np.where(numbers >= self.what.smallest_group, numbers, 1)


def _numbers(values: Coded) -> Ints:
    known = np.array([int(one or 0) for one in values.values], dtype=np.int64)
    return known[values.codes]
