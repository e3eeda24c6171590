"""What every server has beside its work: figures, health, a log, messages."""
