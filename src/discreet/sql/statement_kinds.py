"""Statement kinds: what passes, what is denied, what must be analysed.

A governed user may read, and may work on tables of their own. What runs text or code that is not seen here, or would
carry governed values to a place where nobody recognises them, is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from discreet.sql.catalog import Catalog
from discreet.sql.lexer import Statement

PASS, READ, WRITE, RUN, COPY = "pass", "read", "write", "run", "copy"


@dataclass(frozen=True)
class StatementKind:
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


def classify(statement: Statement, catalog: Catalog) -> StatementKind | Refuse:
    """What a statement is; whether it reads governed tables is looked at afterwards."""
    problem = find_forbidden(statement, catalog)
    if problem is not None:
        return problem
    verb = statement.verb
    if verb in HARMLESS:
        return StatementKind(PASS)
    if verb == "set":
        if statement.names & FIXED_SETTINGS:
            return refused(
                "this setting stays as it is through the gateway.", hint="Log in as the user you want to be."
            )
        return StatementKind(PASS)
    if verb in QUERIES:
        return StatementKind(READ, defines="into" in statement.words)
    if verb in WRITES:
        return StatementKind(WRITE)
    if verb in ("declare", "prepare", "fetch", "move", "execute"):
        return _by_name(statement)
    if verb == "copy":
        return _copy(statement)
    if verb == "explain":
        if touches(statement, catalog):
            return refused("the plan of a statement on governed tables tells of their values.")
        inner = set(statement.words) & (QUERIES | WRITES)
        return StatementKind(PASS) if inner else refused("this plan is not shown.")
    if verb not in DEFINES:
        return refused("this kind of statement does not pass through the gateway.")
    if touches(statement, catalog):
        return refused(
            "governed tables cannot be changed, copied or renamed through the gateway.",
            hint="Read them with SELECT; tables of your own can be made from other tables.",
        )
    if verb == "alter" and "schema" in statement.words[1:2] and statement.names & catalog.homes:
        return refused("schemas of governed tables cannot be changed through the gateway.")
    if verb == "alter" and not set(statement.words[1:2]) & MAKES:
        return refused("only tables, views, indexes, sequences and schemas can be altered through the gateway.")
    kind = next((word for word in statement.words if word not in BEFORE_KIND), "")
    if verb == "create" and (kind not in MAKES or "execute" in statement.words):
        return refused("only tables, views, indexes, sequences and schemas can be made through the gateway.")
    return StatementKind(PASS, defines=True)


def shifts(statement: Statement, catalog: Catalog) -> bool:
    """Whether a text may be about others next time: by clock, chance or settings."""
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


def _by_name(statement: Statement) -> StatementKind | Refuse:
    """What makes or runs a cursor or prepared statement."""
    verb, names = statement.verb, [token.name for token in statement.tokens]
    if names[:2] == ["prepare", "transaction"]:
        return StatementKind(PASS)
    if verb in ("declare", "prepare"):  # DECLARE name ... FOR query, PREPARE name (...) AS query
        mark = "for" if verb == "declare" else "as"
        keywords = [token.name if token.kind == "word" else "" for token in statement.tokens]
        if len(names) < 4 or not names[1] or mark not in keywords[2:]:
            return refused("this statement is not understood.", hint="Write it plainly.")
        return StatementKind(RUN, name=names[1], body=keywords.index(mark, 2) + 1)
    # EXECUTE names its statement first, FETCH and MOVE their cursor last.
    if verb == "execute":
        return StatementKind(RUN, name=names[1]) if len(names) > 1 and names[1] else refused("EXECUTE needs a name.")
    if len(names) < 2 or not names[-1]:
        return refused("this statement is not understood.", hint="Write FETCH ... FROM cursor.")
    return StatementKind(RUN, name=names[-1], moves=verb == "move")


def _copy(statement: Statement) -> StatementKind | Refuse:
    """Only to and from the client: files and programs are out of sight."""
    depth, words = 0, []
    for token in statement.tokens:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and token.text != ")":
            words.append(token.name if token.kind == "word" else token.text)
    for direction, place in (("to", "stdout"), ("from", "stdin")):
        if direction in words and words[words.index(direction) + 1 : words.index(direction) + 2] == [place]:
            return StatementKind(COPY, name=direction)
    return refused("COPY goes to STDOUT or comes from STDIN; files and programs are out of the gateway's sight.")


# What no text may do, whatever kind of statement it is: run code, or read places, that the gateway does not see.
NOT_THIS = "Ask the operator of the gateway if you need it."


def refused(what: str, *, hint: str = NOT_THIS) -> Refuse:
    """A refusal of the gateway; the code is that of a missing privilege."""
    return Refuse(f"Refused: {what}", hint=hint)


def touches(statement: Statement, catalog: Catalog) -> bool:
    """Whether any word of it names a relation that leads to a governed table."""
    return any(catalog.named(name) for name in statement.names)


def find_forbidden(statement: Statement, catalog: Catalog) -> Refuse | None:
    """What of it is refused whatever kind of statement it is; None if nothing."""
    calls, names, words, tokens = statement.calls, statement.names, set(statement.words), statement.tokens
    may_list = "The operator of the gateway can list it under `functions` in [gateway]."
    own = calls & catalog.functions
    if own:
        return refused(f"the function {min(own)} is not one that the gateway knows.", hint=may_list)
    if any(RUNS_TEXT.fullmatch(name) for name in calls):
        return refused("this function reads what the gateway cannot see.")
    if names & STATISTICS or any(TOAST.fullmatch(name) for name in names):
        return refused("this relation of the server holds values of governed tables.")
    if statement.operators & catalog.operators:
        return refused("this operator runs code that the gateway does not know.")
    # By writing to pg_settings, or by set_config, anything may be set; of the latter only what its first argument says.
    unseen = "pg_settings" in names and bool(words & WRITES)
    for place, token in enumerate(tokens):
        if token.name == "set_config":
            given = tokens[place + 2] if place + 3 < len(tokens) and tokens[place + 1].text == "(" else None
            certain = given is not None and given.kind == "string" and tokens[place + 3].text == ","
            unseen |= given is None or not certain or given.text[1:-1].lower() in FIXED_SETTINGS
    if unseen:
        return refused("this setting stays as it is through the gateway.", hint="Use SET with the name of a setting.")
    if "execute" in words and statement.verb != "execute":
        return refused("a prepared statement can only be run by itself.", hint="Send EXECUTE alone.")
    triggered = names & catalog.triggered.keys()
    if triggered and words & (WRITES | {"copy"}):  # runs code that may read governed tables
        table = min(triggered)
        runs = catalog.triggered[table]
        return refused(f"writing to {table} runs {runs}, which the gateway does not know.", hint=may_list)
    effects = (calls & catalog.volatile) - EFFECTS - (NUMBERING if statement.verb in WRITES else frozenset())
    if effects and touches(statement, catalog):
        return refused(f"the function {min(effects)} has effects, and cannot be used together with governed columns.")
    return None


# The words of SQL that decide what a statement may do: verbs, settings, functions and relations of the server.
TRANSACTIONS = frozenset(("begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"))
HARMLESS = TRANSACTIONS | {"show", "reset", "discard", "listen", "unlisten", "notify", "close", "deallocate"}
QUERIES = frozenset(("select", "with", "values", "table"))
WRITES = frozenset(("insert", "update", "delete", "merge"))
DEFINES = frozenset(
    ("create", "alter", "drop", "truncate", "analyze", "vacuum", "comment", "lock", "refresh", "reindex")
)
MAKES = frozenset(("table", "view", "index", "sequence", "schema", "materialized"))
"""What may be created: nothing that holds code of its own."""
BEFORE_KIND = frozenset(
    ("create", "or", "replace", "temp", "temporary", "unlogged", "local", "global", "unique", "recursive")
)
FIXED_SETTINGS = frozenset(
    (
        "role",
        "authorization",
        "session_authorization",
        "standard_conforming_strings",
        "backslash_quote",
        "session_replication_role",
        "local_preload_libraries",
        "session_preload_libraries",
        "dynamic_library_path",
    )
)
"""Settings that change who somebody is, what runs, or how a text is read."""
QUIET_SETTINGS = frozenset(
    [
        "application_name",
        "client_min_messages",
        "statement_timeout",
        "lock_timeout",
        "transaction_timeout",
        "transaction",
        "characteristics",
        "idle_in_transaction_session_timeout",
        "idle_session_timeout",
        "work_mem",
    ]
)
"""Settings that change nothing of what a text means."""
STATISTICS = frozenset(
    (
        "pg_statistic",
        "pg_stats",
        "pg_stats_ext",
        "pg_stats_ext_exprs",
        "pg_statistic_ext_data",
        "pg_largeobject",
        "pg_replication_slots",
        "pg_user_mappings",
        "pg_user_mapping",
    )
)
"""Relations of the server that hold values of others, or passwords."""
TOAST = re.compile(r"pg_toast_\d+(_index)?")
RUNS_TEXT = re.compile(
    r"""(query|table|cursor|schema|database)_to_xml.*   # read what a text names
    | ts_stat | ts_rewrite | dblink.*
    | pg_read_.* | pg_ls_.* | pg_stat_file | pg_file_.* | pg_current_logfile
    | lo_.* | loread | lowrite                          # large objects
    | pg_logical_.* | pg_create_.*_slot | pg_replication_.* | pg_get_wal_.*
    | binary_upgrade_.* | pg_stat_get_.*_text | pg_get_object_address""",
    re.VERBOSE,
)
"""The server's own functions that run texts, or read files, large objects or the log."""
EFFECTS = frozenset(("random", "setseed", "clock_timestamp", "timeofday", "gen_random_uuid", "uuidv4", "uuidv7"))
"""Functions with effects that may stand beside governed columns."""
NUMBERING = frozenset(("nextval", "currval", "lastval"))
"""The same where something is written."""

FORMING = frozenset(
    [
        "concat",
        "concat_ws",
        "format",
        "array_to_string",
        "array_to_json",
        "to_json",
        "to_jsonb",
        "row_to_json",
        "json_agg",
        "jsonb_agg",
        "json_object_agg",
        "jsonb_object_agg",
        "json_build_object",
        "json_build_array",
        "jsonb_build_object",
        "jsonb_build_array",
        "json_object",
        "jsonb_object",
        "to_char",
        "to_date",
        "to_number",
        "to_timestamp",
        "date_part",
        "date_trunc",
        "extract",
        "age",
        "quote_literal",
        "quote_nullable",
        "to_tsvector",
        "to_tsquery",
        "plainto_tsquery",
        "phraseto_tsquery",
        "websearch_to_tsquery",
        "timezone",
        "date",
        "time",
        "timestamp",
        "timestamptz",
        "interval",
        "generate_series",
        "position",
        "length",
        "lower",
        "upper",
        "substring",
    ]
)
"""Functions whose value depends on their arguments and on settings only."""
CLOCKS = frozenset(("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"))
SPELT_CLOCKS = re.compile(r"'\s*(now|today|tomorrow|yesterday)\b.*'", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Refuse:
    """Say no; in words for the person who asked."""

    message: str
    hint: str = ""
    sqlstate: str = "42501"
    detail: str = ""
