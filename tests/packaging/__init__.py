"""The package as people get it: built, installed elsewhere, used there."""
