"""Sealed manifest of a release."""
