"""Exposure: what one user has learned so far, and its misuse potential."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.errors import DataError, IntegrityError, MissingExtra, UsageError
from discreet.kernel import Coded
from discreet.kernel.hierarchy import text
from discreet.kernel.notebook import card
from discreet.misuse.exposure.ensembles import Ensembles
from discreet.misuse.exposure.knowledge import (
    Bitmap,
    EntityNumbering,
    Knowledge,
    Levels,
    joined_all,
    published,
    published_few,
)
from discreet.misuse.sensitivity import Sensitivity, weigh
from discreet.misuse.source.columns import as_cells, labels

Time = float | datetime.datetime
Span = float | datetime.timedelta
FEW = 4
"""Up to so many rows are learned one by one."""


@dataclass(frozen=True, eq=False)
class Exposure:
    """What one user knows of whom, from all she has received. Frozen: learning gives a new one.

    The score is the largest of any ensemble: of everybody of whom at least some attributes are known. Learning more
    never lowers it, and the order of learning does not matter. With a `frame`, what is older than the newest by more
    than that is forgotten. Times are numbers or datetimes; what was learned within one `bucket` of time is kept
    together, and forgotten together.

    >>> f = Sensitivity.from_dict({"account": {"values": {"Gold": 1.0, "Silver": 0.7}}})
    >>> known = Exposure(sensitivity=f).after(entities=[1, 2], values={"account": ["Silver", "Silver"]}, at=0)
    >>> known
    Exposure(0.989949, 2 entities, 1 attributes)
    >>> known.after(entities=[3], values={"account": ["Gold"]}, at=1).value > known.value
    True
    """

    sensitivity: Sensitivity
    x: float = 2.0
    frame: Span | None = None
    bucket: Span | None = None
    newest: float = -math.inf
    """The latest time at which anything was learned."""
    buckets: Mapping[float, Knowledge] = field(default_factory=dict, repr=False)
    """What was learned in each bucket of time, by its beginning."""
    knowledge: Knowledge = field(default_factory=Knowledge, repr=False)
    """What all buckets give together."""
    ensembles: Ensembles = field(default_factory=Ensembles, repr=False)
    keys: EntityNumbering = field(default_factory=EntityNumbering, repr=False)

    def __post_init__(self) -> None:
        if not self.x >= 1:
            raise UsageError(f"x is a number from 1 to infinity, not {self.x}.", remedy="2 is usual.")
        for name, span in (("frame", self.frame), ("bucket", self.bucket)):
            if span is not None and not seconds(span) > 0:
                raise UsageError(f"{name} is a span of time above 0.", remedy="In seconds, or a timedelta.")

    @property
    def value(self) -> float:
        """How much damage all that is known could do."""
        return self.ensembles.value(self.x)

    def after(
        self,
        *,
        entities: Sequence[Any],
        values: Mapping[str, Sequence[Any]],
        at: Time,
        distinguishing: Sequence[int] | None = None,
    ) -> Exposure:
        """What is known after one more result: per attribute one value for each of the entities.

        `distinguishing` says for each entity how many people of the source look like it (D), 1 unless given; the
        least that was ever seen of an entity counts. Attributes without weights are left out.
        """
        return self.learn(self._publication(entities, values, distinguishing), at=at)

    def learn(self, learned: Knowledge, *, at: Time) -> Exposure:
        """The same where it is already known what each cell weighs."""
        moment = instant(at)
        newest = max(self.newest, moment)
        start = self._start(moment)
        kept = self if newest == self.newest else self._forget(newest)
        if self._over(start, newest) or not learned.crowds:
            return replace(kept, newest=newest)
        new = kept.knowledge.join(learned)
        part = kept.buckets.get(start, Knowledge())
        alone = part is kept.knowledge or not kept.buckets
        return replace(
            kept,
            newest=newest,
            buckets={**kept.buckets, start: new if alone else part.join(learned)},
            knowledge=new,
            ensembles=kept.ensembles.learn(kept.knowledge, new, learned),
        )

    def drop_before(self, time: Time) -> Exposure:
        """What is known without what was learned before a time; a bucket goes when all of it was."""
        limit = instant(time)
        kept = {start: part for start, part in self.buckets.items() if self._end(start) > limit}
        return self if len(kept) == len(self.buckets) else self.holding(kept)

    def join(self, other: Exposure) -> Exposure:
        """What is known after both, where both number their entities alike (one descends from the other)."""
        if self.keys is not other.keys and (self.keys.names or other.keys.names):
            raise UsageError("These exposures number their entities differently.", remedy="Join numbers, not names.")
        starts = dict.fromkeys([*self.buckets, *other.buckets])
        both = {s: self.buckets.get(s, Knowledge()).join(other.buckets.get(s, Knowledge())) for s in starts}
        newest = max(self.newest, other.newest)
        whole = replace(self, newest=newest).holding(both)
        return whole._forget(newest)

    def to_bytes(self) -> bytes:
        """Everything, to be stored; `Exposure.from_bytes` reads it."""

        return pack_exposure(self)

    @classmethod
    def from_bytes(cls, stored: bytes, *, sensitivity: Sensitivity | None = None) -> Exposure:
        """What `to_bytes` stored; with `sensitivity`, further learning is weighed by that."""

        found = unpack_exposure(stored)
        return found if sensitivity is None else replace(found, sensitivity=sensitivity)

    def holding(self, buckets: Mapping[float, Knowledge]) -> Exposure:
        """The same user with these buckets only."""
        whole = joined_all(list(buckets.values()))
        ensembles = Ensembles().learn(Knowledge(), whole, whole)
        return replace(self, buckets=dict(buckets), knowledge=whole, ensembles=ensembles)

    def _publication(self, entities: Any, values: Mapping[str, Any], distinguishing: Any) -> Knowledge:
        tables = {name: self.sensitivity.weights[name] for name in values if name in self.sensitivity.weights}
        numbers = self.keys.numbers(entities)
        crowds = np.ones(len(numbers), dtype=np.int64) if distinguishing is None else _crowds(distinguishing)
        if len(numbers) <= FEW:
            few = {name: [table(text(value)) for value in _listed(values[name])] for name, table in tables.items()}
            _refuse_other_lengths({**few, "distinguishing": crowds}, len(numbers))
            return published_few(numbers.tolist(), few, crowds.tolist()) if few else Knowledge()
        weights = {name: weigh(as_cells(values[name]), table) for name, table in tables.items()}
        _refuse_other_lengths({**weights, "distinguishing": crowds}, len(numbers))
        levels = {name: table.levels for name, table in tables.items()}
        return published(numbers, weights, crowds, levels) if weights else Knowledge()

    def _forget(self, newest: float) -> Exposure:
        return self if self.frame is None else self.drop_before(newest - seconds(self.frame))

    def _over(self, start: float, newest: float) -> bool:
        """Whether a bucket is outside the frame already."""
        return self.frame is not None and self._end(start) <= newest - seconds(self.frame)

    def _start(self, moment: float) -> float:
        if self.bucket is None:
            return moment
        width = seconds(self.bucket)
        return math.floor(moment / width) * width

    def _end(self, start: float) -> float:
        """The first moment after a bucket; without buckets each moment is one of its own."""
        return math.nextafter(start, math.inf) if self.bucket is None else start + seconds(self.bucket)

    def _repr_html_(self) -> str:
        return card("What a user has learned, in total.", [("Exposure", f"{self.value:.4g}"), ("x", f"{self.x:g}")])

    def __repr__(self) -> str:
        entities, attributes = len(self.knowledge.entities()), len(self.knowledge.weights)
        return f"Exposure({self.value:.6g}, {entities} entities, {attributes} attributes)"


def _listed(values: Any) -> Any:
    """The values of a column one by one."""
    return labels(values) if isinstance(values, Coded) else values


def _refuse_other_lengths(columns: Mapping[str, Any], entities: int) -> None:
    for name, its in columns.items():
        if len(its) != entities:
            raise DataError(
                f"There are {entities} entities and {len(its)} values of '{name}'.",
                remedy="Give one value for each entity.",
            )


def _crowds(distinguishing: Any) -> Any:
    given = np.asarray(distinguishing)
    if len(given) and (given.dtype.kind not in "iu" or int(given.min()) < 1):
        raise DataError("Each D is a whole number from 1 up.", remedy="distinguishing=[...] says how many look alike.")
    return given.astype(np.int64)


def instant(time: Time) -> float:
    """A time as a number; a datetime without a zone is taken as UTC."""
    if isinstance(time, datetime.datetime):
        return (time if time.tzinfo is not None else time.replace(tzinfo=datetime.UTC)).timestamp()
    moment = float(time)
    if not math.isfinite(moment):
        raise UsageError("A time is a finite number or a datetime.", remedy="at=seconds, or at=datetime.")
    return moment


def seconds(span: Span) -> float:
    """A span of time as a number."""
    return span.total_seconds() if isinstance(span, datetime.timedelta) else float(span)


# An exposure as bytes: a line of JSON that says what follows, then the bitmaps.
FORMAT = 1


def pack_exposure(exposure: Exposure) -> bytes:
    """Everything that `unpack_exposure` needs; names of entities only where a bitmap holds them."""
    parts: list[bytes] = []
    buckets = [
        {"start": start, "weights": _pack_weights(part, parts), "crowds": _pack_levels(part.crowds, parts)}
        for start, part in sorted(exposure.buckets.items())
    ]
    everybody = exposure.knowledge.entities()
    head = {
        "format": FORMAT,
        "sensitivity": exposure.sensitivity.to_dict(),
        "context": exposure.sensitivity.context,
        "x": exposure.x,
        "frame": _span(exposure.frame),
        "bucket": _span(exposure.bucket),
        "newest": exposure.newest,
        "buckets": buckets,
        "names": {name: number for name, number in exposure.keys.names.items() if number in everybody},
    }
    return b"\n".join([json.dumps(head, ensure_ascii=False).encode(), b"".join(parts)])


def _span(span: Any) -> float | None:
    return None if span is None else seconds(span)


def _pack_weights(part: Knowledge, parts: list[bytes]) -> dict[str, Any]:
    return {name: _pack_levels(levels, parts) for name, levels in sorted(part.weights.items())}


def _pack_levels(levels: Levels, parts: list[bytes]) -> list[tuple[float, int]]:
    """Each level with the length of its bitmap, which is added to the parts."""
    listed = []
    for level, members in sorted(levels.items()):
        written = members.serialize()
        parts.append(written)
        listed.append((level, len(written)))
    return listed


def unpack_exposure(stored: bytes) -> Exposure:
    """What `pack_exposure` wrote."""
    try:
        from pyroaring import BitMap
    except ImportError:
        raise MissingExtra("misuse", needed_for="Keeping what a user knows (Exposure)") from None
    try:
        line, _, body = stored.partition(b"\n")
        head = json.loads(line)
        if head["format"] != FORMAT:
            raise ValueError
        return _build(head, _BitmapReader(body, BitMap))
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
        raise IntegrityError(
            "These bytes hold no exposure of this version.", remedy="Restore them from a backup, or start again."
        ) from None


class _BitmapReader:
    """Takes one bitmap after the other from the body."""

    def __init__(self, body: bytes, kind: Any) -> None:
        self.body, self.kind, self.at = body, kind, 0

    def __call__(self, length: int) -> Bitmap:
        part = self.body[self.at : self.at + length]
        if len(part) < length:
            raise ValueError
        self.at += length
        return self.kind.deserialize(part)


def _build(head: Mapping[str, Any], read: _BitmapReader) -> Exposure:
    buckets = {}
    for part in head["buckets"]:
        weights = {name: dict(_levels(listed, read)) for name, listed in part["weights"].items()}
        buckets[float(part["start"])] = Knowledge(weights, dict(_levels(part["crowds"], read)))
    names = {str(name): int(number) for name, number in head["names"].items()}
    empty = Exposure(
        Sensitivity.from_dict(head["sensitivity"], head["context"]),
        x=float(head["x"]),
        frame=head["frame"],
        bucket=head["bucket"],
        newest=float(head["newest"]),
        keys=EntityNumbering(names),
    )
    return empty.holding(buckets)


def _levels(listed: list[list[float]], read: _BitmapReader) -> Iterator[tuple[float, Bitmap]]:
    for level, length in listed:
        yield level, read(int(length))
