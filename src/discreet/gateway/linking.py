"""Whether tables are joined over the keys of the same people, in a way that certainly holds for every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from discreet.sql.catalog import Leaf
from discreet.sql.scope import Names, alias_of, folded

Node = Any


@dataclass(frozen=True)
class Linking:
    """Looks at the equations between keys that every row fulfils."""

    names: Names
    select: Node
    """The outermost SELECT."""

    def links(self, roots: set[str]) -> bool:
        """Whether all these tables are linked to each other."""
        groups = {root: {root} for root in roots}
        for pair in self._equal():
            met = {leaf[0] for leaf in pair}
            whole = set().union(*(groups[one] for one in met if one in groups))
            for one in whole:
                groups[one] = whole
        return any(its == roots for its in groups.values())

    def _equal(self) -> Iterator[set[Leaf]]:
        for equation in self._certain():
            sides = (equation.this, equation.expression)
            if all(isinstance(side, exp.Column) for side in sides):
                found = [self._key(side, self.select) for side in sides]
                if all(found):
                    yield set().union(*found)
        for join in self._joins():
            for one in join.args.get("using") or ():
                name = folded(one.this if isinstance(one, exp.Column) else one)
                found = [self._key_of(source, name) for source in self._sources(self.select).values()]
                yield set().union(*found)

    def _joins(self) -> Iterator[Node]:
        yield from self.select.args.get("joins") or ()
        start = self.select.args.get("from_") or self.select.args.get("from")
        yield from (start.this.args.get("joins") or ()) if start is not None else ()

    def _certain(self) -> Iterator[Node]:
        """The equations that hold, whatever else does: parts of WHERE and ON that are joined by AND."""
        where = self.select.args.get("where")
        clauses = [*([where.this] if where is not None else []), *(join.args.get("on") for join in self._joins())]
        while clauses:
            clause = clauses.pop()
            if isinstance(clause, exp.Paren):
                clauses.append(clause.this)
            elif isinstance(clause, exp.And):
                clauses += [clause.this, clause.expression]
            elif isinstance(clause, exp.EQ):
                yield clause

    def _sources(self, select: Node) -> dict[str, Node]:
        """What stands in FROM, by its name in the statement."""
        start = select.args.get("from_") or select.args.get("from")
        held = [*([start.this] if start is not None else []), *(join.this for join in select.args.get("joins") or ())]
        if start is not None:
            held += [join.this for join in start.this.args.get("joins") or ()]
        return {alias_of(one) or _name(one): one for one in held}

    def _key(self, column: Node, select: Node) -> set[Leaf]:
        """The keys that a column shows as they are."""
        sources, name = self._sources(select), folded(column.this)
        if column.args.get("table") is not None:
            source = sources.get(folded(column.args["table"]))
            return self._key_of(source, name) if source is not None else set()
        found = [its for its in (self._key_of(source, name) for source in sources.values()) if its]
        return found[0] if len(found) == 1 else set()

    def _key_of(self, source: Node, name: str) -> set[Leaf]:
        if isinstance(source, exp.Subquery):
            return self._key_inside(source.this, name)
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            return set()
        common = self._common(_name(source)) if source.args.get("db") is None else None
        if common is not None:
            return self._key_inside(common.this, name) if not _renames(common) else set()
        origins = [one.by_name.get(name) for one in self.names.relations(source)]
        if _renames(source) or len(origins) != 1 or origins[0] is None or not origins[0].direct:
            return set()
        return {leaf for leaf in origins[0].leaves if (leaf[1],) == self.names.catalog.governed[leaf[0]].key}

    def _key_inside(self, query: Node, name: str) -> set[Leaf]:
        """The same for what an inner SELECT gives out under a name."""
        if not isinstance(query, exp.Select):
            return set()
        for one in query.expressions:
            inner = one.this if isinstance(one, exp.Alias) else one
            if isinstance(inner, exp.Column) and not isinstance(inner.this, exp.Star):
                shown = folded(one.args["alias"]) if isinstance(one, exp.Alias) else folded(inner.this)
                if shown == name:
                    return self._key(inner, query)
            elif isinstance(inner, exp.Star):
                return self._key(exp.column(name, quoted=True), query)
        return set()

    def _common(self, name: str) -> Node | None:
        found = [cte for cte in self.names.tree.find_all(exp.CTE) if alias_of(cte) == name]
        return found[0] if found else None


def _name(source: Node) -> str:
    return folded(source.this) if isinstance(getattr(source, "this", None), exp.Identifier) else ""


def _renames(source: Node) -> bool:
    """Whether the columns are given other names: AS p (a, b)."""
    named = source.args.get("alias")
    return isinstance(named, exp.TableAlias) and bool(named.args.get("columns"))
