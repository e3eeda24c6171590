"""Values in conditions, spelt as the cells of their column are: what the server takes for equal must weigh the same."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from discreet.kernel.arrays import Label
from discreet.kernel.hierarchy import text

AS_WRITTEN = frozenset(("text", "varchar", "name", "enum"))
NUMBERS = frozenset(("int2", "int4", "int8", "numeric", "float4", "float8"))
_SHORT = {"1": "true", "0": "false", "on": "true", "of": "false", "off": "false"}


def spelt(value: Label, kind: str) -> Label:
    """The value as the kernel spells cells of this type; LookupError where it could be spelt in other ways.

    >>> spelt("B20  ", "bpchar"), spelt("T", "bool"), spelt("007.50", "numeric")
    ('B20', 'true', '7.5')
    """
    if value is None or kind in AS_WRITTEN:
        return value
    if kind == "bpchar":
        return value.rstrip(" ")
    written = value.strip().lower()
    if kind == "bool":
        return _truth(written)
    if kind in NUMBERS:
        try:
            return text(Decimal(written))
        except InvalidOperation:
            raise LookupError from None
    raise LookupError


def _truth(written: str) -> str:
    if written in _SHORT:
        return _SHORT[written]
    for truth, word in (("true", "true"), ("false", "false"), ("true", "yes"), ("false", "no")):
        if written and word.startswith(written):
            return truth
    raise LookupError
