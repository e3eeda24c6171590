"""Row ownership: whom a row of a result is about, by joins on keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from discreet.sql.catalog import Leaf
from discreet.sql.scope import Names, alias_of, folded

Node = Any
EVERYBODY = 1 << 30


@dataclass(frozen=True)
class Associating:
    """Looks at how the tables of a statement hang together."""

    names: Names

    @property
    def tree(self) -> Node:
        """The statement."""
        return self.names.tree

    def joins_keys(self, column: Node) -> bool:
        """Whether it is one side of an equation between keys of the same entity."""
        equation = column.parent
        if not isinstance(equation, exp.EQ):
            return False
        sides = [one for one in (equation.this, equation.expression) if isinstance(one, exp.Column)]
        return (
            len(sides) == 2 and len({*map(self._entity, sides)} - {None}) == 1 and None not in map(self._entity, sides)
        )

    def _entity(self, column: Node) -> str | None:
        """The entity whose key a column is."""
        found = {self.names.catalog.governed[table].entity for table, name in self._keys(column)}
        return found.pop() if len(found) == 1 else None

    def _keys(self, column: Node) -> set[Leaf]:
        leaves = self.names.of_column(column)
        keys = {leaf for leaf in leaves if (leaf[1],) == self.names.catalog.governed[leaf[0]].key}
        return keys if keys == leaves else set()

    def _uses(self, node: Node, common: Mapping[str, Counter[str]]) -> Counter[str]:
        """How often each governed table stands behind a row, counted through common table expressions."""
        found: Counter[str] = Counter()
        clause = node.args.get("with") or node.args.get("with_")
        if clause is not None:
            common = dict(common)
            for cte in clause.expressions:
                times = self._uses(cte.this, common)
                common[folded(cte.args["alias"].this)] = times + times if clause.args.get("recursive") else times
        for child in _below(node):
            if isinstance(child, exp.Table):
                found += self._table_uses(child, common)
                for join in child.args.get("joins") or ():
                    found += self._uses(join, common)
            elif isinstance(child, (exp.Where, exp.Having, exp.With)):
                continue
            else:
                found += self._uses(child, common)
        return found

    def _table_uses(self, table: Node, common: Mapping[str, Counter[str]]) -> Counter[str]:
        name = folded(table.this) if isinstance(table.this, exp.Identifier) else ""
        if table.args.get("db") is None and name in common:
            return Counter(common[name])
        found: Counter[str] = Counter()
        for relation in self.names.relations(table):
            found += Counter(dict.fromkeys(relation.roots, 1 if relation.once else 2))
        return found

    def is_simple(self) -> bool:
        """Whether each row is about one row of each governed table, which belong together."""
        roots = self._uses(self.tree, {})
        if any(times > 1 for times in roots.values()) or self.tree.find(exp.SetOperation) or self._looks_aside():
            return False
        return len(roots) < 2 or self._linked(set(roots))

    def most_together(self) -> int:
        """How many rows of one governed table an expression may put together."""
        if self.is_simple():
            return 1
        if any(clause.args.get("recursive") for clause in self.tree.find_all(exp.With)):
            return EVERYBODY
        return max(self._uses(self.tree, {}).values(), default=1)

    def _looks_aside(self) -> bool:
        """Whether a window brings sensitive values of other rows into a row; numbering rows does not."""
        return any(
            self.names.is_sensitive(leaf)
            for window in self.tree.find_all(exp.Window)
            for leaf in self.names.leaves(window)
        )

    def _linked(self, roots: set[str]) -> bool:
        """Whether the tables are joined over their keys, and nothing but that."""
        if self.tree.find(exp.Or) or len({self.names.catalog.governed[root].entity for root in roots}) > 1:
            return False
        select = self._output()
        return select is not None and Linking(self.names, select).links(roots)

    def group(self) -> dict[str, bool]:
        """Whether rows are groups, and how much is known of their size."""
        select = self._output()
        if select is None:
            return {"aggregated": False, "whole": False, "counted": False, "bare": False, **self._reach()}
        aggregates = any(one.find(exp.AggFunc) for one in select.expressions)
        aggregated = aggregates or select.args.get("group") is not None
        bare = self._is_bare(select)
        conditions = any(select.args.get(name) for name in ("where", "having", "limit", "offset", "sample"))
        return {
            "aggregated": aggregated,
            "counted": aggregated and bare and self._is_table(),
            "whole": aggregated and bare and not conditions and not select.args.get("group") and self._is_table(),
            "unconditional": aggregated and bare and not conditions and self._is_table(),
            "bare": bare,
            **self._reach(),
        }

    def _reach(self) -> dict[str, bool]:
        """How far conditions reach."""
        mixing = (exp.Having, exp.Window, exp.AggFunc)
        inner = (exp.Limit, exp.Offset, exp.Fetch)
        return {
            "viewed": not self._is_table(),
            "once": len(list(self.tree.find_all(exp.Table))) == 1,
            "mixed": any(not isinstance(node, exp.Count) for node in self.tree.find_all(*mixing)),
            "cut": self.tree.find(exp.TableSample) is not None
            or any(node.parent is not None and node.parent.parent is not None for node in self.tree.find_all(*inner)),
        }

    def _is_table(self) -> bool:
        """Whether the one relation is a table, and not a view that may leave people out."""
        return all(
            one.kind in ("r", "p") for table in self.tree.find_all(exp.Table) for one in self.names.relations(table)
        )

    def _is_bare(self, select: Node) -> bool:
        """One table and nothing that could make its rows more or its groups smaller than they seem."""
        tables = list(self.tree.find_all(exp.Table))
        if len(tables) != 1 or len(list(self.tree.find_all(exp.Select))) != 1 or select.args.get("joins"):
            return False
        relations = self.names.relations(tables[0])
        strange = (exp.Filter, exp.Window, exp.SetOperation, exp.Lateral, exp.Unnest, exp.Explode, exp.TableSample)
        if self.tree.find(*strange) or tables[0].args.get("joins") or self.names.multiplies():
            return False
        return len(relations) == 1 and relations[0].once and relations[0].kind in ("r", "p", "v")

    def _output(self) -> Node | None:
        """The outermost SELECT, if there is one."""
        node = self.tree
        while isinstance(node, (exp.Subquery, exp.Paren)):
            node = node.this
        return node if isinstance(node, exp.Select) else None


def _below(node: Node) -> Iterator[Node]:
    for value in node.args.values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, exp.Expression):
                yield one


# Whether tables are joined over the keys of the same people, in a way that certainly holds for every row.
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
