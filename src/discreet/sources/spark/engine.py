"""Spark engine: frames counted on the cluster; only the histogram comes back."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import ColumnError, SourceUnreadable
from discreet.kernel import Histogram, Recoding
from discreet.sources import files
from discreet.sources.engine import (
    Field,
    Kind,
    Numbering,
    bad_weight_sql,
    count_sql,
    numbering_sql,
    one_by_one,
    refuse_bad_weights,
    refuse_wide,
)

if TYPE_CHECKING:
    from discreet.sources.export.targets import Target

KINDS: dict[str, Kind] = {
    **dict.fromkeys(("string", "char", "varchar"), "text"),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"), "number"),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), "date"),
    "boolean": "boolean",
}

RESULT_LIMIT = "spark.driver.maxResultSize"
"""The setting of a session that bounds what a job may send to the driver, 1 GB unless set."""


def quote(name: str) -> str:
    """A name as Spark quotes it, with braces doubled since frames are named by {braces} in a statement."""
    return "`" + name.replace("`", "``").replace("{", "{{").replace("}", "}}") + "`"


def _matches(text: str, pattern: str) -> str:
    escaped = pattern.replace("'", "\\'").replace("{", "{{").replace("}", "}}")
    return f"{text} RLIKE '{escaped}'"


@dataclass(frozen=True, eq=False)
class SparkEngine:
    """A frame of a Spark session, classic or Connect."""

    frame: Any
    name: str = "the Spark frame"

    def __post_init__(self) -> None:
        refuse_wide(len(self.frame.columns), self.name)
        if len(set(self.frame.columns)) < len(self.frame.columns):
            raise ColumnError(
                "The Spark frame has two columns of the same name.", remedy="Give every column a name of its own."
            )

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        return tuple(Field(name, KINDS.get(kind.partition("(")[0], "other")) for name, kind in self.frame.dtypes)

    def count(self, by: Sequence[str], *, weight: str | None = None) -> Histogram:
        """People per distinct tuple."""
        with translated():
            if weight is not None:
                bad = self._run(bad_weight_sql(weight, relation="{source}", quote=quote))
                refuse_bad_weights(int(bad.column("bad")[0].as_py()), weight)
            found = self._run(count_sql(by, weight=weight, relation="{source}", quote=quote))
        columns = {name: files.coded(found.column(f"c{place}")) for place, name in enumerate(by)}
        return Histogram(columns, files.whole_numbers(found.column("n")))

    def count_each(self, names: Sequence[str], *, weight: str | None = None) -> Iterator[Histogram]:
        """People per distinct value of each column alone."""
        return one_by_one(self, names, weight)

    def numbering(self, column: str) -> Numbering:
        """Whether the numbers of a column are on one row each."""
        sql = numbering_sql(column, relation="{source}", quote=quote, matches=_matches, text="STRING")
        with translated():
            (found,) = self._run(sql).to_pylist()
        return Numbering(*found.values())

    def export(self, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool = True) -> int:
        """Write the rows as the recoding publishes them, in a random order, from the workers of the cluster."""
        from discreet.sources.spark.export import export

        return export(self, recoding, target, drop=drop, shuffled=shuffled)

    def _run(self, sql: str) -> Any:
        return self.frame.sparkSession.sql(sql, source=self.frame).toArrow()


@contextmanager
def translated(task: str = "count") -> Iterator[None]:
    """Errors of the cluster as ours. Their text is dropped: it may quote rows."""
    try:
        yield
    except failures() as error:
        if too_much(error):
            raise overfull(task) from None
        condition = (error.getCondition() if hasattr(error, "getCondition") else None) or type(error).__name__
        raise SourceUnreadable(
            f"Spark could not {task} the frame ({condition}).", remedy="The log of the cluster says more."
        ) from None


def too_much(error: Exception) -> bool:
    """Whether Spark stopped because more would have come to the driver than the driver takes."""
    return RESULT_LIMIT in str(error)


def overfull(task: str) -> SourceUnreadable:
    """More would come to the driver than it takes; the custodian decides which of the two should give way."""
    return SourceUnreadable(
        f"Spark could not {task} the frame: more would come to the driver than it takes ({RESULT_LIMIT}).",
        remedy="Name fewer or coarser columns, take a part of the frame at a time, or give the driver more memory and raise that limit.",
    )


def failures() -> tuple[type[Exception], ...]:
    """What Spark raises; the thin client does without Py4J."""
    from pyspark.errors import PySparkException

    if importlib.util.find_spec("py4j") is None:
        return (PySparkException,)
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    return PySparkException, Py4JError
