"""What a result discloses, and of whom."""
