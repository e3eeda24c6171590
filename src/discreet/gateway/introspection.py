"""Discovery of governed tables by the roles of columns, where the policy names none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet.errors import PolicyError
from discreet.policy import Policy
from discreet.policy.gateway_section import GovernedTable

TABLES = """
SELECT c.oid::int8, n.nspname || '.' || c.relname, array_agg(a.attname::text ORDER BY a.attnum)
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
 WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
   AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
 GROUP BY c.oid, n.nspname, c.relname ORDER BY 2"""
KEYS = """
SELECT k.conrelid::int8, k.confrelid::int8,
       array(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY u(number, place)
               JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.number ORDER BY u.place),
       array(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY u(number, place)
               JOIN pg_catalog.pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.number ORDER BY u.place)
  FROM pg_catalog.pg_constraint k WHERE k.contype IN ('p', 'f') AND k.conrelid = ANY(%s::oid[])
 ORDER BY k.contype DESC, k.conname"""
"""Primary keys first; foreign keys in the order of their names."""


@dataclass(frozen=True)
class _Reference:
    """A foreign key."""

    columns: tuple[str, ...]
    table: int
    there: tuple[str, ...]


def find_governed(cursor: Any, policy: Policy) -> dict[str, GovernedTable]:
    """Tables with a column that the policy calls sensitive or an identifier.

    Their rows are about whom the primary key says, or about whom a foreign key to such a table says.
    """
    roles = {role: _names(policy, role) for role in ("identifier", "quasi", "sensitive")}
    speaking = roles["sensitive"] | roles["identifier"]
    tables = {oid: (name, columns) for oid, name, columns in cursor.execute(TABLES).fetchall() if speaking & {*columns}}
    keys: dict[int, tuple[str, ...]] = {}
    references: dict[int, list[_Reference]] = {}
    for oid, other, columns, there in cursor.execute(KEYS, [list(tables)]).fetchall():
        if other:
            references.setdefault(oid, []).append(_Reference(tuple(columns), other, tuple(there)))
        else:
            keys[oid] = tuple(columns)
    found = {}
    for oid, (name, columns) in tables.items():
        sensitive = tuple(column for column in columns if column in roles["sensitive"])
        key = keys.get(oid, ())
        identifiers = tuple(column for column in columns if column in roles["identifier"] and column not in key)
        quasi = tuple(column for column in columns if column in roles["quasi"] and column not in key)
        found[oid] = GovernedTable(name, () if {*key} & {*sensitive} else key, name, identifiers, quasi, sensitive)
    return {found[oid].name: _about(oid, found, references, frozenset()) for oid in found}


def refuse_silence(policy: Policy) -> None:
    """A policy must say what is sensitive, or name tables."""
    if not (policy.gateway and policy.gateway.tables) and not _names(policy, "sensitive"):
        raise _nothing("the policy names none, and no column that is sensitive.", policy)


def refuse_none(found: Mapping[str, GovernedTable], policy: Policy) -> None:
    """A gateway that governs nothing would let everything pass."""
    if not any(table.sensitive for table in found.values()):
        raise _nothing("no table of the database has a column that the policy calls sensitive.", policy)


def _nothing(why: str, policy: Policy) -> PolicyError:
    remedy = 'Add a section [gateway.tables."schema.table"]; see docs/reference/policy-file.md.'
    return PolicyError(f"there is no governed table: {why}", remedy=remedy, file=policy.file)


def _names(policy: Policy, role: str) -> frozenset[str]:
    """Columns of a role; those that have weights are sensitive."""
    named = {column for column, its in policy.roles.items() if its == role}
    weighed = {name for name in policy.sensitivity if name not in policy.roles} if role == "sensitive" else set()
    return frozenset(named | weighed)


def _about(
    oid: int, found: Mapping[int, GovernedTable], references: Mapping[int, list[_Reference]], below: frozenset[int]
) -> GovernedTable:
    """Table about the people of the one it refers to; `below` refer to it."""
    table = found[oid]
    for one in references.get(oid, []):
        if one.table not in found or one.table in below | {oid} or set(one.columns) & set(table.sensitive):
            continue
        above = _about(one.table, found, references, below | {oid})
        if above.key == one.there:
            identifiers = tuple(name for name in table.identifiers if name not in one.columns)
            quasi = tuple(name for name in table.quasi if name not in one.columns)
            return replace(table, key=one.columns, entity=above.entity, identifiers=identifiers, quasi=quasi)
    return table
