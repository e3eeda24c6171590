"""Views: which governed columns each of their columns shows, as the server's own plan of reading them says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from discreet.gateway.catalog.plans import NotExplained, explained
from discreet.sql.catalog import Catalog, Origin, Relation, leaves_of

VIEWS = ("v", "m")


def with_views(cursor: Any, catalog: Catalog, columns: Mapping[int, Mapping[int, str]]) -> Catalog:
    """The same catalog with the columns of views. What cannot be told is taken for everything."""
    views = {oid: one for oid, one in catalog.relations.items() if one.kind in VIEWS}
    if not views:
        return catalog
    opaque = {oid: _opaque(one, columns.get(oid, {}), catalog) for oid, one in views.items()}
    plain = {oid: one for oid, one in catalog.relations.items() if oid not in views}
    base = replace(catalog, relations=plain)
    found = {}
    for oid, view in views.items():
        known = _through_plan(cursor, view, columns.get(oid, {}), base) if view.kind == "v" else None
        found[oid] = known or opaque[oid]
    return replace(catalog, relations={**plain, **found})


def _through_plan(cursor: Any, view: Relation, columns: Mapping[int, str], catalog: Catalog) -> Relation | None:
    names = ", ".join(_quoted(name) for _, name in sorted(columns.items()))
    try:
        plan = plan_of(cursor, f"SELECT {names} FROM {_quoted(view.schema)}.{_quoted(view.name)}")  # noqa: S608 - quoted
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


def _opaque(view: Relation, columns: Mapping[int, str], catalog: Catalog) -> Relation:
    """Every column may show everything."""
    leaves = frozenset(leaf for root in view.roots for leaf in leaves_of(catalog.governed[root]))
    shown = {number: (name, Origin(leaves)) for number, name in columns.items()}
    return replace(view, columns=shown, others=frozenset(), once=False)


def plan_of(cursor: Any, question: str) -> Any:
    """The plan of a statement, as the server would run it; NotExplained if it does not say."""
    connection = cursor.connection
    try:
        with connection.transaction():
            cursor.execute("SET LOCAL statement_timeout = '5s'")
            cursor.execute(f"EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) {question}")
            return cursor.fetchone()[0][0]["Plan"]
    except Exception:
        raise NotExplained from None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
