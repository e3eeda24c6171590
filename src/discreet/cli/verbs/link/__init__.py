"""`discreet link`: find records of the same person in one table or several."""
