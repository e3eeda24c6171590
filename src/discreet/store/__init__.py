"""Where state lives: SQLite by default, PostgreSQL by URL. Furnished with the ledger."""
