"""The report on whether decoys can be put into a table."""
