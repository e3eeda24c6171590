"""A pre-flight in words: one figure and one sentence for each thing that somebody decides on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from discreet.releases.decoys.detectability import WARN, either_way
from discreet.releases.marks.pairing import FEWEST_MARKS
from discreet.releases.power import ALPHA
from discreet.releases.preflight import ESCAPES, RECOGNISED
from discreet.report.toolkit.words import plural
from discreet.wording import percent


@dataclass(frozen=True)
class Line:
    """A figure, what it is a figure of, what it means, and whether it asks for a second look."""

    figure: str
    name: str
    says: str
    caution: bool = False


def lines_of(found: dict[str, Any]) -> list[Line]:
    """All that was foreseen, what costs people first and what can be traced last."""
    return list(_lines(found))


def _lines(found: dict[str, Any]) -> Iterator[Line]:
    if "records" in found:
        yield _people(found)
    yield _marks(found)
    if "rows_lost" in found:
        yield _lost(found)
        yield _shift(found)
        yield _gate(found)
    yield _claims(found)
    yield _coalition(found)


def _people(found: dict[str, Any]) -> Line:
    says = (
        f"{found['released']:,} of {found['records']:,} people can be released, in {found['classes']:,} groups of at least "
        f"{found['k']} who look alike; {found['suppressed']:,} are left out of all copies."
    )
    return Line(percent(found["released"] / found["records"]), "of people released", says)


def _marks(found: dict[str, Any]) -> Line:
    marks, few = found["marks"], found["marks"] < FEWEST_MARKS
    if "pairs" not in found:
        says = "The same as in the copies that exist: nobody else's copy changes by a further recipient."
    else:
        says = (
            f"{marks // 2:,} groups of people that a copy may lack, and as many made-up ones that it may hold, out of "
            f"{plural(found['pairs'], 'pair', 'pairs')} of about the same size and link count."
        )
    return Line(
        f"{marks:,}", "marks", f"{says} Below {FEWEST_MARKS} a leak can hardly be traced." if few else says, few
    )


def _lost(found: dict[str, Any]) -> Line:
    says = (
        f"A copy lacks this share of the released rows on average, hardly ever more than {percent(found['most_lost'])}, however "
        "many recipients there are."
    )
    return Line(percent(found["rows_lost"]), "of rows lost", says)


def _shift(found: dict[str, Any]) -> Line:
    return Line(
        percent(found["largest_shift"]),
        "largest shift",
        "No value of any column changes its share of all rows by more in an average copy; a rare one may still lose most of its people.",
    )


def _gate(found: dict[str, Any]) -> Line:
    told = either_way(found["auc"])
    warned = told > max(WARN, found["floor"])
    says = f"How well a classifier tells made-up groups from real ones: 0.5 is guessing, and up to {found['floor']:.2f} may be luck."
    more = " A recipient who tries may find some of the decoys." if warned else ""
    return Line(f"{told:.2f}", "classifier (AUC)", f"{says}{more} {RECOGNISED}", warned)


def _claims(found: dict[str, Any]) -> Line:
    if found["claims"] is None:
        says = (
            "Half of all single leakers would never be named, however many people they claim: there are too few marks."
        )
        return Line("never", "claims until a name", says, caution=True)
    says = (
        "So many claims of re-identified people, the riskiest first, until a single leaker is named in half of all cases; "
        f"anybody innocent is accused in at most {percent(ALPHA)} of releases."
    )
    return Line(f"{found['claims']:.0f}", "claims until a name", says)


def _coalition(found: dict[str, Any]) -> Line:
    most, among = found["coalition"], plural(found["recipients"], "recipient", "recipients")
    needed = found["needed"][most] if most < len(found["needed"]) else None
    further = f" {needed:,} marks would be needed for {'one' if not most else most + 1}." if needed else ""
    if not most:
        says = f"From a leaked copy nobody of {among} can be named with confidence.{further}"
        return Line("0", "leakers traced", says, caution=True)
    if most == 1:
        says = f"From an unaltered copy a leaker who acts alone is found among {among}; two who collude may get away.{further} {ESCAPES}"
        return Line("1", "leaker at a time", says)
    says = (
        f"From copies put together in one of five ways that were played, one of up to {most} is found among {among}.{further} "
        f"{ESCAPES}"
    )
    return Line(f"{most}", "may collude", says)
