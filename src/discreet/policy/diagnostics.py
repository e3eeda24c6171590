"""What is wrong with a policy file, said so that its author can mend it: place, problem, probable meaning."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from discreet.errors import PolicyError
from discreet.policy.locate import line_of
from discreet.policy.schema import (
    RULE_KEYS,
    ColumnSection,
    DataSection,
    EconomicsSection,
    GatewayLimitSection,
    GatewaySection,
    GatewayTableSection,
    LimitsSection,
    MisuseSection,
    PolicyFile,
    PopulationSection,
    SensitivitySection,
    WeightsSection,
)

SECTIONS: dict[str, type[BaseModel]] = {
    "data": DataSection,
    "limits": LimitsSection,
    "columns": ColumnSection,
    "population": PopulationSection,
    "economics": EconomicsSection,
    "sensitivity": SensitivitySection,
    "misuse": MisuseSection,
    "gateway": GatewaySection,
}
INNER: dict[str, type[BaseModel]] = {"tables": GatewayTableSection, "limits": GatewayLimitSection}


def syntax_error(error: tomllib.TOMLDecodeError, file: str) -> PolicyError:
    """Not even TOML."""
    place = re.search(r"at line (\d+)", str(error))
    problem = re.sub(r"\s*\(at .*\)$", "", str(error))
    return PolicyError(
        f"This is not valid TOML: {problem}.",
        file=file,
        line=int(place[1]) if place else None,
        remedy='Texts need quotes: role = "quasi".',
    )


def shape_error(
    error: ValidationError,
    *,
    file: str,
    source: str,
    known_keys: Callable[[Sequence[str]], list[str]] | None = None,
    described: str = "discreet policy schema describes every key.",
) -> PolicyError:
    """The first thing that is wrong, where it is, and what was probably meant; for other files, by their keys."""
    # A misspelt key is reported before the key that it leaves missing.
    first = min(error.errors(include_url=False), key=lambda found: found["type"] != "extra_forbidden")
    place = [str(part) for part in first["loc"]]
    key = _written(place)
    known = (known_keys or _known_keys)(key[:-1]) if first["type"] == "extra_forbidden" else []
    problem, remedy = _explain(first["type"], first["msg"], key, first.get("input"), known, described)
    more = error.error_count() - 1
    remedy += f" ({more} more to mend after this one.)" if more else ""
    return PolicyError(problem, remedy=remedy, file=file, line=line_of(source, key))


def _written(place: Sequence[str]) -> list[str]:
    """The place without the tags that pydantic adds for the kinds of a hierarchy."""
    if len(place) > 3 and place[2] == "hierarchy" and place[3] in (*RULE_KEYS, "file"):
        return [*place[:3], *place[4:]]
    return list(place)


def _explain(
    kind: str, message: str, key: Sequence[str], given: Any, known: Sequence[str], described: str
) -> tuple[str, str]:
    name = ".".join(key)
    if kind == "extra_forbidden":
        close = difflib.get_close_matches(key[-1], known, n=1)
        hint = f"Did you mean '{close[0]}'?" if close else f"Known here: {', '.join(known)}."
        return f"unknown key '{name}'.", hint
    if kind == "missing":
        return f"'{name}' is missing.", f"Add it; {described}"
    if kind.startswith("union_tag"):
        return (
            f"'{name}' is no hierarchy.",
            'Use { mask = 5 }, { widths = [5, 10] }, { any = "*" }, { dates = ["year"] } or "file.csv".',
        )
    if kind == "literal_error" and isinstance(given, str):
        choices = re.findall(r"'([^']+)'", message)
        close = difflib.get_close_matches(given, choices, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        return f"'{name}' is '{given}'.", f"It must be one of: {', '.join(choices)}.{hint}"
    return f"'{name}': {message[0].lower()}{message[1:]}.", described


def _known_keys(place: Sequence[str]) -> list[str]:
    if not place:
        return list(PolicyFile.model_fields)
    if place[0] == "sensitivity" and len(place) > 2:
        return list(WeightsSection.model_fields)
    if place[0] == "gateway" and len(place) > 2:
        return list(INNER[place[1]].model_fields)
    if len(place) > 2:
        return [*RULE_KEYS, "format"]
    return list(SECTIONS[place[0]].model_fields)
