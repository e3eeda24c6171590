"""The command line: one file per verb. stdout is data, stderr is talk, the exit code says how it ended."""

from discreet.cli.main import main

__all__ = ["main"]
