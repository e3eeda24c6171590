"""An exposure as bytes: a line of JSON that says what follows, then the bitmaps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from discreet.errors import IntegrityError, MissingExtra
from discreet.misuse.entities import Numbering
from discreet.misuse.exposure.exposure import Exposure, seconds
from discreet.misuse.exposure.knowledge import Bitmap, Levels
from discreet.misuse.knowledge import Knowledge
from discreet.misuse.sensitivity import Sensitivity

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
        return _build(head, _Reader(body, BitMap))
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
        raise IntegrityError(
            "These bytes hold no exposure of this version.", remedy="Restore them from a backup, or start anew."
        ) from None


class _Reader:
    """Takes one bitmap after the other from the body."""

    def __init__(self, body: bytes, kind: Any) -> None:
        self.body, self.kind, self.at = body, kind, 0

    def __call__(self, length: int) -> Bitmap:
        part = self.body[self.at : self.at + length]
        if len(part) < length:
            raise ValueError
        self.at += length
        return self.kind.deserialize(part)


def _build(head: Mapping[str, Any], read: _Reader) -> Exposure:
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
        keys=Numbering(names),
    )
    return empty.holding(buckets)


def _levels(listed: list[list[float]], read: _Reader) -> Iterator[tuple[float, Bitmap]]:
    for level, length in listed:
        yield level, read(int(length))
