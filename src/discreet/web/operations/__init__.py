"""The web application as its operator sees it: figures, notices, and the watch."""
