"""Grants: the statements that leave governed tables to the gateway's own role alone.

They are written without a connection, from the policy and the names of roles. What only the database knows (views, parts,
groups, unique columns) its own catalog says when the statements are run, in the block at their end.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from discreet.errors import UsageError
from discreet.gateway.rights_catalog import DANGEROUS
from discreet.policy.gateway_section import GovernedTable
from discreet.sources.server import quote

LONGEST = 63
"""Bytes of a name in PostgreSQL."""
OWN_SETTINGS = (
    "default_transaction_read_only = on",
    "search_path = pg_catalog",
    "statement_timeout = '60s'",
    "lock_timeout = '10s'",
    "idle_in_transaction_session_timeout = '60s'",
    "track_counts = off",
)
"""What holds for the gateway's own role; row counters would tell everybody how many rows a condition met."""

BLOCK = """DO {tag}
DECLARE
  governed oid[] := ARRAY[{tables}]::regclass[]::oid[];
  users oid[] := ARRAY[{users}]::regrole[]::oid[];
  trusted text[] := ARRAY[{trusted}]::text[];
  exempt text[] := ARRAY[{exempt}]::text[];
  own regrole := {own}::regrole;
  family oid[];
  one record;
BEGIN
  -- Members of a group are users as well, unless the policy exempts them.
  SELECT pg_catalog.array_agg(r.oid) INTO users FROM pg_catalog.pg_roles r
   WHERE r.oid = ANY (users) OR NOT r.rolsuper AND r.oid <> own AND NOT r.rolname = ANY (exempt) AND EXISTS (
     SELECT FROM unnest(users) u WHERE pg_catalog.pg_has_role(r.oid, u, 'MEMBER'));

  -- Parts of governed tables, and the parents through which they can be read.
  WITH RECURSIVE below(oid) AS (
    SELECT unnest(governed) UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN below b ON i.inhparent = b.oid),
  above(oid) AS (
    SELECT unnest(governed) UNION SELECT i.inhparent FROM pg_catalog.pg_inherits i JOIN above a ON i.inhrelid = a.oid)
  SELECT pg_catalog.array_agg(oid) INTO family FROM (SELECT oid FROM below UNION SELECT oid FROM above) AS relatives;

  -- Rights on them, and on views that read them, which users hold by themselves, by a group or by PUBLIC.
  FOR one IN
    WITH RECURSIVE readers(oid) AS (
      SELECT unnest(family)
      UNION SELECT r.ev_class FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.objid = r.oid
        JOIN readers ON d.refobjid = readers.oid
       WHERE d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass),
    rights(oid, grantee) AS (
      SELECT c.oid, a.grantee FROM pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a
      UNION
      SELECT t.attrelid, a.grantee FROM pg_catalog.pg_attribute t, pg_catalog.aclexplode(t.attacl) a)
    SELECT c.oid::regclass AS relation, CASE WHEN r.grantee = 0 THEN 'PUBLIC' ELSE r.grantee::regrole::text END AS grantee
      FROM readers JOIN rights r USING (oid) JOIN pg_catalog.pg_class c USING (oid)
     WHERE r.grantee <> c.relowner AND (r.grantee = 0 OR EXISTS (
       SELECT FROM unnest(users) u WHERE pg_catalog.pg_has_role(u, r.grantee, 'MEMBER')))
  LOOP
    EXECUTE format('REVOKE ALL PRIVILEGES ON TABLE %s FROM %s CASCADE', one.relation, one.grantee);
  END LOOP;

  -- Functions that users may call and that run with the rights of an owner who reads governed tables, or are bound by none.
  FOR one IN
    SELECT p.oid::regprocedure AS routine, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS grantee
      FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang,
           pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) a
     WHERE p.prorettype <> 'pg_catalog.trigger'::regtype AND NOT p.proname = ANY (trusted)
       AND (NOT l.lanpltrusted AND l.lanname NOT IN ('c', 'internal')
            OR p.prosecdef AND EXISTS (
              SELECT FROM unnest(family) f WHERE pg_catalog.has_any_column_privilege(p.proowner, f, 'SELECT'))
            OR EXISTS (SELECT FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension x ON x.oid = d.refobjid
                        WHERE d.objid = p.oid AND d.classid = 'pg_catalog.pg_proc'::regclass AND x.extname = 'dblink'))
       AND a.grantee <> p.proowner AND (a.grantee = 0 OR EXISTS (
         SELECT FROM unnest(users) u WHERE pg_catalog.pg_has_role(u, a.grantee, 'MEMBER')))
  LOOP
    EXECUTE format('REVOKE EXECUTE ON ROUTINE %s FROM %s', one.routine, one.grantee);
  END LOOP;

  -- Roles of PostgreSQL's own that go past the gateway.
  FOR one IN
    SELECT r.rolname, m.rolname AS member FROM pg_catalog.pg_auth_members j
      JOIN pg_catalog.pg_roles r ON r.oid = j.roleid JOIN pg_catalog.pg_roles m ON m.oid = j.member
     WHERE (r.oid = own OR r.rolname IN ({dangerous}))
       AND m.rolname !~ '^pg_' AND EXISTS (SELECT FROM unnest(users) u WHERE pg_catalog.pg_has_role(u, m.oid, 'MEMBER'))
  LOOP
    EXECUTE format('REVOKE %I FROM %I', one.rolname, one.member);
  END LOOP;

  -- REFERENCES lets tools list tables and columns, and says whom the gateway answers. It is given on no key of the policy,
  -- and on no columns that a foreign key could refer to: that would tell which values there are.
  FOR one IN
    SELECT t.attrelid::regclass AS relation, pg_catalog.string_agg(pg_catalog.quote_ident(t.attname), ', ') AS columns
      FROM pg_catalog.pg_attribute t
     WHERE t.attrelid = ANY (governed) AND t.attnum > 0 AND NOT t.attisdropped
       AND NOT EXISTS (SELECT FROM (VALUES {keys}) AS k(relation, name)
                        WHERE k.relation::regclass = t.attrelid AND k.name = t.attname)
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_index i
                        WHERE i.indrelid = t.attrelid AND i.indisunique AND i.indkey[0] = t.attnum)
     GROUP BY t.attrelid
  LOOP
    EXECUTE format('GRANT REFERENCES (%s) ON TABLE %s TO %s', one.columns, one.relation, {grantees});
  END LOOP;

  -- The gateway's own role: it reads, and its statements are in no statistics that others see.
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO %s', pg_catalog.current_database(), own);
  IF EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_stat_statements') THEN
    EXECUTE format('ALTER ROLE %s SET pg_stat_statements.track = ''none''', own);
  END IF;
END
{tag};"""


def grants(
    tables: Mapping[str, GovernedTable],
    users: Collection[str],
    own_role: str,
    *,
    trusted: Iterable[str] = (),
    exempt: Iterable[str] = (),
) -> str:
    """SQL that takes governed tables from users for the gateway's own role.

    >>> from discreet.policy.gateway_section import GovernedTable
    >>> patients = GovernedTable("clinic.patients", ("id",), "patient", (), (), ("diagnosis",))
    >>> print(grants({"clinic.patients": patients}, ["ann"], "discreet").splitlines()[0])
    REVOKE ALL PRIVILEGES ON TABLE "clinic"."patients" FROM PUBLIC, "ann" CASCADE;
    """
    for role in (*users, own_role):
        if not role or "\0" in role or len(role.encode()) > LONGEST:
            raise UsageError("A role has no name that PostgreSQL allows.", remedy="Names have 1 to 63 bytes.")
    if own_role in users:
        raise UsageError(
            "The gateway's own role cannot be one of the users.", remedy="Make a role of its own for the gateway."
        )
    whole = {name: quoted(name) for name in tables}
    schemas = sorted({quoted(name).removesuffix("." + quote((name.partition(".")[2]) or name)) for name in tables})
    people, own = ", ".join(quote(user) for user in dict.fromkeys(users)), quote(own_role)
    lines = [f"REVOKE ALL PRIVILEGES ON TABLE {name} FROM PUBLIC, {people} CASCADE;" for name in whole.values()]
    lines += [f"GRANT USAGE ON SCHEMA {schema} TO {people}, {own};" for schema in schemas]
    lines += [f"GRANT SELECT ON TABLE {name} TO {own};" for name in whole.values()]
    lines += [f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {own};" for schema in schemas]
    lines += [f"ALTER ROLE {own} SET {setting};" for setting in OWN_SETTINGS]
    keys = [f"({_text(whole[name])}, {_text(column)})" for name, table in tables.items() for column in table.key]
    fields = {
        "tables": ", ".join(map(_text, whole.values())),
        "users": ", ".join(_text(quote(user)) for user in users),
        "trusted": ", ".join(map(_text, sorted(trusted))),
        "exempt": ", ".join(map(_text, sorted(exempt))),
        "own": _text(own),
        "dangerous": ", ".join(map(_text, DANGEROUS)),
        "keys": ", ".join(keys) or "(NULL::text, NULL::text)",
        "grantees": _text(people),
    }
    said = "".join(fields.values())
    fields["tag"] = next(tag for tag in (f"$discreet{'_' * more}$" for more in range(LONGEST)) if tag not in said)
    return "\n".join([*lines, re.sub(r"\{(\w+)\}", lambda field: fields[field[1]], BLOCK)])


def quoted(table: str) -> str:
    """A table with its schema, quoted.

    >>> quoted("visits"), quoted("clinic.Patients")
    ('"public"."visits"', '"clinic"."Patients"')
    """
    schema, _, name = (table if "." in table else f"public.{table}").partition(".")
    return f"{quote(schema)}.{quote(name)}"


def _text(value: str) -> str:
    """A text as SQL spells it, whatever the server takes a backslash for."""
    return ("E" if "\\" in value else "") + "'" + value.replace("'", "''").replace("\\", "\\\\") + "'"
