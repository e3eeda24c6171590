"""Why something was refused, in plain words: what was asked for, what it would have brought, which limit, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from discreet.report.toolkit.words import plural
from discreet.store import gateway_limits
from discreet.web.gateway.entry_view import Told, agreed_number, limit_words, points, reason_words, rule_words


@dataclass(frozen=True)
class Explanation:
    """A refusal in words."""

    headline: str
    facts: tuple[tuple[str, str], ...]
    """What is known about it, each with its name."""
    advice: tuple[str, ...]
    """What the user can do."""
    agreed: int | None
    """The limit that two people agreed on, if that was the one."""


def explained(connection: Connection, told: Told) -> Explanation:
    """What to say about a refusal."""
    number = agreed_number(told.rule)
    agreed = gateway_limits.find(connection, number) if number is not None else None
    why = rule_words(told.rule) if agreed is None or not agreed.reason else f"{rule_words(told.rule)}: {agreed.reason}"
    facts = _statement(told) if told.reason else _result(told, why)
    return Explanation(_headline(told), facts, tuple(_advice(told)), number if agreed is not None else None)


def _headline(told: Told) -> str:
    what = "a statement" if told.reason else "a result" if told.rows else "the answer to a question"
    if told.refused:
        return f"{what[0].upper()}{what[1:]} was refused: {_lower(reason_words(told))}"
    become = "reduced" if told.decision in ("subset", "mask") else "refused"
    return f"{what[0].upper()}{what[1:]} would have been {become}, but the gateway was in shadow mode: {_lower(reason_words(told))}"


def _lower(text: str) -> str:
    """A sentence as the rest of another; names that are written large stay."""
    return text if text[:2].isupper() or text[:1].isdigit() else text[:1].lower() + text[1:]


def _statement(told: Told) -> tuple[tuple[str, str], ...]:
    return (
        ("What was asked for", "a statement that was not run; its text is kept nowhere"),
        ("Why", reason_words(told)),
    )


def _result(told: Told, why: str) -> tuple[tuple[str, str], ...]:
    asked = plural(told.rows, "row", "rows") if told.rows else "a question about sensitive columns, without rows"
    columns = ", ".join(f"`{name}`" for name in told.columns)
    grew = "would have been" if told.refused else "became"
    facts = [("What was asked for", f"{asked}{f', with {columns}' if columns else ''}")]
    facts += [("Exposure before", points(told.before)), (f"Exposure {grew}", _at_worst(told))]
    facts += [("Limit", limit_words(told.limit)), ("Set by", why)]
    if told.application:
        facts.append(("Application", f"`{told.application}`"))
    return tuple(facts)


def _at_worst(told: Told) -> str:
    """A refusal tells nothing of the values that were refused."""
    worst = ", if every value were the most sensitive of its column" if told.refused else ""
    return f"{points(told.after)}{worst}"


def _advice(told: Told) -> Sequence[str]:
    if told.reason:
        return ["Ask in another way: results can be read, but not copied, explained or hidden in functions."]
    found = []
    if told.rows > 1:
        found.append("Ask for fewer rows.")
    if not told.rows:
        found.append("Ask for counts of larger groups: a condition on a sensitive column is a question about it.")
    if told.columns:
        found.append(
            f"Leave out {', '.join(f'`{name}`' for name in told.columns)}, or ask for an average with its count."
        )
    found.append("Show the key of the people: the same person seen again counts once.")
    found.append(
        f"Ask a custodian for a higher limit, with the reference {told.reference}; another one has to approve it."
    )
    return found
