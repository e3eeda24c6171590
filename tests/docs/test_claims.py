"""Claims that measurements refuted do not come back, and what was measured instead is said where a reader looks for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from discreet.cli.main import cli
from discreet.reference import fmdp_numbers
from discreet.releases.power import STRATEGIES
from discreet.report.linkage import REMAINS as ABOUT_PAIRS
from discreet.report.project.report import REMAINS as ABOUT_PROJECTS
from discreet.report.trace import REMAINS as ABOUT_TRACES
from discreet.web.framework.shared_state import FOLDER
from tests.docs.pages import DOCS, PAGES, ROOT

RETRACTED = {
    r"\d of \d findings hold|finding \d (holds|does not hold)": "5 of 5 findings hold",
    r"45 and 13": "the smallest groups that are not worth the list are 45 and 13",
    r"redo(es)? the (published )?case study|case study[^.]{0,40}(redone|computed again)": "Redo the published case study",
    r"figures 5 to 10 of the paper are about": "The quantities that Figures 5 to 10 of the paper are about",
    r"the published thresholds|the numbers of the paper": "the numbers of the paper's table come out",
    r"(10|ten) times[^.|]{0,90}\bJava\b|\bJava\b[^.|]{0,90}\b(10|ten) times": "10 times less CPU than the leading Java tool",
    r"AUC at most 0\.60?\b": "Nobody tells decoys (AUC at most 0.60 in the attacks we know)",
    r"nobody (outside|who knows the population) (can )?tell": "nobody outside can tell which is which",
    r"look alike to whoever knows the population": "pairs look alike to whoever knows the population",
    r"are found among [^.]{0,40}whatever they do|who collude is named, whatever they do": "who collude is named, whatever they do",
    r"cannot be tried again|nobody can trace until": "a trace repeats, and cannot be tried again until it pleases",
    r"ways tell (her|him|them|eve) nothing": "8 of 8 ways tell her nothing",
    r"no row above a limit gets through": "No row above a limit gets through, by whichever statement",
    r"no way was forgotten": "That no way was forgotten is by test",
    r"model's own, which are often too cautious": "these are the model's own, which are often too cautious",
}
"""What must not be said again, and a sentence that said it."""
KINDS = ("*.py", "*.html", "*.js", "*.md", "*.toml")
WARNING = "not a barrier against an attacker"
GATEWAY_PAGES = (
    "explain/gateway.md",
    "explain/limitations.md",
    "explain/promise.md",
    "explain/threat-model.md",
    "how-to/put-a-gateway-before-postgresql.md",
    "how-to/see-who-has-seen-how-much.md",
    "index.md",
    "reference/commands.md",
    "start/first-gateway.md",
)


def plain(text: str) -> str:
    """Text on one line, without the marks around strings of a program that goes on in the next line."""
    return " ".join(re.sub(r'"\s*\n\s*f?"', "", text).split())


def texts() -> Iterator[Path]:
    """All that people read: pages, programs that print something, and what is beside them."""
    yield from PAGES
    yield from (ROOT / one for one in ("CITATION.cff", "CONTRIBUTING.md", "SECURITY.md", "pyproject.toml"))
    yield from DOCS.rglob("*.ipynb")
    for folder in ("src", "benchmarks", "examples", "handbook"):
        for kind in KINDS:
            yield from (ROOT / folder).rglob(kind)


def text(path: str) -> str:
    """A page of the documentation."""
    return (DOCS / path).read_text(encoding="utf-8")


def page(path: str) -> str:
    """The same on one line."""
    return plain(text(path))


@pytest.mark.parametrize("pattern", RETRACTED)
def test_what_was_taken_back_is_said_nowhere(pattern: str) -> None:
    found = {
        str(path.relative_to(ROOT)): match[0]
        for path in texts()
        if (match := re.search(pattern, plain(path.read_text(encoding="utf-8")), re.IGNORECASE))
    }
    assert found == {}


@pytest.mark.parametrize(("pattern", "said"), RETRACTED.items())
def test_what_was_taken_back_would_be_noticed(pattern: str, said: str) -> None:
    assert re.search(pattern, plain(said), re.IGNORECASE)


def test_strings_of_a_program_are_read_across_lines() -> None:
    assert (
        plain('click.echo(\n    f"8 of 8 ways tell "\n    "her nothing."\n)')
        == 'click.echo( f"8 of 8 ways tell her nothing." )'
    )


@pytest.mark.parametrize("path", GATEWAY_PAGES)
def test_pages_about_the_gateway_say_what_it_is_not(path: str) -> None:
    assert WARNING in page(path)


def test_the_readme_says_what_the_gateway_is_not() -> None:
    told = (ROOT / "README.md").read_text(encoding="utf-8")
    row = next(line for line in told.splitlines() if line.startswith("| gateway |"))
    assert WARNING in row
    assert WARNING in plain(told.partition("## Limits")[2])


def test_the_command_says_what_the_gateway_is_not() -> None:
    told = CliRunner().invoke(cli, ["gateway", "--help"])
    assert told.exit_code == 0
    assert WARNING in plain(told.output)


def test_the_browser_and_reports_say_what_the_gateway_is_not() -> None:
    assert WARNING in plain((FOLDER / "templates" / "gateway.html").read_text(encoding="utf-8"))
    assert any(WARNING in sentence for sentence in ABOUT_PROJECTS)


MEASURED = {
    "explain/limitations.md": (
        "all 1,000 patients at an exposure of 0.000; so did the second",
        "46 %",
        "an AUC of 1.00",
        "0.775",
        "0.60, 0.80 and 0.97",
        "4 of 1,798 matches were wrong",
        "96.0 % of the true pairs were estimated to be found where 94.6 % were",
        "15 % of the birth years 1936 to 1939 (up to 26 %)",
    ),
    "explain/marks.md": ("an AUC of 1.00", "0.775"),
    "explain/tracing.md": ("46 %", "never named"),
    "explain/gateway.md": ("all 1,000 patients at an exposure of 0.000",),
}


@pytest.mark.parametrize(("path", "figure"), [(path, one) for path, told in MEASURED.items() for one in told])
def test_what_others_measured_is_on_the_page(path: str, figure: str) -> None:
    assert figure in page(path)


def seconds(cell: str) -> list[float]:
    """The CPU seconds in a cell, one per share of people suppressed."""
    return [float(one) for one in cell.split(",")]


def test_how_search_compares_is_said_as_the_table_of_times_has_it() -> None:
    rows = re.findall(
        r"^\| `\w+` \| ([\d., ]+) \| ([\d., ]+) \| ([\d., ]+) \|$", text("explain/optimal-generalisation.md"), re.M
    )
    java, bare, compiled = (np.array([seconds(cell) for cell in column]) for column in zip(*rows, strict=True))
    assert java.shape == bare.shape == compiled.shape == (5, 3)
    slower = f"slower in {int((bare > java).sum())} of {java.size} cells"
    ranges = [f"{(java / ours).min():.1f} to {(java / ours).max():.1f} times" for ours in (bare, compiled)]
    for path in ("measurements", "limitations", "optimal-generalisation"):
        for words in (slower, *ranges):
            assert words in page(f"explain/{path}.md")


def test_group_sizes_of_figure_10_are_those_of_the_engine() -> None:
    found = {item.id: item.ours for item in fmdp_numbers.sensitivity()}
    for letter, words in (("a", "constant detection"), ("b", "one penalty"), ("c", "rising detection")):
        low, high = (found[f"fmdp.fig10.penalty{penalty}.{letter}"] for penalty in (10_000, 50_000))
        assert f"{low} and {high} with {words}" in page("explain/limitations.md")
        assert f"{low} and {high} ({letter})" in page("explain/papers.md")


def test_reports_on_pairs_and_traces_say_what_they_do_not_cover() -> None:
    assert any("relatives" in sentence.lower() for sentence in ABOUT_PAIRS)
    assert any("never named" in sentence for sentence in ABOUT_TRACES)


def test_strategies_that_were_played_are_counted_as_such() -> None:
    """Who adds a strategy must say so where the number of marks is stated."""
    assert len(STRATEGIES) == 8
    for path in ("explain/marks.md", "explain/limitations.md"):
        assert "eight strategies" in page(path)
