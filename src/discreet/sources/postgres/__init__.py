"""Tables and queries in PostgreSQL."""
