"""Files people have: what they are, how their text is written, and how each becomes rows that DuckDB reads.

Engines quote the offending row when they fail. A row is a person's record, so everything that can be checked is
checked here first, and errors speak of line numbers only.
"""
