"""Audit of rights: which ways past the gateway the database leaves its users.

The gateway relies on one thing: whoever it governs cannot read governed tables by themselves. Everything here is found in
the catalog of the database with the gateway's own login; nothing is changed. A user is a role that can log in and connect
to this database, but those the policy exempts, the gateway's own role, and the superuser that every cluster is made with.
Rights are looked for on every role that a user is a member of, whether inherited or reached by SET ROLE.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import discreet.gateway.rights_catalog as catalog
from discreet.gateway.introspection import find_governed, refuse_none
from discreet.policy import Policy
from discreet.policy.gateway_section import GatewayPolicy
from discreet.sources.server import connected, driver, quote, unreachable

PUBLIC = 0
"""What catalogs call the grantee PUBLIC."""
BOOTSTRAP = 10
"""The role that makes a cluster."""

READING = frozenset(("SELECT",))
WRITING = frozenset(("SELECT", "INSERT", "UPDATE", "DELETE"))


@dataclass(frozen=True)
class Hole:
    """A way past the gateway."""

    problem: str
    remedy: str
    """The statement that closes it, for an administrator to run in this database."""
    kind: str = "rights"


def holes(
    cursor: Any, tables: Iterable[str], *, exempt: Collection[str] = (), trusted: Collection[str] = ()
) -> tuple[Hole, ...]:
    """Ways in which users can read governed tables; `trusted` functions give out nothing."""
    cursor.execute("SET LOCAL search_path = pg_catalog")
    audit = _Audit(cursor, [*tables], frozenset(exempt), frozenset(trusted))
    return tuple(dict.fromkeys(hole for check in audit.checks for hole in check()))


def look(url: str, policy: Policy) -> tuple[tuple[str, ...], tuple[Hole, ...]]:
    """Governed tables of a policy, and the ways past the gateway that its own login finds."""
    section = policy.gateway or GatewayPolicy()
    try:
        with connected(url) as connection, connection.transaction(force_rollback=True), connection.cursor() as cursor:
            with suppress(driver().errors.InsufficientPrivilege), connection.transaction():
                connection.execute("SET LOCAL track_counts = off")  # as the gateway does where it may
            tables = section.tables or find_governed(cursor, policy)
            refuse_none(tables, policy)
            return tuple(tables), holes(cursor, tables, exempt=section.exempt, trusted=section.functions)
    except driver().OperationalError:
        raise unreachable(url) from None


def entitled(cursor: Any, user: str, tables: Mapping[str, int]) -> frozenset[str]:
    """Governed tables that a user may ask the gateway about: those with a right on some column."""
    asked = cursor.execute(
        "SELECT t.oid::int8 FROM unnest(%s::oid[]) t(oid) WHERE has_any_column_privilege(%s::name, t.oid, 'REFERENCES, SELECT')",
        [[*tables.values()], user],
    )
    allowed = {oid for (oid,) in asked.fetchall()}
    return frozenset(name for name, oid in tables.items() if oid in allowed)


def ungovernable(cursor: Any, user: str) -> str | None:
    """Why no gateway can hold a user back, if so."""
    asked = cursor.execute(
        "SELECT rolsuper, rolname = session_user FROM pg_roles WHERE rolname = %s",
        [user],
    )
    superuser, own = asked.fetchone() or (False, False)
    if superuser:
        return "A superuser cannot be governed."
    return "This is the gateway's own role." if own else None


class _Audit:
    """One look at the catalog."""

    def __init__(self, cursor: Any, tables: list[str], exempt: frozenset[str], trusted: frozenset[str]) -> None:
        self._cursor, self._trusted = cursor, trusted
        ((self._counts, self._statements, self._own),) = self._rows(catalog.SETTINGS)
        self._roles = {
            row[0]: catalog.CatalogRole(row[0], row[1], tuple(row[2:7]), row[7]) for row in self._rows(catalog.ROLES)
        }
        self._joined = _onward(self._rows(catalog.MEMBERS))
        self._users = [
            role
            for role in sorted(self._roles.values(), key=lambda role: role.name)
            if role.login and role.oid not in (BOOTSTRAP, self._own) and role.name not in exempt
        ]
        self._acting = {user.oid: self._reached(user.oid) for user in self._users}
        full = [name if "." in name else f"public.{name}" for name in tables]
        schemas = sorted({name.partition(".")[0] for name in full})
        governed = {oid for (oid,) in self._rows(catalog.GOVERNED, [schemas, full])}
        self._family = self._relatives(governed)
        reads = self._rows(catalog.READS)
        readers = _closure(self._family, _onward((read, reader) for reader, read in reads))
        foreign = {oid for (oid,) in self._rows(catalog.FOREIGN_TABLES)}
        self._calling = {oid for (oid,) in self._rows(catalog.CALLS)}
        self._triggers = self._rows(catalog.TRIGGERS)
        every = [*(readers | foreign | self._calling | {trigger[0] for trigger in self._triggers})]
        self._relations = {row[0]: catalog.CatalogRelation(*row) for row in self._rows(catalog.RELATIONS, [every])}
        self._family |= {self._relations[oid].toast for oid in self._family if oid in self._relations} - {0}
        self._grants: dict[int, list[catalog.CatalogGrant]] = {}
        every += [oid for oid in self._family if oid not in self._relations]
        for row in self._rows(catalog.GRANTS, [every, every]):
            self._grants.setdefault(row[0], []).append(catalog.CatalogGrant(*row))
        self._foreign = foreign - self._family
        self._edges = _onward(edge for edge in reads if readers.issuperset(edge))
        self._routines_found = self._rows(catalog.ROUTINES)
        self._privileged: dict[int, bool] = {}
        self.checks: tuple[Callable[[], Iterator[Hole]], ...] = (
            self._attributes,
            self._memberships,
            self._ownership,
            self._readable,
            self._through_views,
            self._references,
            self._row_security,
            self._routines,
            self._trigger_functions,
            self._foreign_data,
            self._system_objects,
            self._large_objects,
            self._own_settings,
        )

    def _rows(self, question: str, values: Any = None) -> list[Any]:
        return list(self._cursor.execute(question, values).fetchall())

    def _reached(self, role: int) -> set[int]:
        """A role and all whose rights it has or can take on."""
        return _closure({role}, self._joined)

    def _relatives(self, governed: set[int]) -> set[int]:
        """Governed tables with their parts, and the parents through which they can be read."""
        family = self._rows(catalog.INHERITS)
        return _closure(governed, _onward((above, below) for below, above in family)) | _closure(
            governed, _onward(family)
        )

    def _named(self, grantee: int) -> str:
        return "PUBLIC" if grantee == PUBLIC else quote(self._roles[grantee].name)

    def _holders(self, grantee: int) -> list[catalog.CatalogRole]:
        """The users to whom a right of a grantee comes."""
        if grantee == PUBLIC:
            return self._users
        return [user for user in self._users if grantee in self._acting[user.oid]]

    def _who(self, grantee: int) -> str:
        """The users with a right of a grantee, in words; empty if there is none."""
        users = [user.name for user in self._holders(grantee)]
        few = ", ".join(users[:3]) + (f" and {len(users) - 3} more" if len(users) > 3 else "")
        if not users or users == [self._roles[grantee].name if grantee else ""]:
            return few
        return f"{few} (by {'PUBLIC' if grantee == PUBLIC else self._roles[grantee].name})"

    # Roles ------------------------------------------------------------------------------------------------------------

    def _attributes(self) -> Iterator[Hole]:
        reached = set().union(*self._acting.values())
        for role in sorted((self._roles[oid] for oid in reached), key=lambda role: role.name):
            for (attribute, words), has in zip(catalog.ATTRIBUTES, role.attributes, strict=True):
                if (
                    has
                    and role.oid not in (BOOTSTRAP, self._own)
                    and (attribute != "BYPASSRLS" or not role.attributes[0])
                ):
                    yield Hole(
                        f"{self._who(role.oid)} {words}.", f"ALTER ROLE {quote(role.name)} NO{attribute};", "role"
                    )

    def _memberships(self) -> Iterator[Hole]:
        members = [(member, role) for member, roles in self._joined.items() for role in roles]
        dangerous = {
            oid: catalog.DANGEROUS[role.name] for oid, role in self._roles.items() if role.name in catalog.DANGEROUS
        }
        dangerous |= {self._own: "is the gateway's own role", BOOTSTRAP: "is a superuser"}
        for member, oid in sorted(members):
            who = self._who(member)
            if oid in dangerous and who and member not in dangerous:
                role = self._roles[oid].name
                words = f"{who} is a member of {role}, which {dangerous[oid]}."
                yield Hole(words, f"REVOKE {quote(role)} FROM {self._named(member)};", "membership")

    def _ownership(self) -> Iterator[Hole]:
        ((database, owner),) = self._rows(catalog.DATABASE)
        owned = {(owner, f"DATABASE {database}", f"database {database}")}
        for oid in self._family:
            if relation := self._relations.get(oid):
                kind = "FOREIGN TABLE" if relation.kind == "f" else "TABLE"
                owned.add((relation.owner, f"{kind} {relation.name}", relation.name))
                owned.add((relation.schema_owner, f"SCHEMA {relation.schema}", f"schema {relation.schema}"))
        for owner, thing, words in sorted(owned):
            if who := self._who(owner):
                yield Hole(f"{who} owns {words}.", f"ALTER {thing} OWNER TO CURRENT_USER;", "ownership")

    # Relations --------------------------------------------------------------------------------------------------------

    def _granted(self, oid: int, privileges: frozenset[str]) -> Iterator[tuple[str, str, str]]:
        """Users with a right on a relation, the right, and the statement that takes it away."""
        for grant in self._grants.get(oid, ()):
            who = self._who(grant.grantee) if grant.privilege in privileges else ""
            relation = self._relations.get(oid)
            if not who or (relation is not None and grant.grantee == relation.owner):
                continue
            name = relation.name if relation else f"pg_toast.pg_toast_{oid}"
            columns = f" ({quote(grant.column)})" if grant.column else ""
            revoke = f"REVOKE {grant.privilege}{columns} ON TABLE {name} FROM {self._named(grant.grantee)} CASCADE;"
            if relation is not None and grant.grantor not in (relation.owner, PUBLIC):
                revoke = f"SET ROLE {self._named(grant.grantor)}; {revoke} RESET ROLE;"
            yield who, f"{grant.privilege}{columns}", revoke

    def _readable(self) -> Iterator[Hole]:
        for oid in sorted(self._family):
            name = self._relations[oid].name if oid in self._relations else "the long values of a governed table"
            for who, privilege, revoke in self._granted(oid, READING | {"TRIGGER"}):
                does = "can hang triggers on" if privilege == "TRIGGER" else "can read"
                part = privilege.removeprefix("SELECT").strip()
                yield Hole(f"{who} {does} {name}{f' {part}' if part and does == 'can read' else ''}.", revoke, "table")

    def _may_read(self, role: int, oid: int) -> bool:
        """Whether a role reads a relation by its own rights."""
        reached = self._reached(role)
        roles = [self._roles[other] for other in reached if other in self._roles]
        relation = self._relations.get(oid)
        return (
            any(one.attributes[0] or one.name in ("pg_read_all_data", "pg_execute_server_program") for one in roles)
            or (relation is not None and relation.owner in reached)
            or any(
                grant.privilege == "SELECT" and grant.grantee in {*reached, PUBLIC}
                for grant in self._grants.get(oid, ())
            )
        )

    @cached_property
    def _leaking(self) -> set[int]:
        """Views and rules that show governed rows by the rights of their owners.

        A view that a user makes on governed tables shows nothing, since its owner may not read them: users must not be
        able to stop the gateway by making views.
        """
        found, grown = set(self._family), True
        while grown:
            grown = False
            for oid in self._edges.keys() - found:
                relation = self._relations[oid]
                if relation.kind == "m":
                    leaks = relation.populated
                else:
                    read = self._read_by(oid, {oid}) & found
                    leaks = not relation.invoker and any(self._may_read(relation.owner, one) for one in read)
                if leaks:
                    found.add(oid)
                    grown = True
        for oid in self._calling:  # what a function has read, stored
            if any(self._may_read(self._relations[oid].owner, one) for one in self._family):
                found.add(oid)
        return found - self._family

    def _read_by(self, oid: int, before: set[int]) -> set[int]:
        """What a view reads, through views that ask with the rights of their reader."""
        read: set[int] = set()
        for one in self._edges.get(oid, set()) - before:
            read.add(one)
            if one in self._relations and self._relations[one].invoker:
                read |= self._read_by(one, before | {one})
        return read

    def _through_views(self) -> Iterator[Hole]:
        kinds = {"v": "view", "m": "materialised view"}
        for oid in sorted(self._leaking):
            relation = self._relations[oid]
            kind, rights = kinds.get(relation.kind), READING if relation.kind == "m" else WRITING
            for who, _, revoke in self._granted(oid, rights):
                words = f"the {kind} {relation.name}" if kind else f"the rules of {relation.name}"
                yield Hole(f"{who} can read governed rows by {words}, with the rights of its owner.", revoke, "view")
            if relation.kind == "m" and (who := self._who(relation.owner)):
                words = f"{who} owns the materialised view {relation.name}, which holds governed rows."
                yield Hole(words, f"REFRESH MATERIALIZED VIEW {relation.name} WITH NO DATA;", "view")

    def _references(self) -> Iterator[Hole]:
        unique: dict[int, list[set[str]]] = {}
        for oid, columns in self._rows(catalog.UNIQUE, [[*self._family & self._relations.keys()]]):
            unique.setdefault(oid, []).append(set(columns))
        for oid, keys in sorted(unique.items()):
            name, by_grantee = self._relations[oid].name, dict[int, set[str | None]]()
            for grant in self._grants.get(oid, ()):
                if grant.privilege == "REFERENCES" and grant.grantee != self._relations[oid].owner:
                    by_grantee.setdefault(grant.grantee, set()).add(grant.column)
            for grantee, columns in by_grantee.items():
                told = next((key for key in keys if None in columns or key <= columns), None)
                if told is not None and (who := self._who(grantee)):
                    part = "" if None in columns else f" ({', '.join(map(quote, sorted(told)))})"
                    words = (
                        f"{who} can find out which values of {', '.join(sorted(told))} are in {name}, by a foreign key."
                    )
                    revoke = f"REVOKE REFERENCES{part} ON TABLE {name} FROM {self._named(grantee)} CASCADE;"
                    yield Hole(words, revoke, "references")

    def _row_security(self) -> Iterator[Hole]:
        for oid in sorted(self._family):
            relation = self._relations.get(oid)
            if relation is not None and relation.row_security:
                words = f"{relation.name} has row level security, which does not hold for what the gateway reads."
                yield Hole(words, f"ALTER TABLE {relation.name} DISABLE ROW LEVEL SECURITY;", "row security")

    # Routines and other servers ---------------------------------------------------------------------------------------

    def _reads(self, role: int) -> bool:
        """Whether a role reads anything governed."""
        if role not in self._privileged:
            self._privileged[role] = any(self._may_read(role, oid) for oid in self._family | self._leaking)
        return self._privileged[role]

    def _routines(self) -> Iterator[Hole]:
        for signature, name, owner, definer, safe, grantees, extension, trigger, _ in self._routines_found:
            if name in self._trusted or trigger:
                continue
            if definer and self._reads(owner):
                words = f"call {signature}, which runs with the rights of its owner"
            elif not safe:
                words = f"call {signature}, whose language is not bound by rights"
            elif extension == "dblink":
                words = f"reach other databases by {signature}"
            else:
                continue
            for grantee in grantees:
                if grantee != owner and (who := self._who(grantee)):
                    revoke = f"REVOKE EXECUTE ON ROUTINE {signature} FROM {self._named(grantee)};"
                    yield Hole(f"{who} can {words}.", revoke, "routine")

    def _trigger_functions(self) -> Iterator[Hole]:
        routines = {row[8]: row for row in self._routines_found}
        for oid, trigger, function in self._triggers:
            name, owner = routines[function][1:3]
            if oid in self._family or name in self._trusted or not self._reads(owner):
                continue
            relation = self._relations[oid].name
            for who, _, revoke in self._granted(oid, WRITING - READING):
                words = f"{who} can write to {relation}, whose trigger {trigger} runs with the rights of its function's owner."
                yield Hole(words, revoke, "trigger")

    def _foreign_data(self) -> Iterator[Hole]:
        for oid in sorted(self._foreign):
            for who, _, revoke in self._granted(oid, READING):
                words = f"{who} can read the foreign table {self._relations[oid].name}; what is behind it is not known."
                yield Hole(words, revoke, "foreign")
        for server, user, grantees, owner in self._rows(catalog.FOREIGN_SERVERS):
            for grantee in {*grantees, owner}:
                who = self._who(grantee)
                if who and (user == PUBLIC or any(user in self._acting[one.oid] for one in self._holders(grantee))):
                    revoke = f"REVOKE USAGE ON FOREIGN SERVER {server} FROM {self._named(grantee)} CASCADE;"
                    if grantee == owner:
                        revoke = f"ALTER SERVER {server} OWNER TO CURRENT_USER;"
                    yield Hole(f"{who} can use the foreign server {server} with a user mapping.", revoke, "foreign")

    def _system_objects(self) -> Iterator[Hole]:
        for thing, privilege, grantee in self._rows(catalog.BEYOND):
            if who := self._who(grantee):
                words = f"{who} has {privilege} on {thing.lower().replace('(', ' (', 1)}, which PostgreSQL grants to nobody."
                yield Hole(words, f"REVOKE {privilege} ON {thing} FROM {self._named(grantee)} CASCADE;", "system")

    def _large_objects(self) -> Iterator[Hole]:
        for number, grantee, everybody in self._rows(catalog.LARGE_OBJECTS, [[*self._family]]):
            if everybody:
                words = "Everybody can read all large objects, and a governed table names some (lo_compat_privileges)."
                yield Hole(
                    words, "ALTER SYSTEM SET lo_compat_privileges = off; SELECT pg_reload_conf();", "large object"
                )
            elif grantee is not None and (who := self._who(grantee)):
                revoke = f"REVOKE ALL ON LARGE OBJECT {number} FROM {self._named(grantee)};"
                yield Hole(f"{who} can read the large object {number}.", revoke, "large object")

    # The gateway's own role -------------------------------------------------------------------------------------------

    def _own_settings(self) -> Iterator[Hole]:
        own = quote(self._roles[self._own].name)
        if self._counts != "off":
            words = "The server counts the rows that the gateway's own role reads, for everybody to see (track_counts)."
            yield Hole(words, f"ALTER ROLE {own} SET track_counts = off;", "own role")
        if self._statements != "none":
            words = (
                "The server counts the rows of the gateway's own statements, for everybody to see (pg_stat_statements)."
            )
            yield Hole(words, f"ALTER ROLE {own} SET pg_stat_statements.track = 'none';", "own role")
        for (grantee,) in self._rows(catalog.CREATORS):
            if who := self._who(grantee):
                words = f"{who} can make functions in pg_catalog, which the gateway's own role would run."
                yield Hole(words, f"REVOKE CREATE ON SCHEMA pg_catalog FROM {self._named(grantee)};", "own role")


def _onward(edges: Iterable[Sequence[int]]) -> dict[int, set[int]]:
    """Edges by where they begin."""
    found: dict[int, set[int]] = {}
    for one, other in edges:
        found.setdefault(one, set()).add(other)
    return found


def _closure(start: Collection[int], onward: Mapping[int, Collection[int]]) -> set[int]:
    """All that can be reached.

    >>> sorted(_closure({1}, {1: {2}, 2: {1, 3}, 4: {5}}))
    [1, 2, 3]
    """
    found, waiting = set(start), [*start]
    while waiting:
        new = set(onward.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found
