"""Assessment of one result: weights, anonymity sets, and whom rows are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.gateway.analysis.analyse import Reading
from discreet.gateway.analysis.column_origin import (
    IDENTIFIER,
    KEY,
    PLACE,
    QUASI,
    SENSITIVE,
    ShownColumn,
    role_of,
    spelt,
)
from discreet.gateway.disclosure.disclosure import SEEN, UNTOLD, Decoder, Publication, Undecodable, Values, attribute
from discreet.kernel import Coded
from discreet.kernel.arrays import Floats, Ints
from discreet.misuse.sensitivity import weigh
from discreet.sql.catalog import Leaf
from discreet.sql.facts import EVERYTHING
from discreet.sql.facts import Values as Fixed

if TYPE_CHECKING:
    from discreet.gateway.disclosure.assessor import Publishing


# How many people of the source each row of a result may be about.
class Crowding:
    """One result, and whom its rows hide among."""

    def __init__(
        self,
        what: Publishing,
        decoder: Decoder,
        rows: int,
        columns: Sequence[ShownColumn],
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

    def _has_sensitive(self, one: ShownColumn) -> bool:
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
        # Whether rows that do not say whom they are about are about as many people as they are.
        people = self.reading.bare and self.reading.tables <= self.what.catalog.unique
        return np.full(
            self.rows, self.rows + self.before if (people and not self.what.unnamed_alone) else 1, dtype=np.int64
        )

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


class Telling(Crowding):
    """One result, looked at."""

    def publication(self) -> Publication | None:
        """What it tells; None if nothing of anybody."""
        weights, cells = self._weights()
        identity = self._identity()
        unmasks = bool(identity) and not self._is_attributed() and self._links()
        if not weights:
            if not identity or not (unmasks or self._is_attributed()):
                return None
            weights = {SEEN: np.zeros(self.rows)}
        entities, crowds = self._entities(), self._crowds(identity)
        levels = {name: self._levels(name) for name in weights}
        for name, place in self._repeated(cells).items():
            weights[name] = self._added_up(entities, place, weights[name])
            levels[name] = sorted({*levels[name], *np.unique(weights[name]).tolist()})
        reducible = self._divided and not self.reading.aggregated
        told = Publication(entities, weights, crowds, levels, cells, self.rows, self._marks(), unmasks, reducible)
        return self._with_question(self._with_more(told))

    def _is_attributed(self) -> bool:
        """Whether it is known whom each row is about."""
        if not self.reading.simple or self.reading.aggregated:
            return False
        return self._key() is not None or self.what.fixed_entity(self.reading, self.fixed) is not None

    def _links(self) -> bool:
        """Whether rows can be told apart by their key, although it is not among them as it is."""
        leaves = {leaf for one in self.columns for leaf in one.leaves} | self.reading.placed
        roles = {role_of(leaf, self.what.catalog.governed[leaf[0]]) for leaf in leaves}
        return bool(roles & {KEY, PLACE}) or any(one.role == PLACE for one in self.columns)

    def _marks(self) -> tuple[int, ...]:
        entities = sorted({self.what.catalog.governed[name].entity for name in self.reading.tables})
        return tuple(int(self.what.entities.rows(b"linked" + one.encode(), 1)[0]) for one in entities)

    def _with_more(self, told: Publication) -> Publication:
        """With the people whose values stand in the same cells or rows as those of others."""
        extra = self._extra()
        if not extra:
            return told
        weights = {name: np.full(extra, max(its)) for name, its in told.levels.items()}
        more = self.what.entities.rows(self.digest + b"more", extra)
        return replace(told.joined(more, weights, np.ones(extra, dtype=np.int64)), reducible=False, cells={})

    def _with_question(self, told: Publication) -> Publication:
        """With what the statement asks, also of those who are not among its rows; unless its rows are large groups."""
        question = self.what.question(self.reading, digest=self.digest, fixed=self.fixed)
        if question is None or (self.reading.counted and int(told.crowds.min()) >= self.what.smallest_group):
            return told
        untold = np.full(len(question.entities), UNTOLD)
        weights = {name: question.weights.get(name, untold) for name in told.weights}
        return told.joined(question.entities, weights, question.crowds)

    def _levels(self, name: str) -> Sequence[float]:
        if name == SEEN:
            return (0.0,)
        levels: Sequence[float] = self.what.sensitivity.weights[name].levels
        return levels

    # What each row weighs ---------------------------------------------------------------------------------------------

    def _weights(self) -> tuple[dict[str, Floats], dict[str, tuple[int, ...]]]:
        found: dict[str, Floats] = {}
        cells: dict[str, tuple[int, ...]] = {}
        for place, one in enumerate(self.columns):
            for leaf in one.leaves if one.derived or one.role == SENSITIVE else ():
                if role_of(leaf, self.what.catalog.governed[leaf[0]]) == SENSITIVE:
                    name = attribute(leaf)
                    its = self._weigh(place, leaf) if one.role else self._worst(leaf)
                    found[name] = np.maximum(found[name], its) if name in found else its
                    cells[name] = (*cells.get(name, ()), place)
        for leaf in self.reading.asked:
            name = attribute(leaf)
            if name not in found:
                found[name] = self._by_condition(leaf)
        return found, cells

    def _repeated(self, cells: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
        """Attributes of which somebody may have several values, with the column that shows them."""
        if self.rows < 2 or not self._is_attributed():
            return {}
        shown = {name: places[0] for name, places in cells.items() if len(places) == 1}
        unique = self.what.catalog.unique
        return {
            name: at for name, at in shown.items() if self.columns[at].role and self.columns[at].table not in unique
        }

    def _added_up(self, entities: Ints, place: int, weights: Floats) -> Floats:
        """The weights of each person's distinct values together, up to 1."""
        try:
            values = self._decoded(place)
        except Undecodable:
            return weights
        codes = values if isinstance(values, np.ndarray) else values.codes
        people, whose = np.unique(entities, return_inverse=True)
        pairs = np.stack([whose.reshape(-1), codes], axis=1)
        _, first = np.unique(pairs, axis=0, return_index=True)
        sums = np.zeros(len(people))
        np.add.at(sums, whose.reshape(-1)[first], weights[first])
        added: Floats = np.minimum(np.round(sums, 9), 1.0)[whose.reshape(-1)]
        return added

    def _weigh(self, place: int, leaf: Leaf) -> Floats:
        try:
            return weigh(self.decoder.unpadded(place, self._decoded(place)), self.what.weights_of(leaf))
        except Undecodable:
            return self._worst(leaf)

    def _worst(self, leaf: Leaf) -> Floats:
        return np.full(self.rows, self.what.weights_of(leaf).worst)

    def _by_condition(self, leaf: Leaf) -> Floats:
        """What is known of every row because the conditions say so."""
        weights = self.what.weights_of(leaf)
        values = self.fixed.get(leaf[1].casefold())
        single = len(self.reading.tables) == 1 and self.reading.once
        if values is None or not single or (self.reading.aggregated and not self.reading.counted):
            return np.full(self.rows, weights.worst)
        kind = self.what.catalog.types.get(leaf, "")
        try:
            return np.full(self.rows, max((weights(spelt(one, kind)) for one in values), default=weights.worst))
        except LookupError:
            return np.full(self.rows, weights.worst)

    def _extra(self) -> int:
        """How many more people a row may tell of than one."""
        most = max((self.what.counted(name).rows for name in self.reading.tables), default=0)
        extra = 0
        for place, one in enumerate(self.columns):
            if one.kind == "collect" and self._has_sensitive(one):
                extra += int(np.minimum(np.maximum(self.decoder.sizes(place) - 1, 0), most).sum())
        if any(self._has_sensitive(one) and not one.role for one in self.columns):
            extra += self.rows * (min(self.reading.packed, most) - 1)
        if not self.reading.simple:
            times: dict[Leaf, int] = {}
            for one in self.columns:
                for leaf in one.leaves if self._has_sensitive(one) else ():
                    times[leaf] = times.get(leaf, 0) + 1
            extra += self.rows * (max(times.values(), default=1) - 1)
        return min(extra, most)

    # Whom each row is about -------------------------------------------------------------------------------------------

    def _key(self) -> tuple[str, list[int]] | None:
        """Entity and columns of a key that is shown whole."""
        for name in sorted(self.reading.tables):
            table = self.what.catalog.governed[name]
            shown = {**self._places(IDENTIFIER, name), **self._places(KEY, name)}
            if table.key and all(column in shown for column in table.key):
                return table.entity, [shown[column] for column in table.key]
        return None

    def _entities(self) -> Ints:
        key = self._key() if self.reading.simple and not self.reading.aggregated else None
        if key is not None:
            try:
                named = self.what.entities.numbers(key[0], [self._decoded(place) for place in key[1]])
                return self._without_nobody(named, key[1])
            except Undecodable:
                key = None
        fixed = self.what.fixed_entity(self.reading, self.fixed)
        if fixed is not None and self.reading.simple:
            return np.full(self.rows, fixed[0])
        return self._unnamed()

    def _unnamed(self) -> Ints:
        return self.what.entities.unnamed(self.digest, self.decoder.fingerprints(self.what.entities.factors))

    def _without_nobody(self, named: Ints, key: list[int]) -> Ints:
        """A key that is NULL, or has a part that is, names nobody: such rows are somebody's each."""
        nobody = np.zeros(self.rows, dtype=np.bool_)
        for place in key:
            nobody |= self.decoder.nulls(place)
        return np.where(nobody, self._unnamed(), named) if nobody.any() else named

    def _identity(self) -> str:
        """What the result says about whom its rows are: somebody, as one of a crowd, or nothing."""
        for one in self.columns:
            if one.role in (IDENTIFIER, PLACE):
                return IDENTIFIER
            if one.derived and one.kind != "count" and not self._is_only_sensitive(one):
                return IDENTIFIER
        return QUASI if self._places(QUASI) else ""

    def _is_only_sensitive(self, one: ShownColumn) -> bool:
        return all(role_of(leaf, self.what.catalog.governed[leaf[0]]) == SENSITIVE for leaf in one.leaves)

    @property
    def _divided(self) -> bool:
        """Whether D of a row does not depend on the other rows."""
        return not self.reading.simple or bool(self._identity()) or self._is_fixed() or self.reading.ordered

    def _is_fixed(self) -> bool:
        """Whether conditions name the person, or her crowd."""
        for name in self.reading.tables:
            table = self.what.catalog.governed[name]
            if any(len(self.fixed.get(column.casefold()) or ()) == 1 for column in (*table.key, *table.identifiers)):
                return True
        return any(self.what.known_quasi(name, self.fixed) for name in self.reading.tables)
