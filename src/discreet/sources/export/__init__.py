"""Tables out: a recoding applied where the rows are, written beside its place, verified, and only then put there."""
