"""Introspection of the database: relations, views, functions, triggers; discovery of governed tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet.errors import PolicyError
from discreet.gateway.upstream_queries import NotExplained, explained, full, plan_of
from discreet.policy import Policy
from discreet.policy.gateway_section import GovernedTable
from discreet.sources.server import quote
from discreet.sql.catalog import Catalog, ColumnSource, Leaf, Relation, leaves_of
from discreet.sql.lexer import Statement, Unreadable, lexed

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
    """Catalog of the database; reading a `newcomers` table, not counted yet, counts as reading all of them."""
    every = {oid: (schema, name, kind) for oid, schema, name, kind in _rows(cursor, RELATIONS)}
    places = {f"{schema}.{name}": oid for oid, (schema, name, _) in every.items()}
    schemas: dict[str, tuple[str, ...]] = {}
    for schema, name, _ in every.values():
        schemas[name] = (*schemas.get(name, ()), schema)
    absent = next((name for name in governed if full(name) not in places), None)
    if absent is not None:
        raise PolicyError(
            f"The database has no table '{absent}', or the gateway's own user cannot see it.",
            remedy="Name it as schema.table in [gateway.tables], in the case it was created with.",
            file=file,
        )
    tables = {name: places[full(name)] for name in governed}
    found = _rows(cursor, FUNCTIONS)
    functions = frozenset(name for name, extension in found if extension not in HARMLESS_EXTENSIONS) - {*trusted}
    opaque = {oid for oid, (_, _, kind) in every.items() if kind == "f"} | {places[name] for name in newcomers}
    roots = _roots(cursor, every, tables, opaque, functions)
    # The names of columns by relation and number, and the types of those of governed tables.
    columns: dict[int, dict[int, str]] = {}
    types: dict[Leaf, str] = {}
    names = {oid: name for name, oid in tables.items()}
    for oid, number, column, kind in _rows(cursor, COLUMNS, [list(roots)]):
        columns.setdefault(oid, {})[number] = column
        if oid in names:
            types[names[oid], column] = kind
    checked = {name: _present(governed[name], columns.get(oid, {}).values(), file) for name, oid in tables.items()}
    relations = {oid: _relation(oid, every[oid], names, columns.get(oid, {}), checked) for oid, names in roots.items()}
    indexes = [(oid, set(indexed)) for oid, indexed in _rows(cursor, UNIQUE, [list(tables.values())])]
    effects = _rows(cursor, EFFECTS)
    catalog = Catalog(
        checked,
        relations,
        schemas,
        known=frozenset(every),
        functions=functions,
        volatile=frozenset(name for name, kind in effects if kind == "v"),
        changing=frozenset(name for name, _ in effects),
        sets=frozenset(name for (name,) in _rows(cursor, SETS)),
        operators=frozenset(name for (name,) in _rows(cursor, OPERATORS)),
        unique=frozenset(  # tables whose key, or a part of it, is unique
            name
            for name, table in checked.items()
            if table.key and any(oid == tables[name] and indexed <= set(table.key) for oid, indexed in indexes)
        ),
        types=types,
        triggered=triggered(cursor, list(relations), frozenset(one.name for one in relations.values()), functions),
    )
    return with_views(cursor, catalog, columns)


def _rows(cursor: Any, question: str, values: Any = None) -> list[Any]:
    return list(cursor.execute(question, values).fetchall())


def _present(table: GovernedTable, columns: Iterable[str], file: str) -> GovernedTable:
    """Table without the columns that only [columns] names and that it lacks."""

    has = set(columns)
    roles: dict[str, Any] = {role: getattr(table, role) for role in ("key", "identifiers", "quasi", "sensitive")}
    for role, its in roles.items():
        if missing := [column for column in its if column not in has and column not in table.by_default]:
            raise PolicyError(
                f"Table '{table.name}' has no column '{missing[0]}', which [gateway.tables] lists under {role}.",
                remedy="Check the names of the columns.",
                file=file,
            )
    kept: dict[str, Any] = {role: tuple(column for column in its if column in has) for role, its in roles.items()}
    return replace(table, **kept)


def _roots(
    cursor: Any, every: Mapping[int, Any], tables: Mapping[str, int], opaque: set[int], untrusted: frozenset[str]
) -> dict[int, set[str]]:
    """Governed tables that reading each relation may read; a foreign one may read all."""
    found: dict[int, set[str]] = {oid: set(tables) for oid in opaque}
    found |= {oid: {name} for name, oid in tables.items()}
    unseen = {oid for (oid,) in _rows(cursor, STATISTICAL)}
    unseen |= {oid for oid, name in _rows(cursor, CALLS) if name in untrusted}
    found |= {oid: set(tables) for oid in unseen & every.keys()}
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
    """Relation of a table, part or parent: columns are governed by their names."""
    found = {}
    for number, name in columns.items():
        leaves = frozenset((root, name) for root in roots if (root, name) in leaves_of(governed[root]))
        if leaves:
            found[number] = (name, ColumnSource(leaves, direct=len(leaves) == 1))
    others = frozenset(columns.values()) - {name for name, _ in found.values()}
    schema, relation, kind = place
    return Relation(oid, schema, relation, kind, frozenset(roots), found, others)


# Views: which governed columns each of their columns shows, as the server's own plan of reading them says.


def with_views(cursor: Any, catalog: Catalog, columns: Mapping[int, Mapping[int, str]]) -> Catalog:
    """Catalog with the columns of views; one without a plan may show everything."""
    views = {oid: one for oid, one in catalog.relations.items() if one.kind in ("v", "m")}
    if not views:
        return catalog
    plain = {oid: one for oid, one in catalog.relations.items() if oid not in views}
    base = replace(catalog, relations=plain)
    found = {}
    for oid, view in views.items():
        shown = columns.get(oid, {})
        known = _through_plan(cursor, view, shown, base) if view.kind == "v" else None
        if known is None:  # every column may show everything
            source = ColumnSource(frozenset(leaf for root in view.roots for leaf in leaves_of(catalog.governed[root])))
            opaque = {number: (name, source) for number, name in shown.items()}
            known = replace(view, columns=opaque, others=frozenset(), once=False)
        found[oid] = known
    return replace(catalog, relations={**plain, **found})


def _through_plan(cursor: Any, view: Relation, columns: Mapping[int, str], catalog: Catalog) -> Relation | None:
    names = ", ".join(quote(name) for _, name in sorted(columns.items()))
    try:
        plan = plan_of(cursor, f"SELECT {names} FROM {quote(view.schema)}.{quote(view.name)}")  # noqa: S608 - quoted
        said = explained(plan, catalog)
    except NotExplained:
        return None
    if len(said.origins) != len(columns) or not set(said.scans) <= view.roots:
        return None
    if view.roots - set(said.scans):  # a function or a materialised part: not seen in the plan
        return None
    origins = dict(zip(sorted(columns), said.origins, strict=True))
    known = {number: (columns[number], origin) for number, origin in origins.items() if origin.leaves}
    others = frozenset(columns.values()) - {name for name, _ in known.values()}
    return replace(view, columns=known, others=others, once=all(times == 1 for times in said.scans.values()))


# Triggers: writing to some tables runs code that reads governed ones, and what it reads can be given back.
TRIGGERS = """
SELECT DISTINCT c.relname::text, p.proname::text, l.lanname::text, p.prosrc
  FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
  JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid JOIN pg_catalog.pg_language l ON l.oid = p.prolang
 WHERE NOT t.tgisinternal AND NOT c.oid = ANY(%s::oid[])"""
RULES = """
SELECT DISTINCT c.relname::text, r.rulename::text FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
 WHERE r.ev_type <> '1' AND c.relnamespace <> 'pg_catalog'::pg_catalog.regnamespace"""
"""Rules for anything but reading, which is what views are made of."""


def triggered(cursor: Any, governed: list[int], names: frozenset[str], untrusted: frozenset[str]) -> dict[str, str]:
    """What writing to each table runs, where that may read governed tables (`names`)."""
    runs: dict[str, str] = dict(_rows(cursor, RULES))
    for table, function, language, source in _rows(cursor, TRIGGERS, [governed]):
        if function not in untrusted:
            continue
        # Harmless is what names no governed table, runs no other text, and calls nothing that might.
        try:
            body = Statement(tuple(lexed(source))) if language in ("sql", "plpgsql") else None
        except Unreadable:
            body = None
        if body is None or body.names & names or "execute" in body.names or body.calls & untrusted:
            runs[table] = function
    return runs


# Which tables are governed where the policy names none: those with columns of which it says what they are.
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
