"""Masked comparison, and what each disclosure costs (KAPR)."""
