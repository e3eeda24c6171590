"""Small assessments and profiles that every test can build in a moment."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np

from discreet.kernel import Classes, Tally
from discreet.kernel.hierarchy import Histogram
from discreet.report import assessment_page
from discreet.risk import Assessment, Economics, Profile, assess, profile

WHEN = datetime.datetime(2025, 3, 4, 9, 5, tzinfo=datetime.UTC)
HOSTILE = "<b>\"&'</script>"
VOID = {"meta", "br"}


def crowds(*sizes: int) -> Classes:
    """One class of each size, by one column."""
    return Classes.of(["zip"], [(f"z{place}",) for place in range(len(sizes))], sizes)


def with_illness(rows: Sequence[tuple[str, str, int]], name: str = "illness") -> Classes:
    """Classes by ZIP with the spread of a sensitive column."""
    histogram = Histogram.from_rows(["zip", name], [list(row) for row in rows])
    sizes = Histogram.from_rows(["zip"], [[place, number] for place, _, number in rows])
    return Classes.from_histogram(sizes).with_spread(histogram, name)


ILL = [("z1", "flu", 1), ("z2", "flu", 3), ("z2", "cold", 4), ("z3", "cold", 30)]


def surveyed(*sizes: int, weight: float | None = 12.5, homes: Sequence[str | None] = ("1", "2", None)) -> Classes:
    """The same with survey weights and household numbers."""
    lines = [(f"z{place}", homes[place % len(homes)], size) for place, size in enumerate(sizes)]
    joint = Histogram.from_rows(["zip", "home"], lines)
    weights = None if weight is None else np.array([size * weight for size in sizes])
    return crowds(*sizes).with_survey(replace(joint, weights=weights), household="home")


class People:
    """A table of five columns in memory."""

    name = "people.csv"
    columns: tuple[str, ...] = ("id", "sex", "zip", "plan", "income")

    def __init__(self, rows: int = 40) -> None:
        self.rows = [
            (f"p{row}", "FM"[row % 2], f"z{row % 7}", f"{row % 3}", f"{row * row % 11}") for row in range(rows)
        ]

    def classes(self, by: Sequence[str] | None = None, *, sensitive: Sequence[str] = ()) -> Classes:
        """Count people."""
        names = list(by if by is not None else ("sex", "zip"))
        places = [self.columns.index(name) for name in names]
        return Classes.of(names, [[row[place] for place in places] for row in self.rows])

    def tallies(self, names: Sequence[str]) -> Iterator[Tally]:
        """Count people, column by column."""
        for name in names:
            cells = [row[self.columns.index(name)] for row in self.rows]
            yield Tally.of(Histogram.from_rows([name], [(cell, 1) for cell in cells]))


def every_kind() -> Iterator[tuple[str, Assessment]]:
    """Assessments of every shape that a report may meet."""
    game = Economics(adversary_gain=300, adversary_cost=4, publisher_benefit=1200, publisher_loss=300)
    yield "one record", assess(crowds(1))
    yield "all unique", assess(crowds(1, 1, 1))
    yield "one unique", assess(crowds(1, 6, 7))
    yield "nobody unique", assess(crowds(2, 6, 7))
    yield "safe", assess(crowds(9, 60, 700))
    yield "large", assess(crowds(*[1] * 50, 20_000, 3_000, 5))
    yield "size only", assess(crowds(1, 1, 2, 3, 6), population=1000)
    yield "size, none unique", assess(crowds(2, 3, 6), population=1000)
    yield "population", assess(crowds(1, 1, 2, 6), population=crowds(1, 3, 9, 60))
    yield "population, uncovered", assess(crowds(1, 1, 2, 6), population=crowds(1, 3, 9))
    yield "sensitive", assess(with_illness(ILL))
    yield "sensitive, economics", assess(with_illness(ILL), population=500, economics=game)
    yield "hostile", assess(with_illness(ILL, HOSTILE), economics=game)
    yield "threshold within a band", assess(crowds(1, 6, 8, 30), threshold=0.15)
    yield "threshold 1", assess(crowds(1, 6), threshold=1.0)
    yield "survey", assess(surveyed(1, 6, 2))
    yield "survey, one household", assess(surveyed(2, homes=["1"]))
    yield "survey, population", assess(surveyed(1, 6, 2, weight=None), population=crowds(1, 60, 700))


def people_profile() -> Profile:
    """A profile with an identifier, combinations and doubtful columns."""
    return profile(People())


def page(assessment: Assessment, *, profile: Profile | None = None, source: str = "people.csv") -> str:
    """The report with everything else fixed."""
    return assessment_page(
        assessment,
        title=f"Risk of {source}",
        source=source,
        created=WHEN,
        command="discreet assess people.csv --policy policy.toml",
        version="0.1.0",
        profile=profile,
    )


class Outline(HTMLParser):
    """Reads a page strictly: every tag is closed in order, and remembers what it met."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(markup)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, *names: str) -> list[dict[str, str | None]]:
        """The attributes of every element of these names."""
        return [attributes for tag, attributes in self.tags if tag in names]
