"""`discreet misuse`: what a query result could do in the wrong hands. One file per verb, imported when it is asked for."""

from __future__ import annotations

import click

from discreet.cli.main import Verbs

VERBS = {
    "anomalies": "Find unusual days in a log.",
    "combine": "Make experts' answers one sensitivity function.",
    "elicit": "Ask an expert how sensitive values are.",
    "generate": "Generate a log and experts' answers to try things on.",
    "incidents": "Rank leaked results by how bad they are.",
    "score": "Measure what a result could do in the wrong hands.",
}
"""The verbs; `discreet misuse VERB` is `command` in `discreet/cli/misuse/VERB.py`."""


@click.group(
    name="misuse",
    cls=Verbs,
    package=__name__,
    verbs=VERBS,
    short_help="Measure what query results could do in the wrong hands.",
)
def command() -> None:
    """Measure what query results could do in the wrong hands.

    \b
    Examples:
      discreet misuse score result.csv --source customers.parquet --policy policy.toml
      discreet misuse elicit customers.csv --policy policy.toml --expert ann --out ann.json
      discreet misuse combine ann.json ben.json --out sensitivity.toml
      discreet misuse anomalies log.jsonl
      discreet misuse incidents log.jsonl --leaked r000123
    """
