"""Charts of unusual days, and what both misuse reports share."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from discreet.misuse.anomalies import Anomalies, Day
from discreet.report.charts.axes import FOOT, Box, Frame, Scale, anchor, dot, foot, linear, logarithmic, upright
from discreet.report.charts.bars import Drawing, number, percentage, text
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.page import Figure, Part, Table, section, without_password
from discreet.report.toolkit.words import MONTHS, plural
from discreet.wording import measure

TOP, HEIGHT, LOW = 36, 240, 150
LISTED = 50
HISTORIES = 3
NAMED = 8
PHONE, LETTER = 240, 7.5
"""Width of the room on a phone, and of a character, in pixels."""
FAINTEST = 0.01
"""Scores are drawn from here up, so that powers of ten have a beginning."""


def overview(found: Anomalies) -> Figure:
    """Every day of everybody."""
    return Figure(
        key="days",
        title="Every day against what was to be expected",
        about=f"{plural(len(found.unusual), 'day is', 'days are')} above {found.threshold:g}, of {len(found.days):,}.",
        reading=(
            (
                "z says how far the score of a user's day lies above what her other days and her peers let expect, in "
                "usual deviations."
            ),
            (
                f"Each line spans the days of all users that are not unusual; a dot is a day above {found.threshold:g}, the "
                "dotted line."
            ),
        ),
        groups=(),
        table=days_table(found),
        drawing=_overview(found),
    )


def days_table(found: Anomalies) -> Table:
    """The unusual days, the worst first."""
    shown = found.unusual[:LISTED] or found.days[:5]
    name = "Unusual days" if found.unusual else "No day is unusual; these come closest"
    rest = len(found.unusual) - len(shown)
    caption = f"{name}, the first {len(shown)}" if rest > 0 else name
    head = ("User", "Role", "Day", "Score", "Expected", "Rows", "Results", "z")
    return Table(caption, head, tuple(_row(day) for day in shown), (3, 4, 5, 6, 7))


def _row(day: Day) -> tuple[str, ...]:
    numbers = (measure(day.score), measure(day.usual), f"{day.rows:,}", f"{day.results:,}", f"{day.z:.1f}")
    return (day.user, day.role, brief_date(day.day), *numbers)


def _overview(found: Anomalies) -> Drawing:
    x, ticks = calendar([day.day for day in found.days])
    frame = Frame(x, linear([0.0, found.threshold, *(day.z for day in found.days)]), TOP, HEIGHT)
    parts = join(
        text("z", x="-64", y=14, class_="note"),
        frame.grid(),
        [_span(frame, day, zs) for day, zs in _usual(found).items()],
        _limit(frame, found.threshold),
        [dot(frame.across(day.day.toordinal()), frame.down(day.z), r=4.5, class_="dot this") for day in found.unusual],
        _names(frame, found.unusual),
        foot(ticks, y=frame.bottom, title="Day"),
    )
    return Drawing(parts, frame.bottom + FOOT, "chart axes")


def _names(frame: Frame, unusual: Sequence[Day]) -> list[Markup]:
    """Who it was, beside the dot, as far as names run into nothing; the worst first."""
    shown: list[Markup] = []
    taken = [_room(frame, day) for day in unusual]
    for place, day in enumerate(unusual[:NAMED]):
        box = _room(frame, day, width=len(day.user) * LETTER)
        if not any(box.meets(other) for number, other in enumerate(taken) if number != place):
            taken.append(box)
            shown.append(_name(frame, day))
    return shown


def _room(frame: Frame, day: Day, *, width: float = 0.0) -> Box:
    """What a dot and a name beside it take on a phone."""
    share, y = frame.x.share(day.day.toordinal()), frame.down(day.z)
    left, right = (6.0, 10 + width) if anchor(share) == "start" else (10 + width, 6.0)
    return Box(share * PHONE - left, share * PHONE + right, y - 8, y + 8)


def _name(frame: Frame, day: Day) -> Markup:
    share = frame.x.share(day.day.toordinal())
    side = anchor(share)
    place = {"x": percentage(share * 100), "y": number(frame.down(day.z) + 4), "dx": "10" if side == "start" else "-10"}
    return element("text", day.user, **place, class_="label lifted", text_anchor=side)


def _usual(found: Anomalies) -> dict[datetime.date, list[float]]:
    together: dict[datetime.date, list[float]] = {}
    for day in found.days:
        if day.z <= found.threshold:
            together.setdefault(day.day, []).append(day.z)
    return dict(sorted(together.items()))


def _span(frame: Frame, day: datetime.date, zs: Sequence[float]) -> Markup:
    return upright(frame.across(day.toordinal()), frame.down(max(zs)), frame.down(min(zs)) + 1, class_="link")


def _limit(frame: Frame, value: float) -> Markup:
    y = number(frame.down(value))
    return element("line", x1="0", x2="100%", y1=y, y2=y, class_="lead")


def histories(found: Anomalies) -> list[Figure]:
    """The days of those with the most unusual ones."""
    users = list(dict.fromkeys((day.user, day.role) for day in found.unusual))[:HISTORIES]
    return [_history(found, *who, place) for place, who in enumerate(users, start=1)]


def _history(found: Anomalies, user: str, role: str, place: int) -> Figure:
    days = sorted((day for day in found.days if (day.user, day.role) == (user, role)), key=lambda day: day.day)
    unusual = [day for day in days if day.z > found.threshold]
    worst = max(unusual, key=lambda day: day.z)
    return Figure(
        key=f"history-{place}",
        title=f"The days of {user}",
        about=f"{plural(len(unusual), 'unusual day', 'unusual days')} of {len(days):,}.",
        reading=(
            (
                f"On {date(worst.day)} the score was {measure(worst.score)}; {measure(worst.usual)} was to be expected of "
                f"this {role}."
            ),
            "Open circles are days as usual, filled ones unusual; the dotted line is what was to be expected. Scores count in powers of ten.",
        ),
        groups=(),
        table=_history_table(days, user),
        drawing=_history_drawing(found, days),
    )


def _history_drawing(found: Anomalies, days: Sequence[Day]) -> Drawing:
    x, ticks = calendar([day.day for day in found.days])
    frame = Frame(x, logarithmic([max(day.score, FAINTEST) for day in days]), TOP, LOW)
    dots = [
        dot(
            frame.across(day.day.toordinal()),
            frame.down(max(day.score, FAINTEST)),
            r=4.5,
            class_="dot this" if day.z > found.threshold else "dot open",
        )
        for day in days
    ]
    name = text("Score of the day", x="-64", y=14, class_="note")
    usual = _limit(frame, max(max(days, key=lambda day: day.z).usual, FAINTEST))
    return Drawing(
        join(name, frame.grid(), usual, dots, foot(ticks, y=frame.bottom, title="Day")),
        frame.bottom + FOOT,
        "chart axes",
    )


def _history_table(days: Sequence[Day], user: str) -> Table:
    head = ("Day", "Score", "Expected", "Rows", "Results", "z")
    rows = tuple(
        (
            brief_date(day.day),
            measure(day.score),
            measure(day.usual),
            f"{day.rows:,}",
            f"{day.results:,}",
            f"{day.z:.1f}",
        )
        for day in days
    )
    return Table(f"The days of {user}", head, rows, (1, 2, 3, 4, 5))


# What both reports share.
HAREL = (
    "Harel, A., Shabtai, A., Rokach, L. & Elovici, Y. (2012). M-score: a misuseability weight measure. IEEE Transactions "
    "on Dependable and Secure Computing 9(3)."
)
CONFIDENTIAL = "This report names users. It is about people, too: show it to nobody who need not decide about it."
MOST_TICKS = 6


def reproduced(command: str) -> Part:
    """The command that gives the same report."""
    lead = element("p", "The same log gives the same report with this command:")
    shown = element("pre", element("code", without_password(command)))
    return Part("reproduce", "Reproduce", section("reproduce", "Reproduce", lead, shown))


def date(day: datetime.date) -> str:
    """A day in words.

    >>> date(datetime.date(2025, 3, 4))
    '4 March 2025'
    """
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def brief_date(day: datetime.date) -> str:
    """A day where there is little room.

    >>> brief_date(datetime.date(2025, 3, 4))
    '4 Mar'
    """
    return f"{day.day} {MONTHS[day.month - 1][:3]}"


def calendar(days: Sequence[datetime.date]) -> tuple[Scale, list[tuple[float, str]]]:
    """A scale of days, and a few of them with their names."""
    first, last = min(days).toordinal(), max(days).toordinal()
    scale = Scale(first - 0.5, last + 0.5, ())
    step = max(1, -(-(last - first) // (MOST_TICKS - 1)))
    ticks = [datetime.date.fromordinal(day) for day in range(first, last + 1, step)]
    return scale, [(scale.share(day.toordinal()), brief_date(day)) for day in ticks]
