"""Recoding class by class: local recoding and Mondrian."""
