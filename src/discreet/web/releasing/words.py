"""A pre-flight in words: one figure and one sentence for each thing that somebody decides on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from discreet.report.words import percent, plural

WARNED_AUC = 0.65
"""From here on decoys can be told better than luck explains."""
COMFORTABLE_MARKS = 30


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
    yield _claims(found["chances"])
    yield _coalition(found["chances"])


def _people(found: dict[str, Any]) -> Line:
    says = (
        f"{found['released']:,} of {found['records']:,} people can be released, in {found['classes']:,} groups of "
        f"at least {found['k']} who look alike; {found['suppressed']:,} are left out of all copies."
    )
    return Line(percent(found["released"] / found["records"]), "of people released", says)


def _marks(found: dict[str, Any]) -> Line:
    marks = found["marks"]
    if "pairs_available" not in found:
        says = "The same classes as in the copies that exist; nobody else's copy changes by a further recipient."
    else:
        says = (
            f"{marks // 2:,} groups of people that a copy may lack, and as many made-up ones that it may hold, out of "
            f"{plural(found['pairs_available'], 'pair', 'pairs')} that look alike to whoever knows the population."
        )
    few = marks < COMFORTABLE_MARKS
    if few:
        says += f" Below {COMFORTABLE_MARKS} a leak can hardly be traced."
    return Line(f"{marks:,}", "marks", says, few)


def _lost(found: dict[str, Any]) -> Line:
    says = (
        f"A copy lacks this share of the released rows on average, hardly ever more than {percent(found['most_lost'])}, however "
        "many recipients there are."
    )
    return Line(percent(found["rows_lost"]), "of rows lost", says)


def _shift(found: dict[str, Any]) -> Line:
    column, most = max(found["shifts"].items(), key=lambda shift: shift[1])
    says = f"No value of a quasi-identifier changes its share by more in an average copy; {column} changes most."
    return Line(percent(most), "largest shift", says)


def _gate(found: dict[str, Any]) -> Line:
    gate = found["gate"]
    warned = gate["auc"] > max(WARNED_AUC, gate["floor"])
    says = f"How well a classifier tells made-up groups from real ones: 0.5 is guessing, and up to {gate['floor']:.2f} is luck."
    if warned:
        says += " A recipient who tries may find some of the decoys."
    return Line(f"{gate['auc']:.2f}", "classifier (AUC)", says, warned)


def _claims(chances: dict[str, Any]) -> Line:
    if chances["claims"] is None:
        says = (
            "Half of all single leakers would never be named, however many people they claim: there are too few marks."
        )
        return Line("never", "claims until a name", says, caution=True)
    says = (
        "So many claims of re-identified people, the riskiest first, until a single leaker is named in half of all cases; "
        f"anybody innocent is accused in at most {percent(chances['alpha'])} of releases."
    )
    return Line(f"{chances['claims']:,}", "claims until a name", says)


def _coalition(chances: dict[str, Any]) -> Line:
    most, power = chances["coalition"], chances["power"]
    among = plural(chances["recipients"], "recipient", "recipients")
    if not most:
        says = (
            f"Of single leakers among {among}, {percent(power[0])} are named once all their marks have come up; 95 % would be "
            "comfortable. More marks help: more detail, or a smaller k."
        )
        return Line(percent(power[0]), "of leakers named", says, caution=True)
    if most == 1:
        says = f"A leaker who acts alone is found among {among}. Two who put their copies together may get away."
        return Line("1", "leaker at a time", says)
    says = f"Up to {most} who put their copies together, in the way that is worst for us, are found among {among}."
    return Line(f"{most}", "may collude", says)
