"""Marks: pairs of real and unreleased classes, present or absent per recipient."""
