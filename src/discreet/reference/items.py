"""What a paper prints beside what we compute: items with verdicts and reasons, and the page of a reproduction."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discreet.errors import UsageError
from discreet.kernel.serialise import json_of
from discreet.report.toolkit import page
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.page import Figure, Pill, Table, bullets
from discreet.wording import measure

Verdict = Literal["reproduces", "differs", "cannot"]
VERDICTS: Mapping[Verdict, str] = {
    "reproduces": "comes out as printed",
    "differs": "comes out differently",
    "cannot": "cannot be computed: the data or the definition are not disclosed",
}


@dataclass(frozen=True)
class PrintedItem:
    """One number, table, figure or statement of a paper."""

    id: str
    where: str
    """The place in the paper, in its own numbering."""
    what: str
    printed: Any
    """Numbers are numbers, exact shares are text; None where our copy of the paper has nothing legible there."""
    ours: Any
    verdict: Verdict
    why: str = ""

    def __post_init__(self) -> None:
        if self.verdict != "reproduces" and not self.why:
            raise ValueError(f"{self.id} does not reproduce and says no reason")

    to_dict = json_of("id where what printed ours verdict why")


def judge(
    name: str, where: str, what: str, printed: Any, ours: Any, *, why: str = "", within: float = 0.0, note: str = ""
) -> PrintedItem:
    """The verdict follows from the two values: the same up to `within`, which is what the paper rounds away.

    `why` is the reason where they differ, `note` a remark that holds in any case.

    >>> judge("a.b", "Section 1", "a share", 0.94, 0.9411, within=0.005).verdict
    'reproduces'
    """
    same = _same(printed, ours, within)
    tolerance = f"Equal to within {within:g}." if same and within else ""
    words = " ".join(part for part in (note, tolerance if same else why) if part)
    return PrintedItem(name, where, what, printed, ours, "reproduces" if same else "differs", words)


STARS = "Equal but for stars: the printed text has fewer than the value has characters."


def judge_masked(name: str, where: str, what: str, printed: Any, ours: Any, *, why: str = "") -> PrintedItem:
    """The verdict on masked texts: printed runs of stars may be shorter.

    >>> judge_masked("a.b", "Table 1", "an ID", "****&****", "*****&****").verdict
    'reproduces'
    >>> judge_masked("a.b", "Table 1", "an ID", "*****6****", "****6*****", why="Another six.").verdict
    'differs'
    """
    if printed == ours or not _same_but_for_stars(printed, ours):
        return judge(name, where, what, printed, ours, why=why)
    return PrintedItem(name, where, what, printed, ours, "reproduces", STARS)


def _same_but_for_stars(printed: Any, ours: Any) -> bool:
    if isinstance(printed, str) and isinstance(ours, str):
        pattern = re.sub(r"(\\\*)+", lambda stars: f"{stars[0]}\\**", re.escape(printed))
        return re.fullmatch(pattern, ours) is not None
    same_length = isinstance(printed, Sequence) and isinstance(ours, Sequence) and len(printed) == len(ours)
    return same_length and all(map(_same_but_for_stars, printed, ours))


def cannot(name: str, where: str, what: str, printed: Any, why: str, *, ours: Any = None) -> PrintedItem:
    """What depends on something undisclosed; `ours` is what comes nearest."""
    return PrintedItem(name, where, what, printed, ours, "cannot", why)


def _same(printed: Any, ours: Any, within: float) -> bool:
    if isinstance(printed, Mapping) and isinstance(ours, Mapping):
        return printed.keys() == ours.keys() and all(_same(printed[key], ours[key], within) for key in printed)
    if isinstance(printed, Sequence) and not isinstance(printed, str):
        same = isinstance(ours, Sequence) and len(printed) == len(ours)
        return same and all(map(_same, printed, ours, [within] * len(printed)))
    if isinstance(printed, float | int) and isinstance(ours, float | int):
        return math.isclose(printed, ours, rel_tol=0, abs_tol=within)
    return bool(printed == ours)


@dataclass(frozen=True, eq=False)
class Numbered:
    """A figure under the number that it has in the paper."""

    number: str
    figure: Figure


@dataclass(frozen=True, eq=False)
class Reproduction:
    """A paper gone through from beginning to end."""

    paper: str
    title: str
    reference: str
    items: tuple[PrintedItem, ...]
    figures: tuple[Numbered, ...] = ()
    tables: tuple[Table, ...] = ()
    setting: tuple[str, ...] = ()
    """What data and settings the computation had, in sentences."""
    quick: bool = False
    own: tuple[Figure, ...] = ()
    """Figures that the paper does not have."""

    def __post_init__(self) -> None:
        if twice := [name for name, number in Counter(item.id for item in self.items).items() if number > 1]:
            raise ValueError(f"{self.paper} has two items {twice[0]}")

    def item(self, name: str) -> PrintedItem:
        """One item by its name."""
        for item in self.items:
            if item.id == name:
                return item
        raise UsageError(f"{self.title} has no item '{name}'.", remedy=f"discreet reproduce {self.paper} lists them.")

    @property
    def counts(self) -> dict[Verdict, int]:
        """Printed items by verdict."""
        printed = [item for item in self.items if item.printed is not None]
        return {verdict: sum(item.verdict == verdict for item in printed) for verdict in VERDICTS}

    @property
    def unprinted(self) -> int:
        """Items beside which nothing is printed, or nothing legible."""
        return sum(item.printed is None for item in self.items)

    def words(self) -> str:
        """The verdicts counted."""
        counts = self.counts
        further = f" Beside {self.unprinted:,} further items the paper prints nothing, or nothing that is legible in our copy."
        return (
            f"Of {sum(counts.values()):,} printed items {counts['reproduces']:,} come out as printed, {counts['differs']:,} "
            f"come out differently, and {counts['cannot']:,} cannot be computed from what the paper discloses."
            f"{further if self.unprinted else ''}"
        )

    to_dict = json_of("paper title reference quick setting counts unprinted items")


def shown(value: Any) -> str:
    """A value as a page or a terminal shows it.

    >>> shown(6018999), shown(0.63), shown([14, 29]), shown({"a": 9, "b": None}), shown(True), shown(None)
    ('6,018,999', '0.63', '14, 29', 'a: 9; b: none', 'yes', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return measure(value, digits=4)
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {shown(one)}" for key, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(shown, value))
    return str(value)


SIGNS: dict[Verdict, str] = {"reproduces": "=", "differs": "≠", "cannot": "?"}
HEAD = ("Where", "What", "Printed", "Ours", "Verdict", "Why")


def reproduction_page(
    found: Reproduction, *, created: datetime.datetime, command: str, version: str, further: Iterable[page.Part] = ()
) -> str:
    """The whole page; `further` sections come before the method."""
    figures = [page.figure(one.figure, one.number) for one in found.figures]
    differing = briefly(item for item in found.items if item.why and item.verdict != "reproduces")
    known = {item.why for item in differing}
    remarks = briefly(
        item for item in found.items if item.why and item.verdict == "reproduces" and item.why not in known
    )
    reasons = {item.why: number for number, item in enumerate([*differing, *remarks], start=1)}
    listed, noted = (
        [f"({reasons[item.why]}) {item.why} `{item.id}`, {item.where}." for item in group]
        for group in (differing, remarks)
    )
    parts = [
        page.section("short", "In short", found.words(), verdicts(found), bullets(list(found.setting))),
        page.section("figures", "Figures of the paper", figures or None),
        page.section("tables", "Tables of the paper", *found.tables),
        page.section("differs", "What differs, and why", bullets(listed) if listed else None),
        page.section("notes", "Notes on what comes out as printed", bullets(noted) if noted else None),
        page.section("items", "Every item", item_table(found.items, reasons)),
        page.section("own", "Not in the paper", *[page.figure(figure, "Our figure") for figure in found.own]),
        *further,
        page.section("reference", "The paper", found.reference),
        page.reproduce(command, lead="The same figures come from this command:"),
    ]
    pills = [Pill(SIGNS[verdict], f"{number:,} {verdict}", _kind(verdict)) for verdict, number in found.counts.items()]
    return page.document(
        parts,
        kicker="Reproduction of a paper",
        title=found.title,
        about=[found.paper, f"{len(found.items):,} items", *(["quick"] if found.quick else [])],
        pills=pills,
        created=created,
        version=version,
    )


def briefly(items: Iterable[PrintedItem]) -> list[PrintedItem]:
    """One item for each reason: cells of a table share theirs."""
    by_reason: dict[str, PrintedItem] = {}
    for item in items:
        by_reason.setdefault(item.why, item)
    return list(by_reason.values())


def verdicts(found: Reproduction) -> Table:
    """How many items have each verdict, and what it means."""
    rows = tuple(
        (f"{SIGNS[verdict]} {verdict}", meaning, f"{found.counts[verdict]:,}") for verdict, meaning in VERDICTS.items()
    )
    if found.unprinted:
        rows = (
            *rows,
            ("? not printed", "the paper prints nothing here, or our copy shows nothing", f"{found.unprinted:,}"),
        )
    return Table("Verdicts", ("Verdict", "Meaning", "Items"), rows, (2,))


def item_table(items: Iterable[PrintedItem], reasons: Mapping[str, int]) -> Table:
    """All items in the order of the paper; a reason is a number of the list above."""
    rows = tuple(
        (
            item.where,
            join([item.what, " ", element("code", item.id)]),
            "–" if item.printed is None else shown(item.printed),
            "–" if item.ours is None else shown(item.ours),
            _verdict(item),
            f"({reasons[item.why]})" if item.why else "",
        )
        for item in items
    )
    return Table("Printed numbers and ours", HEAD, rows)


def _verdict(item: PrintedItem) -> Markup:
    return element(
        "span",
        f"{SIGNS[item.verdict]} {item.verdict}",
        class_=_kind(item.verdict) if item.verdict != "cannot" else None,
    )


def _kind(verdict: Verdict) -> Literal["good", "danger", "plain"]:
    kinds: dict[Verdict, Literal["good", "danger", "plain"]] = {
        "reproduces": "good",
        "differs": "danger",
        "cannot": "plain",
    }
    return kinds[verdict]
