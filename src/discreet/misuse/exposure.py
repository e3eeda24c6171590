"""Exposure: what one user has learned so far, and its misuse potential."""

from __future__ import annotations

import datetime
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from discreet.errors import DataError, IntegrityError, UsageError
from discreet.kernel import Coded
from discreet.kernel.hierarchy import text
from discreet.kernel.serialise import card
from discreet.misuse.ensembles import Ensembles
from discreet.misuse.knowledge import (
    EntityNumbering,
    Knowledge,
    Levels,
    bitmap,
    published,
    published_few,
)
from discreet.misuse.result_formats import as_cells, labels
from discreet.misuse.sensitivity import Sensitivity, weigh

Time = float | datetime.datetime
Span = float | datetime.timedelta
FEW = 4
"""Up to so many rows are learned one by one."""
FORMAT = 1


@dataclass(frozen=True, eq=False)
class Exposure:
    """Knowledge of one user from all results received; learning gives a new one.

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
        """Exposure after one more result: per attribute one value for each entity.

        `distinguishing` says for each entity how many people of the source look like it (D), 1 unless given; the
        least that was ever seen of an entity counts. Attributes without weights are left out.
        """
        tables = {name: self.sensitivity.weights[name] for name in values if name in self.sensitivity.weights}
        numbers = self.keys.numbers(entities)
        crowds = np.ones(len(numbers), dtype=np.int64)
        if distinguishing is not None:
            given = np.asarray(distinguishing)
            if len(given) and (given.dtype.kind not in "iu" or int(given.min()) < 1):
                raise DataError(
                    "Each D is a whole number from 1 up.", remedy="distinguishing=[...] says how many look alike."
                )
            crowds = given.astype(np.int64)
        few = len(numbers) <= FEW
        weights: dict[str, Any] = {}
        for name, table in tables.items():
            cells: Any = values[name]
            if few:
                weights[name] = [table(text(cell)) for cell in (labels(cells) if isinstance(cells, Coded) else cells)]
            else:
                weights[name] = weigh(as_cells(cells), table)
        for name, its in {**weights, "distinguishing": crowds}.items():
            if len(its) != len(numbers):
                raise DataError(
                    f"There are {len(numbers)} entities and {len(its)} values of '{name}'.",
                    remedy="Give one value for each entity.",
                )
        if not weights:
            return self.learn(Knowledge(), at=at)
        if few:
            return self.learn(published_few(numbers.tolist(), weights, crowds.tolist()), at=at)
        levels = {name: table.levels for name, table in tables.items()}
        return self.learn(published(numbers, weights, crowds, levels), at=at)

    def learn(self, learned: Knowledge, *, at: Time) -> Exposure:
        """The same where it is already known what each cell weighs."""
        moment = instant(at)
        newest = max(self.newest, moment)
        start = moment if self.bucket is None else math.floor(moment / seconds(self.bucket)) * seconds(self.bucket)
        kept = self if newest == self.newest else self._forget(newest)
        outside = self.frame is not None and self._end(start) <= newest - seconds(self.frame)
        if outside or not learned.crowds:
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
        """Exposure without the buckets that ended before a time."""
        limit = instant(time)
        kept = {start: part for start, part in self.buckets.items() if self._end(start) > limit}
        return self if len(kept) == len(self.buckets) else self.holding(kept)

    def join(self, other: Exposure) -> Exposure:
        """Exposure after both, which must number their entities alike."""
        if self.keys is not other.keys and (self.keys.names or other.keys.names):
            raise UsageError("These exposures number their entities differently.", remedy="Join numbers, not names.")
        starts = dict.fromkeys([*self.buckets, *other.buckets])
        both = {s: self.buckets.get(s, Knowledge()).join(other.buckets.get(s, Knowledge())) for s in starts}
        newest = max(self.newest, other.newest)
        whole = replace(self, newest=newest).holding(both)
        return whole._forget(newest)

    def to_bytes(self) -> bytes:
        """Bytes to be stored: a line of JSON about what follows, then the bitmaps.

        Names of entities are stored only where a bitmap holds them.
        """
        parts: list[bytes] = []
        buckets = [
            {
                "start": start,
                "weights": {name: _pack(levels, parts) for name, levels in sorted(part.weights.items())},
                "crowds": _pack(part.crowds, parts),
            }
            for start, part in sorted(self.buckets.items())
        ]
        everybody = self.knowledge.entities()
        head = {
            "format": FORMAT,
            "sensitivity": self.sensitivity.to_dict(),
            "context": self.sensitivity.context,
            "x": self.x,
            "frame": None if self.frame is None else seconds(self.frame),
            "bucket": None if self.bucket is None else seconds(self.bucket),
            "newest": self.newest,
            "buckets": buckets,
            "names": {name: number for name, number in self.keys.names.items() if number in everybody},
        }
        return b"\n".join([json.dumps(head, ensure_ascii=False).encode(), b"".join(parts)])

    @classmethod
    def from_bytes(cls, stored: bytes, *, sensitivity: Sensitivity | None = None) -> Exposure:
        """What `to_bytes` stored; with `sensitivity`, further learning is weighed by that."""
        kind, body = type(bitmap()), io.BytesIO(stored)
        try:
            head = json.loads(body.readline())
            if head["format"] != FORMAT:
                raise ValueError
            buckets = {}
            for part in head["buckets"]:
                weights = {name: _unpack(listed, body, kind) for name, listed in part["weights"].items()}
                buckets[float(part["start"])] = Knowledge(weights, _unpack(part["crowds"], body, kind))
            empty = cls(
                Sensitivity.from_dict(head["sensitivity"], head["context"]),
                x=float(head["x"]),
                frame=head["frame"],
                bucket=head["bucket"],
                newest=float(head["newest"]),
                keys=EntityNumbering({str(name): int(number) for name, number in head["names"].items()}),
            )
            exposure = empty.holding(buckets)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise IntegrityError(
                "These bytes hold no exposure of this version.", remedy="Restore them from a backup, or start again."
            ) from None
        return exposure if sensitivity is None else replace(exposure, sensitivity=sensitivity)

    def holding(self, buckets: Mapping[float, Knowledge]) -> Exposure:
        """The same user with these buckets only."""
        whole = reduce(Knowledge.join, buckets.values(), Knowledge())
        ensembles = Ensembles().learn(Knowledge(), whole, whole)
        return replace(self, buckets=dict(buckets), knowledge=whole, ensembles=ensembles)

    def _forget(self, newest: float) -> Exposure:
        return self if self.frame is None else self.drop_before(newest - seconds(self.frame))

    def _end(self, start: float) -> float:
        """First moment after a bucket; without a width each moment is a bucket."""
        return math.nextafter(start, math.inf) if self.bucket is None else start + seconds(self.bucket)

    def _repr_html_(self) -> str:
        return card("What a user has learned, in total.", [("Exposure", f"{self.value:.4g}"), ("x", f"{self.x:g}")])

    def __repr__(self) -> str:
        entities, attributes = len(self.knowledge.entities()), len(self.knowledge.weights)
        return f"Exposure({self.value:.6g}, {entities} entities, {attributes} attributes)"


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


def _pack(levels: Levels, parts: list[bytes]) -> list[tuple[float, int]]:
    """Each level with the length of its bitmap, which is added to the parts."""
    listed = []
    for level, members in sorted(levels.items()):
        parts.append(members.serialize())
        listed.append((level, len(parts[-1])))
    return listed


def _unpack(listed: list[list[float]], body: io.BytesIO, kind: Any) -> Levels:
    """Bitmaps by level, read one after the other."""
    levels: Levels = {}
    for level, length in listed:
        part = body.read(max(int(length), 0))
        if len(part) != length:
            raise ValueError
        levels[level] = kind.deserialize(part)
    return levels
