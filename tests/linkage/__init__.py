"""Tests of the linkage room."""
