"""Decoy rows, and whether they can be told from real ones."""
