"""Hierarchy files: one row per value, `value;level 1;level 2;...`, without a header, as ARX reads and writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from discreet.errors import HierarchyError
from discreet.kernel import AnyValue, AutoMask, Cuts, Dates, Mask, Prefix, Rule, TopBottomCode, Tree, Widths
from discreet.kernel.rules import Path as Levels
from discreet.policy.schema import (
    AnyRule,
    AutoMaskRule,
    CutsRule,
    DatesRule,
    HierarchyRule,
    MapRule,
    MaskRule,
    PrefixRule,
    TopBottomRule,
    WidthsRule,
)
from discreet.wording import reason


def read_tree(path: Path) -> Tree:
    """Read a hierarchy file; cells are separated by semicolons, commas or tabs."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise HierarchyError(
            f"there is no file {path}.", remedy="Paths in a policy are relative to the policy file."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise HierarchyError(f"{path} cannot be read ({reason(error)}).", remedy="Save it as UTF-8 text.") from None
    lines = [line for line in text.splitlines() if line.strip()]
    first = lines[0] if lines else ""
    delimiter = next((mark for mark in ";\t," if mark in first), ";")
    return Tree(tuple(split(line, delimiter) for line in lines), name=path.name)


def split(line: str, delimiter: str = ";") -> tuple[str, ...]:
    """The cells of a line; spaces around a cell count only inside quotes.

    >>> split('" Baker; pastry"; Trade ;*')
    (' Baker; pastry', 'Trade', '*')
    """
    mark = re.escape(delimiter)
    cells = re.findall(rf'(?:^|{mark})[^\S{mark}]*(?:"((?:[^"]|"")*)"[^\S{mark}]*(?=$|{mark})|([^{mark}]*))', line)
    return tuple(quoted.replace('""', '"') if quoted else bare.strip() for quoted, bare in cells)


def writable(cells: Sequence[str | None]) -> bool:
    """Whether a row comes back from a file as it is: no missing value, and no line break.

    >>> writable(["Farmer ", "*"]), writable(["a\\nb", "*"]), writable([None, "*"])
    (True, False, False)
    """
    return all(cell and cell.splitlines() == [cell] for cell in cells)


def write_tree(rows: Iterable[Levels]) -> str:
    """The text of a hierarchy file.

    >>> print(write_tree([("Farmer", "Agriculture", "*"), ("a;b", "Other", "*")]), end="")
    Farmer;Agriculture;*
    "a;b";Other;*
    """
    return "".join(";".join(_quoted(cell or "") for cell in row) + "\n" for row in rows)


def _quoted(cell: str) -> str:
    plain = cell == cell.strip() and not any(mark in cell for mark in ';"\t,')
    return cell if plain else '"' + cell.replace('"', '""') + '"'


def rule_of(hierarchy: HierarchyRule, folder: Path) -> Rule:
    """The hierarchy that a policy gives a column: a built-in rule, or a file relative to the policy."""
    match hierarchy:
        case MaskRule(mask=length):
            return Mask(length)
        case AutoMaskRule():
            return AutoMask()
        case PrefixRule(prefix=lengths):
            return Prefix(tuple(lengths))
        case CutsRule(cuts=cuts):
            return Cuts(tuple(cuts))
        case TopBottomRule(top=top, bottom=bottom, widths=widths):
            return TopBottomCode(top, bottom, tuple(widths or ()))
        case MapRule(map=rows):
            return Tree(tuple((value, *levels) for value, levels in rows.items()), name="the map")
        case WidthsRule(widths=widths):
            return Widths(tuple(widths))
        case AnyRule(any=label):
            return AnyValue(label)
        case DatesRule(dates=units, format=style):
            return Dates(tuple(units), style)
    return read_tree(folder / hierarchy)
