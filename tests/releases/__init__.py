"""Tests of the room of releases."""
