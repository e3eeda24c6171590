"""SQL analysis: pure functions on the text and the tree of a statement."""
