"""What a statement of the fragment may call: functions, operators, types, aggregates and window functions.

Everything here is the server's own, found with `search_path = pg_catalog`, has no effects and depends on nothing but its
arguments and the settings that the gateway copies from the client's session (TimeZone, DateStyle, IntervalStyle).
"""

from __future__ import annotations

FUNCTIONS: dict[str, tuple[int, int]] = {
    # name: fewest and most arguments
    **dict.fromkeys(("abs", "ceil", "ceiling", "floor", "sign", "sqrt", "cbrt", "exp", "ln", "log10"), (1, 1)),
    **dict.fromkeys(("degrees", "radians", "sin", "cos", "tan", "asin", "acos", "atan"), (1, 1)),
    **dict.fromkeys(("round", "trunc", "log"), (1, 2)),
    **dict.fromkeys(("mod", "power", "pow", "div", "atan2"), (2, 2)),
    "width_bucket": (2, 4),
    "date_bin": (3, 3),
    **dict.fromkeys(("lower", "upper", "initcap", "reverse", "md5", "ascii", "length", "char_length"), (1, 1)),
    **dict.fromkeys(("character_length", "octet_length", "bit_length"), (1, 1)),
    **dict.fromkeys(("btrim", "ltrim", "rtrim"), (1, 2)),
    **dict.fromkeys(("left", "right", "strpos", "starts_with"), (2, 2)),
    **dict.fromkeys(("substr", "substring"), (2, 3)),
    **dict.fromkeys(("lpad", "rpad"), (2, 3)),
    **dict.fromkeys(("replace", "translate", "split_part"), (3, 3)),
    "concat": (1, 50),
    "concat_ws": (2, 50),
    "to_char": (2, 2),
    "date_trunc": (2, 3),
    "date_part": (2, 2),
    "age": (2, 2),
    "make_date": (3, 3),
    "to_date": (2, 2),
    "to_timestamp": (1, 2),
    "date": (1, 1),
    "timezone": (2, 2),
    "justify_days": (1, 1),
    "justify_interval": (1, 1),
}
SPECIAL = {"coalesce": (1, 50), "nullif": (2, 2), "greatest": (1, 50), "least": (1, 50)}
"""Written like functions and part of the grammar: they are never qualified."""
FIELDS = frozenset(
    [
        "year",
        "month",
        "day",
        "hour",
        "minute",
        "second",
        "quarter",
        "week",
        "dow",
        "isodow",
        "doy",
        "isoyear",
        "decade",
        "century",
        "epoch",
    ]
)
"""What EXTRACT gives."""
CLOCKS = frozenset(("now", "current_date", "current_timestamp", "localtimestamp", "transaction_timestamp"))
"""The time at which the statement arrived: the gateway writes it into the statement as a constant."""

COMPARISONS = frozenset(("=", "<>", "<", ">", "<=", ">="))
OTHERS = frozenset(("||", "~", "~*", "!~", "!~*", "&", "|", "#", "<<", ">>"))
"""Operators of the middle rank."""
OPERATORS = COMPARISONS | OTHERS | frozenset("+-*/%^") | {"and", "or", "not", "like", "ilike", "not like", "not ilike"}

TYPES = {
    **dict.fromkeys(("int", "integer", "int4"), "int4"),
    **dict.fromkeys(("bigint", "int8"), "int8"),
    **dict.fromkeys(("smallint", "int2"), "int2"),
    **dict.fromkeys(("numeric", "decimal", "dec"), "numeric"),
    **dict.fromkeys(("float8", "double precision", "float"), "float8"),
    **dict.fromkeys(("float4", "real"), "float4"),
    "text": "text",
    **dict.fromkeys(("varchar", "character varying"), "varchar"),
    **dict.fromkeys(("bpchar", "char", "character"), "bpchar"),
    **dict.fromkeys(("bool", "boolean"), "bool"),
    "date": "date",
    **dict.fromkeys(("timestamp", "timestamp without time zone"), "timestamp"),
    **dict.fromkeys(("timestamptz", "timestamp with time zone"), "timestamptz"),
    **dict.fromkeys(("time", "time without time zone"), "time"),
    "interval": "interval",
    "uuid": "uuid",
}
"""Types by the names that are written."""
SIZED = {"numeric": 2, "varchar": 1, "bpchar": 1, "timestamp": 1, "timestamptz": 1, "time": 1}
"""Types that take numbers in parentheses, and how many."""

AGGREGATES: dict[str, tuple[int, int]] = {
    "count": (0, 1),
    **dict.fromkeys(("sum", "avg", "min", "max", "bool_and", "bool_or", "every", "array_agg"), (1, 1)),
    **dict.fromkeys(("stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"), (1, 1)),
    **dict.fromkeys(("corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2"), (2, 2)),
    **dict.fromkeys(("regr_count", "regr_avgx", "regr_avgy"), (2, 2)),
    "string_agg": (2, 2),
}
ORDERED: dict[str, int] = {"percentile_cont": 1, "percentile_disc": 1, "mode": 0}
"""Aggregates with WITHIN GROUP, and how many arguments they have before it."""
WINDOWS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("row_number", "rank", "dense_rank", "percent_rank", "cume_dist"), (0, 0)),
    "ntile": (1, 1),
    **dict.fromkeys(("lag", "lead"), (1, 3)),
    **dict.fromkeys(("first_value", "last_value"), (1, 1)),
    "nth_value": (2, 2),
}

RESERVED = frozenset(
    [
        "all",
        "analyse",
        "analyze",
        "and",
        "any",
        "array",
        "as",
        "asc",
        "asymmetric",
        "both",
        "case",
        "cast",
        "check",
        "collate",
        "column",
        "constraint",
        "create",
        "current_catalog",
        "current_date",
        "current_role",
        "current_time",
        "current_timestamp",
        "current_user",
        "default",
        "deferrable",
        "desc",
        "distinct",
        "do",
        "else",
        "end",
        "except",
        "false",
        "fetch",
        "for",
        "foreign",
        "from",
        "grant",
        "group",
        "having",
        "in",
        "initially",
        "intersect",
        "into",
        "lateral",
        "leading",
        "limit",
        "localtime",
        "localtimestamp",
        "not",
        "null",
        "offset",
        "on",
        "only",
        "or",
        "order",
        "placing",
        "primary",
        "references",
        "returning",
        "select",
        "session_user",
        "some",
        "symmetric",
        "system_user",
        "table",
        "then",
        "to",
        "trailing",
        "true",
        "union",
        "unique",
        "user",
        "using",
        "variadic",
        "when",
        "where",
        "window",
        "with",
    ]
)
"""Words that are never names."""
NOT_BEHIND_FROM = RESERVED | frozenset(
    [
        "authorization",
        "binary",
        "collation",
        "concurrently",
        "cross",
        "current_schema",
        "freeze",
        "full",
        "ilike",
        "inner",
        "is",
        "isnull",
        "join",
        "left",
        "like",
        "natural",
        "notnull",
        "outer",
        "overlaps",
        "right",
        "similar",
        "tablesample",
        "verbose",
    ]
)
"""Words that are no alias of a table without AS."""
