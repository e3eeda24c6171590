"""The pages, one file per place."""
