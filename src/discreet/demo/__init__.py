"""Demonstrations on generated people: the chapters of `discreet demo`, and the web application's data."""
