"""Register of traces: earlier traces in the ledger, and the next one's share of alpha.

A custodian who traces many files looks many times, and each look may accuse an innocent recipient. So the traced files of a
release, however many there will be, share one alpha: file n has 1/(n (n + 1)) of it, and these shares add up to one
(a union bound, as in alpha spending). A file counts by what it says of the marks: the same file again, under another
name, in another order, has the same number and the same result; a file with a row less is another look. Claims need no
shares: every mark that was ever hit counts, in one e-value that is valid at any time, so that nothing changes by
claiming the same people again, by leaving some out, or by putting incidents together in another way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, func, select

from discreet.errors import Outdated, Refused
from discreet.kernel.arrays import Ints
from discreet.kernel.serialise import json_of
from discreet.ledger import Ledger
from discreet.ledger.entry import Detail, Entry, listing
from discreet.releases.delivery.repository import subject_of
from discreet.releases.marks.codebook import Marks
from discreet.releases.tracing.result import ALPHA, Trace

TRACED = "releases.traced"
_ONE_AT_A_TIME = threading.Lock()
"""Two traces at once would have the same number."""
PIECE = 240
"""Characters of the marks in a piece of an entry."""


@dataclass(frozen=True)
class PastTrace:
    """A trace as the ledger has it."""

    entry: int
    time: str
    actor: str
    version: int
    kind: str
    source: str
    accused: str
    alpha: float
    number: int | None
    """Which file of the release it was; None for claims, and for traces before files were counted."""
    file: str
    """The digest of what the file says of the marks."""
    marks: bytes
    """Of claims: one bit per mark that was hit by now."""

    @classmethod
    def of(cls, entry: Entry) -> PastTrace:
        """From its entry."""
        said = entry.details
        places = sorted((len(name), name) for name in said if name.split()[0] == "marks")
        return cls(
            entry=entry.sequence,
            time=entry.time,
            actor=entry.actor,
            version=int(said.get("version") or 1),
            kind=str(said.get("kind", "")),
            source=str(said.get("source", "")),
            accused=str(said.get("accused", "")),
            alpha=float(str(said.get("alpha") or ALPHA)),
            number=None if said.get("number") is None else int(said["number"] or 0),
            file=str(said.get("file") or ""),
            marks=bytes.fromhex("".join(str(said[name]).replace(", ", "") for _, name in places)),
        )

    to_dict = json_of("entry time actor version kind source accused alpha number file")


@dataclass(frozen=True)
class TraceRegister:
    """The traces of a release, in order."""

    release: str
    traces: tuple[PastTrace, ...]

    @classmethod
    def of(cls, ledger: Ledger, release: str) -> TraceRegister:
        """From the ledger; the entries of all versions."""
        entries = ledger.entries(event=TRACED, subject=subject_of(release), outcome="done")
        return cls(release, tuple(PastTrace.of(entry) for entry in entries if entry.subject == subject_of(release)))

    def alpha(self, asked: float | None) -> float:
        """The error rate of the release: what its first trace chose, or less."""
        fixed = self.traces[0].alpha if self.traces else None
        if fixed is not None and asked is not None and asked > fixed:
            raise Refused(
                f"The first trace of '{self.release}' chose alpha {fixed:g}; a larger one now would be chosen after looking.",
                remedy=f"Leave alpha out, or give at most {fixed:g}.",
            )
        return ALPHA if asked is fixed is None else asked or fixed or ALPHA

    def number_of(self, file: str) -> int:
        """Which file of the release this is; the same again has the same number."""
        looks = [trace for trace in self.traces if trace.kind == "leak" or trace.number is not None]
        known = [trace.number for trace in looks if trace.file == file and trace.number is not None]
        return known[0] if known else len({trace.file or str(trace.entry) for trace in looks}) + 1

    def hits(self, marks: Marks, others: Callable[[int], Marks], *, version: int) -> list[list[int]]:
        """Per earlier trace of claims, the marks that it hit, by their places now.

        `others` gives the marks of another version."""
        place_of: Mapping[object, int] = {label: place for place, label in enumerate(marks.labels)}
        found = []
        for trace in self.traces:
            if trace.kind != "claims" or not trace.marks or trace.number is not None:
                continue
            places = np.flatnonzero(np.unpackbits(np.frombuffer(trace.marks, dtype=np.uint8))).tolist()
            if trace.version != version:
                labels = others(trace.version).labels
                places = [place_of[labels[place]] for place in places if labels[place] in place_of]
            found.append(places)
        return found


@contextmanager
def next_trace(ledger: Ledger, release: str) -> Iterator[tuple[TraceRegister, Callable[[Connection], None]]]:
    """The register, and a check that nobody else recorded a trace meanwhile."""
    with _ONE_AT_A_TIME:
        register = TraceRegister.of(ledger, release)

        def check(connection: Connection) -> None:
            from discreet.store.tables.ledger import ENTRY

            mine = ENTRY.c.event == TRACED, ENTRY.c.subject == subject_of(release), ENTRY.c.outcome == "done"
            if connection.execute(select(func.count()).select_from(ENTRY).where(*mine)).scalar_one() != len(
                register.traces
            ):
                raise Outdated(
                    "Another trace of this release was recorded in the meantime.",
                    remedy="Trace again; nothing was shown.",
                )

        yield register, check


def about(found: Trace) -> dict[str, Detail]:
    """What the ledger says about a trace; no value of any person."""
    strongest = found.standings[0]
    return {
        "kind": found.kind,
        "source": "".join(letter for letter in found.source if letter.isprintable())[:MOST_NAMED],
        "accused": ", ".join(found.accused)[:MOST_NAMED],
        "marks_hit": len(found.hits),
        "rows": found.counts["rows"],
        "recipients": len(found.standings),
        "alpha": f"{found.alpha:g}",
        "number": found.number,
        "file": found.file,
        "needed_log10_e": f"{found.log10_needed:.2f}",
        "strongest_log10_e": f"{strongest.log10_e:.2f}",
        "smallest_p_value": None if strongest.p_value is None else f"{strongest.p_value:.3g}",
        "best_log10_e": f"{found.best_log10_e:.2f}",
        **(marks_as_bits([mark for marks in found.incidents for mark in marks]) if found.kind == "claims" else {}),
    }


MOST_NAMED = 400
"""Characters of a list of names that an entry of the ledger holds."""


def marks_as_bits(marks: list[int]) -> dict[str, str]:
    """Marks as bits in hex; their numbers say nothing without the manifest."""
    places: Ints = np.array(marks, dtype=np.int64)
    bits = np.zeros(int(places.max(initial=-1)) + 1, dtype=np.uint8)
    bits[places] = 1
    text = np.packbits(bits).tobytes().hex()
    return listing("marks", [text[start : start + PIECE] for start in range(0, len(text), PIECE)])
