"""Plans of statements: EXPLAIN (VERBOSE) of the server, and result columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from discreet.gateway.analysis.analyse import Reading
from discreet.gateway.catalog.admin_connection import Own
from discreet.gateway.protocol.messages import ResultColumn
from discreet.sql.catalog import Catalog, ColumnSource, Leaf

# What the server says about a statement on the gateway's own connection: its plan, and the columns of its result.
NAME = "discreet_plan"
_PARAMETER = re.compile(r"\$(\d+)")


class Plans:
    """Asks for plans. Nothing is ever run: statements are planned, or prepared and described."""

    def __init__(self, own: Own) -> None:
        self._own = own

    def explained(self, reading: Reading, catalog: Catalog) -> Explained | None:
        """Where the columns of a statement come from, by its plan; None where that cannot be said with certainty."""
        try:
            with self._placed(reading, catalog) as cursor:
                return explained(self._plan(cursor, reading.text), catalog)
        except Exception:
            return None

    @staticmethod
    def _plan(cursor: Any, text: str) -> Any:
        """The plan for any parameters: with the values at hand the server may plan some of the statement away."""
        parameters = max((int(number) for number in _PARAMETER.findall(text)), default=0)
        cursor.execute("SET LOCAL statement_timeout = '5s'")
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        cursor.execute(f"PREPARE {NAME} AS {text}".encode())
        try:
            given = f"({', '.join(['NULL'] * parameters)})" if parameters else ""
            cursor.execute(f"EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) EXECUTE {NAME}{given}")
            return cursor.fetchone()[0][0]["Plan"]
        finally:
            cursor.execute(f"DEALLOCATE {NAME}")

    def columns(self, text: str, reading: Reading | None, catalog: Catalog) -> tuple[ResultColumn, ...] | None:
        """The columns of a query, as RowDescription would have them."""
        if reading is None:
            return None
        try:
            with self._placed(reading, catalog) as cursor:
                link = cursor.connection.pgconn
                link.prepare(b"", text.encode())
                found = link.describe_prepared(b"")
                return tuple(
                    ResultColumn(
                        (found.fname(place) or b"").decode("utf-8", "replace"),
                        found.ftable(place),
                        found.ftablecol(place),
                        found.ftype(place),
                        found.fsize(place),
                        found.fmod(place),
                        0,
                    )
                    for place in range(found.nfields)
                )
        except Exception:
            return None

    @contextmanager
    def _placed(self, reading: Reading, catalog: Catalog) -> Iterator[Any]:
        """A cursor for which each name without a schema means what it means to the client: only one relation has it."""
        schemas = []
        for schema, name in reading.relations:
            having = catalog.schemas.get(name, ())
            if not schema and len(having) > 1:
                raise NotExplained
            schemas += [] if schema else list(having)
        path = ", ".join('"' + name.replace('"', '""') + '"' for name in dict.fromkeys(schemas))
        with self._own.cursor() as cursor:
            cursor.execute("SELECT pg_catalog.set_config('search_path', %s, true)", [path or "pg_catalog"])
            yield cursor


Node = Mapping[str, Any]
_INNER = re.compile(r"\b(?:hashed )?(SubPlan|InitPlan) \d+|\$\d+")
_PLAIN = re.compile(r'^\(*(?:("(?:[^"]|"")+"|\w+)\.)?("(?:[^"]|"")+"|\w+)\)*$')


UNSAID = ("Append", "Merge Append", "Recursive Union", "Foreign Scan", "Custom Scan", "ModifyTable")
"""Parts of a plan of which the server does not say what they give out."""


@dataclass(frozen=True)
class Explained:
    """Per column of a result the governed columns that it is made of."""

    origins: tuple[ColumnSource, ...]
    scans: Mapping[str, int]
    """How often each governed table is read."""


class NotExplained(Exception):
    """The plan cannot be read with certainty; caught inside the room."""


def explained(plan: Node, catalog: Catalog) -> Explained:
    """What a plan says about each column it gives out."""
    reader = _PlanReader(plan, catalog)
    outputs = plan.get("Output")
    if outputs is None:
        raise NotExplained
    return Explained(tuple(reader.origin(one) for one in outputs), reader.scans())


class _PlanReader:
    def __init__(self, plan: Node, catalog: Catalog) -> None:
        self._catalog = catalog
        self._nodes = list(_walk(plan))
        self._given: dict[int, frozenset[Leaf]] = {}
        self._by_alias: dict[str, list[Node]] = {}
        for node in self._nodes:
            if "Alias" in node:
                self._by_alias.setdefault(str(node["Alias"]), []).append(node)

    def scans(self) -> dict[str, int]:
        found: dict[str, int] = {}
        parted = any(node["Node Type"] in ("Append", "Merge Append") for node in self._nodes)
        for node in self._nodes:
            relation = self._relation(node)
            for root in relation.roots if relation is not None else ():
                found[root] = max(found.get(root, 0), 1) if parted else found.get(root, 0) + 1
        return found

    def _relation(self, node: Node) -> Any:
        if "Relation Name" not in node:
            return None
        return self._catalog.at(str(node.get("Schema", "")), str(node["Relation Name"]))

    def origin(self, output: str) -> ColumnSource:
        """What one expression of an output is made of."""
        plain = _PLAIN.match(output)
        if plain is not None:
            return self._column(_name(plain[1] or ""), _name(plain[2]))
        leaves: set[Leaf] = set()
        if _INNER.search(output):
            leaves |= self._outputs([node for node in self._nodes if "Subplan Name" in node])
        for alias, column in _columns(output):
            leaves |= self._column(alias, column).leaves
        return ColumnSource(frozenset(leaves))

    def _column(self, alias: str, column: str) -> ColumnSource:
        nodes = self._by_alias.get(alias) if alias else [one for some in self._by_alias.values() for one in some]
        if not nodes:
            if not alias:
                return ColumnSource()
            raise NotExplained
        found = [self._of_node(node, column) for node in nodes]
        leaves = frozenset().union(*(one.leaves for one in found))
        return ColumnSource(leaves, direct=len(leaves) == 1 and all(one.direct for one in found))

    def _of_node(self, node: Node, column: str) -> ColumnSource:
        relation = self._relation(node)
        if relation is not None:
            known = relation.by_name
            if column == "*":
                return ColumnSource(frozenset().union(*(one.leaves for one in known.values())))
            found: ColumnSource = known.get(column, ColumnSource())
            return found
        if "Relation Name" in node:
            return ColumnSource()
        calls = [str(node[name]) for name in ("Function Call", "Table Function Call") if name in node]
        if calls:
            return ColumnSource(frozenset().union(*(self.origin(call).leaves for call in calls)))
        return ColumnSource(self._under(node))

    def _under(self, node: Node) -> frozenset[Leaf]:
        """Everything that a subquery or common table expression gives out."""
        inner = list(node.get("Plans", ()))
        if "CTE Name" in node:
            inner = [one for one in self._nodes if one.get("Subplan Name") == f"CTE {node['CTE Name']}"]
        if node["Node Type"] == "WorkTable Scan" or not inner:
            return self._catalog.leaves()
        return self._outputs(inner)

    def _outputs(self, nodes: list[Node]) -> frozenset[Leaf]:
        return frozenset().union(*(self._output(node) for node in nodes))

    def _output(self, node: Node) -> frozenset[Leaf]:
        """Everything that a part of the plan gives out; a part that reads itself may give out anything."""
        if id(node) not in self._given:
            self._given[id(node)] = self._catalog.leaves()
            if "Output" in node:
                found = frozenset().union(*(self.origin(one).leaves for one in node["Output"]))
            elif node["Node Type"] in UNSAID:
                found = self._outputs(list(node["Plans"])) if node.get("Plans") else self._catalog.leaves()
            else:
                found = frozenset()  # rows without columns, as EXISTS asks for
            self._given[id(node)] = found
        return self._given[id(node)]


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for inner in node.get("Plans", ()):
        yield from _walk(inner)


def _name(written: str) -> str:
    return written[1:-1].replace('""', '"') if written.startswith('"') else written


def _columns(expression: str) -> Iterator[tuple[str, str]]:
    """The columns of an expression: `alias.column`, or `alias.*` for a whole row; words that are none are found, too."""
    from discreet.sql.lexer import Unreadable, lexed

    try:
        tokens = lexed(_INNER.sub("NULL", expression))
    except Unreadable:
        raise NotExplained from None
    for place, token in enumerate(tokens):
        before = tokens[place - 1].text if place else ""
        after = tokens[place + 1].text if place + 1 < len(tokens) else ""
        if before == "." and (token.name or token.text == "*") and place > 1:
            if after != "(":
                yield tokens[place - 2].name, token.name or "*"
        elif token.name and after not in ("(", ".") and before != "::":
            yield "", token.name  # with one table only, the server leaves its name out
