"""Analysis of statements on governed tables, and of what their results disclose."""
