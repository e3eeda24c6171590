"""Analyser of statements on governed tables: from sqlglot's tree to a query profile."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlglot
from sqlglot import exp

from discreet.sql.catalog import Catalog, Leaf
from discreet.sql.output import WRITES, Projection, RowOwnership, is_plain, projections
from discreet.sql.scope import Names, folded

Node = Any


def look(text: str, catalog: Catalog) -> Reading:
    """Look into a statement, written plainly."""
    tree = parsed(text)
    try:
        return _Look(tree, text, catalog).reading()
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError):  # a shape that no valid statement has
        raise NotUnderstood from None


def parsed(text: str) -> Node:
    """The tree of one statement."""
    logger = logging.getLogger("sqlglot")  # it would log what it does not understand, with the values in it
    before, logger.disabled = logger.disabled, True
    try:
        found = [one for one in sqlglot.parse(text, dialect="postgres") if one is not None]
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError):
        raise NotUnderstood from None
    finally:
        logger.disabled = before
    if len(found) != 1 or isinstance(found[0], exp.Command) or found[0].find(exp.Command):
        raise NotUnderstood
    return found[0]


class _Look:
    def __init__(self, tree: Node, text: str, catalog: Catalog) -> None:
        self.tree, self.text, self.catalog = tree, text, catalog

    def reading(self) -> Reading:
        """All of it."""
        if isinstance(self.tree, exp.Create) or self.tree.find(exp.Into):
            return Reading(frozenset(self.catalog.governed), self.text, writes=True, moves=True)
        self.names = Names(self.tree, self.text, self.catalog)
        if self.names.mistaken() or self.names.missed():
            raise NotUnderstood
        self.rows = RowOwnership(self.names)
        self.projections = projections(self.names, self.tree)
        asked, placed, ordered = self._asked()
        group = self.rows.group()
        return Reading(
            frozenset(leaf[0] for leaf in self.names.everything()),
            self.text,
            simple=self.rows.is_simple(),
            asked=asked,
            placed=placed,
            ordered=ordered,
            projections=self.projections,
            relations=tuple(dict.fromkeys(map(_place, self.tree.find_all(exp.Table)))),
            renamed=self.names.renamed(),
            misnamed=self.names.misnamed(),
            outside=bool(self.names.strangers),
            rekeys=self._rekeys(),
            writes=self._writes(),
            moves=self._moves(),
            tree=self.tree,
            digest=hashlib.sha256(self.text.encode()).digest(),
            questions=self._questions(group),
            packed=self.rows.most_together() if self._uses_of_sensitive() else 1,
            **group,
        )

    def _asked(self) -> tuple[frozenset[Leaf], frozenset[Leaf], bool]:
        asked: set[Leaf] = set()
        placed: set[Leaf] = set()
        ordered = False
        for column in self.tree.find_all(exp.Column):
            leaves = self.names.of_column(column)
            if not leaves or is_plain(column) or self.rows.joins_keys(column):
                continue
            asked |= {leaf for leaf in leaves if self.names.is_sensitive(leaf)}
            identity = {leaf for leaf in leaves if not self.names.is_sensitive(leaf)}
            placed |= identity
            ordered = ordered or (bool(identity) and column.find_ancestor(exp.Order, exp.Window) is not None)
        if self._hidden_use():
            asked |= {leaf for leaf in self.names.everything() if self.names.is_sensitive(leaf)}
        return frozenset(asked), frozenset(placed), ordered or self._hidden_order()

    def _uses_of_sensitive(self) -> list[Node]:
        """Where sensitive columns stand other than given out as they are."""
        return [
            column
            for column in self.tree.find_all(exp.Column)
            if not is_plain(column) and any(self.names.is_sensitive(leaf) for leaf in self.names.of_column(column))
        ]

    def _questions(self, group: dict[str, bool]) -> int:
        """Each FILTER, CASE or inner query may ask about somebody else; a condition asks about the rows of its query."""
        uses = self._uses_of_sensitive()
        if group["once"]:
            listed = sum(_is_listed(column) for column in uses) if group["aggregated"] else 0
            return max(1, listed + (listed < len(uses)))
        return max(1, len(uses))

    def _hidden_use(self) -> bool:
        """Uses of columns that do not name them: NATURAL JOIN, USING, numbers of columns, rows that are compared."""
        # Whether inner queries compare whole rows: DISTINCT, UNION, INTERSECT, EXCEPT.
        compares = any(
            isinstance(one, (exp.Intersect, exp.Except)) or (one.parent is not None and one.args.get("distinct"))
            for one in self.tree.find_all(exp.Select, exp.SetOperation)
        )
        if compares and any(not isinstance(one.parent, exp.Count) for one in self.tree.find_all(exp.Star)):
            return True
        for join in self.tree.find_all(exp.Join):
            if str(join.args.get("method") or "").upper() == "NATURAL":
                return True
            for one in join.args.get("using") or ():
                if any(
                    self.names.is_sensitive(leaf)
                    for leaf in self.names.names.get(folded(one.this if isinstance(one, exp.Column) else one), ())
                ):
                    return True
        places = (exp.Ordered, exp.Group)
        return any(
            isinstance(literal.parent, places) and literal.find_ancestor(exp.Subquery, exp.CTE, exp.Exists) is not None
            for literal in self.tree.find_all(exp.Literal)
        )

    def _hidden_order(self) -> bool:
        """ORDER BY 2 means a column that is given out; by a key or an identifier it tells whom the rows are about."""
        return any(isinstance(literal.parent, exp.Ordered) for literal in self.tree.find_all(exp.Literal)) and not any(
            one.kind == "value" and any(not self.names.is_sensitive(leaf) for leaf in one.leaves)
            for one in self.projections
        )

    def _writes(self) -> bool:
        return self.tree.find(*WRITES) is not None

    def _rekeys(self) -> bool:
        """Whether it changes the key of rows: then others would be taken for somebody who was seen already."""
        for node in self.tree.find_all(exp.Update, exp.OnConflict):
            for one in node.args.get("expressions") or ():
                for column in one.this.find_all(exp.Column) if isinstance(one, exp.EQ) else ():
                    leaves = self.names.names.get(folded(column.this), set())
                    if any(leaf[1] in self.catalog.governed[leaf[0]].key for leaf in leaves):
                        return True
        return False

    def _moves(self) -> bool:
        """Whether a statement that writes takes anything from governed columns, except to return it."""
        if not self._writes():
            return False
        if self.tree.parent is None and not isinstance(self.tree, WRITES):
            return True  # a write inside of a query
        targets = {id(node) for node in _targets(self.tree)}
        read = [
            table for table in self.tree.find_all(exp.Table) if id(table) not in targets and self.names.relations(table)
        ]
        if read or self.tree.find(*WRITES) is not self.tree:
            return True
        return any(
            self.names.is_sensitive(leaf)
            for column in self.tree.find_all(exp.Column)
            if id(column) not in targets and column.find_ancestor(exp.Returning) is None
            for leaf in self.names.of_column(column)
        )


def _is_listed(column: Node) -> bool:
    """Whether it stands in the list of what a SELECT gives out."""
    at = column
    while at.parent is not None and not isinstance(at.parent, exp.Select):
        at = at.parent
    return isinstance(at.parent, exp.Select) and at.arg_key == "expressions"


def _place(table: Node) -> tuple[str, str]:
    schema = table.args.get("db")
    name = folded(table.this) if isinstance(table.this, exp.Identifier) else ""
    return folded(schema) if schema is not None else "", name


def _targets(tree: Node) -> Iterator[Node]:
    """What is written to: the table, and the columns that are set."""
    target = tree.this
    yield target
    if isinstance(target, exp.Schema):
        yield target.this
        yield from target.expressions
    if isinstance(tree, exp.Update):
        for one in tree.args.get("expressions") or ():
            if isinstance(one, exp.EQ):
                yield one.this


# What a statement on governed tables asks for, as found by looking into it.
class NotUnderstood(Exception):
    """The statement is not one that can be looked into; caught inside the room."""


@dataclass(frozen=True)
class Reading:
    """What a statement reads of governed tables, and what its conditions give away."""

    tables: frozenset[str]
    text: str
    simple: bool = False
    """Whether each row is about one row of each governed table, which belong together."""
    asked: frozenset[Leaf] = frozenset()
    """Sensitive columns that stand elsewhere than in the list of what is given out."""
    questions: int = 1
    """How many people these may be about where they are not about the person of a row."""
    packed: int = 1
    """How many rows of a governed table may stand together in one cell."""
    placed: frozenset[Leaf] = frozenset()
    """Keys, identifiers and quasi-identifiers that do."""
    bare: bool = False
    """Whether it reads one table and nothing that could make its rows more than there are people."""
    viewed: bool = False
    """Whether it reads views, which may leave people out."""
    once: bool = False
    """Whether it names one relation, once, so that its conditions are about the rows that it gives."""
    mixed: bool = False
    """Whether its conditions may be about many rows at once: HAVING, windows, the least or largest of some."""
    cut: bool = False
    """Whether an inner query takes some rows by their place: LIMIT, OFFSET, a sample."""
    ordered: bool = False
    """Whether the order of the rows tells whom they are about."""
    aggregated: bool = False
    whole: bool = False
    """Whether the one group is the whole table."""
    unconditional: bool = False
    """Whether each group is everybody who looks like that."""
    counted: bool = False
    """Whether a count beside an average says how many people are in it."""
    projections: tuple[Projection, ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    """All relations that are named: schema, empty if not given, and name."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Names that views give to governed columns, and the names they have in their tables."""
    misnamed: frozenset[str] = frozenset()
    """Names of columns of views that say nothing about the governed column of that name."""
    outside: bool = False
    """Whether it reads relations that are not governed, which may hold something else next time."""
    rekeys: bool = False
    """Whether it gives rows another key."""
    writes: bool = False
    moves: bool = False
    """Whether governed values are put somewhere else, or decide about what is written."""
    digest: bytes = b""
    tree: Any = field(default=None, repr=False, compare=False)
    """The statement as sqlglot has parsed it."""

    def leaves(self) -> frozenset[Leaf]:
        """Everything that it may give out."""
        return frozenset().union(*(one.leaves for one in self.projections))

    def projection(self, place: int, columns: int) -> Projection:
        """The projection behind a column of the result; if stars hide which one it is, everything at its worst."""
        stars = [number for number, one in enumerate(self.projections) if one.kind == "star"]
        if not stars and len(self.projections) == columns:
            return self.projections[place]
        if len(stars) == 1:
            if place < stars[0]:
                return self.projections[place]
            behind = len(self.projections) - 1 - stars[0]
            if place >= columns - behind:
                return self.projections[place - columns]
        return Projection("collect", self.leaves())
