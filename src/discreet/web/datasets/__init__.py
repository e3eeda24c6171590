"""Data sets: tables, their policies and files."""
