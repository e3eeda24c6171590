"""Gateway in the browser: exposure of database users, refusals, incidents, limits under four eyes."""
