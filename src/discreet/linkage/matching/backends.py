"""Splink backends: DuckDB in this process, or a Spark cluster.

Attributes are called a0, a1, ... there, so that no name of a column meets one of Splink's own, and no value of a person
is among what comes back.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol
from uuid import uuid4

import duckdb
import numpy as np

from discreet.errors import DataError, MissingExtra
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.matching.keys import create_tables
from discreet.sources.duckdb_scratch import connect, translated

OUTCOME = ("unique_id_l AS l", "unique_id_r AS r", "match_weight AS weight")


class Backend(Protocol):
    """A place where Splink works on the records of a project."""

    @property
    def dialect(self) -> str:
        """The dialect of SQL, as Splink names it."""

    @property
    def frames(self) -> list[Any]:
        """Its tables, as Splink takes them."""

    def fetch(self, scored: Any, *more: str) -> dict[str, Any]:
        """The arrays `l`, `r` and `weight` of what Splink has scored, and more expressions."""

    def register(self, columns: dict[str, list[Any]]) -> Any:
        """A small table, as Splink takes it."""


def require_splink() -> None:
    """Stop with advice if Splink is not installed."""
    try:
        importlib.import_module("splink")
    except ImportError:
        raise MissingExtra("linkage", needed_for="Finding candidate pairs") from None


@dataclass(frozen=True, eq=False)
class DuckDBBackend:
    """Inside this process, spilling to the temporary folder."""

    folder: ProjectFolder
    dialect = "duckdb"

    @cached_property
    def connection(self) -> Any:
        """A private database that holds the identifying attributes."""
        own = connect()
        create_tables(self.folder, own)
        return own

    @cached_property
    def _api(self) -> Any:
        require_splink()
        from splink import DuckDBAPI

        return DuckDBAPI(self.connection)

    @cached_property
    def frames(self) -> list[Any]:
        """The tables, as Splink takes them."""
        return [self._api.register(f"{table}_table", dataset_display_name=table) for table in self.folder.tables]

    def fetch(self, scored: Any, *more: str) -> dict[str, Any]:
        """The arrays of what Splink has scored."""
        columns = ", ".join([*OUTCOME, *more])
        arrays: dict[str, Any] = self.connection.execute(f"SELECT {columns} FROM {scored.physical_name}").fetchnumpy()
        scored.drop_table_from_database_and_remove_from_cache()
        return arrays

    def register(self, columns: dict[str, list[Any]]) -> Any:
        """A small table, as Splink takes it."""
        return self._api.register(columns)


@dataclass(frozen=True, eq=False)
class SparkBackend:
    """On the cluster of a Spark session. Damerau-Levenshtein comes from the jar inside Splink."""

    folder: ProjectFolder
    session: Any
    dialect = "spark"

    @cached_property
    def _api(self) -> Any:
        require_splink()
        from splink import SparkAPI
        from splink.backends.spark import similarity_jar_location

        self.session.sql(f"ADD JAR '{similarity_jar_location()}'")
        return SparkAPI(spark_session=self.session, break_lineage_method="persist")

    @cached_property
    def frames(self) -> list[Any]:
        """The tables, sent to the cluster as Arrow, so that it need not see the folder."""
        frames = []
        own = connect()
        create_tables(self.folder, own)
        for table in self.folder.tables:
            with translated("the project"):
                rows = own.sql(f"SELECT * FROM {table}_table").to_arrow_table()
            frame, name = self.session.createDataFrame(rows), f"discreet_{uuid4().hex}_{table}"
            frames.append(self._api.register(frame, table_name=name, dataset_display_name=table))
        return frames

    def fetch(self, scored: Any, *more: str) -> dict[str, Any]:
        """The arrays of what Splink has scored."""
        rows = scored.as_spark_dataframe().selectExpr(*OUTCOME, *more).toArrow()
        return {name: rows.column(name).to_numpy() for name in rows.column_names}

    def register(self, columns: dict[str, list[Any]]) -> Any:
        """A small table, as Splink takes it."""
        return self._api.register(columns, table_name=f"discreet_{uuid4().hex}")


def linker(backend: Backend, settings: Any) -> Any:
    """Splink's object for these settings."""
    require_splink()
    from splink import Linker

    frames: Sequence[Any] = backend.frames
    return Linker(frames[0] if len(frames) == 1 else frames, settings, log_level=None, validate_settings=False)


@contextmanager
def quietly(task: str) -> Iterator[None]:
    """Splink at work: it logs nothing, and its errors, which quote statements and values, become ours."""
    require_splink()
    log = logging.getLogger("splink")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    except _failures() as error:
        if type(error).__module__.startswith(("pyspark", "py4j")):
            from discreet.sources.cluster import too_much

            if too_much(error):
                raise DataError(
                    f"Splink could not {task}: more pairs would come to the driver than it takes (spark.driver.maxResultSize).",
                    remedy="Choose stricter rules or fewer pairs (most_pairs), or give the driver more memory and raise that limit.",
                ) from None
        raise DataError(
            f"Splink could not {task} ({type(error).__name__}).",
            remedy="Declare more attributes, or attributes with fewer missing values; see how many are missing in project.json.",
        ) from None
    finally:
        log.setLevel(before)


def _failures() -> tuple[type[Exception], ...]:
    from splink.internals.exceptions import SplinkException

    found: tuple[type[Exception], ...] = (SplinkException, duckdb.Error, ValueError, ZeroDivisionError)
    if importlib.util.find_spec("pyspark") is None:
        return found
    from discreet.sources.cluster import failures

    return (*found, *failures())


def ordered(found: dict[str, Any]) -> tuple[Any, ...]:
    """Records of each pair, the smaller first, with weights and more, in their order."""
    left, right = (np.asarray(np.ma.getdata(found.pop(name)), dtype=np.int64) for name in ("l", "r"))
    first, second = np.minimum(left, right), np.maximum(left, right)
    order = np.lexsort((second, first))
    weight = np.asarray(np.ma.getdata(found.pop("weight")), dtype=np.float64)
    return first[order], second[order], weight[order], *(np.ma.getdata(array)[order] for array in found.values())
