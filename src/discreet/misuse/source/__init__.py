"""Source and result of a request: opened, counted, and put back into shape."""
