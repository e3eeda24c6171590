"""Report of an assessment."""
