"""The client's own session: what its names mean, and how it writes values, asked in one question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from discreet.gateway.analysis.relations import Named, Setting
from discreet.gateway.own_connection import COPIED, OwnConnections, described_columns
from discreet.gateway.protocol.messages import ResultColumn
from discreet.sql.printer import quoted, string

_NOW = "pg_catalog.now()::pg_catalog.text"
_TODAY = "pg_catalog.now()::pg_catalog.date::pg_catalog.text"
_WROTE = "(pg_catalog.pg_current_xact_id_if_assigned() IS NOT NULL)::pg_catalog.text"
FIRST = len(COPIED) + 3
NAME_COLUMNS = 3


def lookup_sql(names: Sequence[tuple[str, str]]) -> str:
    """The question: settings, clock, whether the transaction has written, and each name."""
    settings = [f"pg_catalog.current_setting('{name}')" for name in COPIED]
    oids, columns = [], []
    for place, (schema, name) in enumerate(names):
        if schema:
            found = (
                "(SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "  # noqa: S608 - quoted
                "ON n.oid OPERATOR(pg_catalog.=) c.relnamespace "
                f"WHERE n.nspname OPERATOR(pg_catalog.=) {string(schema)} AND c.relname OPERATOR(pg_catalog.=) {string(name)} "
                "AND pg_catalog.has_schema_privilege(n.oid, 'USAGE'))"
            )
        else:
            found = f"pg_catalog.to_regclass({string(quoted(name))})::pg_catalog.oid"
        oids.append(f"{found} AS o{place}")
        columns += [
            f"x.o{place}::pg_catalog.text",
            f"pg_catalog.has_table_privilege(x.o{place}, 'SELECT')::pg_catalog.text",
            f"pg_catalog.has_table_privilege(x.o{place}, 'INSERT, UPDATE, DELETE, TRUNCATE')::pg_catalog.text",
        ]
    inner = f" FROM (SELECT {', '.join(oids)}) AS x" if oids else ""
    return f"SELECT {', '.join([*settings, _NOW, _TODAY, _WROTE, *columns])}{inner}"


def columns_of(
    own: OwnConnections, setting: Setting, sql: str, given: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[ResultColumn, ...]]:
    """Types of parameters and columns of a statement, as the server finds them."""
    with own.run(setting.settings, snapshot=False) as run:
        found = run.described(sql, given)
    types = tuple(found.param_type(place) for place in range(found.nparams))
    return types, described_columns(found)


def setting_of(names: Sequence[tuple[str, str]], row: Sequence[str | None], user: str) -> Setting:
    """What the answer says."""
    settings = {name: value or "" for name, value in zip(COPIED, row, strict=False)}
    now, today, wrote = row[len(COPIED) : FIRST]
    found: dict[tuple[str, str], Named | None] = {}
    for place, name in enumerate(names):
        oid, reads, writes = row[FIRST + place * NAME_COLUMNS : FIRST + (place + 1) * NAME_COLUMNS]
        found[name] = Named(int(oid), reads == "true", writes == "true") if oid is not None else None
    return Setting(found, settings, now or "", today or "", user, wrote=wrote == "true")


def oids_of(setting: Setting) -> Iterable[int]:
    """Relations that the names mean."""
    return (one.oid for one in setting.names.values() if one is not None)
