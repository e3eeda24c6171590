"""What the server says about a statement on the gateway's own connection: its plan, and the columns of its result."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from discreet.gateway.catalog.plans import Explained, NotExplained, explained
from discreet.gateway.own import Own
from discreet.gateway.protocol.messages import Column
from discreet.gateway.reading import Reading
from discreet.sql.catalog import Catalog

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

    def columns(self, text: str, reading: Reading | None, catalog: Catalog) -> tuple[Column, ...] | None:
        """The columns of a query, as RowDescription would have them."""
        if reading is None:
            return None
        try:
            with self._placed(reading, catalog) as cursor:
                link = cursor.connection.pgconn
                link.prepare(b"", text.encode())
                found = link.describe_prepared(b"")
                return tuple(
                    Column(
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
