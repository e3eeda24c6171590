"""Limits enforced on users, and their audit."""
