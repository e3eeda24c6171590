"""The log of scored results: JSON lines, one result each, without any value of anybody.

What a line holds is fixed (see docs/reference/misuse-log.md). Entities are keyed hashes or numbers, weights are f of the
values and not the values, and a statement is known by its hash. The reader is strict: a line it cannot use is an
error that names file, line and key, and never repeats what stood there.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from discreet.errors import EmptySource, SourceNotFound, SourceUnreadable, UsageError

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
        """The line as an object."""
        content: dict[str, Any] = {
            "v": FORMAT,
            "id": self.id,
            "time": self.time.isoformat(),
            "user": self.user,
            "role": self.role,
            "score": self.score,
            "x": "inf" if math.isinf(self.x) else self.x,
            "rows": self.rows,
            "columns": list(self.columns),
            "sensitivity": self.sensitivity,
            "statement": self.statement,
            "decision": self.decision,
            "enforced": self.enforced,
            "context": self.context,
        }
        if self.entities is not None:
            content["entities"] = list(self.entities)
        if self.weights is not None:
            content["weights"] = {column: list(weights) for column, weights in self.weights.items()}
        if self.alike is not None:
            content["alike"] = list(self.alike)
        return content


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
            f"{path} cannot be read ({type(error).__name__}).", remedy="A log is UTF-8 text, one JSON object per line."
        ) from None
    if not found:
        raise EmptySource(f"There is no result in {path.name}.", remedy="Give a log with at least one line.")
    return sorted(found, key=lambda scored: scored.time)


def one_exponent(results: Iterable[Scored]) -> float:
    """The x that all results were scored with; scores of different x do not compare."""
    found = {one.x for one in results}
    if len(found) != 1:
        raise UsageError(
            f"The results were scored with {len(found)} different x, so they cannot be compared.",
            remedy="Choose a period with one x (--since, --until).",
        )
    return found.pop()


def parse(lines: Iterable[str], *, name: str = "the log") -> Iterator[Scored]:
    """The results of lines; empty lines are passed over."""
    seen: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if line.strip():
            place = f"{name}, line {number}"
            scored = _result(_object(line, place), place)
            if scored.id in seen:
                raise _unreadable(place, "its 'id' was there before")
            seen.add(scored.id)
            yield scored


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        content = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise _unreadable(place, "this is no JSON") from None
    if not isinstance(content, dict):
        raise _unreadable(place, "this is no JSON object")
    return content


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _unreadable(place: str, problem: str) -> SourceUnreadable:
    return SourceUnreadable(
        f"{place}: {problem}.", remedy="Each line is one scored result; see the reference of the misuse log."
    )


def _result(content: dict[str, Any], place: str) -> Scored:
    strange = [key for key in content if key not in CHECKS]
    if strange:
        raise _unreadable(place, f"there {'is a key' if len(strange) == 1 else 'are keys'} that no line may have")
    values = {}
    for key, check in CHECKS.items():
        if key not in content and key in OPTIONAL:
            continue
        try:
            values[key] = check(content[key])
        except (KeyError, TypeError, ValueError, OverflowError):
            raise _unreadable(
                place, f"'{key}' {'is missing' if key not in content else 'is not as it should be'}"
            ) from None
    del values["v"]
    scored = Scored(**values)
    _check_lengths(scored, place)
    return scored


def _check_lengths(scored: Scored, place: str) -> None:
    lists: dict[str, tuple[Any, ...] | None] = {"entities": scored.entities, "alike": scored.alike}
    if any(one is not None and len(one) != scored.rows for one in lists.values()):
        raise _unreadable(place, "'entities' and 'alike' need one entry per row")
    for column, weights in (scored.weights or {}).items():
        if len(weights) != scored.rows or column not in scored.columns:
            raise _unreadable(place, "'weights' need one entry per row, and a column that is in 'columns'")


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError


def _version(value: Any) -> int:
    _require(type(value) is int and value == FORMAT)
    return FORMAT


def _name(value: Any) -> str:
    _require(isinstance(value, str) and bool(value))
    return str(value)


def _optional_name(value: Any) -> str | None:
    return None if value is None else _name(value)


def _flag(value: Any) -> bool:
    _require(isinstance(value, bool))
    return bool(value)


def _time(value: Any) -> datetime.datetime:
    when = datetime.datetime.fromisoformat(_name(value))
    _require(when.tzinfo is not None)
    return when


def _number(value: Any) -> float:
    _require(isinstance(value, int | float) and not isinstance(value, bool))
    number = float(value)
    _require(math.isfinite(number) and number >= 0)
    return number


def _exponent(value: Any) -> float:
    number = math.inf if value == "inf" else _number(value)
    _require(number >= 1)
    return number


def _count(value: Any) -> int:
    _require(type(value) is int and value >= 0)
    return int(value)


def _listed(value: Any) -> list[Any]:
    _require(isinstance(value, list))
    return list(value)


def _names(value: Any) -> tuple[str, ...]:
    names = tuple(_name(one) for one in _listed(value))
    _require(len(set(names)) == len(names))
    return names


def _decision(value: Any) -> Decision:
    _require(value in get_args(Decision))
    return cast(Decision, value)


def _entities(value: Any) -> tuple[Entity, ...]:
    found = tuple(_listed(value))
    _require(all(type(one) in (int, str) for one in found))
    return found


def _weight(value: Any) -> float:
    number = _number(value)
    _require(number <= 1)
    return number


def _weights(value: Any) -> dict[str, tuple[float, ...]]:
    _require(isinstance(value, dict))
    return {_name(column): tuple(_weight(one) for one in _listed(weights)) for column, weights in value.items()}


def _alike(value: Any) -> tuple[int, ...]:
    found = tuple(_count(one) for one in _listed(value))
    _require(all(found))
    return found


CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "v": _version,
    "id": _name,
    "time": _time,
    "user": _name,
    "role": _name,
    "score": _number,
    "x": _exponent,
    "rows": _count,
    "columns": _names,
    "sensitivity": _name,
    "statement": _name,
    "decision": _decision,
    "enforced": _flag,
    "context": _optional_name,
    "entities": _entities,
    "weights": _weights,
    "alike": _alike,
}
"""Every key a line may have, in order, with what reads it."""
OPTIONAL = frozenset({"context", "entities", "weights", "alike"})
