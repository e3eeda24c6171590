"""Spark engine: frames counted on the cluster; only the histogram comes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import ColumnError
from discreet.kernel import Coded, Histogram, Recoding, Tally
from discreet.policy import Policy
from discreet.policy.schema import Formulas
from discreet.sources.cluster import matches, quote, translated
from discreet.sources.duckdb_scratch import DuckDBDesk
from discreet.sources.engine import (
    Cells,
    CopyFolders,
    Field,
    Kind,
    Marked,
    Pool,
    Target,
    bad_survey_sql,
    bad_weight_sql,
    count_sql,
    counted_tallies,
    one_by_one,
    refuse_bad_survey,
    refuse_bad_weights,
    refuse_selection,
    refuse_wide,
)
from discreet.sources.export.targets import FolderTarget
from discreet.sources.files.parquet import coded, whole_numbers
from discreet.sources.numbering import Numbering, numbering_sql
from discreet.sources.spark import rows

KINDS: dict[str, Kind] = {
    **dict.fromkeys(("string", "char", "varchar"), "text"),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"), "number"),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), "date"),
    "boolean": "boolean",
}


def open_engine(source: Any, policy: Policy, *, table: str | None = None, query: str | None = None) -> SparkEngine:
    """A frame, or the parts of a folder that was written."""
    refuse_selection(table, query)
    if isinstance(source, FolderTarget):
        return SparkEngine(rows.parts(source, tuple(policy.roles)))
    engine = SparkEngine(source, decimal=policy.decimal)
    return replace(engine, frame=rows.blanked(source, engine.fields, policy.missing)) if policy.missing else engine


@dataclass(frozen=True, eq=False)
class SparkEngine:
    """A frame of a Spark session, classic or Connect."""

    frame: Any
    name: str = "the Spark frame"
    decimal: str = "."
    """What separates the decimals of numbers written as text."""

    def __post_init__(self) -> None:
        refuse_wide(len(self.frame.columns), self.name)
        if len(set(self.frame.columns)) < len(self.frame.columns):
            raise ColumnError(
                "The Spark frame has two columns of the same name.", remedy="Give every column a name of its own."
            )

    @property
    def dialect(self) -> Mapping[str, Any]:
        return {}

    def progress(self) -> float | None:
        """A cluster does not say."""
        return None

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(name, KINDS.get(kind.partition("(")[0], "other")) for name, kind in self.frame.dtypes)

    @property
    def ordered(self) -> bool:
        """Workers hand over their rows as they are done."""
        return False

    def count(self, by: Sequence[str], *, weight: str | None = None, survey: str | None = None) -> Histogram:
        if survey is not None and self.decimal != "." and self._kinds[survey] == "text":
            written = rows.with_points(self.frame, survey, self.decimal)
            return replace(self, frame=written, decimal=".").count(by, weight=weight, survey=survey)
        with translated():
            if survey is not None:
                bad = self._run(bad_survey_sql(survey, relation="{source}", quote=quote))
                refuse_bad_survey(int(bad.column("bad")[0].as_py()), survey)
            if weight is not None:
                bad = self._run(bad_weight_sql(weight, relation="{source}", quote=quote))
                refuse_bad_weights(int(bad.column("bad")[0].as_py()), weight)
            counted = self._run(count_sql(by, weight=weight, survey=survey, relation="{source}", quote=quote))
        columns = {name: coded(counted.column(f"c{place}")) for place, name in enumerate(by)}
        weights = None if survey is None else np.asarray(counted.column("s").to_numpy(), dtype=np.float64)
        return Histogram(columns, whole_numbers(counted.column("n")), weights)

    def count_each(
        self, names: Sequence[str], *, weight: str | None = None, beside: Sequence[str] = ()
    ) -> Iterator[Histogram]:
        return one_by_one(self, names, weight, beside)

    def tallies(self, names: Sequence[str], *, weight: str | None = None) -> Iterator[Tally]:
        return counted_tallies(self, names, weight)

    def numbering(self, column: str) -> Numbering:
        sql = numbering_sql(column, relation="{source}", quote=quote, matches=matches, text="STRING", groups="'$1$2'")
        with translated():
            (totals,) = self._run(sql).to_pylist()
        return Numbering(*totals.values())

    def fetch(self, names: Sequence[str], *, most: int | None = None) -> dict[str, Coded]:
        """The cells of some columns, as the cluster sends the rows."""
        return rows.fetch(self.frame, names, most=most)

    def chosen(self, recoding: Recoding, *, drop: Sequence[str]) -> Cells:
        return rows.chosen(self.frame, recoding, drop=drop)

    def desk(self, names: Sequence[str]) -> AbstractContextManager[DuckDBDesk]:
        """These columns, brought to the driver."""
        return rows.desk(self.frame, names, name=self.name)

    def staged(self, target: str, policy: Policy, *, overwrite: bool) -> AbstractContextManager[Target]:
        """A folder on the cluster."""
        return rows.staged(self.frame, target, policy, name=self.name, overwrite=overwrite)

    def export(self, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool = True) -> int:
        """Let the workers write the rows as the recoding publishes them."""
        return rows.export(
            self.frame, recoding, target, name=self.name, kinds=self._kinds, drop=drop, shuffled=shuffled
        )

    def arrow(self, recoding: Recoding, *, drop: Sequence[str]) -> Any:
        """The published rows, brought to the driver."""
        return rows.brought(self.frame, recoding, drop=drop)

    def formula_cells(self, recoding: Recoding, *, drop: Sequence[str]) -> int:
        return rows.formula_cells(self.frame, recoding, kinds=self._kinds, drop=drop)

    def folders(self, out: str, *, delimiter: str, formulas: Formulas = "quote") -> AbstractContextManager[CopyFolders]:
        """Folders on the cluster."""
        return nullcontext(rows.ClusterFolders(self.frame.sparkSession, out.rstrip("/"), delimiter, formulas))

    def copies(
        self, recoding: Recoding, marked: Marked, *, drop: Sequence[str], folder: Path | None, guarded: bool
    ) -> AbstractContextManager[Pool]:
        """A pool on the cluster, which needs no folder of this machine."""
        del folder, guarded
        return rows.pool(self.frame, recoding, marked, name=self.name, kinds=self._kinds, drop=drop)

    @property
    def _kinds(self) -> dict[str, Kind]:
        return {column.name: column.kind for column in self.fields}

    def _run(self, sql: str) -> Any:
        return self.frame.sparkSession.sql(sql, source=self.frame).toArrow()
