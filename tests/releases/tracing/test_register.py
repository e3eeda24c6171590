"""The register of traces: files share alpha, claims add up, and looking again changes nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from benchmarks.releases_tracing import put_together
from benchmarks.releases_world import World, world

from discreet.errors import Refused
from discreet.kernel.arrays import Ints
from discreet.ledger import Ledger
from discreet.releases.delivery.release import Release, release
from discreet.releases.tracing.observed_marks import sightings_of
from discreet.releases.tracing.register import TraceRegister
from discreet.releases.tracing.result import share_of
from discreet.releases.tracing.trace import LeakEvidence, trace
from tests.releases.world import SETTINGS, rows_in, town

RECIPIENTS = ("north", "south", "west")
COLUMNS = ("zip", "year", "sex", "illness", "amount", "day", "note")


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, object]]]:
    """A store with a release, and the rows of a copy."""
    folder = tmp_path_factory.mktemp("traced")
    made_up = town(folder)
    with Ledger.open(folder / "store.db") as ledger:
        made = release(
            made_up.table, made_up.population, RECIPIENTS, name="spring", force=True, store=ledger, **SETTINGS
        )
        made.write(folder / "copies", format="parquet", recipients=["south"])
    rows = [
        dict(zip(COLUMNS, map(str, row), strict=True)) for row in rows_in(folder / "copies" / "south" / "data.parquet")
    ]
    return folder, rows


@pytest.fixture
def ledger(copies: tuple[Path, list[dict[str, object]]], tmp_path: Path) -> Iterator[Ledger]:
    for name in ("store.db", "store.db.keys"):
        (tmp_path / name).write_bytes((copies[0] / name).read_bytes())
    (tmp_path / "store.db.keys").chmod(0o600)
    with Ledger.open(tmp_path / "store.db") as opened:
        yield opened


def test_files_share_alpha_and_the_same_file_is_no_further_look(
    ledger: Ledger, copies: tuple[Path, list[dict[str, object]]]
) -> None:
    rows = copies[1]
    first = trace("spring", leak=rows, store=ledger)
    again = trace("spring", leak=list(reversed(rows)), store=ledger)
    assert (first.number, again.number, first.file) == (1, 1, again.file)
    assert again.standings == first.standings
    lines = [first.line]
    for number in (2, 3, 4):
        other = trace("spring", leak=rows[number * 40 :], store=ledger)
        assert other.number == number
        lines.append(other.line)
    assert lines == pytest.approx([1e-3 / 2, 1e-3 / 6, 1e-3 / 12, 1e-3 / 20])
    assert trace("spring", leak=rows, store=ledger).number == 1
    kept = TraceRegister.of(ledger, "spring").traces
    assert [past.number for past in kept] == [1, 1, 2, 3, 4, 1]
    assert "has 50 % of that rate" in first.words()


def test_the_first_trace_fixes_alpha(ledger: Ledger, copies: tuple[Path, list[dict[str, object]]]) -> None:
    trace("spring", leak=copies[1], store=ledger, alpha=1e-4)
    with pytest.raises(Refused, match="chosen after looking"):
        trace("spring", leak=copies[1], store=ledger, alpha=1e-3)
    assert trace("spring", leak=copies[1], store=ledger).alpha == 1e-4
    assert trace("spring", leak=copies[1], store=ledger, alpha=1e-5).alpha == 1e-5


def test_claims_add_to_those_before_and_cannot_be_taken_back(ledger: Ledger) -> None:
    opened = Release.open("spring", store=ledger).opened
    book = opened.manifest.codebook
    claims = [dict(zip(book.marks.columns, labels, strict=True)) for labels in book.marks.labels]
    few, more = claims[:4], claims[2:8]
    first = trace("spring", claims=few, store=ledger)
    both = trace("spring", claims=more, store=ledger)
    assert set(both.hits) == set(range(4, 8))
    fewer = trace("spring", claims=claims[:1], store=ledger)
    audited = trace("spring", claims=claims[:1], exclude=few, store=ledger)
    assert both.standings == fewer.standings == audited.standings != first.standings
    assert both.number is None
    alone = trace("spring", claims=few, store=ledger, accumulate=False)
    assert alone.number == 1
    assert [one.log10_e for one in alone.standings] == [one.log10_e for one in first.standings]
    assert alone.log10_needed > first.log10_needed


def test_two_traces_at_once_have_two_numbers(ledger: Ledger, copies: tuple[Path, list[dict[str, object]]]) -> None:
    numbers: list[int | None] = []

    def look(start: int) -> None:
        numbers.append(trace("spring", leak=copies[1][start:], store=ledger).number)

    threads = [threading.Thread(target=look, args=(60 * number,)) for number in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(number or 0 for number in numbers) == [1, 2, 3]


def test_looking_with_a_row_less_each_time_accuses_no_more_innocents() -> None:
    """Twenty looks at nearly the same file: the largest of their e-values, each by its share, is an e-value still."""
    random, town = np.random.default_rng(12), world(100_000, 0.1)
    held = town.codebook.drawn(1, random)
    leak = random.binomial(put_together(town, held, "one copy", random), 0.2)
    innocents = town.codebook.drawn(400, random)
    weighed = np.zeros(len(innocents))
    for number in range(1, 6):
        evidence = trace_leak_evidence(town, leak)
        logs = evidence.marks.log_e_values(innocents[:, evidence.places])
        weighed = np.maximum(weighed, np.exp(logs) * share_of(number))
        there = np.flatnonzero(leak)
        leak[random.choice(there, len(there) // 40, replace=False)] -= 1
    for level in (0.5, 0.1, 0.01):
        assert np.mean(weighed >= 1 / level) <= level + 4 * np.sqrt(level / len(weighed))


def trace_leak_evidence(town: World, leak: Ints) -> LeakEvidence:
    return LeakEvidence.of(town.traceable, sightings_of(town.traceable, town.file(leak)), None)
