"""The words of SQL that decide what a statement may do: verbs, settings, functions and relations of the server."""

from __future__ import annotations

import re

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
