"""Tables out: a recoding applied where the rows live, written beside its place, checked, and only then put there."""
