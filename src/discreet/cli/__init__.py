"""The command line: one module per verb group. Results go to stdout, remarks to stderr."""

from discreet.cli.main import main

__all__ = ["main"]
