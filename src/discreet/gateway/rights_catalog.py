"""Catalog queries of the audit of rights: roles, grants, views, routines, foreign data, settings.

All names in them mean those of pg_catalog: the audit sets the search path.
"""

from __future__ import annotations

from dataclasses import dataclass

ROLES = """
SELECT oid::int8, rolname::text, rolsuper, rolbypassrls, rolreplication, rolcreaterole,
       rolcreatedb AND (SELECT datistemplate FROM pg_database WHERE datname = current_database()),
       rolcanlogin AND has_database_privilege(oid, current_database(), 'CONNECT')
  FROM pg_roles"""
MEMBERS = "SELECT member::int8, roleid::int8 FROM pg_auth_members"
GOVERNED = """
SELECT c.oid::int8 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = ANY(%s::text[]) AND n.nspname || '.' || c.relname = ANY(%s::text[])"""
INHERITS = "SELECT inhrelid::int8, inhparent::int8 FROM pg_inherits"
READS = """
SELECT DISTINCT r.ev_class::int8, d.refobjid::int8 FROM pg_rewrite r JOIN pg_depend d ON d.objid = r.oid
 WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> r.ev_class"""
CALLS = """
SELECT DISTINCT c.oid::int8 FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid JOIN pg_depend d ON d.objid = r.oid
  JOIN pg_proc p ON p.oid = d.refobjid
 WHERE c.relkind = 'm' AND c.relispopulated AND d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_proc'::regclass
   AND p.pronamespace <> 'pg_catalog'::regnamespace
   AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = p.oid AND e.classid = 'pg_proc'::regclass AND e.deptype = 'e')"""
RELATIONS = """
SELECT c.oid::int8, format('%%I.%%I', n.nspname, c.relname), c.relkind::text, c.relowner::int8, c.relrowsecurity, c.relispopulated,
       coalesce((SELECT lower(option_value) IN ('true', 'on', '1', 'yes') FROM pg_options_to_table(c.reloptions)
                  WHERE option_name = 'security_invoker'), false),
       n.nspowner::int8, quote_ident(n.nspname), c.reltoastrelid::int8
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ANY(%s::oid[])"""
GRANTS = """
SELECT c.oid::int8, NULL::text, a.grantee::int8, a.privilege_type::text, a.grantor::int8
  FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = ANY(%s::oid[])
UNION ALL
SELECT t.attrelid::int8, t.attname::text, a.grantee::int8, a.privilege_type::text, a.grantor::int8
  FROM pg_attribute t, aclexplode(t.attacl) a WHERE t.attrelid = ANY(%s::oid[]) AND NOT t.attisdropped"""
UNIQUE = """
SELECT i.indrelid::int8, array_agg(a.attname::text) FROM pg_index i
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey::int2[])
 WHERE i.indisunique AND i.indrelid = ANY(%s::oid[]) GROUP BY i.indexrelid, i.indrelid"""
DATABASE = "SELECT quote_ident(datname), datdba::int8 FROM pg_database WHERE datname = current_database()"
ROUTINES = """
SELECT p.oid::regprocedure::text, p.proname::text, p.proowner::int8, p.prosecdef, l.lanpltrusted OR l.lanname IN ('c', 'internal', 'sql'),
       array(SELECT DISTINCT a.grantee::int8 FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
              WHERE a.privilege_type = 'EXECUTE'),
       coalesce((SELECT x.extname::text FROM pg_depend d JOIN pg_extension x ON x.oid = d.refobjid
                  WHERE d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e' LIMIT 1), ''),
       p.prorettype = 'trigger'::regtype, p.oid::int8
  FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
 WHERE p.prosecdef OR NOT (l.lanpltrusted OR l.lanname IN ('c', 'internal', 'sql'))
    OR EXISTS (SELECT FROM pg_depend d JOIN pg_extension x ON x.oid = d.refobjid
                WHERE d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e' AND x.extname = 'dblink')"""
TRIGGERS = """
SELECT t.tgrelid::int8, t.tgname::text, t.tgfoid::int8 FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
 WHERE NOT t.tgisinternal AND p.prosecdef"""
BEYOND = """
SELECT 'FUNCTION ' || p.oid::regprocedure, 'EXECUTE', a.grantee::int8
  FROM pg_init_privs i JOIN pg_proc p ON p.oid = i.objoid, aclexplode(p.proacl) a
 WHERE i.classoid = 'pg_proc'::regclass AND i.objsubid = 0
   AND NOT EXISTS (SELECT FROM aclexplode(i.initprivs) b WHERE b.grantee = a.grantee)
UNION ALL
SELECT 'TABLE ' || c.oid::regclass, a.privilege_type, a.grantee::int8
  FROM pg_class c LEFT JOIN pg_init_privs i ON i.objoid = c.oid AND i.classoid = 'pg_class'::regclass AND i.objsubid = 0,
       aclexplode(c.relacl) a
 WHERE c.relnamespace = 'pg_catalog'::regnamespace AND a.privilege_type = 'SELECT'
   AND NOT EXISTS (SELECT FROM aclexplode(i.initprivs) b WHERE b.grantee = a.grantee AND b.privilege_type = 'SELECT')
UNION ALL
SELECT 'TABLE ' || c.oid::regclass, format('SELECT (%I)', t.attname), a.grantee::int8
  FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid, aclexplode(t.attacl) a
 WHERE c.relnamespace = 'pg_catalog'::regnamespace AND a.privilege_type = 'SELECT' AND a.grantee <> 0"""
FOREIGN_TABLES = "SELECT oid::int8 FROM pg_class WHERE relkind = 'f'"
FOREIGN_SERVERS = """
SELECT quote_ident(s.srvname), m.umuser::int8, array(SELECT a.grantee::int8 FROM aclexplode(s.srvacl) a), s.srvowner::int8
  FROM pg_user_mappings m JOIN pg_foreign_server s ON s.oid = m.srvid"""
LARGE_OBJECTS = """
SELECT m.oid::text, a.grantee::int8, current_setting('lo_compat_privileges')::bool
  FROM pg_largeobject_metadata m LEFT JOIN LATERAL aclexplode(m.lomacl) a ON true
 WHERE EXISTS (SELECT FROM pg_attribute t JOIN pg_type y ON y.oid = t.atttypid
                WHERE t.attrelid = ANY(%s::oid[]) AND t.attnum > 0 AND (y.typname = 'oid' OR y.typname = 'lo'))"""
SETTINGS = """
SELECT current_setting('track_counts'), coalesce(current_setting('pg_stat_statements.track', true), 'none'),
       (SELECT oid::int8 FROM pg_roles WHERE rolname = session_user)"""
CREATORS = """
SELECT a.grantee::int8 FROM pg_namespace n, aclexplode(n.nspacl) a
 WHERE n.nspname = 'pg_catalog' AND a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner"""
"""The gateway's own statements look for functions and operators in pg_catalog, and nowhere else."""

DANGEROUS = {
    "pg_read_all_data": "reads every table",
    "pg_read_server_files": "reads the files of the server",
    "pg_write_server_files": "writes the files of the server",
    "pg_execute_server_program": "runs programs on the server",
    "pg_monitor": "sees the statements and counters of others",
    "pg_read_all_stats": "sees the statements and counters of others",
    "pg_stat_scan_tables": "scans tables for statistics",
}
"""Roles of PostgreSQL's own whose members go past the gateway."""
ATTRIBUTES = (
    ("SUPERUSER", "is a superuser, and nothing binds a superuser"),
    ("BYPASSRLS", "passes row level security"),
    ("REPLICATION", "can copy the whole server by replication"),
    ("CREATEROLE", "makes roles, and can grant itself others"),
    ("CREATEDB", "can copy this database, which is a template"),
)


@dataclass(frozen=True)
class CatalogRole:
    """A role, as the catalog has it."""

    oid: int
    name: str
    attributes: tuple[bool, ...]
    login: bool


@dataclass(frozen=True)
class CatalogRelation:
    """A table, view or part of one."""

    oid: int
    name: str
    kind: str
    owner: int
    row_security: bool
    populated: bool
    invoker: bool
    schema_owner: int
    schema: str
    toast: int


@dataclass(frozen=True)
class CatalogGrant:
    """A right on a relation, or on one of its columns."""

    relation: int
    column: str | None
    grantee: int
    privilege: str
    grantor: int
