"""The page of a reproduction: the paper's figures and tables from our computation, and every printed item beside ours."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Literal

from discreet.reference.items import VERDICTS, PrintedItem, Reproduction, Verdict, shown
from discreet.report.toolkit import page
from discreet.report.toolkit.html import Markup, element
from discreet.report.toolkit.page import Pill, Table, bullets

SIGNS: dict[Verdict, str] = {"reproduces": "=", "differs": "≠", "cannot": "?"}
HEAD = ("PrintedItem", "Where", "What", "Printed", "Ours", "Verdict", "Why")


def reproduction_page(
    found: Reproduction, *, created: datetime.datetime, command: str, version: str, further: Iterable[page.Part] = ()
) -> str:
    """The whole page; `further` sections come before the method."""
    figures = [page.figure(one.figure, one.number) for one in found.figures]
    differing = [item for item in found.items if item.verdict != "reproduces"]
    parts = [
        page.section("short", "In short", found.words(), verdicts(found), bullets(list(found.setting))),
        page.section("figures", "Figures of the paper", figures or None),
        page.section("tables", "Tables of the paper", *found.tables),
        page.section(
            "differs",
            "What differs, and why",
            bullets([f"`{item.id}` ({item.where}, {item.what}): {item.why}" for item in briefly(differing)])
            if differing
            else None,
        ),
        page.section("items", "Every item", item_table(found.items)),
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
    return Table("Verdicts", ("Verdict", "Meaning", "Items"), rows, (2,))


def item_table(items: Iterable[PrintedItem]) -> Table:
    """All items in the order of the paper."""
    rows = tuple(
        (
            element("code", item.id),
            item.where,
            item.what,
            "–" if item.printed is None else shown(item.printed),
            "–" if item.ours is None else shown(item.ours),
            _verdict(item),
            item.why,
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
