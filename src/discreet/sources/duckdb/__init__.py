"""Files and frames, on DuckDB inside this process."""
