"""Analyser of statements on governed tables: from sqlglot's tree to a query profile; COPY."""

from __future__ import annotations

import csv
import hashlib
import io
import logging
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sqlglot
from sqlglot import exp

from discreet.gateway.protocol.messages import ResultColumn
from discreet.gateway.session.held_rows import HeldResult
from discreet.sql.catalog import Catalog, Leaf
from discreet.sql.lexer import Statement, Token, lexed
from discreet.sql.output import WRITES, Projection, RowOwnership, is_plain, projections
from discreet.sql.scope import Names, folded

Node = Any


def look(text: str, catalog: Catalog) -> Reading:
    """Look into one statement, written plainly."""
    logger = logging.getLogger("sqlglot")  # it would log what it does not understand, with the values in it
    before, logger.disabled = logger.disabled, True
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect="postgres") if tree is not None]
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError):
        raise NotUnderstood from None
    finally:
        logger.disabled = before
    if len(trees) != 1 or isinstance(trees[0], exp.Command) or trees[0].find(exp.Command):
        raise NotUnderstood
    try:
        return _Look(trees[0], text, catalog).reading()
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError):  # a shape that no valid statement has
        raise NotUnderstood from None


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
        relations = []
        for table in self.tree.find_all(exp.Table):
            schema = folded(table.args["db"]) if table.args.get("db") is not None else ""
            relations.append((schema, folded(table.this) if isinstance(table.this, exp.Identifier) else ""))
        # With another key rows would be taken for those of somebody who was seen already.
        changed = [
            column
            for node in self.tree.find_all(exp.Update, exp.OnConflict)
            for one in node.args.get("expressions") or ()
            if isinstance(one, exp.EQ)
            for column in one.this.find_all(exp.Column)
        ]
        meant = [leaf for column in changed for leaf in self.names.names.get(folded(column.this), ())]
        return Reading(
            frozenset(leaf[0] for leaf in self.names.everything()),
            self.text,
            simple=self.rows.is_simple(),
            asked=asked,
            placed=placed,
            ordered=ordered,
            projections=self.projections,
            relations=tuple(dict.fromkeys(relations)),
            renamed=self.names.renamed(),
            misnamed=self.names.misnamed(),
            outside=bool(self.names.strangers),
            rekeys=any(leaf[1] in self.catalog.governed[leaf[0]].key for leaf in meant),
            writes=self.tree.find(*WRITES) is not None,
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
        # ORDER BY 2 means a column that is given out; by a key or an identifier it tells whom the rows are about.
        shown = [leaf for one in self.projections if one.kind == "value" for leaf in one.leaves]
        by_number = any(isinstance(literal.parent, exp.Ordered) for literal in self.tree.find_all(exp.Literal))
        ordered = ordered or (by_number and all(map(self.names.is_sensitive, shown)))
        return frozenset(asked), frozenset(placed), ordered

    def _uses_of_sensitive(self) -> list[Node]:
        """Where sensitive columns stand other than given out as they are."""
        return [
            column
            for column in self.tree.find_all(exp.Column)
            if not is_plain(column) and any(self.names.is_sensitive(leaf) for leaf in self.names.of_column(column))
        ]

    def _questions(self, group: dict[str, bool]) -> int:
        """Each FILTER, CASE or inner query may ask about somebody else; a condition asks about the rows of its query."""
        uses, listed = self._uses_of_sensitive(), 0
        if not group["once"]:
            return max(1, len(uses))
        for at in uses if group["aggregated"] else ():
            while at.parent is not None and not isinstance(at.parent, exp.Select):
                at = at.parent
            listed += at.parent is not None and at.arg_key == "expressions"
        return max(1, listed + (listed < len(uses)))

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

    def _moves(self) -> bool:
        """Whether a statement that writes takes anything from governed columns, except to return it."""
        if self.tree.find(*WRITES) is None:
            return False
        if self.tree.parent is None and not isinstance(self.tree, WRITES):
            return True  # a write inside of a query
        # What is written to: the table, and the columns that are set.
        target = self.tree.this
        written = [target, *([target.this, *target.expressions] if isinstance(target, exp.Schema) else ())]
        if isinstance(self.tree, exp.Update):
            written += [one.this for one in self.tree.args.get("expressions") or () if isinstance(one, exp.EQ)]
        targets = {id(node) for node in written}
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


# COPY to the client, scored like the SELECT that it is short for.
_ESCAPES = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_LINE = 5  # letter and length of a CopyData message


@dataclass(frozen=True)
class Style:
    """How the lines are written; whatever else can be asked for is refused."""

    comma: bool = False
    header: bool = False


def query_of(statement: Statement) -> Statement:
    """The query whose rows a COPY gives out: its own, or all of a table or of some of its columns."""
    tokens = list(statement.tokens)[1:]
    if tokens and tokens[0].text == "(":
        return Statement(tuple(tokens[1 : _closing(tokens)]))
    ends = (
        place for place, token in enumerate(tokens) if token.text == "(" or (token.kind, token.name) == ("word", "to")
    )
    end = next(ends, None)
    if end is None:
        raise NotUnderstood
    table, rest = tokens[:end], tokens[end:]
    if [bool(token.name) for token in table] not in ([True], [True, False, True]):
        raise NotUnderstood  # COPY BINARY table, and what else may stand before a name
    columns: list[Token] = lexed("*")
    if rest[0].text == "(":
        columns = rest[1 : _closing(rest)]
    return Statement((*lexed("SELECT"), *columns, *lexed("FROM"), *table))


def style_of(statement: Statement) -> Style | None:
    """How its lines are written; None where that is nothing we read."""
    names = [token.name for token in statement.tokens]
    behind = statement.tokens[len(names) - 1 - names[::-1].index("stdout") :]
    if any(token.kind not in ("word", "mark") for token in behind):
        return None  # HEADER 0, DELIMITER ';'
    options = {token.name for token in behind[1:] if token.kind == "word"}
    known = {"with", "format", "csv", "text", "header", "true", "false", "on", "off"}
    if options - known or {"false", "off"} & options:
        return None
    return Style("csv" in options, "header" in options)


def _closing(tokens: Sequence[Token]) -> int:
    depth = 0
    for place, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if not depth:
            return place
    raise NotUnderstood


def as_rows(held: HeldResult, columns: tuple[ResultColumn, ...], style: Style) -> HeldResult:
    """The lines of a COPY as rows of a result; a header is left out, so its first line is not among them."""
    lines = [
        held.data[begin + _LINE : end] for begin, end in zip(held.starts.tolist(), held.ends.tolist(), strict=True)
    ]
    rows: list[list[bytes | None]]
    if style.comma:
        reader = csv.reader(io.StringIO(b"".join(lines).decode("utf-8"), newline=""), strict=True)
        try:
            rows = [[cell.encode() for cell in row] for row in reader]
        except csv.Error:
            raise NotUnderstood from None
        if len(rows) != len(lines):
            raise NotUnderstood
    elif all(line.endswith(b"\n") for line in lines):
        rows = [[_unescaped(cell) for cell in line[:-1].split(b"\t")] for line in lines]
    else:
        raise NotUnderstood
    rows = rows[1 if style.header else 0 :]
    if any(len(row) != len(columns) for row in rows):
        raise NotUnderstood
    messages, places, at = [], [], 0
    for row in rows:
        body = b"".join(struct.pack("!i", -1) if cell is None else struct.pack("!i", len(cell)) + cell for cell in row)
        message = b"D" + struct.pack("!ih", len(body) + 6, len(row)) + body
        messages.append(message)
        places.append(at)
        at += len(message)
    return HeldResult(b"".join(messages), np.array(places, dtype=np.int64), columns)


def _unescaped(cell: bytes) -> bytes | None:
    if cell == b"\\N":
        return None
    if b"\\" not in cell:
        return cell
    parts = iter(cell.split(b"\\"))
    found = [next(parts)]
    for part in parts:
        if part:
            found.append(_ESCAPES.get(part[:1], part[:1]) + part[1:])
        else:
            found.append(b"\\" + next(parts, b""))
    return b"".join(found)
