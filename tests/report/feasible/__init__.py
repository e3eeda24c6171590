"""Tests of the report on room for decoys."""
