"""PySpark frames on a cluster."""
