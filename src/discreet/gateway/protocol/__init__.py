"""PostgreSQL wire protocol, without I/O."""
