"""What holds of every report, whatever it is about; and the parts of a figure."""

from __future__ import annotations

import itertools
import re

from discreet.report.charts.bars import Drawing, Group
from discreet.report.toolkit.page import Figure, figure
from tests.report.samples import Outline

LOADS_OR_RUNS = {"script", "link", "img", "iframe", "object", "embed", "base", "form", "foreignobject", "use"}


def check_that_nothing_is_loaded_or_runs(outline: Outline) -> None:
    """No element, handler or address leads out of the file."""
    assert not {tag for tag, _ in outline.tags} & LOADS_OR_RUNS
    for _, attributes in outline.tags:
        assert not {name for name in attributes if name.startswith("on")} | ({"src", "style"} & set(attributes))
        assert (attributes.get("href") or "#").startswith("#")
        assert re.fullmatch(r"url\(#[\w-]+\)|", attributes.get("fill") or "")


def check_that_names_and_links_meet(outline: Outline) -> None:
    """Every name stands once, and whatever refers to one finds it."""
    names = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(names) == len(set(names))
    wanted = [(attributes["href"] or "").removeprefix("#") for attributes in outline.all("a")]
    wanted += [name for _, attributes in outline.tags for name in (attributes.get("aria-labelledby") or "").split()]
    wanted += re.findall(
        r"url\(#([\w-]+)\)", " ".join(attributes.get("fill") or "" for attributes in outline.all("rect"))
    )
    assert set(wanted) <= set(names)


def check_landmarks_and_headings(outline: Outline) -> None:
    """One of each landmark, and no level of headings is left out."""
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(outline.all(landmark)) == 1
    levels = [int(tag[1]) for tag, _ in outline.tags if re.fullmatch(r"h\d", tag)]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def drawn(shown: Figure) -> tuple[Outline, Outline]:
    """The chart and the table of a figure."""
    markup = str(figure(shown, 1))
    chart = re.search(r"<svg.*?</svg>", markup, re.S)
    table = re.search(r"<table.*?</table>", markup, re.S)
    assert chart is not None
    assert table is not None
    return Outline(chart[0]), Outline(table[0])


def groups_of(shown: Figure) -> tuple[Group, ...]:
    """The bars of a figure."""
    assert not isinstance(shown.chart, Drawing)
    return shown.chart


def markup_of(shown: Figure) -> str:
    """What is drawn where a figure has no bars."""
    assert isinstance(shown.chart, Drawing)
    return str(shown.chart.parts)
