"""Exposure: what a user knows after many results."""
