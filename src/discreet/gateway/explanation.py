"""Explanation of a statement: what the gateway would make of it, at what cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from discreet.gateway.analysis.people import parts_of
from discreet.gateway.analysis.plan import Exact, Plan, RowList, StatementPlanner, StatisticPlan
from discreet.gateway.analysis.relations import Named, Relation, Relations, Setting
from discreet.gateway.analysis.resolve import Resolver
from discreet.gateway.analysis.statements import AskedStatement, asked
from discreet.gateway.database_relations import full, read_relations
from discreet.gateway.introspection import find_governed
from discreet.gateway.own_connection import OwnConnections
from discreet.policy import Policy
from discreet.policy.gateway_section import GatewayPolicy, GovernedTable
from discreet.sql.fragment import ColumnName, NotCovered, Select, Table, walk

SALT = "explained"


@dataclass
class StatementExplanation:
    """What would happen."""

    lines: list[str] = field(default_factory=list)
    refused: str = ""
    instead: str = ""


def explained(statement: str, policy: Policy, *, own: str | None = None) -> StatementExplanation:
    """What the gateway would make of a statement; with `own`, by that database's catalog."""
    found = StatementExplanation()
    ask = asked(statement)
    try:
        if ask.kind in ("other", "fetch", "close", "show"):
            found.lines.append("Passes to the server under the user's own role, which may not read governed tables.")
            return found
        if ask.kind == "several":
            raise NotCovered("a text of several statements", "send them one by one")
        if ask.problem is not None:
            raise ask.problem
        section = policy.gateway or GatewayPolicy()
        relations = _read(policy, section, own) if own is not None else _supposed(policy, section, ask)
        setting = _setting(relations, ask)
        if not any(named and relations.by_oid[named.oid].leads for named in setting.names.values()):
            found.lines.append("Names no governed table: passes to the server under the user's own role.")
            return found
        resolved = Resolver(relations, setting, SALT).resolve(ask.tree)
        plan = StatementPlanner(resolved, section.aggregates).plan(resolved.query)
        for one in _in_order(plan):
            found.lines += _told(one, policy, section)
    except NotCovered as problem:
        found.refused = f"The gateway does not answer {problem.construct} about governed tables."
        found.instead = f"{problem.instead[0].upper()}{problem.instead[1:]}." if problem.instead else ""
    return found


def _in_order(plan: Plan) -> list[Plan]:
    return [*(inner for _, one in plan.before for inner in _in_order(one)), plan]


def _told(plan: Plan, policy: Policy, section: GatewayPolicy) -> list[str]:
    if isinstance(plan, Exact):
        return ["Exact answer: nothing sensitive of any person is in it. It costs nothing."]
    if isinstance(plan, RowList):
        return _rows(plan, policy)
    return _statistic(plan, section)


def _rows(plan: RowList, policy: Policy) -> list[str]:
    lines = []
    for charge in plan.charges:
        weights = [_worst(policy, name) for _, name in charge.attributes]
        weight = min(1.0, sum(weights))
        names = ", ".join(name for _, name in charge.attributes)
        lines.append(
            f"Rows of people: each {charge.entity} that it is about is charged with {names}, at most {weight:.3g}."
        )
        limit = policy.misuse.limit
        if limit is not None and weight:
            lines.append(
                f"A limit of {limit:g} allows {int((limit / weight) ** 2):,} such people at the worst weights."
            )
        plain = {name for name, *_ in charge.shown}
        lines.append(
            "Once shown, values count at their own weights."
            if plain and not plan.whole
            else "Everybody whom the other conditions leave is charged, also who is not shown: conditions, orders and "
            "expressions tell of them."
        )
    return lines


def _worst(policy: Policy, name: str) -> float:
    from discreet.misuse.sensitivity import Weights

    said = policy.sensitivity
    names = (name, name.partition(".")[2], name.rpartition(".")[2])
    table = next((said[one] for one in names if one in said), {"otherwise": 1.0})
    return Weights.of(table, column=name).worst


def _statistic(plan: StatisticPlan, section: GatewayPolicy) -> list[str]:
    statistic, settings = plan.statistic, section.aggregates
    answers = 0
    for part in statistic.parts:
        for question in part.questions:
            units = {(one.tag.partition(":")[0], one.measures, one.condition) for one in question.quantities}
            answers += len(units) * len(part.sets)
    names = ", ".join(statistic.columns)
    return [
        f"Statistic about {names}: groups of at least {settings.smallest} people, with noise of {settings.noise:g} half-ranges.",
        f"It counts as up to {answers} of {settings.answers} answers; asked again, it is free.",
        f"The audit of who was asked about lets at most {settings.audit:.2f} of anybody's uncertainty go.",
    ]


# The database, or what the policy lets suppose of it.
def _read(policy: Policy, section: GatewayPolicy, own: str) -> Relations:
    connections = OwnConnections(own)
    try:
        with connections.cursor() as cursor:
            tables = dict(section.tables) or find_governed(cursor, policy)
            return read_relations(cursor, tables, file=policy.file, exempt=section.exempt)
    finally:
        connections.close()


def _setting(relations: Relations, ask: AskedStatement) -> Setting:
    named: dict[tuple[str, str], Named | None] = {}
    for schema, name in ask.names:
        fits = [one for one in relations.by_oid.values() if one.name == name and schema in ("", one.schema)]
        named[schema, name] = Named(fits[0].oid, True, False) if fits else None
    return Setting(named, {}, "2000-01-01 00:00:00+00", "2000-01-01")


def _supposed(policy: Policy, section: GatewayPolicy, ask: AskedStatement) -> Relations:
    """Tables as the policy names them, with the columns that the statement speaks of."""
    tables = dict(section.tables)
    roles = policy.roles
    if not tables:
        by_role = {
            role: tuple(name for name, its in roles.items() if its == role)
            for role in ("identifier", "quasi", "sensitive")
        }
        for schema, name in ask.names:
            shown = f"{schema}.{name}" if schema else name
            key, others = by_role["identifier"][:1], by_role["identifier"][1:]
            tables[shown] = GovernedTable(shown, key, shown, others, by_role["quasi"], by_role["sensitive"])
    relations = []
    known = {full(name): table for name, table in tables.items()}
    blocks = [one for one in walk(ask.tree) if isinstance(one, Select)]
    for oid, (schema, name) in enumerate(sorted(ask.names), start=1):
        place = next((one for one in known if one.split(".")[1] == name and schema in ("", one.split(".")[0])), "")
        table = known.get(place)
        columns = dict.fromkeys(_spoken(blocks, schema, name), "text")
        if table is not None:
            columns |= dict.fromkeys((*table.key, *table.identifiers, *table.quasi, *table.sensitive), "text")
            for column in columns:
                full_name = f"{table.name}.{column}"
                if section.aggregates.bounds(full_name) or section.aggregates.step(full_name):
                    columns[column] = "numeric"
        home = place.split(".")[0] if place else schema or "public"
        unique = (frozenset(table.key),) if table is not None and table.entity == table.name else ()
        relations.append(Relation(oid, home, name, "r", columns, table, table is not None, unique))
    return Relations.of(relations)


def _spoken(blocks: Iterable[Any], schema: str, name: str) -> Iterable[str]:
    """Columns that a statement takes to be of this table."""
    for block in blocks:
        parts = [one for one in parts_of(block.source) if isinstance(one, Table)]
        mine = {one.alias for one in parts if (one.schema, one.name) == (schema, name)}
        alone = len(list(parts_of(block.source))) == 1
        for one in walk(block):
            if mine and isinstance(one, ColumnName) and (one.table in mine or (alone and not one.table)):
                yield one.name
