"""Whom a row of a result is about: one row of each governed table, rows that belong together, or a group of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from discreet.gateway.linking import Linking
from discreet.sql.catalog import Leaf
from discreet.sql.scope import Names, folded

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
