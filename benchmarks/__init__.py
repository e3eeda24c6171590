"""Figures that the README may quote. Each script prints a ratio against a peer or a floor measured in the same run."""
