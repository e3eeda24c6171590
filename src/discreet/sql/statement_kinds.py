"""What a text may do, before it is run: what passes, what is refused, and what must be looked into.

Whoever is governed may read, and may work on tables of her own. Whatever runs text or code that is not seen here, or
would carry governed values to a place where nobody recognises them, is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.gateway.forbidden import find_forbidden, refused, touches
from discreet.gateway.judge import Refuse
from discreet.gateway.vocabulary import (
    BEFORE_KIND,
    CLOCKS,
    DEFINES,
    FIXED_SETTINGS,
    FORMING,
    HARMLESS,
    MAKES,
    QUERIES,
    QUIET_SETTINGS,
    SPELT_CLOCKS,
    WRITES,
)
from discreet.sql.catalog import Catalog
from discreet.sql.lexer import Statement

PASS, READ, WRITE, RUN, COPY = "pass", "read", "write", "run", "copy"


@dataclass(frozen=True)
class Kind:
    """What a statement is, by its words alone."""

    what: str
    """One of PASS, READ, WRITE, RUN, COPY."""
    name: str = ""
    """Of a cursor or prepared statement: the name that it makes or runs."""
    defines: bool = False
    """Whether it may change definitions."""
    body: int = 0
    """Where the query of a cursor or prepared statement begins."""
    moves: bool = False
    """Whether it goes through a cursor without giving out rows."""


def classify(statement: Statement, catalog: Catalog) -> Kind | Refuse:
    """What a statement is; whether it reads governed tables is looked at afterwards."""
    problem = find_forbidden(statement, catalog)
    if problem is not None:
        return problem
    verb = statement.verb
    if verb in HARMLESS:
        return Kind(PASS)
    if verb == "set":
        return _setting(statement)
    if verb in QUERIES:
        return Kind(READ, defines="into" in statement.words)
    if verb in WRITES:
        return Kind(WRITE)
    if verb in ("declare", "prepare"):
        return _named(statement)
    if verb in ("fetch", "move", "execute"):
        return _run(statement)
    if verb == "copy":
        return _copy(statement)
    if verb == "explain":
        return _explain(statement, catalog)
    return _definition(statement, catalog)


def shifts(statement: Statement, catalog: Catalog) -> bool:
    """Whether the same text may be about others next time: by the clock, by chance, by settings of one's own."""
    return bool(
        statement.calls & catalog.changing - FORMING
        or set(statement.words) & CLOCKS
        or any(token.kind == "string" and SPELT_CLOCKS.fullmatch(token.text) for token in statement.tokens)
    )


def sets(statement: Statement) -> bool:
    """Whether it may change settings, and with them what a text means."""
    if statement.verb == "set" and set(statement.words[1:3]) & QUIET_SETTINGS:
        return False
    return statement.verb in ("set", "reset", "discard") or "set_config" in statement.names


def _setting(statement: Statement) -> Kind | Refuse:
    if statement.names & FIXED_SETTINGS:
        return refused("this setting stays as it is through the gateway.", hint="Log in as the user you want to be.")
    return Kind(PASS)


def _named(statement: Statement) -> Kind | Refuse:
    """DECLARE name ... FOR query, PREPARE name (...) AS query."""
    words = [token.name for token in statement.tokens]
    if words[:2] == ["prepare", "transaction"]:
        return Kind(PASS)
    mark = "for" if statement.verb == "declare" else "as"
    keywords = [token.name if token.kind == "word" else "" for token in statement.tokens]
    if len(words) < 4 or not words[1] or mark not in keywords[2:]:
        return refused("this statement is not understood.", hint="Write it plainly.")
    return Kind(RUN, name=words[1], body=keywords.index(mark, 2) + 1)


def _run(statement: Statement) -> Kind | Refuse:
    """FETCH and MOVE name their cursor last, EXECUTE its statement first."""
    names = [token.name for token in statement.tokens]
    if statement.verb == "execute":
        return Kind(RUN, name=names[1]) if len(names) > 1 and names[1] else refused("EXECUTE needs a name.")
    if len(names) < 2 or not names[-1]:
        return refused("this statement is not understood.", hint="Write FETCH ... FROM cursor.")
    return Kind(RUN, name=names[-1], moves=statement.verb == "move")


def _copy(statement: Statement) -> Kind | Refuse:
    """Only to and from the client: files and programs are out of sight."""
    depth, words = 0, []
    for token in statement.tokens:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and token.text != ")":
            words.append(token.name if token.kind == "word" else token.text)
    for direction, place in (("to", "stdout"), ("from", "stdin")):
        if direction in words and words[words.index(direction) + 1 : words.index(direction) + 2] == [place]:
            return Kind(COPY, name=direction)
    return refused("COPY goes to STDOUT or comes from STDIN; files and programs are out of the gateway's sight.")


def _explain(statement: Statement, catalog: Catalog) -> Kind | Refuse:
    if touches(statement, catalog):
        return refused("the plan of a statement on governed tables tells of their values.")
    inner = set(statement.words) & (QUERIES | WRITES)
    return Kind(PASS) if inner else refused("this plan is not shown.")


def _definition(statement: Statement, catalog: Catalog) -> Kind | Refuse:
    if statement.verb not in DEFINES:
        return refused("this kind of statement does not pass through the gateway.")
    if touches(statement, catalog):
        return refused(
            "governed tables cannot be changed, copied or named anew through the gateway.",
            hint="Read them with SELECT; tables of your own can be made from other tables.",
        )
    if statement.verb == "alter" and "schema" in statement.words[1:2] and statement.names & catalog.homes:
        return refused("schemas of governed tables cannot be changed through the gateway.")
    if statement.verb == "alter" and not set(statement.words[1:2]) & MAKES:
        return refused("only tables, views, indexes, sequences and schemas can be altered through the gateway.")
    if statement.verb == "create":
        kind = next((word for word in statement.words if word not in BEFORE_KIND), "")
        if kind not in MAKES or "execute" in statement.words:
            return refused("only tables, views, indexes, sequences and schemas can be made through the gateway.")
    return Kind(PASS, defines=True)
