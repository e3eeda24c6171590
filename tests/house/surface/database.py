"""The store: tables, columns, constraints and indexes, and the migrations with their triggers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy.dialects import postgresql, sqlite

from discreet import store
from tests.house.surface.names import resolved
from tests.house.surface.snapshot import Items

DIALECTS = {"postgresql": postgresql.dialect(), "sqlite": sqlite.dialect()}  # type: ignore[no-untyped-call]
NOT_A_TABLE = re.compile(r"CREATE (FUNCTION|OR|TRIGGER)|INSERT|UPDATE|DELETE")
"""Statements of a migration that tables, columns and indexes do not show."""


def database() -> Items:
    """The schema as statements use it, and what migrations make beside it."""
    metadata: sa.MetaData = resolved("discreet.store.tables.metadata")
    items: Items = {}
    for table in metadata.sorted_tables:
        items |= {f"{table.name}.{column.name}": _column(column) for column in table.columns}
        items |= dict(_constraints(table))
    return {**items, **dict(_migrations())}


def _column(column: sa.Column[Any]) -> str:
    types = {name: column.type.compile(dialect=dialect) for name, dialect in DIALECTS.items()}
    same = len(set(types.values())) == 1
    facts = [types["sqlite"] if same else "; ".join(f"{name} {text}" for name, text in types.items())]
    facts += [] if column.nullable else ["not null"]
    facts += [f"default {column.server_default.arg}"] if column.server_default is not None else []  # type: ignore[attr-defined]
    facts += ["numbered by the database"] if column.table.autoincrement_column is column else []
    return ", ".join(facts)


def _constraints(table: sa.Table) -> Iterator[tuple[str, str]]:
    for constraint in table.constraints:
        yield f"{table.name} {_constraint(constraint)}", str(constraint.name or "without a name")
    for index in table.indexes:
        where = index.dialect_options["sqlite"].get("where")
        columns = ", ".join(map(str, index.expressions))
        yield (
            f"{table.name} {'unique index' if index.unique else 'index'} ({columns})",
            f"{index.name}{'' if where is None else f' where {where}'}",
        )


def _constraint(constraint: Any) -> str:
    if isinstance(constraint, sa.CheckConstraint):
        return f"check {constraint.sqltext}"
    columns = ", ".join(column.name for column in constraint.columns)
    if isinstance(constraint, sa.ForeignKeyConstraint):
        targets = ", ".join(element.target_fullname for element in constraint.elements)
        return (
            f"foreign key ({columns}) to {targets}{f' on delete {constraint.ondelete}' if constraint.ondelete else ''}"
        )
    kinds = {sa.PrimaryKeyConstraint: "primary key", sa.UniqueConstraint: "unique"}
    return f"{kinds[type(constraint)]} ({columns})"


def _migrations() -> Iterator[tuple[str, str]]:
    """The revisions in their order, and the triggers and rows that each makes."""
    folder = next(Path(str(store.__file__)).parent.rglob("env.py")).parent
    for script in ScriptDirectory(str(folder)).walk_revisions():
        yield f"migration {script.revision}", f"after {script.down_revision or 'nothing'}"
        for dialect in DIALECTS:
            statements = filter(NOT_A_TABLE.match, _statements(script.module, dialect))
            for number, statement in enumerate(statements, start=1):
                yield f"migration {script.revision} on {dialect}, statement {number}", statement


def _statements(migration: Any, dialect: str) -> list[str]:
    """What a migration runs, one statement a line."""
    output = StringIO()
    context = MigrationContext.configure(dialect_name=dialect, opts={"as_sql": True, "output_buffer": output})
    with Operations.context(context):
        migration.upgrade()
    return [" ".join(statement.split()) for statement in output.getvalue().split(";\n\n") if statement.strip()]
