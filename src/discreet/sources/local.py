"""The rows of any table on a DuckDB connection of this process, where they can be rearranged without Python touching one.

Files and frames are there already. Rows from PostgreSQL come as a CSV that the server writes, rows from Spark as Arrow.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.sources.duckdb.engine import RELATION, DuckDBEngine, RelationEngine, connect, literal, quote, translated
from discreet.sources.duckdb.export import POSTGRES_CSV, BorrowedDesk, DuckDBDesk, PrivateDesk
from discreet.sources.postgres.engine import PostgresEngine
from discreet.sources.table import Table


@contextmanager
def local_desk(table: Table, names: Sequence[str]) -> Iterator[DuckDBDesk]:
    """A desk on which the table is called `source` and has at least these columns."""
    table.require(names)
    engine: Any = table.engine
    if isinstance(engine, DuckDBEngine):
        yield PrivateDesk(engine.name, engine.types, engine.connection)
    elif isinstance(engine, RelationEngine):
        types = dict(zip(engine.relation.columns, map(str, engine.relation.types), strict=True))
        yield BorrowedDesk(engine.name, types, engine.relation)
    elif isinstance(engine, PostgresEngine):
        with _from_postgres(engine, names) as desk:
            yield desk
    else:
        with _from_spark(engine, names) as desk:
            yield desk


@contextmanager
def _from_postgres(engine: PostgresEngine, names: Sequence[str]) -> Iterator[DuckDBDesk]:
    from discreet.sources.postgres.export import FAITHFUL
    from discreet.sources.writing.types import duckdb_type

    kinds = {name: duckdb_type(engine.types[name]).replace("BLOB", "VARCHAR") for name in names}
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder, connect() as own:
        rows = Path(folder) / "rows.csv"
        columns = ", ".join(quote(name) for name in names)
        with (
            engine.transaction() as cursor,
            rows.open("wb") as file,
            cursor.execute(FAITHFUL).copy(
                f"COPY (SELECT {columns} FROM {engine.relation}) TO STDOUT (FORMAT csv)"
            ) as came,
        ):
            for block in came:
                file.write(block)
        with translated(engine.name):
            own.execute(f"CREATE VIEW {RELATION} AS {_read(rows, kinds)}")
        yield PrivateDesk(engine.name, kinds, own)


def _read(rows: Path, kinds: dict[str, str]) -> str:
    columns = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in kinds.items())
    return f"SELECT * FROM read_csv({literal(str(rows))}, {POSTGRES_CSV}, columns = {{{columns}}})"


@contextmanager
def _from_spark(engine: Any, names: Sequence[str]) -> Iterator[DuckDBDesk]:
    from discreet.sources.spark.engine import translated as spark_translated

    with spark_translated("read"):
        came = engine.frame.select(*[engine.frame[f"`{name.replace('`', '``')}`"] for name in names]).toArrow()
    held = DuckDBEngine.from_frame(came)
    yield PrivateDesk(engine.name, held.types, held.connection)
