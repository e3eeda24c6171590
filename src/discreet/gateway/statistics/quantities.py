"""Quantities of statistics: moments of cells, who sets, and their canonical names."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.policy.gateway_section import AggregatesPolicy

_ALL = "''::text"
PRESENT = " (present)"
"""Behind the name of a column: whether it has a value, which is an attribute of its own."""


@dataclass(frozen=True)
class Moment:
    """One number per cell that is computed from sensitive values.

    Tags: `count` (rows under a sensitive condition, or per sensitive value), `present` (values that are not NULL), `sum`
    and `square` of a clipped number less the middle of its bounds, `product` of two such numbers, `bin:I` of a histogram.
    """

    tag: str
    columns: tuple[str, ...]
    """Sensitive columns it is computed from, those of its condition included; what is summed or multiplied comes first."""
    scope: str = ""
    """Names the joins it is computed over: a sum over patients is another quantity than one over their visits."""
    condition: str = ""
    """Canonical sensitive condition; empty if there is none."""
    rows: int = 1
    """Most rows of one person that it counts."""
    public: str = ""
    """Column that is not sensitive and is what is summed, or what `columns[0]` is multiplied by."""
    bounds: tuple[float, float] | None = None
    """Least and largest value of the public column, where the policy says nothing of it."""

    @property
    def unit(self) -> tuple[str, ...]:
        """What is charged once per cell: all bins of a histogram are one answer, for one person is in one of them.

        All that tells its noise from that of another moment is in it but which bin it is.
        """
        tag = "bins" if self.tag.startswith("bin:") else self.tag
        return (tag, *self.columns, "", self.public, self.scope, self.condition, str(self.rows), repr(self.bounds))

    @property
    def attributes(self) -> tuple[str, ...]:
        """What of a person it tells about; each has an account of its own."""
        if self.tag != "present" or not self.columns:
            return self.columns
        first = self.columns[0]
        itself = any(first + mark in self.condition for mark in ":#@")  # counted under a condition on its own values
        return (first + PRESENT, *self.columns[0 if itself else 1 :])

    @property
    def singles_out(self) -> bool:
        """Whether a factor that is known may make one person's value count and hardly any other."""
        return self.tag == "product" or bool(self.public)

    @property
    def factors(self) -> tuple[str, ...]:
        """Columns whose numbers are summed, squared or multiplied; none of a count."""
        if self.tag == "product":
            return (self.columns[0], self.public or self.columns[1])
        return (self.public or self.columns[0],) if self.tag in ("sum", "square") else ()

    def half_range(self, settings: AggregatesPolicy) -> float:
        """Half of what one person may change; for counts, the rows of a person."""
        product = float(self.rows)
        for column in self.factors:
            low, high = self.bounds_of(column, settings)
            product *= (high - low) / 2
        if self.tag == "square":
            low, high = self.bounds_of(self.factors[0], settings)
            product *= (high - low) / 4
        return product

    def bounds_of(self, column: str, settings: AggregatesPolicy) -> tuple[float, float]:
        """Where values of a column are clipped."""
        bounds = settings.bounds(column) or (self.bounds if column == self.public else None)
        if bounds is None:
            raise ValueError(f"column '{column}' has no bounds, so that nobody knows how much noise hides a person")
        return bounds

    def deviation(self, settings: AggregatesPolicy) -> float:
        """Standard deviation of its noise."""
        return settings.noise * self.half_range(settings)


@dataclass(frozen=True)
class WhoSet:
    """People about whom the cells of one grouping set may tell something, as SQL: no sensitive condition is in it."""

    relation: str
    where: str
    person: str
    """Expression that names the person of a row."""
    cell: str
    """Expression that names the cell of a row by its values that are not sensitive; empty text for all in one."""
    moments: tuple[Moment, ...]
    once: bool = True
    """Whether every person has at most one row in the relation."""
    by: tuple[str, ...] = ()
    """Sensitive columns that it is grouped by; they divide each of its cells."""
    groups: tuple[str, ...] = ()
    """Expressions of which `cell` is made; with them a cell is named once and not for every row."""
    spelt: tuple[str, ...] = ()
    """Canonical texts of the sensitive expressions that it is grouped by."""

    def attributes(self, moment: Moment) -> tuple[str, ...]:
        """What of a person a moment of its cells tells about."""
        return tuple(dict.fromkeys((*moment.attributes, *self.by)))

    @property
    def rows(self) -> int:
        """Most rows of one person that any of its moments counts."""
        return 1 if self.once else max((moment.rows for moment in self.moments), default=1)

    @property
    def units(self) -> dict[tuple[str, ...], Moment]:
        """What is charged, each with a moment of it."""
        return {moment.unit: moment for moment in self.moments}

    def asked(self, unit: tuple[str, ...]) -> bytes:
        """Names the question by its text: the same again is about the same people, unless data changed."""
        texts = (self.relation, self.where, self.person, self.cell, str(self.once))
        return name_of("asked", *texts, *self.grouped(unit))

    def grouped(self, unit: tuple[str, ...]) -> tuple[str, ...]:
        """A unit together with what divides its cells."""
        return (*unit, "by", *self.by, "as", *self.spelt)

    def joins(self, other: WhoSet) -> bool:
        """Whether one scan can tell the cells of both: the same rows, one for each person."""
        mine, its = ((who.relation, who.where, who.person, who.once) for who in (self, other))
        return self is other or (self.once and mine == its)


def people_query(sets: Sequence[WhoSet]) -> str:
    """SQL of one scan: the labels of a cell in each set, its people as eight bytes each, and their rows as four.

    All sets are about the same rows. Rows are grouped by columns, so that a label is written once per cell.
    """
    first = sets[0]
    where = f" WHERE {first.where}" if first.where.strip().lower() not in ("", "true") else ""
    person = f"hashtextextended(({first.person})::text, 0)"  # NULL of nobody, whom string_agg leaves out
    labels = [f"({who.cell or _ALL})" for who in sets]
    named = [who.groups or ((who.cell,) if who.cell not in ("", "''", _ALL) else ()) for who in sets]
    columns = list(dict.fromkeys(column for some in named for column in some))
    listed = ", ".join(labels)
    if first.once:
        grouped = f" GROUP BY {', '.join(columns)}" if columns else " HAVING count(*) > 0"
        return f"SELECT {listed}, string_agg(int8send({person}), ''), ''::bytea FROM {first.relation}{where}{grouped}"  # noqa: S608 - printed by the gateway from a checked tree
    by = ", ".join([*columns, person])
    inner = f"SELECT {listed} AS c, {person} AS p, least(count(*), {first.rows})::int4 AS r FROM {first.relation}{where} GROUP BY {by}"  # noqa: S608
    return f"SELECT w.c, string_agg(int8send(w.p), ''), string_agg(int4send(w.r), '') FROM ({inner}) AS w WHERE w.p IS NOT NULL GROUP BY 1"  # noqa: S608


@dataclass(frozen=True)
class StatisticCell:
    """A cell of a grouping set, as counted exactly, before noise."""

    group: tuple[str | None, ...]
    sensitive: str
    """Canonical text of its own sensitive values; empty if it is not grouped by one."""
    people: int
    """People of its who set."""
    who: str
    """Hash of the who set and of the sensitive values of its people."""
    values: tuple[float | None, ...]
    """One per moment."""
    members: int | None = None
    """People in it with its sensitive values, where it is grouped by one."""
    label: str = ""
    """What the who set's expression `cell` says of it."""


@dataclass(frozen=True)
class NoisedCell:
    """What is shown of a cell."""

    shown: bool
    values: tuple[float | None, ...] = field(repr=False)


def name_of(*parts: str) -> bytes:
    """Sixteen bytes that name some texts; no two lists of texts are written alike."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(content) + content)
    return digest.digest()[:16]


def attributes_of(sets: Sequence[WhoSet]) -> tuple[str, ...]:
    """Attributes that a question asks about, in a fixed order."""
    return tuple(sorted({name for one in sets for moment in one.moments for name in one.attributes(moment)}))
