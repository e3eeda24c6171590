"""Limits that a page states are those of the code; what is measured stands beside the command that prints it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.anonymity.stackelberg import MOST_NODES
from discreet.attacker import bellman, deterrence, parameters, purchases
from discreet.attacker.parameters import Parameters
from discreet.gateway.session.state import MEBIBYTE, MemoryLimits
from discreet.ledger import ledger
from discreet.linkage.masking import comparison
from discreet.linkage.matching import thresholds
from discreet.misuse import anomalies
from discreet.misuse.elicitation import comparisons, joint_fit
from discreet.people.population import MOST_ZIPS, State
from discreet.releases import bait, population_link, power
from discreet.releases.decoys import detectability, matching
from discreet.releases.marks import codebook, pairing, row_marks
from discreet.releases.marks import pairing as mark_pairing
from discreet.releases.marks.pairing import UNLUCKY, MarkBudget
from discreet.releases.tracing import evidence, observed_marks, result
from discreet.risk.table_profile import MOST, pairs_affordable
from discreet.sources import engine
from discreet.web import Settings
from discreet.web.datasets import inspection
from discreet.web.gateway import users
from tests.docs.pages import DOCS, PAGES, ROOT, name

BENCHMARK = re.compile(r"python -m benchmarks([. ])(\w+)")


def percent(share: float) -> str:
    return f"{100 * share:g} %"


def stated() -> Iterator[tuple[str, str]]:
    """A page, and words that must stand on it, made from the code."""
    marks = "explain/marks.md"
    assert UNLUCKY == 1e-6
    yield marks, f"a release probability from {pairing.LEAST_CHANCE} to {pairing.MOST_CHANCE}"
    yield marks, f"whose link count is equal within {percent(pairing.TOLERANCE)}"
    yield marks, f"stay below {pairing.LIMIT} on average"
    yield marks, f"lacks at most {percent(MarkBudget().rows)} of the released rows, in all but one case in a million"
    yield marks, f"more than {100 * MarkBudget().shift:g} percentage points"
    yield marks, f"{percent(mark_pairing.SCARCE)} of the real ones in the band"
    yield marks, f"({codebook.DEFAULT.name.replace('/', ' or ')} unless another law"
    yield marks, f"at most {matching.MODELLED:,} released rows"
    yield (
        marks,
        f"{detectability.EITHER_WAY} standard errors of the Mann-Whitney statistic times {detectability.TOGETHER}",
    )
    yield marks, f"Above {detectability.WARN} and above the chance level, the preflight check warns"
    yield marks, f"Above {detectability.REFUSE:.2f} and above the chance level, the marks are chosen"
    yield marks, f"fewer than {mark_pairing.FEWEST_MARKS} marks"
    yield "explain/decoys.md", f"the {bait.NEIGHBOURS} released classes"
    yield "explain/decoys.md", f"above {percent(1 / population_link.MOST_UNCOVERED)} of the released people"
    yield "explain/tracing.md", f"{evidence.TRUST} / p | {1 - evidence.TRUST:.2f} / (1 − p)"
    yield "explain/tracing.md", f"α = {result.ALPHA} unless you say otherwise"
    yield "explain/tracing.md", f"to which {percent(observed_marks.COVERED)} of the rows can be brought"
    yield "explain/tracing.md", f"up to {row_marks.CONTROLS:,} control rows"
    yield marks, f"at least {row_marks.SMALLEST_CLASS} people"
    yield marks, f"At most {percent(row_marks.ROWS_LOST)} of the released rows"
    yield marks, f"at most {row_marks.MOST_ROW_MARKS:,} rows are marks"
    yield (
        marks,
        f"more than {percent(row_marks.VALUE_LOST)} of its people on average, nor more than {percent(row_marks.VALUE_WORST)}",
    )
    yield marks, f"more only where {mark_pairing.ENOUGH_FOR_CLAIMS} class marks need it"
    yield marks, " | ".join(f"{needed:,}" for needed in power.NEEDED.values())
    yield (
        marks,
        "From a tenth of the rows | " + " | ".join(f"{needed:,}" for needed in power.NEEDED_OF_A_TENTH.values()),
    )
    limits = "explain/limitations.md"
    wide = f"at most {engine.MOST_COLUMNS:,} columns"
    yield limits, f"{wide}, in the browser {Settings().most_columns}"
    yield "how-to/read-your-data.md", f"**A table has {wide}**, in the browser {Settings().most_columns}"
    pairs = max(columns for columns in range(2_000) if pairs_affordable(columns))
    yield limits, f"at most {MOST:,} combinations, so with more than {pairs} columns only single columns"
    yield limits, f"up to {bellman.MOST:,} people, and groups of more than {parameters.PLANNED:,} are refused"
    yield limits, f"lattices of up to {MOST_NODES:,} nodes"
    yield "explain/planning-adversary.md", f"up to {bellman.MOST:,} people"
    yield "explain/planning-adversary.md", f"discount, {Parameters.discount} unless given"
    yield "explain/deterrence.md", f"{deterrence.LARGEST:,} people"
    yield "explain/deterrence.md", f"Up to {purchases.MOST_TABLES} tables"
    yield "reference/deterrence.md", f"{deterrence.LARGEST:,} people"
    yield "explain/gateway.md", f"are read up to {MemoryLimits().message // MEBIBYTE} MiB"
    yield "explain/elicitation.md", f"of this expert: {joint_fit.COMPARING} and {joint_fit.RATING}"
    yield "explain/elicitation.md", f"Up to {comparisons.TOLERABLE:.2f} is good"
    yield "explain/ledger.md", f"up to 10^{len(str(ledger.MOST_PARTS)) - 1}"
    state = State.of(1_000)
    tuples = MOST_ZIPS * len(state.years) * 2 * len(state.races)
    yield (
        "explain/scale.md",
        f"{MOST_ZIPS:,} × {len(state.years)} × 2 × {len(state.races)} = {tuples / 1e6:.0f} million tuples",
    )
    yield "explain/seeing-almost-nothing.md", f"a distance of at most {comparison.MOST_EDITS}"
    yield "explain/threat-model.md", f"a file up to {inspection.COUNTED // MEBIBYTE} MB"
    yield "how-to/find-unusual-users.md", f"unusual from z = {anomalies.THRESHOLD}"
    yield "how-to/find-unusual-users.md", f"less than {anomalies.SMALLEST}"
    yield "how-to/find-candidate-pairs.md", f"at most {percent(thresholds.FALSE_SAME)} of the pairs called the same"
    yield "how-to/find-candidate-pairs.md", f"at most {percent(thresholds.MISSED)} of the true ones"
    assert thresholds.FEWEST == 20
    yield "how-to/find-candidate-pairs.md", "at least twenty are needed"
    yield "how-to/run-the-web-app.md", f"after {Settings().lease.seconds} seconds"
    yield "how-to/see-who-has-seen-how-much.md", f"above {users.NEARLY} %"
    yield "how-to/see-who-has-seen-how-much.md", f"days of the last {users.FRAME}"


@pytest.mark.parametrize(("page", "words"), list(stated()))
def test_limits_on_a_page_are_those_of_the_code(page: str, words: str) -> None:
    assert words in " ".join((DOCS / page).read_text(encoding="utf-8").split())


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_benchmarks_that_a_page_names_are_there(page: Path) -> None:
    listed = (ROOT / "benchmarks" / "__main__.py").read_text(encoding="utf-8")
    for between, module in BENCHMARK.findall(" ".join(page.read_text(encoding="utf-8").split())):
        assert (ROOT / "benchmarks" / f"{module}.py").exists(), module
        assert between == "." or f'"{module}": {module}.main' in listed, module


MEASURED = DOCS / "explain" / "measurements.md"
NUMBER = re.compile(r"\d[\d,.]*\d|\d")


def command(row: str) -> str:
    return row.removesuffix(" |").rpartition(" | ")[2]


def readme_figures() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8").split("## Measured")[1].split("\n## ")[0]


def test_every_row_of_what_was_measured_names_its_command() -> None:
    for text, least in ((MEASURED.read_text(encoding="utf-8"), 25), (readme_figures(), 6)):
        rows = [line for line in text.splitlines() if line.startswith("| ") and not line.endswith("| command |")]
        assert len(rows) >= least
        assert [row for row in rows if not BENCHMARK.search(command(row))] == []


def test_the_readme_quotes_figures_of_the_measurements_page() -> None:
    rows = [line for line in MEASURED.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    quoted = [line for line in readme_figures().splitlines() if line.startswith("| ") and BENCHMARK.search(line)]
    assert len(quoted) == 6
    for row in quoted:
        sources = [set(NUMBER.findall(one)) for one in rows if command(one) == command(row)]
        assert any(set(NUMBER.findall(row)) <= numbers for numbers in sources), row
