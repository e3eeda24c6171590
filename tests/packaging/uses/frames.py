"""Extra frames: a pandas frame goes in, and comes back anonymised in three forms."""

from __future__ import annotations

import pandas

import discreet

people = pandas.DataFrame({"age": [30, 31, 30, 31], "name": list("abcd")})
columns = {"age": {"role": "quasi", "hierarchy": {"widths": [10]}}, "name": {"role": "identifier"}}
safe = discreet.anonymise(people, k=4, policy={"columns": columns})
assert safe.to_pandas()["age"].tolist() == ["[30, 40)"] * 4
assert safe.to_polars().columns == safe.to_arrow().column_names == ["age"]
