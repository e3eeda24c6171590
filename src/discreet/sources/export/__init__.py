"""Tables out: recoded where the rows are, staged, verified, put into place."""
