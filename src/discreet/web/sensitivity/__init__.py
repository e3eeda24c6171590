"""Sensitivity of values: experts answer questions, each in an interview of their own."""
