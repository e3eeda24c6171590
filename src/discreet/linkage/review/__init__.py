"""Review by people: assignments, the one door, decisions."""
