"""Assessment of results: what they tell, of whom, and among how many people.

From held rows and the origins of their columns to what is learned from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

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
from discreet.gateway.analysis.disclosure import (
    SEEN,
    UNTOLD,
    Decoder,
    Entities,
    Publication,
    Undecodable,
    Values,
    attribute,
)
from discreet.gateway.session.held_rows import HeldResult
from discreet.gateway.upstream_queries import Counted
from discreet.kernel import Coded
from discreet.kernel.arrays import Floats, Ints
from discreet.misuse.sensitivity import Sensitivity, weigh
from discreet.sql.catalog import Catalog, Leaf
from discreet.sql.row_constraints import EVERYTHING
from discreet.sql.row_constraints import Values as Fixed

MOST = 10_000
"""Questions of one statement that are told apart."""


@dataclass(frozen=True, eq=False)
class Publishing:
    """Everything that is needed to say what results tell."""

    catalog: Catalog
    sensitivity: Sensitivity
    counted: Callable[[str], Counted]
    entities: Entities
    smallest_group: int
    unnamed_alone: bool = False
    """Whether rows that do not say whom they are about count as somebody each, and not as a crowd."""

    def of_rows(
        self,
        held: HeldResult,
        columns: Sequence[ShownColumn],
        reading: Reading,
        *,
        digest: bytes,
        fixed: Mapping[str, Fixed],
        before: int = 0,
    ) -> Publication | None:
        """What these rows tell; None where they tell nothing of anybody. `before` rows of the same result came earlier."""
        if not held.rows:
            return None if before else self.question(reading, digest=digest, fixed=fixed)
        return Telling(self, Decoder(held), held.rows, columns, reading, digest, fixed, before).publication()

    def question(self, reading: Reading, *, digest: bytes, fixed: Mapping[str, Fixed]) -> Publication | None:
        """What may be learned from a statement's conditions even where nothing comes back, or only an error."""
        if not reading.asked:
            return None
        names = sorted(reading.asked)
        entity = self.fixed_entity(reading, fixed)
        numbers = self.entities.rows(digest, min(reading.questions, MOST)) if entity is None else entity
        weights = {attribute(leaf): np.full(len(numbers), self.weights_of(leaf).worst) for leaf in names}
        crowds = np.full(len(numbers), self.crowd_of_question(reading, fixed), dtype=np.int64)
        return Publication(numbers, weights, crowds, {attribute(leaf): self.weights_of(leaf).levels for leaf in names})

    def crowd_of_question(self, reading: Reading, fixed: Mapping[str, Fixed]) -> int:
        """How many people a statement's conditions may be about: one, as soon as they could single somebody out."""
        if reading.cut:
            return 1
        for leaf in reading.placed:
            role = role_of(leaf, self.catalog.governed[leaf[0]])
            if role != QUASI or len(fixed.get(leaf[1].casefold()) or ()) != 1:
                return 1
        found = []
        for name in reading.tables:
            known = self.known_quasi(name, fixed)
            counted = self.counted(name)
            if known and counted.prepared is not None:
                found.append(counted.prepared.crowds(tuple(known)).one(list(known.values())))
            else:
                found.append(counted.rows)
        return max(min(found, default=1), 1)

    def weights_of(self, leaf: Leaf) -> Any:
        """What the values of a sensitive column weigh."""
        return self.sensitivity.weights[attribute(leaf)]

    def known_quasi(self, table: str, fixed: Mapping[str, Fixed]) -> dict[str, Any]:
        """Quasi-identifiers of a table that the conditions fix to one value, in the order of the table."""
        names = self.catalog.governed[table].quasi
        values = {name: fixed.get(name.casefold()) for name in names}
        return {name: next(iter(its)) for name, its in values.items() if its is not None and len(its) == 1}

    def fixed_entity(self, reading: Reading, fixed: Mapping[str, Fixed]) -> Ints | None:
        """The entity that the conditions fix, where nothing but one table is spoken of."""
        if not reading.once or len(reading.tables) != 1:
            return None
        table = self.catalog.governed[next(iter(reading.tables))]
        values = [fixed.get(name.casefold()) for name in table.key]
        if not values or any(its is None or len(its) != 1 or None in its for its in values):
            return None
        codes = np.zeros(1, dtype=np.int64)
        return self.entities.numbers(table.entity, [Coded((next(iter(its or ())),), codes) for its in values])


@dataclass(eq=False)
class Telling:
    """One result, and whom its rows hide among."""

    what: Publishing
    decoder: Decoder
    rows: int
    columns: Sequence[ShownColumn]
    reading: Reading
    digest: bytes
    fixed: Mapping[str, Fixed]
    before: int
    _values: dict[int, Values] = field(default_factory=dict)

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

    def _role(self, leaf: Leaf) -> str:
        return role_of(leaf, self.what.catalog.governed[leaf[0]])

    def _identifying(self) -> list[str]:
        """The columns that name somebody, as conditions spell them."""
        tables = [self.what.catalog.governed[name] for name in self.reading.tables]
        return [column.casefold() for table in tables for column in (*table.key, *table.identifiers)]

    def _has_sensitive(self, one: ShownColumn) -> bool:
        return any(self._role(leaf) == SENSITIVE for leaf in one.leaves)

    def _crowds(self, identity: str) -> Ints:
        """How many people each row may be about."""
        if self.reading.aggregated:
            return self._crowds_of_groups(identity)
        named = [self.fixed[name] for name in self._identifying() if name in self.fixed]
        if (
            not self.reading.simple
            or identity == IDENTIFIER
            or self.reading.ordered
            or EVERYTHING in self.fixed
            or any(self._role(leaf) == IDENTIFIER for leaf in self.reading.placed)  # LIKE and < can name one, too
            or any(values is None or len(values) == 1 for values in named)
        ):
            return np.ones(self.rows, dtype=np.int64)
        by_quasi = self._crowds_by_quasi()
        if by_quasi is not None:
            return by_quasi
        # Whether rows that do not say whom they are about are about as many people as they are.
        people = self.reading.bare and self.reading.tables <= self.what.catalog.unique
        crowd = self.rows + self.before if people and not self.what.unnamed_alone else 1
        return np.full(self.rows, crowd, dtype=np.int64)

    def _crowds_by_quasi(self) -> Ints | None:
        """The least D by the quasi-identifiers that are shown or fixed; None without any."""
        least: Ints | None = None
        alone, constant = np.ones(self.rows, dtype=np.int64), np.zeros(self.rows, dtype=np.int64)
        for name in sorted(self.reading.tables):
            prepared, every = self.what.counted(name).prepared, self.what.catalog.governed[name].quasi
            places, known = self._places(QUASI, name), self.what.known_quasi(name, self.fixed)
            quasi = tuple(one for one in every if one in places or one in known)
            if not quasi:
                continue
            if prepared is None:
                return alone
            try:
                cells = [self._decoded(places[it]) if it in places else Coded((known[it],), constant) for it in quasi]
                crowds = prepared.crowds(quasi).many(cells, self.rows)
            except Undecodable:
                crowds = alone
            # Where conditions speak of other quasi-identifiers, fewer people may be meant than look alike.
            open_quasi = {(name, one) for one in every if one not in quasi}
            if self.reading.viewed or open_quasi & self.reading.placed:
                alike = alone
                if name in self.what.catalog.unique:  # as many people as rows of the result look alike
                    with suppress(Undecodable):
                        shown = [self._decoded(places[one]) for one in quasi if one in places]
                        codes = [constant, *(one if isinstance(one, np.ndarray) else one.codes for one in shown)]
                        _, classes, counts = np.unique(np.stack(codes), axis=1, return_inverse=True, return_counts=True)
                        alike = counts[classes.reshape(-1)]
                crowds = np.minimum(crowds, alike)
            least = crowds if least is None else np.minimum(least, crowds)
        return least

    def _crowds_of_groups(self, identity: str) -> Ints:
        """People in the group that a row stands for, where that is certain; else one."""
        alone = np.ones(self.rows, dtype=np.int64)
        kinds = {one.kind for one in self.columns if self._has_sensitive(one) and not one.role}
        if identity == IDENTIFIER or not self.reading.simple or kinds - {"group"}:
            return alone
        if not any(self._has_sensitive(one) for one in self.columns):
            # Counts show nobody's values; what is known of the people counted is what the conditions say.
            asked = np.full(self.rows, self.what.crowd_of_question(self.reading, self.fixed), dtype=np.int64)
            shown = self._crowds_by_quasi() if identity == QUASI else None
            conditional = asked if shown is None else np.minimum(asked, shown)
            by_count = self._sizes_of_groups()
            return conditional if by_count is None else np.maximum(conditional, by_count)
        if self.reading.whole:
            rows = min((self.what.counted(name).rows for name in self.reading.tables), default=1)
            return np.full(self.rows, max(rows, 1), dtype=np.int64)
        by_count = self._sizes_of_groups()
        by_quasi = self._crowds_by_quasi() if identity == QUASI and self.reading.unconditional else None
        found = alone if by_count is None else by_count
        return found if by_quasi is None else np.maximum(found, by_quasi)

    def _sizes_of_groups(self) -> Ints | None:
        """How many people are in a group; in a table where somebody may have several rows only by counting keys."""
        kinds = ("people", "count") if self.reading.tables <= self.what.catalog.unique else ("people",)
        place = next((place for place, one in enumerate(self.columns) if one.kind in kinds), None)
        if place is None or not self.reading.counted:
            return None
        values = self._decoded(place)
        if isinstance(values, Coded):
            values = np.array([int(one or 0) for one in values.values], dtype=np.int64)[values.codes]
        return np.where(values >= self.what.smallest_group, values, 1)

    def publication(self) -> Publication | None:
        """What it tells; None if nothing of anybody."""
        reading, what = self.reading, self.what
        weights, cells = self._weights()
        identity, person = self._identity(), what.fixed_entity(reading, self.fixed)
        attributed = reading.simple and not reading.aggregated and (self._key() is not None or person is not None)
        # Rows may be told apart by their key, although it is not among them as it is.
        leaves = {leaf for one in self.columns for leaf in one.leaves} | reading.placed
        links = any(self._role(leaf) in (KEY, PLACE) for leaf in leaves) or any(
            one.role == PLACE for one in self.columns
        )
        unmasks = bool(identity) and not attributed and links
        if not weights:
            if not identity or not (unmasks or attributed):
                return None
            weights = {SEEN: np.zeros(self.rows)}
        entities, crowds = self._entities(), self._crowds(identity)
        levels: dict[str, Sequence[float]] = {
            name: (0.0,) if name == SEEN else what.sensitivity.weights[name].levels for name in weights
        }
        # Distinct values that somebody may have in several rows add up.
        for name, places in cells.items() if attributed and self.rows > 1 else ():
            shown = self.columns[places[0]]
            if len(places) == 1 and shown.role and shown.table not in what.catalog.unique:
                weights[name] = self._added_up(entities, places[0], weights[name])
                levels[name] = sorted({*levels[name], *np.unique(weights[name]).tolist()})
        # Rows can be left out one by one where D of a row does not depend on the others.
        fixed = any(len(self.fixed.get(name) or ()) == 1 for name in self._identifying()) or any(
            what.known_quasi(name, self.fixed) for name in reading.tables
        )
        reducible = (not reading.simple or bool(identity) or fixed or reading.ordered) and not reading.aggregated
        names = sorted({what.catalog.governed[name].entity for name in reading.tables})
        marks = tuple(int(what.entities.rows(b"linked" + name.encode(), 1)[0]) for name in names)
        told = Publication(entities, weights, crowds, levels, cells, self.rows, marks, unmasks, reducible)
        extra = self._extra()
        if extra:  # people whose values are in the same cells or rows as those of others
            heaviest = {name: np.full(extra, max(its)) for name, its in told.levels.items()}
            more = what.entities.rows(self.digest + b"more", extra)
            told = replace(told.joined(more, heaviest, np.ones(extra, dtype=np.int64)), reducible=False, cells={})
        # What the statement asks is told also of those who are not among its rows; unless its rows are large groups.
        question = what.question(reading, digest=self.digest, fixed=self.fixed)
        if question is None or (reading.counted and int(told.crowds.min()) >= what.smallest_group):
            return told
        untold = np.full(len(question.entities), UNTOLD)
        asked = {name: question.weights.get(name, untold) for name in told.weights}
        return told.joined(question.entities, asked, question.crowds)

    def _weights(self) -> tuple[dict[str, Floats], dict[str, tuple[int, ...]]]:
        found: dict[str, Floats] = {}
        cells: dict[str, tuple[int, ...]] = {}
        for place, one in enumerate(self.columns):
            for leaf in one.leaves if one.derived or one.role == SENSITIVE else ():
                if self._role(leaf) == SENSITIVE:
                    name = attribute(leaf)
                    its = np.full(self.rows, self.what.weights_of(leaf).worst)
                    if one.role:
                        with suppress(Undecodable):
                            cell = self.decoder.unpadded(place, self._decoded(place))
                            its = weigh(cell, self.what.weights_of(leaf))
                    found[name] = np.maximum(found[name], its) if name in found else its
                    cells[name] = (*cells.get(name, ()), place)
        for leaf in self.reading.asked:
            name = attribute(leaf)
            if name in found:
                continue
            # What is known of every row because the conditions say so.
            weights = self.what.weights_of(leaf)
            values, kind = self.fixed.get(leaf[1].casefold()), self.what.catalog.types.get(leaf, "")
            single = len(self.reading.tables) == 1 and self.reading.once
            weight = weights.worst
            if values and single and (self.reading.counted or not self.reading.aggregated):
                with suppress(LookupError):
                    weight = max(weights(spelt(value, kind)) for value in values)
            found[name] = np.full(self.rows, weight)
        return found, cells

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
                # A key that is NULL, or has a part that is, names nobody: such rows are somebody's each.
                nobody = np.logical_or.reduce([self.decoder.nulls(place) for place in key[1]])
                return np.where(nobody, self._unnamed(), named) if nobody.any() else named
            except Undecodable:
                key = None
        fixed = self.what.fixed_entity(self.reading, self.fixed)
        if fixed is not None and self.reading.simple:
            return np.full(self.rows, fixed[0])
        return self._unnamed()

    def _unnamed(self) -> Ints:
        return self.what.entities.unnamed(self.digest, self.decoder.fingerprints(self.what.entities.factors))

    def _identity(self) -> str:
        """What the result says about whom its rows are: somebody, as one of a crowd, or nothing."""
        for one in self.columns:
            if one.role in (IDENTIFIER, PLACE):
                return IDENTIFIER
            if one.derived and one.kind != "count" and any(self._role(leaf) != SENSITIVE for leaf in one.leaves):
                return IDENTIFIER
        return QUASI if self._places(QUASI) else ""
