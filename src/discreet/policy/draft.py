"""A draft of a policy, written for a person to read and confirm."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from discreet.policy.schema import Role

HEAD = """\
# A draft. Discreet guessed the roles; a person who knows the data must confirm each one.
#   identifier  names a person (name, number, address)
#   quasi       an adversary may know it from elsewhere (age, postcode, sex, dates)
#   sensitive   what he would like to learn (diagnosis, income)
#   other       none of these; published as it is
#   drop        left out of everything that is published
# Check it with: discreet policy check POLICY --data DATA
"""


@dataclass(frozen=True)
class Draft:
    """What was guessed about one column, and why."""

    column: str
    role: Role
    reason: str
    hierarchy: str = ""
    """A built-in rule in TOML, where one fits."""


def write_draft(drafts: Iterable[Draft], *, delimiter: str | None = None, encoding: str | None = None) -> str:
    """The policy file as text.

    >>> print(write_draft([Draft("zip", "quasi", "looks like a postcode", "{ mask = 5 }")]).splitlines()[-2])
    hierarchy = { mask = 5 }
    """
    parts = [HEAD]
    data = {"delimiter": delimiter, "encoding": encoding}
    written = [f"{key} = {json.dumps(value)}\n" for key, value in data.items() if value is not None]
    if written:
        parts.append("[data]\n" + "".join(written))
    parts += [_section(draft) for draft in drafts]
    return "\n".join(parts) + "\n"


def _section(draft: Draft) -> str:
    lines = [f"[columns.{key_of(draft.column)}]", f'role = "{draft.role}"  # {draft.reason}']
    if draft.hierarchy:
        lines.append(f"hierarchy = {draft.hierarchy}")
    return "\n".join(lines) + "\n"


def key_of(name: str) -> str:
    """A name as a key of TOML.

    >>> print(key_of("zip"), key_of("birth date"))
    zip "birth date"
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
