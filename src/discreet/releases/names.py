"""Names of releases and recipients: they stand in the ledger and name folders."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import UsageError


def check_names(names: Sequence[str], what: str) -> tuple[str, ...]:
    """Names that may stand in the ledger and name a folder on any system, no two of them alike.

    >>> check_names(["Klinik Süd", "lab-2"], "recipient")
    ('Klinik Süd', 'lab-2')
    """
    for name in names:
        plain = name.strip(" .") == name and all(letter.isalnum() or letter in " ._-" for letter in name)
        if not plain or not 1 <= len(name) <= 64:
            raise UsageError(
                f"The name of a {what} has 1 to 64 letters, digits, blanks, dots, dashes and underscores.",
                remedy="It also names a folder; choose a name such as university-1.",
            )
    if len({name.casefold() for name in names}) != len(names):
        raise UsageError(f"Two names of a {what} are the same.", remedy="Give each one a name of its own.")
    return tuple(names)
