"""Jobs: what takes its time runs in a process of its own, is seen from every page, and survives a restart."""
