"""Reference: published models written out, case studies, simulated people; for comparison only."""
