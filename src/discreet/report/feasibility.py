"""Feasibility report: room for decoys in a release, at chosen and other limits."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable, Iterator

from discreet.policy import Policy
from discreet.releases import Feasibility, FeasibilityGrid
from discreet.report.charts.axes import linear, logarithmic
from discreet.report.charts.bars import Bar, Group
from discreet.report.charts.lines import Axes, Line, line_chart
from discreet.report.toolkit import page
from discreet.report.toolkit.html import element, join
from discreet.report.toolkit.page import Figure, Finding, Pill, Row, Table, topic
from discreet.report.toolkit.words import agree, part, people, plural, points
from discreet.wording import fine_percent, measure, percent

ELSEWHERE = {"measured": "measured", "factors": "measured"}
"""Where a finding without a picture leads."""
STEPS = (1, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000, math.inf)
"""Bands of factors."""
REFERENCES = points("""
- Antonatos, S., Braghin, S., Holohan, N. & MacAonghusa, P. (2019). AnonTokens: tracing re-identification attacks
  through decoy records. arXiv:1906.09829.
- Samarati, P. & Sweeney, L. (1998). Protecting privacy when disclosing information: k-anonymity and its enforcement
  through generalization and suppression. SRI International.""")
REMAINS = points("""
- An adversary with a list of the population can count look-alikes too: candidates are rarer than every released class,
  so decoys chosen among them can be distinguished from real classes by their link count alone.
- Recipients who put their copies together see which classes only one of them has. Removing real classes hides decoys
  from those without a population list only.
- An adversary who does not go by risk, or who is after one known person, may never meet a decoy.
- Where people of the data were left out of a candidate class, a claim about it can be a true one.
- The population is taken as it is: people it does not list make classes larger than they seem.""")
"""What room for decoys does not promise; the fourth holds where candidates hold people who were left out."""


def feasibility_page(
    found: Feasibility,
    *,
    title: str,
    source: str,
    population: str,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
    grid: FeasibilityGrid | None = None,
) -> str:
    """The report: findings, the picture behind each, measures, what remains, parameters, method, command."""
    figures = [factors(found)] if found.candidate_classes else []
    if grid is not None and grid.feasible:
        figures += [candidates(grid), largest(grid)]
    some, none = Pill("✓", "There is room for decoys", "good"), Pill("▲", "No room for decoys", "danger")
    parts = [
        page.findings(by_topic(found), figures, elsewhere=ELSEWHERE),
        page.evidence(figures),
        page.section("measured", "Measures", measures(found), title="What was measured"),
        page.section("limits", "Other limits", *(() if grid is None else limits(grid))),
        page.remains("Room for decoys is not a guarantee:", remains(found)),
        page.parameters("What was asked for", parameters(found), policy),
        page.method(method(found, grid), REFERENCES),
        page.reproduce(command, note=page.policy_note(policy)),
    ]
    return page.document(
        parts,
        kicker="Can a release be traced?",
        title=title,
        about=[source, people(found.records), f"beside {population}, {people(found.population)}"],
        pills=[some if found.candidate_classes else none],
        created=created,
        version=version,
    )


def feasibility_findings(found: Feasibility) -> tuple[Finding, ...]:
    """The findings in words, the most important first."""
    return tuple(finding for _, finding in by_topic(found))


def by_topic(found: Feasibility) -> Iterator[tuple[str, Finding]]:
    """Each with the key of the picture that shows it."""
    crowd = f"everybody who is released has at least {plural(found.min_link, 'look-alike')} in the population"
    if not found.classes:
        headline = f"Nobody would be released at k = {found.k:,}."
        yield topic("factors", headline, "Allow less suppression, or lower `--k`, and look again.")
    elif not found.candidate_classes:
        yield topic(
            "factors",
            f"There is no room for decoys: {crowd}, and no other class of {found.k:,} or more people is smaller.",
            "Look at other limits with `--grid`: more suppression or a smaller k leaves more room.",
        )
    else:
        yield topic(
            "factors",
            f"There is room for decoys in {plural(found.candidate_classes, 'class', 'classes')} of the population: {crowd}, "
            f"and these have {found.k:,} to {found.min_link - 1:,} and are not released.",
            "An adversary who re-identifies the riskiest people first meets decoys before real people.",
        )
    if found.candidate_classes:
        yield topic(
            "factors",
            f"A decoy is up to {measure(found.max_factor)} times as risky as the riskiest real person, and half of the "
            f"candidates at least {measure(found.quartiles[2])} times.",
            "An adversary who goes by risk takes the largest factors first: so should a plan.",
        )
        free, many = found.candidates_without_subjects, found.candidate_classes
        headline = "No candidate holds anybody of the data."
        step = "A claim about a decoy is about nobody who was in the data."
        if held := many - free:
            headline = (
                f"{held:,} of {plural(many, 'candidate')} {agree(held, 'holds', 'hold')} people of the data who were left "
                f"out; {free:,} {agree(free, 'does', 'do')} not."
            )
            step = "Use only the latter where a claim about a person who was left out must not be taken for a decoy's."
        yield topic("measured", headline, step)
    yield topic(
        "measured",
        f"The table behind this releases {plural(found.classes, 'class', 'classes')} and leaves out "
        f"{part(found.suppressed, found.records) if found.suppressed else 'nobody'}; {found.close_to_k:,} "
        f"{agree(found.close_to_k, 'class is', 'classes are')} hardly larger than k (up to 1.1 k).",
        "Decoys of the size of such classes are not conspicuous by their size.",
    )
    if found.uncovered:
        share = percent(found.uncovered_records / max(found.records - found.suppressed, 1))
        yield topic(
            "measured",
            f"{plural(found.uncovered, 'released class', 'released classes')} ({people(found.uncovered_records)}, {share}) "
            f"{agree(found.uncovered, 'is', 'are')} not found in the population, and left out of the comparison.",
            "Above 1 % the population would be refused as the wrong one; look where it differs from the data.",
        )


def factors(found: Feasibility) -> Figure:
    """How many candidates are how much riskier."""
    counts = []
    for low, high in itertools.pairwise(STEPS):
        label = f"{low:,g} or more" if high == math.inf else f"{low:,g} to {high:,g}"
        counts.append((label, int(((found.factors >= low) & (found.factors < high)).sum())))
    while counts and not counts[-1][1]:
        counts.pop()
    most = max((many for _, many in counts), default=1)
    shares = [percent(many / found.candidate_classes) for _, many in counts]
    bars = tuple(
        Bar(label, f"{many:,}", many / most, note=f"{share} of the candidates")
        for (label, many), share in zip(counts, shares, strict=True)
    )
    return Figure(
        key="factors",
        title="How much riskier decoys would be than the riskiest real person",
        about=f"{plural(found.candidate_classes, 'candidate')}, with factors up to {measure(found.max_factor)}.",
        reading=points("""
- A bar is a number of candidate classes. The factor is the least number of look-alikes that a released person has in
  the population, divided by the number that a decoy would have.
- The larger the factor, the surer an adversary who goes by risk meets the decoy before a real person."""),
        chart=(Group(bars),),
        table=Table(
            "Candidates by risk factor",
            ("Times as risky", "Candidates", "Share"),
            tuple((bar.label, bar.value, share) for bar, share in zip(bars, shares, strict=True)),
            (1, 2),
        ),
    )


def candidates(grid: FeasibilityGrid) -> Figure:
    """How many candidates there are, by k and suppression (the paper's Figure 2)."""
    return _by_limits(
        grid,
        key="candidates",
        title="How many classes could hold decoys",
        upwards="Candidate classes",
        value=lambda found: float(found.candidate_classes),
        cell=lambda found: f"{found.candidate_classes:,} ({found.candidates_without_subjects:,})",
        reading="In brackets in the table: candidates that hold nobody of the data who was left out.",
    )


def largest(grid: FeasibilityGrid) -> Figure:
    """How risky decoys can be, by k and suppression (the paper's Figure 3)."""

    def cell(found: Feasibility) -> str:
        if not found.quartiles:
            return "none"
        _, lower, _, upper, most = found.quartiles
        return f"{measure(most)} ({measure(lower)} to {measure(upper)})"

    return _by_limits(
        grid,
        key="largest",
        title="How risky decoys could be",
        upwards="Largest risk factor",
        value=lambda found: found.max_factor,
        cell=cell,
        reading="The table has the largest factor and, in brackets, the middle half of all factors.",
    )


def _by_limits(
    grid: FeasibilityGrid,
    *,
    key: str,
    title: str,
    upwards: str,
    value: Callable[[Feasibility], float],
    cell: Callable[[Feasibility], str],
    reading: str,
) -> Figure:
    """A line for each k over the share that may be left out."""
    rows, lines = [], []
    for k in grid.ks:
        along = [(share, grid.at(k, share).found) for share in grid.suppressions]
        rows.append((f"{k:,}", *("not possible" if found is None else cell(found) for _, found in along)))
        points = tuple((100 * share, value(found)) for share, found in along if found is not None)
        lines.append(Line(f"k = {k:,}", points, steps=False))
    heights = [height for line in lines for _, height in line.points]
    # Powers of ten where that shows more and nothing is zero.
    wide = bool(heights) and min(heights) > 0 and max(heights) > 50 * min(heights)
    x = linear([100 * share for share in grid.suppressions], zero=True)
    y = logarithmic(heights) if wide else linear([0.0, *heights])
    return Figure(
        key=key,
        title=title,
        about=f"{plural(len(grid.feasible), 'pair')} of limits: k from {min(grid.ks)} to {max(grid.ks)}, up to "
        f"{_asked(max(grid.suppressions))} left out.",
        reading=(
            (
                "One line for each k, by the largest share of people that may be left out. What is left out is decided by "
                "the least lossy table, so that a line can go either way."
            ),
            reading,
        ),
        chart=line_chart(lines, Axes(x, y, "Left out at most, in per cent", upwards)),
        table=Table(
            title, ("k", *map(_asked, grid.suppressions)), tuple(rows), tuple(range(1, len(grid.suppressions) + 1))
        ),
    )


def _asked(share: float) -> str:
    """A share as it was asked for, with all of its digits."""
    return f"{100 * share:g} %"


def measures(found: Feasibility) -> Table:
    """Every figure with its meaning."""
    below = "classes not released, with at least k people but fewer than that"
    rows = (
        ("Classes released", f"{found.classes:,}", "groups of people who look alike in the released table"),
        ("Left out", f"{found.suppressed:,}", f"people in smaller groups, of {found.records:,}"),
        ("Close to k", f"{found.close_to_k:,}", "released classes of k to 1.1 k people, both included"),
        ("Least link count", f"{found.min_link:,}", "people of the population in the rarest released class (minLink)"),
        ("Candidates", f"{found.candidate_classes:,}", below),
        ("People in them", f"{found.candidate_records:,}", "of the population"),
        (
            "Without subjects",
            f"{found.candidates_without_subjects:,}",
            "candidates that hold nobody who was left out",
        ),
        ("Largest factor", measure(found.max_factor), "least link count divided by that of the rarest candidate"),
        ("Not in the population", f"{found.uncovered:,}", "released classes that nobody of the population is in"),
        (found.loss_name, measure(found.loss, digits=6), "what the table loses"),
    )
    return Table("Room for decoys", ("Measure", "Value", "Meaning"), rows, (1,))


def limits(grid: FeasibilityGrid) -> tuple[Table, Table]:
    """Table and room for decoys at every pair of limits (Tables 4 and 5)."""

    def at_each(caption: str, *columns: tuple[str, Callable[[Feasibility], str]]) -> Table:
        rows = tuple(
            (
                f"{cell.k:,}, {_asked(cell.suppression)}",
                *("not possible" if cell.found is None else write(cell.found) for _, write in columns),
            )
            for cell in grid.cells
        )
        head = ("k, left out at most", *(name for name, _ in columns))
        return Table(caption, head, rows, tuple(range(1, len(head))))

    names = ", ".join(next((tuple(found.levels) for found in grid.feasible), ()))
    return (
        at_each(
            f"The least lossy table at each pair of limits (levels of {names})",
            ("Levels", lambda found: ", ".join(str(level) for level in found.levels.values()) or "boxes"),
            ("Left out", lambda found: f"{found.suppressed:,} ({percent(found.suppressed / found.records)})"),
            ("Classes", lambda found: f"{found.classes:,}"),
            ("Close to k", lambda found: f"{found.close_to_k:,}"),
        ),
        at_each(
            "Room for decoys at each pair of limits",
            ("Least link count", lambda found: f"{found.min_link:,}"),
            ("Candidates", lambda found: f"{found.candidate_classes:,}"),
            ("Without subjects", lambda found: f"{found.candidates_without_subjects:,}"),
            ("Largest factor", lambda found: measure(found.max_factor)),
        ),
    )


def parameters(found: Feasibility) -> list[Row]:
    """What was asked for."""
    return [
        ("k", f"{found.k:,}: so many people look alike at least"),
        ("Left out", f"at most {_asked(found.suppression)} of the people"),
        ("Loss", join(element("code", found.loss_name), ", to be as small as possible")),
        (
            "Levels",
            join(", ".join(f"{name} {level}" for name, level in found.levels.items()) or "boxes, class by class"),
        ),
        ("People in the data", people(found.records)),
        (
            "Population",
            f"{people(found.population)}; {fine_percent(found.sampling)} of them are as many as the data have",
        ),
    ]


def remains(found: Feasibility) -> tuple[str, ...]:
    """What room for decoys does not promise."""
    left_out = found.candidates_without_subjects < found.candidate_classes
    return REMAINS if left_out else (*REMAINS[:3], *REMAINS[4:])


def method(found: Feasibility, grid: FeasibilityGrid | None) -> Iterator[str]:
    """How room for decoys was counted."""
    if not found.levels:
        yield (
            f"People are published in boxes of at least {found.k:,}, class by class (Mondrian, LeFevre et al. 2006). The link count "
            "of a box is the number of people of the population in it. Candidates are classes of the values as they came, of "
            "people of the population in no box, with at least k people and fewer than the least link count of a box (Antonatos "
            "et al. 2019, Algorithm 1)."
        )
        return
    yield (
        f"The data are generalised to the least lossy combination of levels (`{found.loss_name}`) at which at most the "
        f"allowed share of people is in classes of fewer than {found.k:,}; these are left out (Samarati & Sweeney 1998)."
    )
    yield (
        "The population is counted at the same levels. The link count of a class is the number of people of the "
        "population in it. Candidates are classes that are not released, with at least k people and fewer than the least link "
        "count of a released class; their factor is that least link count divided by their own (Antonatos et al. 2019, "
        "Algorithm 1)."
    )
    if grid is not None and grid.counted is not None:
        yield (
            f"For the other limits {grid.counted:,} of {grid.nodes:,} combinations of levels were counted, each once for all "
            "of them, from the classes of a finer one."
        )
