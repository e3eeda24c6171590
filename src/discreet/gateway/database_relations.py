"""Relations of the database, read from its catalog on the gateway's own connection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from discreet.errors import PolicyError
from discreet.gateway.analysis.relations import Relation, Relations
from discreet.policy.gateway_section import GovernedTable

RELATIONS = """
SELECT c.oid::int8, n.nspname::text, c.relname::text, c.relkind::text, c.relrowsecurity, c.relowner::int8, n.nspowner::int8
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND c.relpersistence <> 't'
   AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"""
USERS = """
WITH owner AS (SELECT relowner AS oid FROM pg_catalog.pg_class UNION SELECT nspowner FROM pg_catalog.pg_namespace
               UNION SELECT typowner FROM pg_catalog.pg_type)
SELECT o.oid::int8 FROM owner o WHERE EXISTS (
  SELECT FROM pg_catalog.pg_roles r WHERE r.rolcanlogin AND NOT r.rolsuper AND r.rolname <> session_user
     AND r.rolname <> ALL(%s::text[]) AND pg_catalog.pg_has_role(r.oid, o.oid, 'MEMBER'))"""
"""Owners whose part a user of the gateway may take."""
COLUMNS = """
SELECT a.attrelid::int8, a.attname::text,
       b.typname::text || CASE WHEN l.collisdeterministic IS NOT FALSE THEN '' ELSE ' of equal spellings' END, a.attnotnull,
       b.typname = 'numeric' AND a.atttypmod > 0
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_type b ON b.oid = CASE WHEN t.typbasetype = 0 THEN t.oid ELSE t.typbasetype END
  LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
 WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'm', 'f', 'p') AND c.relpersistence <> 't'
   AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
 ORDER BY a.attrelid, a.attnum"""
TYPED = """
SELECT DISTINCT a.attrelid::int8 FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_catalog.pg_type b ON b.oid IN (t.typbasetype, t.typelem)
 WHERE a.attnum > 0 AND (t.typowner = ANY(%s::oid[]) OR b.typowner = ANY(%s::oid[]))"""
"""Relations with columns of types of theirs, for which they may make casts and operators."""
INHERITS = "SELECT inhrelid::int8, inhparent::int8 FROM pg_catalog.pg_inherits"
READS = """
SELECT DISTINCT r.ev_class::int8, d.refobjid::int8
  FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.objid = r.oid
 WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
   AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> r.ev_class"""
UNIQUE = """
SELECT i.indrelid::int8, array_agg(a.attname::text) FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey::int2[])
 WHERE i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
 GROUP BY i.indexrelid, i.indrelid"""
GENERATED = """
SELECT DISTINCT a.attrelid::int8, a.attname::text, s.attname::text FROM pg_catalog.pg_attribute a
  LEFT JOIN pg_catalog.pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
  JOIN pg_catalog.pg_depend d ON (d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = a.attrelid AND d.objsubid = a.attnum)
    OR (d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND d.objid = f.oid)
  JOIN pg_catalog.pg_attribute s ON s.attrelid = a.attrelid AND s.attnum = d.refobjsubid
 WHERE a.attgenerated <> '' AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = a.attrelid
   AND s.attnum > 0 AND s.attnum <> a.attnum AND a.attrelid = ANY(%s::oid[])"""
"""Columns that the database works out, and those that it does so from; older servers write that down in another place."""
DEFINED = """
SELECT DISTINCT r.ev_class::int8, d.refobjid::int8,
       pg_catalog.has_table_privilege(v.relowner, d.refobjid, 'SELECT')
         AND NOT EXISTS (SELECT FROM unnest(v.reloptions) o WHERE o ~* '^security_invoker=(t|y|1|on)'),
       EXISTS (SELECT FROM pg_catalog.pg_roles u WHERE u.rolcanlogin AND NOT u.rolsuper AND u.rolname <> session_user
          AND u.rolname <> ALL(%s::text[])
          AND pg_catalog.has_table_privilege(u.oid, d.refobjid, 'INSERT, UPDATE, DELETE, TRUNCATE'))
  FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.objid = r.oid
  JOIN pg_catalog.pg_class v ON v.oid = r.ev_class
 WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
   AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND r.ev_class = ANY(%s::oid[])"""
"""What views read: whether their owners may, and whether any user of the gateway may write to it."""
VIEWS = "SELECT oid::int8, pg_catalog.pg_get_viewdef(oid) FROM pg_catalog.pg_class WHERE oid = ANY(%s::oid[])"


def read_relations(
    cursor: Any, governed: Mapping[str, GovernedTable], *, file: str, exempt: Collection[str] = ()
) -> Relations:
    """All relations; PolicyError where a governed table or one of its columns is not there."""
    cursor.execute("SET LOCAL search_path = pg_catalog")  # so that definitions of views name every schema
    found = _rows(cursor, RELATIONS)
    places = {f"{schema}.{name}": oid for oid, schema, name, *_ in found}
    inherits = _rows(cursor, INHERITS)
    users = {oid for (oid,) in _rows(cursor, USERS, [[*exempt]])}
    loose = {oid for oid, _, _, _, _, *owners in found if not users.isdisjoint(owners)}
    loose |= {oid for (oid,) in _rows(cursor, TYPED, [[*users], [*users]])} if users else set()
    loose |= _leading(loose, [(parent, child) for child, parent in inherits], ())  # parts are read with the whole
    absent = next((name for name in governed if full(name) not in places), None)
    if absent is not None:
        raise PolicyError(
            f"The database has no table '{absent}', or the gateway's own user cannot see it.",
            remedy="Name it as schema.table in [gateway.tables], in the case it was created with.",
            file=file,
        )
    tables = {places[full(name)]: name for name in governed}
    columns: dict[int, dict[str, str]] = {}
    filled: dict[int, set[str]] = {}
    fixed: dict[int, set[str]] = {}
    for oid, name, kind, needed, one_scale in _rows(cursor, COLUMNS):
        columns.setdefault(oid, {})[name] = kind
        if one_scale:
            fixed.setdefault(oid, set()).add(name)
        if needed:
            filled.setdefault(oid, set()).add(name)
    unique: dict[int, list[frozenset[str]]] = {}
    parents, kinds = {parent for _, parent in inherits}, {oid: kind for oid, _, _, kind, *_ in found}
    for oid, names in _rows(cursor, UNIQUE):
        if oid not in parents or kinds.get(oid) == "p":  # an index says nothing of tables that inherit
            unique.setdefault(oid, []).append(frozenset(names))
    made: dict[int, dict[str, set[str]]] = {}
    for oid, name, source in _rows(cursor, GENERATED, [[*tables]]):
        made.setdefault(oid, {}).setdefault(name, set()).add(source)
    present = {
        oid: _with_generated(_present(governed[name], columns.get(oid, {}), file), made.get(oid, {}))
        for oid, name in tables.items()
    }
    reads = _rows(cursor, READS)
    leading = _leading({*tables}, reads, inherits)
    reached: dict[int, set[str]] = {}
    for table, name in tables.items():
        for oid in _leading({table}, reads, inherits):
            reached.setdefault(oid, set()).add(name)
    views = [oid for oid, _, _, kind, *_ in found if kind == "v" and oid in leading]
    definitions = dict(_rows(cursor, VIEWS, [views])) if views else {}
    defined: dict[int, dict[int, tuple[bool, bool]]] = {}
    for view, oid, readable, writable in _rows(cursor, DEFINED, [[*exempt], views]) if views else ():
        defined.setdefault(view, {})[oid] = bool(readable), bool(writable)
    return Relations.of(
        Relation(
            oid,
            schema,
            name,
            kind,
            columns.get(oid, {}),
            present.get(oid),
            oid in leading,
            tuple(unique.get(oid, ())),
            definitions.get(oid, ""),
            frozenset(filled.get(oid, ())),
            bool(secured),
            oid in loose,
            frozenset(reached.get(oid, ())),
            defined.get(oid, {}),
            frozenset(fixed.get(oid, ())),
        )
        for oid, schema, name, kind, secured, *_ in found
    )


def full(name: str) -> str:
    """The name with its schema.

    >>> full("patients"), full("clinic.patients")
    ('public.patients', 'clinic.patients')
    """
    return name if "." in name else f"public.{name}"


def _rows(cursor: Any, question: str, values: Any = None) -> list[Any]:
    return list(cursor.execute(question, values).fetchall())


def _leading(tables: set[int], reads: Iterable[Any], inherits: Iterable[Any]) -> set[int]:
    """Relations that read governed tables: views on them, their parts, and what they are part of."""
    edges = [*reads]
    for child, parent in inherits:
        edges += [(child, parent), (parent, child)]
    found, changed = set(tables), True
    while changed:
        more = {reader for reader, read in edges if read in found} - found
        found |= more
        changed = bool(more)
    return found


def _present(table: GovernedTable, columns: Mapping[str, str], file: str) -> GovernedTable:
    """Table without the columns that only [columns] names and that it lacks."""
    roles: dict[str, Any] = {role: getattr(table, role) for role in ("key", "identifiers", "quasi", "sensitive")}
    for role, its in roles.items():
        if missing := [column for column in its if column not in columns and column not in table.by_default]:
            raise PolicyError(
                f"Table '{table.name}' has no column '{missing[0]}', which [gateway.tables] lists under {role}.",
                remedy="Check the names of the columns.",
                file=file,
            )
    kept: dict[str, Any] = {role: tuple(column for column in its if column in columns) for role, its in roles.items()}
    return replace(table, **kept)


def _with_generated(table: GovernedTable, generated: Mapping[str, Collection[str]]) -> GovernedTable:
    """A table with columns that are generated from sensitive ones, and not named in the policy."""
    named = {*table.key, *table.identifiers, *table.quasi, *table.sensitive}
    more = [
        name
        for name, sources in generated.items()
        if name not in named and not set(table.sensitive).isdisjoint(sources)
    ]
    return replace(table, sensitive=(*table.sensitive, *sorted(more)))
