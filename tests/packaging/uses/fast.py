"""Extra fast: dictionaries of Parquet are read as they are."""

from __future__ import annotations

import sys

from calling import people

from discreet.sources.files import parquet

place = people()
counted = parquet.dictionary_count([place / "population.parquet"], ["zip", "sex"])
assert counted is not None
assert "pyarrow.parquet" in sys.modules
