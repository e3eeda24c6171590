"""Errors and notices of the server as a governed user may see them.

A cast that fails, a constraint that is violated and RAISE print values of rows. What speaks only of the statement itself
stays as it is, so that people can mend their statements; the rest is said in words of the gateway's own.
"""

from __future__ import annotations

from collections.abc import Mapping

KEPT_CLASSES = ("03", "08", "0A", "25", "26", "28", "2D", "34", "3B", "3D", "3F", "40", "42", "53", "55", "57")
"""Classes of errors that speak of the statement, the session or the server."""
KEPT_FIELDS = ("S", "V", "C", "s", "t", "c", "d", "n", "P")
"""Severity, code, and the names of schema, table, column, type and constraint."""
SAID = {
    "22012": "Something was divided by zero.",
    "22003": "A number is out of range.",
    "22P02": "A value cannot be read as the type that was asked for.",
    "22007": "A value cannot be read as a date or time.",
    "22008": "A date or time is out of range.",
    "23502": "A column that must not be empty would be.",
    "23503": "A foreign key would be violated.",
    "23505": "A value that must be unique would not be.",
    "23514": "A check constraint would be violated.",
    "21000": "A subquery gave more than one row.",
}
OTHERWISE = "The statement failed on the data."
HINT = "The gateway withholds the server's words, since they may hold values."


def redacted(fields: Mapping[str, str], notice: bool) -> Mapping[str, str] | None:
    """The same fields if they hold no value; else without what may hold one; None keeps a notice back."""
    if notice:
        return fields if _is_harmless_notice(fields) else None
    code = fields.get("C", "")
    if code.startswith(KEPT_CLASSES) and "W" not in fields and code != "42P17":
        return fields
    kept = {letter: fields[letter] for letter in KEPT_FIELDS if letter in fields}
    return kept | {"M": SAID.get(code, OTHERWISE), "H": HINT}


def _is_harmless_notice(fields: Mapping[str, str]) -> bool:
    """Not from inside a function, and not what the server says for debugging."""
    return "W" not in fields and fields.get("V", fields.get("S", "")) in ("NOTICE", "WARNING")
