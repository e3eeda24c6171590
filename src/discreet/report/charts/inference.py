"""How far classes are from the table, per sensitive column."""

from __future__ import annotations

from discreet.report.charts.bars import Bar, Fill, Group
from discreet.report.components import Figure, Table
from discreet.report.toolkit.words import decimal, plural
from discreet.risk import Assessment, Inference


def sensitive(assessment: Assessment) -> Figure:
    """How far classes are from the table, per sensitive column."""
    columns = assessment.inference
    least = min(measures.distinct_l for measures in columns.values())
    return Figure(
        key="sensitive",
        title="What classes give away",
        about=f"{plural(len(columns), 'sensitive column', 'sensitive columns')}; the least number of values is {least}.",
        reading=_reading(assessment),
        groups=tuple(_inference_group(name, measures) for name, measures in columns.items()),
        table=_inference_table(assessment),
    )


def _reading(assessment: Assessment) -> tuple[str, ...]:
    trees = any(measures.hierarchical_t is not None for measures in assessment.inference.values())
    return (
        "Distinct l is the least number of different values in a class: 1 means that for some people it is certain.",
        "t is the distance between the most unusual class and the whole table: 0 = alike, 1 = nothing in common.",
        *(["Along the hierarchy, near values count as less far apart."] if trees else []),
    )


def _inference_group(name: str, measures: Inference) -> Group:
    fill: Fill = "risk" if measures.distinct_l == 1 else "plain"
    bars = [_distance("Distance t", measures.equal_t, fill)]
    if measures.hierarchical_t is not None:
        bars.append(_distance("Distance t along the hierarchy", measures.hierarchical_t, fill))
    certain = ", certain for some" if measures.distinct_l == 1 else ""
    return Group(tuple(bars), name, f"distinct l = {measures.distinct_l:,}{certain}")


def _distance(label: str, share: float, fill: Fill) -> Bar:
    return Bar(label, decimal(share), share, fill=fill)


def _inference_table(assessment: Assessment) -> Table:
    rows = tuple((name, *_measures(one)) for name, one in assessment.inference.items())
    head = ("Column", "Distinct l", "Entropy l", "Recursive (c, l)", "t, equal", "t, hierarchy", "Beta")
    return Table("What classes give away about sensitive columns", head, rows, (1, 2, 3, 4, 5, 6))


def _measures(one: Inference) -> tuple[str, ...]:
    tree = "no hierarchy" if one.hierarchical_t is None else decimal(one.hierarchical_t)
    recursive = f"({decimal(one.recursive_c)}, {one.recursive_l})"
    return (f"{one.distinct_l:,}", decimal(one.entropy_l), recursive, decimal(one.equal_t), tree, decimal(one.beta))
