"""Output of a statement: what its columns are made of, and whom its rows are about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from discreet.sql.catalog import Leaf
from discreet.sql.scope import Names, alias_of, folded, part

AVERAGES = (exp.Avg, exp.Sum, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)
WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge)
EVERYBODY = 1 << 30
Node = Any


@dataclass(frozen=True)
class Projection:
    """A column that a statement gives out."""

    kind: str
    """value, count and people (tell of nobody), group (an average or sum), collect (values of many in one cell), star."""
    leaves: frozenset[Leaf] = frozenset()
    named: frozenset[Leaf] = frozenset()
    """Those of them that it names, and not only may mean."""


def projections(names: Names, node: Node) -> tuple[Projection, ...]:
    """The columns that a statement, or a query in it, gives out."""
    if isinstance(node, WRITES):
        returning = node.args.get("returning")
        return _listed(names, returning.expressions) if returning is not None else ()
    if isinstance(node, (exp.Subquery, exp.Paren)):
        return projections(names, node.this)
    if isinstance(node, exp.Select):
        return _listed(names, node.expressions)
    if isinstance(node, exp.SetOperation):
        left, right = projections(names, node.this), projections(names, node.expression)
        if len(left) == len(right) and not any(one.kind == "star" for one in (*left, *right)):
            merged = []
            for one, other in zip(left, right, strict=True):
                mixed = "collect" if "collect" in (one.kind, other.kind) else "value"
                kind = one.kind if one.kind == other.kind else mixed
                merged.append(Projection(kind, one.leaves | other.leaves, one.named | other.named))
            return tuple(merged)
    return (Projection("star", frozenset(names.everything())),)


def _listed(names: Names, expressions: list[Node]) -> tuple[Projection, ...]:
    """The columns of a list of expressions, as SELECT and RETURNING have one."""
    selects, tables = list(names.tree.find_all(exp.Select)), list(names.tree.find_all(exp.Table))
    # A sum of columns of one table is none of expressions.
    flat = len(tables) == len(selects) == 1 and all(one.kind in ("r", "p") for one in names.relations(tables[0]))
    # An inner query may put values of many into one cell, which may then be given out under any name.
    inner_collects = any(
        select.parent is not None and any(_gathers(one) or one.find(*AVERAGES) for one in select.expressions)
        for select in selects
    )
    listed = []
    for expression in expressions:
        inner = expression.unalias().unnest()
        argument = _argument(inner) if isinstance(inner, exp.Count) else None
        whole = isinstance(argument, exp.Column) and isinstance(argument.this, exp.Star)
        if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
            projection = Projection("star", frozenset(names.leaves(inner) or names.everything()))
        elif isinstance(argument, (exp.Star, exp.Literal, exp.Column)) and not whole:
            # A count says how many, and nothing about anybody; count(DISTINCT key) counts people.
            keys = names.leaves(inner.this) if isinstance(inner.this, exp.Distinct) else set()
            projection = Projection("people" if keys and all(map(names.is_key, keys)) else "count")
        elif isinstance(inner, AVERAGES) and isinstance(inner.this, exp.Column):
            projection = Projection("group" if flat else "collect", frozenset(names.leaves(inner)))
        else:
            several = inner.find(exp.Query) is not None or _gathers(inner) or inner_collects
            leaves = frozenset(names.leaves(inner))
            projection = Projection("collect" if several else "value", leaves, names.literally(inner))
        listed.append(projection)
    return tuple(listed)


def _argument(aggregate: Node) -> Node:
    """What an aggregate is about, without DISTINCT."""
    inner = aggregate.this
    return inner.expressions[0] if isinstance(inner, exp.Distinct) and len(inner.expressions) == 1 else inner


def _gathers(node: Node) -> bool:
    """Whether values of many people may be in one cell."""
    if node.find(exp.Array, exp.ArrayAgg, exp.GroupConcat, exp.Window):
        return True
    called = {str(one.name).lower() for one in node.find_all(exp.Anonymous, exp.AnonymousAggFunc)}
    if any("agg" in name or name in ("array", "mode") for name in called):
        return True
    # The value of one, or the average or number of all, is none; a sum of expressions may hold everybody's.
    for one in node.find_all(exp.AggFunc):
        plain = isinstance(one, (*AVERAGES, exp.Count)) and isinstance(
            _argument(one), (exp.Column, exp.Star, exp.Literal)
        )
        if not plain and not isinstance(one, (exp.Min, exp.Max, exp.LogicalAnd, exp.LogicalOr)):
            return True
    return False


def is_plain(column: Node) -> bool:
    """Whether it is only given out: as it is, or averaged or counted whole."""
    at = column
    while isinstance(at.parent, (exp.Alias, exp.Paren)):
        at = at.parent
    if isinstance(at.parent, (*AVERAGES, exp.Count)):
        at = at.parent
        while isinstance(at.parent, (exp.Alias, exp.Paren)):
            at = at.parent
    return isinstance(at.parent, (exp.Select, exp.Returning)) and at.arg_key == "expressions" and _flows(at.parent)


def _flows(query: Node) -> bool:
    """Whether rows of a query only go on to the output, each once.

    Within another query, DISTINCT and UNION compare values, and how many are left tells of them.
    """
    parent: Node = query.parent
    if parent is not None and query.args.get("distinct"):
        return False
    if parent is None or isinstance(query, exp.Returning):
        return True
    if isinstance(parent, exp.Subquery):
        holder = parent.parent
        if holder is None or isinstance(holder, exp.Subquery):
            return _flows(parent) if holder is not None else True
        if isinstance(holder, (exp.From, exp.Join)) and parent.arg_key == "this":
            return _flows(holder.parent)
        return isinstance(holder, exp.Union) and _flows(holder)
    if isinstance(parent, exp.CTE):
        clause: Node = parent.parent
        return _flows(clause.parent)
    return isinstance(parent, exp.Union) and _flows(parent)


@dataclass(frozen=True)
class RowOwnership:
    """Whom the rows of a statement are about, by how its tables hang together."""

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
        entities = set()
        for side in (equation.this, equation.expression):
            leaves = self.names.of_column(side) if isinstance(side, exp.Column) else set()
            if not leaves or not all(map(self.names.is_key, leaves)):
                return False
            entities |= {self.names.catalog.governed[table].entity for table, _ in leaves}
        return len(entities) == 1

    def is_simple(self) -> bool:
        """Whether each row is about one row of each governed table, which belong together."""
        uses, names = self._uses(self.tree, {}), self.names
        if any(times > 1 for times in uses.values()) or self.tree.find(exp.SetOperation):
            return False
        # A window brings sensitive values of other rows into a row; one that only numbers rows does not.
        if any(map(names.is_sensitive, set().union(*map(names.leaves, self.tree.find_all(exp.Window))))):
            return False
        if len(uses) < 2:
            return True
        if self.tree.find(exp.Or) or len({names.catalog.governed[table].entity for table in uses}) > 1:
            return False
        select = self._output()
        return select is not None and self._joined_by_key(select, set(uses))

    def most_together(self) -> int:
        """How many rows of one governed table an expression may put together."""
        if self.is_simple():
            return 1
        if any(clause.args.get("recursive") for clause in self.tree.find_all(exp.With)):
            return EVERYBODY
        return max(self._uses(self.tree, {}).values(), default=1)

    def _uses(self, node: Node, common: Mapping[str, Counter[str]]) -> Counter[str]:
        """Rows of each governed table behind one row, through common table expressions."""
        uses: Counter[str] = Counter()
        clause = part(node, "with")
        if clause is not None:
            common = dict(common)
            for cte in clause.expressions:
                times = self._uses(cte.this, common)
                common[folded(cte.args["alias"].this)] = times + times if clause.args.get("recursive") else times
        for child in node.iter_expressions():
            if isinstance(child, (exp.Where, exp.Having, exp.With)):
                continue
            if not isinstance(child, exp.Table):
                uses += self._uses(child, common)
                continue
            if child.args.get("db") is None and _name(child) in common:
                uses += common[_name(child)]
            else:
                for relation in self.names.relations(child):
                    uses += Counter(dict.fromkeys(relation.roots, 1 if relation.once else 2))
            for join in child.args.get("joins") or ():
                uses += self._uses(join, common)
        return uses

    def group(self) -> dict[str, bool]:
        """Whether rows are groups, what is known of their size, how far conditions reach."""
        tree, tables = self.tree, list(self.tree.find_all(exp.Table))
        # A view may leave people out.
        unfiltered = all(one.kind in ("r", "p") for table in tables for one in self.names.relations(table))
        mixing, cutting = (exp.Having, exp.Window, exp.AggFunc), (exp.Limit, exp.Offset, exp.Fetch)
        reach = {
            "viewed": not unfiltered,
            "once": len(tables) == 1,
            "mixed": any(not isinstance(node, exp.Count) for node in tree.find_all(*mixing)),
            "cut": tree.find(exp.TableSample) is not None
            or any(node.parent is not None and node.parent.parent is not None for node in tree.find_all(*cutting)),
        }
        select = self._output()
        if select is None:
            return {"aggregated": False, "whole": False, "counted": False, "bare": False, **reach}
        # One table and nothing that could make its rows more or its groups smaller than they seem.
        strange = (exp.Filter, exp.Window, exp.SetOperation, exp.Lateral, exp.Unnest, exp.Explode, exp.TableSample)
        alone = len(tables) == 1 and len(list(tree.find_all(exp.Select))) == 1 and not select.args.get("joins")
        plain = alone and not tree.find(*strange) and not tables[0].args.get("joins") and not self.names.multiplies()
        relations = self.names.relations(tables[0]) if plain else []
        bare = len(relations) == 1 and relations[0].once and relations[0].kind in ("r", "p", "v")
        aggregates = any(one.find(exp.AggFunc) for one in select.expressions)
        aggregated = aggregates or select.args.get("group") is not None
        counted = aggregated and bare and unfiltered
        conditions = any(select.args.get(name) for name in ("where", "having", "limit", "offset", "sample"))
        return {
            "aggregated": aggregated,
            "counted": counted,
            "whole": counted and not conditions and not select.args.get("group"),
            "unconditional": counted and not conditions,
            "bare": bare,
            **reach,
        }

    def _output(self) -> Node | None:
        """The outermost SELECT, if there is one."""
        node = self.tree
        while isinstance(node, (exp.Subquery, exp.Paren)):
            node = node.this
        return node if isinstance(node, exp.Select) else None

    def _joined_by_key(self, select: Node, tables: set[str]) -> bool:
        """Whether all tables are joined over keys of the same people, for every row."""
        start, where = part(select, "from"), select.args.get("where")
        joins = [*(select.args.get("joins") or ()), *((start.this.args.get("joins") or ()) if start else ())]
        equal: list[set[Leaf]] = []
        # The equations that hold, whatever else does: parts of WHERE and ON that are joined by AND.
        clauses = [*([where.this] if where is not None else []), *(join.args.get("on") for join in joins)]
        while clauses:
            clause = clauses.pop()
            if isinstance(clause, exp.Paren):
                clauses.append(clause.this)
            elif isinstance(clause, exp.And):
                clauses += [clause.this, clause.expression]
            elif isinstance(clause, exp.EQ):
                sides = [side for side in (clause.this, clause.expression) if isinstance(side, exp.Column)]
                keys = [self._key(side, select) for side in sides]
                equal += [keys[0] | keys[1]] if len(keys) == 2 and all(keys) else []
        for join in joins:
            for one in join.args.get("using") or ():
                name = folded(one.this if isinstance(one, exp.Column) else one)
                equal.append(set().union(*(self._key_of(source, name) for source in _sources(select).values())))
        groups = {table: {table} for table in tables}
        for leaves in equal:
            whole = set().union(*(groups[table] for table, _ in leaves if table in groups))
            for table in whole:
                groups[table] = whole
        return any(group == tables for group in groups.values())

    def _key(self, column: Node, select: Node) -> set[Leaf]:
        """The keys that a column shows as they are."""
        sources, name = _sources(select), folded(column.this)
        if column.args.get("table") is not None:
            source = sources.get(folded(column.args["table"]))
            return self._key_of(source, name) if source is not None else set()
        keys = [key for key in (self._key_of(source, name) for source in sources.values()) if key]
        return keys[0] if len(keys) == 1 else set()

    def _key_of(self, source: Node, name: str) -> set[Leaf]:
        """Keys that a column of something in FROM shows as they are."""
        if isinstance(source, exp.Subquery):
            return self._key_inside(source.this, name)
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            return set()
        ctes = self.tree.find_all(exp.CTE) if source.args.get("db") is None else ()
        common = next((cte for cte in ctes if alias_of(cte) == _name(source)), None)
        if common is not None:
            return self._key_inside(common.this, name) if not _renames(common) else set()
        origins = [one.by_name.get(name) for one in self.names.relations(source)]
        if _renames(source) or len(origins) != 1 or origins[0] is None or not origins[0].direct:
            return set()
        return set(filter(self.names.is_key, origins[0].leaves))

    def _key_inside(self, query: Node, name: str) -> set[Leaf]:
        """The keys that an inner SELECT gives out under a name."""
        if not isinstance(query, exp.Select):
            return set()
        for one in query.expressions:
            inner = one.unalias()
            if isinstance(inner, exp.Column) and not isinstance(inner.this, exp.Star):
                shown = folded(one.args["alias"]) if isinstance(one, exp.Alias) else folded(inner.this)
                if shown == name:
                    return self._key(inner, query)
            elif isinstance(inner, exp.Star):
                return self._key(exp.column(name, quoted=True), query)
        return set()


def _sources(select: Node) -> dict[str, Node]:
    """What is in FROM, by its name in the statement."""
    start = part(select, "from")
    sources = [*([start.this] if start is not None else []), *(join.this for join in select.args.get("joins") or ())]
    if start is not None:
        sources += [join.this for join in start.this.args.get("joins") or ()]
    return {alias_of(one) or _name(one): one for one in sources}


def _name(source: Node) -> str:
    return folded(source.this) if isinstance(getattr(source, "this", None), exp.Identifier) else ""


def _renames(source: Node) -> bool:
    """Whether the columns are given other names: AS p (a, b)."""
    named = source.args.get("alias")
    return isinstance(named, exp.TableAlias) and bool(named.args.get("columns"))
