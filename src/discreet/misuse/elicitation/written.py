"""The scores as the policy file has them: a section [sensitivity.COLUMN] for each column; see `Sensitivity.version`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from discreet.kernel.arrays import Floats
from discreet.misuse.elicitation.items import Item

DIGITS = 3


def sections(items: Sequence[Item], scores: Floats | Sequence[float]) -> dict[str, dict[str, Any]]:
    """Per column `values`, `bins` and `otherwise`, as `Sensitivity.from_dict` reads them.

    A value about which nobody was asked counts as the worst of its column.

    >>> sections([Item("account", "Gold", ("Gold",)), Item("account", "White", ("White",))], [1.0, 0.1])
    {'account': {'values': {'Gold': 1.0, 'White': 0.1}, 'otherwise': 1.0}}
    """
    found: dict[str, dict[str, Any]] = {}
    for item, score in zip(items, scores, strict=True):
        section = found.setdefault(item.column, {})
        _add(section, item, round(float(score), DIGITS))
    for section in found.values():
        listed = [*section.get("values", {}).values(), *(score for _, score in section.get("bins", []))]
        section["otherwise"] = section.pop("otherwise", max(listed, default=1.0))
    return found


def _add(section: dict[str, Any], item: Item, score: float) -> None:
    if item.values:
        section.setdefault("values", {}).update(dict.fromkeys(item.values, score))
    elif item.upper is not None:
        section.setdefault("bins", []).append([item.upper, score])
    else:
        section["otherwise"] = score


def toml(content: dict[str, dict[str, Any]], *, notes: Sequence[str] = ()) -> str:
    """The sections as text, to be pasted into a policy.

    >>> print(toml({"account": {"values": {"Gold": 1.0}, "bins": [[100, 0.1]], "otherwise": 1.0}}), end="")
    [sensitivity.account]
    bins = [[100.0, 0.1]]
    otherwise = 1.0
    <BLANKLINE>
    [sensitivity.account.values]
    Gold = 1.0
    """
    lines = [f"# {_comment(note)}" for note in notes]
    parts = ["\n".join(lines) + "\n"] if lines else []
    parts += [_section(column, section) for column, section in content.items()]
    return "\n".join(parts)


def _section(column: str, section: dict[str, Any]) -> str:
    lines = [f"[sensitivity.{_key(column)}]"]
    if "bins" in section:
        lines.append(f"bins = [{', '.join(f'[{float(upper)}, {float(score)}]' for upper, score in section['bins'])}]")
    lines.append(f"otherwise = {float(section['otherwise'])}")
    if "values" in section:
        lines += ["", f"[sensitivity.{_key(column)}.values]"]
        lines += [f"{_key(value)} = {float(score)}" for value, score in section["values"].items()]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    """A bare or a quoted key; JSON escapes what TOML wants escaped, but for the delete character."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007F")


def _comment(note: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in note)
