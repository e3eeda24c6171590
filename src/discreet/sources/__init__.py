"""Tables in, counted where their rows are, and out as they are published.

Files and frames on DuckDB, tables in PostgreSQL, frames on Spark.
"""

from discreet.sources.engine import Engine, Field
from discreet.sources.numbering import Numbering
from discreet.sources.table import Table, read

__all__ = ["Engine", "Field", "Numbering", "Table", "read"]
