"""Figures that docs/explain/measurements.md quotes.

Each script prints a ratio against a peer or a floor measured in the same run.
"""
