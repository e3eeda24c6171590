"""Incident triage: how bad is it that this result leaked, together with all that its reader already held?

A leaked result is scored as part of the ensemble of everything its user had received by then (`Exposure`). The rows that
weigh most are those of whom most is known and who are easiest to recognise, by position in the leaked result; a
column weighs what the score would fall by if nobody had seen it.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from discreet.errors import UsageError
from discreet.kernel.serialise import json_of
from discreet.misuse.ensembles import Ensembles
from discreet.misuse.exposure import Exposure
from discreet.misuse.knowledge import Knowledge
from discreet.misuse.log import Scored, one_exponent
from discreet.misuse.sensitivity import Sensitivity

SHOWN_ROWS = 5


@dataclass(frozen=True)
class HeavyRow:
    """A row of a leaked result by position, counted from 1."""

    row: int
    score: float
    """What is known of this person over the people who look alike."""
    columns: tuple[str, ...]
    """Sensitive columns that the user knows of this person, from any result."""

    to_dict = json_of("row score columns")


@dataclass(frozen=True)
class HeavyColumn:
    """A column, and how much of the score rests on it."""

    column: str
    weight: float
    """What the score would fall by without it."""

    to_dict = json_of()


@dataclass(frozen=True)
class Incident:
    """A leaked result and how bad it is."""

    result: Scored
    score: float
    """M of everything the user held, with the leaked result."""
    held: int
    """Results received before and still held."""
    unknown: int
    """Held results that do not say about whom they are, with the leaked one; they count by themselves only."""
    rows: tuple[HeavyRow, ...]
    columns: tuple[HeavyColumn, ...]

    to_dict = json_of(
        "id=result.id time=result.time user=result.user role=result.role score alone=result.score "
        "rows=result.rows held unknown heavy_rows=rows heavy_columns=columns"
    )


def triage(
    results: Iterable[Scored], *, leaked: Collection[str] | None = None, frame: datetime.timedelta | None = None
) -> list[Incident]:
    """Incidents, the worst first, of the `leaked` results or of all with an alert.

    `frame` is how long a user is taken to have what was received; without it, for ever.
    """
    log = sorted(results, key=lambda one: one.time)
    wanted = {one.id for one in log if alerted(one)} if leaked is None else set(leaked)
    missing = wanted - {one.id for one in log}
    if missing:
        raise UsageError(f"{len(missing)} of the leaked results are not in the log.", remedy="Give ids of its lines.")
    if denied := [one for one in log if one.id in wanted and not one.delivered]:
        raise UsageError(
            f"{len(denied)} of the leaked results were denied, so nobody received them.",
            remedy="Name results that were delivered.",
        )
    # The log holds weights in place of values: the sensitivity function leaves them as they are.
    seen: dict[str, set[float]] = {}
    users: dict[str, list[Scored]] = {}
    for one in log:
        users.setdefault(one.user, []).append(one)
        for column, weights in (one.weights or {}).items():
            seen.setdefault(column, set()).update(weights)
    tables = {column: {"values": {weight: weight for weight in weights}} for column, weights in seen.items()}
    empty = Exposure(
        sensitivity=Sensitivity.from_dict(tables or {"none": {"otherwise": 0.0}}), x=one_exponent(log), frame=frame
    )
    incidents = []
    for results_of_user in users.values():
        if not wanted & {one.id for one in results_of_user}:
            continue
        known, received = empty, list[Scored]()
        for one in results_of_user:
            if not one.delivered:
                continue
            received = [old for old in received if frame is None or one.time - old.time <= frame]
            if one.entities is not None and one.weights is not None:
                known = known.after(
                    entities=one.entities, values=one.weights, at=one.time, distinguishing=one.alike or [1] * one.rows
                )
            if one.id in wanted:
                incidents.append(_incident(one, known, received))
            received.append(one)
    return sorted(incidents, key=lambda incident: (-incident.score, incident.result.time, incident.result.id))


def alerted(result: Scored) -> bool:
    """Whether it was let through although something was wrong with it."""
    return result.decision == "alert" or (result.decision != "allow" and not result.enforced)


def _incident(leaked: Scored, known: Exposure, received: Sequence[Scored]) -> Incident:
    vague = [one for one in (*received, leaked) if not one.detailed]
    score = max([known.value, leaked.score, *(one.score for one in vague)])
    knowledge = known.knowledge
    columns = []
    for column in knowledge.weights:
        # What the score would be had nobody seen this column.
        rest = {name: levels for name, levels in knowledge.weights.items() if name != column}
        without = Knowledge(rest, knowledge.crowds)
        columns.append(
            HeavyColumn(column, known.value - Ensembles().learn(Knowledge(), without, without).value(known.x))
        )
    rows = []
    for place, entity in enumerate(known.keys.numbers(list(leaked.entities or ())).tolist(), start=1):
        cells = {column: knowledge.cell(column, entity) for column in knowledge.weights}
        weights = {column: weight for column, weight in cells.items() if weight > 0}
        if weights:
            record_score = min(1.0, sum(weights.values())) / knowledge.crowd(entity)
            rows.append(HeavyRow(place, record_score, tuple(sorted(weights))))
    heavy_rows = sorted(rows, key=lambda row: (-row.score, row.row))[:SHOWN_ROWS]
    heavy_columns = sorted(columns, key=lambda column: (-column.weight, column.column))
    return Incident(leaked, score, len(received), len(vague), tuple(heavy_rows), tuple(heavy_columns))
