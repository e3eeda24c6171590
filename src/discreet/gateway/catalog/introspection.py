"""Asking the database for its catalogue: which relations lead to governed tables, and which functions do more than they say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from discreet.errors import PolicyError
from discreet.gateway.triggers import triggered
from discreet.gateway.views import with_views
from discreet.policy.gateway_section import GovernedTable
from discreet.sql.catalog import Catalog, Leaf, Origin, Relation, leaves_of

RELATIONS = """
SELECT c.oid::int8, n.nspname::text, c.relname::text, c.relkind::text
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"""
COLUMNS = """
SELECT a.attrelid::int8, a.attnum::int4, a.attname::text,
       CASE WHEN b.typtype = 'e' THEN 'enum' ELSE b.typname::text END
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  JOIN pg_catalog.pg_type b ON b.oid = CASE WHEN t.typbasetype = 0 THEN t.oid ELSE t.typbasetype END
 WHERE a.attrelid = ANY(%s::oid[]) AND a.attnum > 0 AND NOT a.attisdropped"""
INHERITS = "SELECT inhrelid::int8, inhparent::int8 FROM pg_catalog.pg_inherits"
READS = """
SELECT DISTINCT r.ev_class::int8, d.refobjid::int8
  FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.objid = r.oid
 WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
   AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> r.ev_class"""
CALLS = """
SELECT DISTINCT r.ev_class::int8, p.proname::text
  FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.objid = r.oid
  JOIN pg_catalog.pg_proc p ON p.oid = d.refobjid JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
 WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
   AND d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass
   AND n.nspname NOT IN ('pg_catalog', 'information_schema')"""
STATISTICAL = """
SELECT DISTINCT r.ev_class::int8
  FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.objid = r.oid
  JOIN pg_catalog.pg_class c ON c.oid = d.refobjid
 WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
   AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND c.relnamespace = 'pg_catalog'::pg_catalog.regnamespace
   AND c.relname IN ('pg_statistic', 'pg_statistic_ext_data', 'pg_stats', 'pg_stats_ext', 'pg_stats_ext_exprs',
     'pg_largeobject')"""
FUNCTIONS = """
SELECT DISTINCT p.proname::text, e.extname::text
  FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
  LEFT JOIN pg_catalog.pg_depend d
    ON d.objid = p.oid AND d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.deptype = 'e'
  LEFT JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
 WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')"""
EFFECTS = """
SELECT DISTINCT proname::text, provolatile::text FROM pg_catalog.pg_proc
 WHERE pronamespace = 'pg_catalog'::pg_catalog.regnamespace AND provolatile <> 'i'"""
SETS = "SELECT DISTINCT proname::text FROM pg_catalog.pg_proc WHERE proretset"
UNIQUE = """
SELECT i.indrelid::int8, array_agg(a.attname::text ORDER BY a.attname) FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey::int2[])
 WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indrelid = ANY(%s::oid[])
 GROUP BY i.indexrelid, i.indrelid"""
OPERATORS = """
SELECT DISTINCT o.oprname::text FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode
  JOIN pg_catalog.pg_language l ON l.oid = p.prolang
 WHERE o.oid >= 16384 AND l.lanname NOT IN ('c', 'internal')"""

HARMLESS_EXTENSIONS = frozenset(
    ("pg_trgm", "unaccent", "fuzzystrmatch", "pgcrypto", "uuid-ossp", "citext", "hstore", "intarray", "ltree", "cube")
)
"""Extensions whose functions work on their arguments alone. Others run texts, read files or speak to other servers."""


def read_catalog(
    cursor: Any,
    governed: Mapping[str, GovernedTable],
    *,
    trusted: Iterable[str],
    file: str,
    newcomers: Iterable[str] = (),
) -> Catalog:
    """Ask the database. Newcomers are tables that should be governed and were not counted: they stand for the worst."""
    every = {oid: (schema, name, kind) for oid, schema, name, kind in _rows(cursor, RELATIONS)}
    places = {f"{schema}.{name}": oid for oid, (schema, name, _) in every.items()}
    functions, known = _functions(cursor, frozenset(trusted)), frozenset(trusted)
    tables = {name: _place(name, places, file) for name in governed}
    opaque = {oid for oid, (_, _, kind) in every.items() if kind == "f"} | {places[name] for name in newcomers}
    roots = _roots(cursor, every, tables, opaque, functions - known)
    columns, types = _columns(cursor, roots, {oid: name for name, oid in tables.items()})
    checked = {name: _present(governed[name], columns.get(oid, {}).values(), file) for name, oid in tables.items()}
    relations = {oid: _relation(oid, every[oid], names, columns.get(oid, {}), checked) for oid, names in roots.items()}
    effects = _rows(cursor, EFFECTS)
    found = Catalog(
        checked,
        relations,
        _schemas(every.values()),
        known=frozenset(every),
        functions=functions,
        volatile=frozenset(name for name, kind in effects if kind == "v"),
        changing=frozenset(name for name, _ in effects),
        sets=frozenset(name for (name,) in _rows(cursor, SETS)),
        operators=frozenset(name for (name,) in _rows(cursor, OPERATORS)),
        unique=_unique(cursor, tables, checked),
        types=types,
        triggered=triggered(cursor, list(relations), frozenset(one.name for one in relations.values()), functions),
    )
    return with_views(cursor, found, columns)


def _columns(
    cursor: Any, relations: Iterable[int], governed: Mapping[int, str]
) -> tuple[dict[int, dict[int, str]], dict[Leaf, str]]:
    """The names of columns by relation and number, and the types of those of governed tables."""
    columns: dict[int, dict[int, str]] = {}
    types: dict[Leaf, str] = {}
    for oid, number, name, kind in _rows(cursor, COLUMNS, [list(relations)]):
        columns.setdefault(oid, {})[number] = name
        if oid in governed:
            types[governed[oid], name] = kind
    return columns, types


def _schemas(relations: Iterable[tuple[str, str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for schema, name, _ in relations:
        found[name] = (*found.get(name, ()), schema)
    return found


def _rows(cursor: Any, question: str, values: Any = None) -> list[Any]:
    return list(cursor.execute(question, values).fetchall())


def _place(name: str, places: Mapping[str, int], file: str) -> int:
    found = places.get(name if "." in name else f"public.{name}")
    if found is None:
        raise PolicyError(
            f"The database has no table '{name}', or the gateway's own user cannot see it.",
            remedy="Name it as schema.table in [gateway.tables], in the case it was created with.",
            file=file,
        )
    return found


def _present(table: GovernedTable, columns: Iterable[str], file: str) -> GovernedTable:
    """The table without columns that only [columns] speaks of and that it does not have."""
    from dataclasses import replace

    has = set(columns)
    roles: dict[str, Any] = {role: getattr(table, role) for role in ("key", "identifiers", "quasi", "sensitive")}
    for role, its in roles.items():
        missing = [column for column in its if column not in has and column not in table.by_default]
        if missing:
            raise PolicyError(
                f"Table '{table.name}' has no column '{missing[0]}', which [gateway.tables] lists under {role}.",
                remedy="Check the names of the columns.",
                file=file,
            )
    kept: dict[str, Any] = {role: tuple(column for column in its if column in has) for role, its in roles.items()}
    return replace(table, **kept)


def _functions(cursor: Any, trusted: frozenset[str]) -> frozenset[str]:
    found = _rows(cursor, FUNCTIONS)
    return frozenset(name for name, extension in found if extension not in HARMLESS_EXTENSIONS) - trusted


def _unique(cursor: Any, tables: Mapping[str, int], governed: Mapping[str, GovernedTable]) -> frozenset[str]:
    """Tables whose key, or a part of it, is unique."""
    found = [(oid, set(names)) for oid, names in _rows(cursor, UNIQUE, [list(tables.values())])]
    return frozenset(
        name
        for name, table in governed.items()
        if table.key and any(oid == tables[name] and its <= set(table.key) for oid, its in found)
    )


def _roots(
    cursor: Any, every: Mapping[int, Any], tables: Mapping[str, int], opaque: set[int], untrusted: frozenset[str]
) -> dict[int, set[str]]:
    """Per relation the governed tables that reading it may read; what is behind a foreign table cannot be known."""
    found: dict[int, set[str]] = {oid: set(tables) for oid in opaque}
    found |= {oid: {name} for name, oid in tables.items()}
    for (oid,) in _rows(cursor, STATISTICAL):
        if oid in every:
            found[oid] = set(tables)
    for oid, name in _rows(cursor, CALLS):
        if name in untrusted and oid in every:
            found[oid] = set(tables)
    edges = [(reader, read) for reader, read in _rows(cursor, READS) if reader in every]
    family = _rows(cursor, INHERITS)
    edges += family + [(parent, child) for child, parent in family]
    changed = True
    while changed:
        changed = False
        for reader, read in edges:
            new = found.get(read, set()) - found.get(reader, set())
            if new and reader in every:
                found.setdefault(reader, set()).update(new)
                changed = True
    return found


def _relation(
    oid: int, place: Any, roots: Iterable[str], columns: Mapping[int, str], governed: Mapping[str, GovernedTable]
) -> Relation:
    """For tables, their parts and parents: a column is the governed one of the same name."""
    found = {}
    for number, name in columns.items():
        leaves = frozenset((root, name) for root in roots if (root, name) in leaves_of(governed[root]))
        if leaves:
            found[number] = (name, Origin(leaves, direct=len(leaves) == 1))
    others = frozenset(columns.values()) - {name for name, _ in found.values()}
    schema, relation, kind = place
    return Relation(oid, schema, relation, kind, frozenset(roots), found, others)
