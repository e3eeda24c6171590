"""Reports about logs of scored results: unusual days, and incidents."""
