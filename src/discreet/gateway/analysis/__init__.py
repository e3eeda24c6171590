"""Analysis of statements on governed tables."""
