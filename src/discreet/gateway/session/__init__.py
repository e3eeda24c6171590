"""State machines of one session, without I/O."""
