"""Queries of the gateway itself upstream: definitions, plans and counts of people.

Counting goes on beside the sessions: until a new count is there, the old one holds. A tuple that the count does not
know is a crowd of one, so rows that came since are taken for recognisable.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import (
    DataError,
    DiscreetError,
    EmptySource,
    MissingExtra,
    SourceNotFound,
    SourceUnreadable,
    UsageError,
)
from discreet.gateway.analysis.analyse import Reading
from discreet.gateway.protocol.messages import ResultColumn
from discreet.kernel import Classes
from discreet.misuse import Prepared, prepare
from discreet.policy.gateway_section import GatewayPolicy, GovernedTable
from discreet.sources.postgres.engine import PostgresEngine
from discreet.sources.postgres.rows import PostgresRelation
from discreet.sources.server import quote, quoted
from discreet.sql.catalog import Catalog, ColumnSource, Leaf, Relation
from discreet.sql.lexer import Unreadable, lexed

# The gateway's own connection to the database: for definitions, plans and counts, never for what users ask.
ROLES = """
WITH RECURSIVE member(oid) AS (
  SELECT oid FROM pg_catalog.pg_roles WHERE rolname = %s
  UNION SELECT m.roleid FROM pg_catalog.pg_auth_members m JOIN member ON m.member = member.oid)
SELECT r.rolname::text FROM pg_catalog.pg_roles r JOIN member USING (oid)"""
CHANGES = """
SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::int8 FROM pg_catalog.pg_stat_user_tables
 WHERE relid = ANY(%s::oid[])"""


class Own:
    """One connection, opened when needed and when it broke; one question at a time."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._lock = threading.Lock()
        self._connection: Any = None
        self._closed = False

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        """A cursor in a read-only transaction that is thrown away at the end."""
        with self._lock:
            if self._closed:  # a lookup was still going on when the gateway ended
                raise self._unreachable()
            if self._connection is None or self._connection.closed:
                try:
                    self._connection = driver().connect(
                        self.url, connect_timeout=10, client_encoding="utf8", application_name="discreet gateway"
                    )
                    self._connection.read_only = True
                    self._connection.autocommit = True
                except driver().Error:
                    raise self._unreachable() from None
            try:
                with self._connection.transaction(force_rollback=True), self._connection.cursor() as cursor:
                    yield cursor
            except driver().OperationalError:
                self._drop()
                raise self._unreachable() from None

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _unreachable(self) -> SourceNotFound:
        place = urlsplit(self.url).hostname or "this machine"
        return SourceNotFound(
            f"The gateway's own connection to the server on {place} does not work.",
            remedy="Check --own: host, port, database, user and password (PGPASSWORD or ~/.pgpass keep it out of commands).",
        )

    def database(self) -> str:
        """The database that it is connected to."""
        with self.cursor() as cursor:
            return str(cursor.execute("SELECT pg_catalog.current_database()").fetchone()[0])

    def roles(self, user: str) -> frozenset[str]:
        """Roles that a user is a member of, also indirectly, and their own."""
        with self.cursor() as cursor:
            return frozenset(name for (name,) in cursor.execute(ROLES, [user]).fetchall()) | {user}

    def changes(self, oids: list[int]) -> int:
        """Rows of some tables that were ever changed, as the server counts them."""
        with self.cursor() as cursor:
            return int(cursor.execute(CHANGES, [oids]).fetchone()[0])

    def close(self) -> None:
        """Give the connection back."""
        with self._lock:
            self._closed = True
            self._drop()


def driver() -> Any:
    """psycopg, if it is installed."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("gateway", needed_for="The gateway's own connection") from None
    return psycopg


def may_not_read(table: str) -> SourceUnreadable:
    """The gateway's own user lacks a privilege."""
    return SourceUnreadable(
        f"The gateway's own user cannot count the rows of table '{table}'.",
        remedy=f"GRANT SELECT ON {table} TO it; row security must let it see all rows.",
    )


@dataclass(frozen=True)
class Counted:
    """A table, counted."""

    prepared: Prepared | None
    """None for an empty table, or one without quasi-identifiers."""
    rows: int
    at: float
    """When, on the monotonic clock."""
    changes: int
    """How many rows had been changed by then."""


class Histograms:
    """The counts of all governed tables."""

    def __init__(self, own: Own, policy: GatewayPolicy) -> None:
        self._own = own
        self._policy = policy
        self._counted: Mapping[str, Counted] = {}
        self.unique: frozenset[str] = frozenset()
        """Tables in which nobody has two rows."""

    def of(self, table: str) -> Counted:
        """The count of a table that holds now."""
        return self._counted[table]

    def refresh(self, tables: Mapping[str, GovernedTable], oids: Mapping[str, list[int]]) -> list[str]:
        """Count those again that are old or have changed much; the names of these."""
        due = []
        for name in tables:
            counted = self._counted.get(name)
            if counted is not None and time.monotonic() - counted.at < self._policy.refresh_seconds:
                changed = self._own.changes(oids[name]) - counted.changes
                if 0 <= changed < self._policy.refresh_changes:  # below 0, the server's statistics were reset
                    continue
            due.append(name)
        for name in due:
            self._counted = {**self._counted, name: self._count(tables[name], oids[name])}
        return due

    def _count(self, table: GovernedTable, oids: list[int]) -> Counted:
        began, changes = time.monotonic(), self._own.changes(oids)
        most, quasi = self._policy.largest_histogram, ", ".join(quote(name) for name in table.quasi)
        if quasi:
            tuples = f"SELECT 1 FROM {quoted(full(table.name))} GROUP BY {quasi} LIMIT {most + 1}"  # noqa: S608 - quoted
            with self._own.cursor() as cursor:
                try:
                    (number,) = cursor.execute(f"SELECT count(*) FROM ({tuples}) AS alike").fetchone()  # noqa: S608
                except DiscreetError:
                    raise
                except Exception:
                    raise may_not_read(table.name) from None
            if number > most:
                raise UsageError(
                    f"Table '{table.name}' has more than {most:,} distinct tuples of quasi-identifiers.",
                    remedy="Raise largest_histogram in [gateway], or list fewer quasi-identifiers for it.",
                )
        # People, not rows: where a person may have several rows, each of their tuples counts once.
        if table.name in self.unique or not table.key:
            relation = PostgresRelation(self._own.url, table=full(table.name))
        else:
            columns = ", ".join(quote(name) for name in (*table.key, *table.quasi))
            people = f"SELECT DISTINCT {columns} FROM {quoted(full(table.name))}"  # noqa: S608 - quoted
            relation = PostgresRelation(self._own.url, query=people)
        try:
            histogram = PostgresEngine(relation).count([*table.quasi])
        except EmptySource:
            return Counted(None, 0, began, changes)
        except DataError:
            raise may_not_read(table.name) from None
        rows = int(histogram.counts.sum())
        if not rows or not table.quasi:
            return Counted(None, rows, began, changes)
        return Counted(prepare(Classes.from_histogram(histogram), table.quasi), rows, began, changes)


def full(name: str) -> str:
    """The name with its schema.

    >>> full("patients"), full("clinic.patients")
    ('public.patients', 'clinic.patients')
    """
    return name if "." in name else f"public.{name}"


# What the server says about a statement on the gateway's own connection: its plan, and the columns of its result.
NAME = "discreet_plan"
_PARAMETER = re.compile(r"\$(\d+)")


class Plans:
    """Asks for plans. Nothing is ever run: statements are planned, or prepared and described."""

    def __init__(self, own: Own) -> None:
        self._own = own

    def explained(self, reading: Reading, catalog: Catalog) -> Explained | None:
        """Where the columns of a statement come from, by its plan; None if uncertain."""
        try:
            with self._placed(reading, catalog) as cursor:
                # A plan for any parameters: with the values at hand the server may plan some of the statement away.
                parameters = max((int(number) for number in _PARAMETER.findall(reading.text)), default=0)
                given = f"({', '.join(['NULL'] * parameters)})" if parameters else ""
                cursor.execute("SET LOCAL statement_timeout = '5s'")  # preparing may wait for a lock
                cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
                cursor.execute(f"PREPARE {NAME} AS {reading.text}".encode())
                try:
                    return explained(plan_of(cursor, f"EXECUTE {NAME}{given}"), catalog)
                finally:
                    cursor.execute(f"DEALLOCATE {NAME}")
        except Exception:
            return None

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
        """Cursor for which names without a schema mean what they mean to the client."""
        schemas = []
        for schema, name in reading.relations:
            having = catalog.schemas.get(name, ())
            if not schema and len(having) > 1:
                raise NotExplained
            schemas += [] if schema else list(having)
        path = ", ".join(map(quote, dict.fromkeys(schemas)))
        with self._own.cursor() as cursor:
            cursor.execute("SELECT pg_catalog.set_config('search_path', %s, true)", [path or "pg_catalog"])
            yield cursor


def plan_of(cursor: Any, question: str) -> Any:
    """Plan of a statement, as the server would run it; NotExplained without one."""
    try:
        with cursor.connection.transaction():
            cursor.execute("SET LOCAL statement_timeout = '5s'")
            cursor.execute(f"EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) {question}")
            return cursor.fetchone()[0][0]["Plan"]
    except Exception:
        raise NotExplained from None


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
    read = filter(None, map(reader.relation, reader.nodes))
    scans = Counter(root for relation in read for root in relation.roots)
    parted = any(node["Node Type"] in ("Append", "Merge Append") for node in reader.nodes)
    # Parts of a table are scanned each, and that is one scan of it.
    return Explained(tuple(reader.origin(one) for one in outputs), Counter(scans.keys()) if parted else scans)


class _PlanReader:
    def __init__(self, plan: Node, catalog: Catalog) -> None:
        self._catalog = catalog
        self.nodes = list(_walk(plan))
        self._given: dict[int, frozenset[Leaf]] = {}
        self._by_alias: dict[str, list[Node]] = {}
        for node in self.nodes:
            if "Alias" in node:
                self._by_alias.setdefault(str(node["Alias"]), []).append(node)

    def relation(self, node: Node) -> Relation | None:
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
            leaves |= self._outputs([node for node in self.nodes if "Subplan Name" in node])
        for alias, column in _columns(output):
            leaves |= self._column(alias, column).leaves
        return ColumnSource(frozenset(leaves))

    def _column(self, alias: str, column: str) -> ColumnSource:
        nodes = self._by_alias.get(alias) if alias else [one for some in self._by_alias.values() for one in some]
        if not nodes:
            if not alias:
                return ColumnSource()
            raise NotExplained
        found = []
        for node in nodes:
            relation = self.relation(node)
            calls = [str(node[name]) for name in ("Function Call", "Table Function Call") if name in node]
            inner = list(node.get("Plans", ()))
            if "CTE Name" in node:
                inner = [one for one in self.nodes if one.get("Subplan Name") == f"CTE {node['CTE Name']}"]
            if relation is not None and column == "*":
                source = ColumnSource(frozenset().union(*(one.leaves for one in relation.by_name.values())))
            elif relation is not None:
                source = relation.by_name.get(column, ColumnSource())
            elif "Relation Name" in node:
                source = ColumnSource()
            elif calls:
                source = ColumnSource(frozenset().union(*(self.origin(call).leaves for call in calls)))
            elif node["Node Type"] == "WorkTable Scan" or not inner:
                source = ColumnSource(self._catalog.leaves())
            else:  # a subquery or common table expression: everything that it gives out
                source = ColumnSource(self._outputs(inner))
            found.append(source)
        leaves = frozenset().union(*(one.leaves for one in found))
        return ColumnSource(leaves, direct=len(leaves) == 1 and all(one.direct for one in found))

    def _outputs(self, nodes: list[Node]) -> frozenset[Leaf]:
        """Output of parts of the plan; one that reads itself may give out anything."""
        leaves: frozenset[Leaf] = frozenset()
        for node in nodes:
            if id(node) not in self._given:
                given = self._given[id(node)] = self._catalog.leaves()
                if "Output" in node:
                    given = frozenset().union(*(self.origin(one).leaves for one in node["Output"]))
                elif node["Node Type"] not in UNSAID:
                    given = frozenset()  # rows without columns, as EXISTS asks for
                elif node.get("Plans"):
                    given = self._outputs(list(node["Plans"]))
                self._given[id(node)] = given
            leaves |= self._given[id(node)]
        return leaves


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for inner in node.get("Plans", ()):
        yield from _walk(inner)


def _name(written: str) -> str:
    return written[1:-1].replace('""', '"') if written.startswith('"') else written


def _columns(expression: str) -> Iterator[tuple[str, str]]:
    """Columns of an expression: `alias.column`, or `alias.*`; perhaps also other words."""
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
