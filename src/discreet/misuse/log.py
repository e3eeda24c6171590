"""The log of scored results: JSON lines, one result each, without any value of anybody.

What a line holds is fixed (see docs/reference/misuse-log.md). Entities are keyed hashes or numbers, weights are f of the
values and not the values, and a statement is known by its hash. The reader is strict: a line it cannot use is an
error that names file, line and key, and never repeats what was there.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from discreet.errors import EmptySource, SourceNotFound, SourceUnreadable, UsageError
from discreet.kernel.serialise import plain
from discreet.wording import reason

FORMAT = 1
Decision = Literal["allow", "deny", "reduce", "mask", "alert"]
Entity = int | str


@dataclass(frozen=True)
class Scored:
    """One result: who asked, when, what it weighs, and what was decided."""

    id: str
    time: datetime.datetime
    user: str
    role: str
    score: float
    """M of the result as it was asked for."""
    x: float
    rows: int
    columns: tuple[str, ...]
    sensitivity: str
    """The version of f."""
    statement: str
    """A hash of the statement."""
    decision: Decision = "allow"
    enforced: bool = True
    """False in shadow mode: decided and recorded, but let through."""
    context: str | None = None
    entities: tuple[Entity, ...] | None = None
    """Who each row is about."""
    weights: Mapping[str, tuple[float, ...]] | None = None
    """Per sensitive column f of each row."""
    alike: tuple[int, ...] | None = None
    """D of each row: people of the source who share its quasi-identifiers."""

    @property
    def delivered(self) -> bool:
        """Whether the user received anything."""
        return self.decision != "deny" or not self.enforced

    @property
    def detailed(self) -> bool:
        """Whether it says about whom it is and what each row weighs."""
        return self.entities is not None and self.weights is not None

    def to_dict(self) -> dict[str, Any]:
        """The line as an object, without the detail that a result does not have."""
        content = {"v": FORMAT, **{field.name: getattr(self, field.name) for field in fields(self)}}
        absent = {key for key in ("entities", "weights", "alike") if content[key] is None}
        return {key: plain(value) for key, value in content.items() if key not in absent}


def write_line(scored: Scored) -> str:
    """The line, with its end."""
    return json.dumps(scored.to_dict(), ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def read_log(path: str | Path) -> list[Scored]:
    """Every result of a log, in order of time."""
    path = Path(path)
    try:
        with path.open(encoding="utf-8") as lines:
            found = list(parse(lines, name=path.name))
    except FileNotFoundError:
        raise SourceNotFound(f"There is no log {path}.", remedy="Give the path of a log of scored results.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceUnreadable(
            f"{path} cannot be read ({reason(error)}).", remedy="A log is UTF-8 text, one JSON object per line."
        ) from None
    if not found:
        raise EmptySource(f"There is no result in {path.name}.", remedy="Give a log with at least one line.")
    return sorted(found, key=lambda scored: scored.time)


def one_exponent(results: Iterable[Scored]) -> float:
    """The x of all results; scores of different x do not compare."""
    exponents = {scored.x for scored in results}
    if len(exponents) != 1:
        raise UsageError(
            f"The results were scored with {len(exponents)} different x, so they cannot be compared.",
            remedy="Choose a period with one x (--since, --until).",
        )
    return exponents.pop()


def parse(lines: Iterable[str], *, name: str = "the log") -> Iterator[Scored]:
    """The results of lines; empty lines are passed over."""
    seen: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if line.strip():
            place = f"{name}, line {number}"
            scored = _scored(line, place)
            if scored.id in seen:
                raise _unreadable(place, "its 'id' was there before")
            seen.add(scored.id)
            yield scored


def _scored(line: str, place: str) -> Scored:
    """A line, strictly read."""
    try:
        content = json.loads(line, parse_constant=int)  # which refuses NaN and Infinity
    except (ValueError, RecursionError):
        raise _unreadable(place, "this is no JSON") from None
    if not isinstance(content, dict):
        raise _unreadable(place, "this is no JSON object")
    if strange := [key for key in content if key not in CHECKS]:
        raise _unreadable(place, f"there {'is a key' if len(strange) == 1 else 'are keys'} that no line may have")
    values = {}
    for key, kind in CHECKS.items():
        if key not in content and key in OPTIONAL:
            continue
        try:
            values[key] = _checked(kind, content[key])
        except KeyError:
            raise _unreadable(place, f"'{key}' is missing") from None
        except (TypeError, ValueError, OverflowError):
            raise _unreadable(place, f"'{key}' is not as it should be") from None
    scored = Scored(**{key: value for key, value in values.items() if key != "v"})
    if any(one is not None and len(one) != scored.rows for one in (scored.entities, scored.alike)):
        raise _unreadable(place, "'entities' and 'alike' need one entry per row")
    for column, weights in (scored.weights or {}).items():
        if len(weights) != scored.rows or column not in scored.columns:
            raise _unreadable(place, "'weights' need one entry per row, and a column that is in 'columns'")
    return scored


def _unreadable(place: str, problem: str) -> SourceUnreadable:
    return SourceUnreadable(
        f"{place}: {problem}.", remedy="Each line is one scored result; see the reference of the misuse log."
    )


def _checked(kind: str, value: Any) -> Any:
    """Value of a line as `Scored` has it; ValueError where its kind is wrong."""
    match kind:
        case "version":
            holds = type(value) is int and value == FORMAT
        case "name":
            holds = isinstance(value, str) and value != ""
        case "optional name":
            return None if value is None else _checked("name", value)
        case "flag":
            holds = isinstance(value, bool)
        case "count":
            holds = type(value) is int and value >= 0
        case "number":
            holds = type(value) in (int, float) and math.isfinite(value) and value >= 0
            value = float(value) if holds else value
        case "exponent":
            value = math.inf if value == "inf" else _checked("number", value)
            holds = value >= 1
        case "decision":
            holds = value in get_args(Decision)
        case "time":
            value = datetime.datetime.fromisoformat(value)
            holds = value.tzinfo is not None
        case "list":
            holds = isinstance(value, list)
        case "names":
            value = tuple(_checked("name", one) for one in _checked("list", value))
            holds = len(set(value)) == len(value)
        case "entities":
            value = tuple(_checked("list", value))
            holds = all(type(one) in (int, str) for one in value)
        case "weights" if isinstance(value, dict):
            value = {
                _checked("name", column): tuple(_checked("number", one) for one in _checked("list", weights))
                for column, weights in value.items()
            }
            holds = all(one <= 1 for weights in value.values() for one in weights)
        case "alike":
            value = tuple(_checked("count", one) for one in _checked("list", value))
            holds = all(value)
        case _:
            holds = False
    if not holds:
        raise ValueError
    return value


CHECKS: Mapping[str, str] = {
    "v": "version",
    "id": "name",
    "time": "time",
    "user": "name",
    "role": "name",
    "score": "number",
    "x": "exponent",
    "rows": "count",
    "columns": "names",
    "sensitivity": "name",
    "statement": "name",
    "decision": "decision",
    "enforced": "flag",
    "context": "optional name",
    "entities": "entities",
    "weights": "weights",
    "alike": "alike",
}
"""Every key a line may have, in order, with the kind of its value."""
OPTIONAL = frozenset({"context", "entities", "weights", "alike"})
