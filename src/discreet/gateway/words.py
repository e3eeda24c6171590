"""What the gateway says to people."""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.gateway.enforcement.decide import Outcome
from discreet.sql.statement_kinds import Refuse


def message_of(value: float, limit: float, columns: Sequence[str], *, rows: int, reference: str) -> str:
    """A refusal: what, why, and what to do.

    >>> message_of(2.314, 2.0, ["diagnosis"], rows=7, reference="4F2A")
    'Refused: this result would bring your exposure to 2.32; your limit is 2.00. Ask for fewer rows, drop `diagnosis`, or request a higher limit (reference 4F2A).'
    """
    shown = f"{math.ceil(value * 100) / 100:.2f}"
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(columns) if name and not name.startswith("("))
    advice = [*(["ask for fewer rows"] if rows > 1 else []), *([f"drop {names}"] if names else [])]
    advice.append(f"request a higher limit (reference {reference})")
    words = (
        advice[0]
        if len(advice) == 1
        else ", ".join(advice[:-1]) + ("," if len(advice) > 2 else "") + f" or {advice[-1]}"
    )
    what = "this result" if rows else "the answer to this question"
    return f"Refused: {what} would bring your exposure to {shown}; your limit is {limit:.2f}. {words[0].upper()}{words[1:]}."


def hint_of(rows: int) -> str:
    """What else may help."""
    return "" if rows else "A condition on a sensitive column is a question about it; ask for counts of larger groups."


def notice_of(outcome: Outcome, rows: int) -> str:
    """What was left out."""
    if outcome.rows is not None:
        kept = int(outcome.rows.sum())
        return (
            f"{kept:,} of {len(outcome.rows):,} rows are shown; the others would bring your exposure above your limit."
        )
    emptied = sum(int(mask.sum()) for mask in (outcome.masked or {}).values())
    return f"{emptied:,} values in {rows:,} rows are withheld; they would bring your exposure above your limit."


def cannot_write() -> Refuse:
    """The store cannot be used."""
    return Refuse(
        "Refused: the gateway cannot write down what it gives out, so it gives out nothing.",
        hint="Try again; if it stays like this, tell whoever runs the gateway.",
        sqlstate="58000",
    )
