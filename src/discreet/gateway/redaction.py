"""Errors and notices of the server as a governed user may see them.

A cast that fails, a constraint that is violated and RAISE print values of rows. What speaks only of the statement itself
stays as it is, so that people can mend their statements; the rest is said in words of the gateway's own.
"""

from __future__ import annotations

from collections.abc import Mapping

KEPT_CLASSES = ("03", "08", "0A", "25", "26", "28", "2D", "34", "3B", "3D", "3F", "40", "42", "53", "55", "57")
"""Classes of errors that speak of the statement, the session or the server."""
NAMING_CLASSES = ("0A", "3D", "3F", "42", "55")
"""Those that name what they speak of, which may be a value: `diagnosis::regclass` fails with the diagnosis in it."""
PLAIN_CODES = (
    "25001",
    "25P01",
    "25P02",
    "42501",
    "42P03",
    "42P04",
    "42P05",
    "42P06",
    "42P07",
    "42701",
    "42710",
    "42723",
)
"""What is said in the same words each time, or only of names that a statement gives or may not use."""
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
    "0A000": "The server cannot do this.",
    "3F000": "A schema does not exist.",
    "42601": "Something cannot be read.",
    "42704": "Something of this name does not exist.",
    "42883": "No function of this name and these types exists.",
    "42P01": "A relation does not exist.",
}
OTHERWISE = "The statement failed on the data."
HINT = "The gateway withholds the server's words, since they may hold values."


def redacted(fields: Mapping[str, str], notice: bool, *, read: bool = True) -> Mapping[str, str] | None:
    """The same fields if they hold no value; else without what may hold one; None keeps a notice back.

    `read` says whether the session has read governed tables: before that, no error can be about what is in them.
    """
    if notice:
        return fields if _is_harmless_notice(fields, read) else None
    if _speaks_of_the_statement(fields, read):
        return fields
    kept = {letter: fields[letter] for letter in KEPT_FIELDS if letter in fields}
    return kept | {"M": SAID.get(fields.get("C", ""), OTHERWISE), "H": HINT}


def _speaks_of_the_statement(fields: Mapping[str, str], read: bool) -> bool:
    code = fields.get("C", "")
    if not code.startswith(KEPT_CLASSES) or "W" in fields or code == "42P17":
        return False
    # Where the server points at a place in the text, it has not come to the data yet.
    return not read or "P" in fields or code in PLAIN_CODES or not code.startswith(NAMING_CLASSES)


def _is_harmless_notice(fields: Mapping[str, str], read: bool) -> bool:
    """Not from inside a function, not what the server says for debugging, and no warning of a library about a value."""
    if "W" in fields or fields.get("V", fields.get("S", "")) not in ("NOTICE", "WARNING"):
        return False
    return not (read and fields.get("C") == "01000")
