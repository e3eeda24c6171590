"""What no text may do, whatever kind of statement it is: run code, or read places, that the gateway does not see."""

from __future__ import annotations

from discreet.gateway.judge import Refuse
from discreet.gateway.vocabulary import EFFECTS, FIXED_SETTINGS, NUMBERING, RUNS_TEXT, STATISTICS, TOAST, WRITES
from discreet.sql.catalog import Catalog
from discreet.sql.lexer import Statement

NOT_THIS = "Ask whoever runs the gateway if you need it."


def refused(what: str, *, hint: str = NOT_THIS) -> Refuse:
    """A refusal of the gateway; the code is that of a missing privilege."""
    return Refuse(f"Refused: {what}", hint=hint)


def touches(statement: Statement, catalog: Catalog) -> bool:
    """Whether any word of it is the name of a relation that leads to a governed table."""
    return any(catalog.named(name) for name in statement.names)


def find_forbidden(statement: Statement, catalog: Catalog) -> Refuse | None:
    """What of it is refused whatever kind of statement it is; None if nothing."""
    calls = statement.calls
    own = calls & catalog.functions
    if own:
        return refused(
            f"the function {min(own)} is not one that the gateway knows.",
            hint="Whoever runs the gateway can list it under `functions` in [gateway].",
        )
    if any(RUNS_TEXT.fullmatch(name) for name in calls):
        return refused("this function reads what the gateway cannot see.")
    names = statement.names
    if names & STATISTICS or any(TOAST.fullmatch(name) for name in names):
        return refused("this relation of the server holds values of governed tables.")
    if statement.operators & catalog.operators:
        return refused("this operator runs code that the gateway does not know.")
    if _sets_unseen(statement):
        return refused("this setting stays as it is through the gateway.", hint="Use SET with the name of a setting.")
    if "execute" in statement.words and statement.verb != "execute":
        return refused("a prepared statement can only be run by itself.", hint="Send EXECUTE alone.")
    problem = _triggers(statement, catalog)
    if problem is None and touches(statement, catalog):
        problem = _effects(statement, catalog)
    return problem


def _triggers(statement: Statement, catalog: Catalog) -> Refuse | None:
    """Writing to a table that runs code of somebody's own, which may read governed tables."""
    found = names & catalog.triggered.keys() if (names := statement.names) and catalog.triggered else None
    if not found or not set(statement.words) & (WRITES | {"copy"}):
        return None
    return refused(
        f"writing to {min(found)} runs {catalog.triggered[min(found)]}, which the gateway does not know.",
        hint="Whoever runs the gateway can list it under `functions` in [gateway].",
    )


def _effects(statement: Statement, catalog: Catalog) -> Refuse | None:
    found = (statement.calls & catalog.volatile) - EFFECTS
    if statement.verb in WRITES:
        found -= NUMBERING
    if found:
        return refused(f"the function {min(found)} has effects, and may not stand beside governed columns.")
    return None


def _sets_unseen(statement: Statement) -> bool:
    """Whether it sets what SET may not, or something that cannot be told: by set_config, or by writing to pg_settings."""
    if "pg_settings" in statement.names and set(statement.words) & WRITES:
        return True
    tokens = statement.tokens
    for place, token in enumerate(tokens):
        if token.name == "set_config":
            given = tokens[place + 2] if place + 3 < len(tokens) and tokens[place + 1].text == "(" else None
            if given is None or given.kind != "string" or tokens[place + 3].text != ",":
                return True
            if given.text[1:-1].lower() in FIXED_SETTINGS:
                return True
    return False
