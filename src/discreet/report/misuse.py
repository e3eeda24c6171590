"""Misuse reports: unusual days of users, and incidents ranked by score."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Sequence

from discreet.misuse.anomalies import Anomalies, Day
from discreet.misuse.incidents import Incident
from discreet.report.charts.axes import (
    LETTER,
    PHONE,
    Box,
    Frame,
    Scale,
    anchor,
    beside,
    dot,
    level,
    linear,
    logarithmic,
    readable,
    upright,
)
from discreet.report.charts.bars import Bar, Group
from discreet.report.toolkit import page
from discreet.report.toolkit.page import Figure, Finding, Pill, Table, topic
from discreet.report.toolkit.words import MONTHS, agree, listed, moment, plural, points
from discreet.wording import measure

HAREL = (
    "Harel, A., Shabtai, A., Rokach, L. & Elovici, Y. (2012). M-score: a misuseability weight measure. IEEE Transactions "
    "on Dependable and Secure Computing 9(3)."
)
CONFIDENTIAL = "This report names users. It is about people, too: show it only to those who must decide about it."
NO_VERDICT = "A score is no verdict:"
SAME_LOG = "The same log gives the same report with this command:"

# Unusual days.
TOP, HEIGHT, LOW = 36, 240, 150
LISTED, HISTORIES, NAMED = 50, 3, 8
"""Days in the table, users whose days are drawn, and names beside dots."""
MOST_TICKS = 6
FAINTEST = 0.01
"""Scores are drawn from here up, so that powers of ten have a beginning."""
UNUSUAL_REMAINS = (
    *points("""
- Unusual is not wrong: holidays, a new task or a new ward make unusual days. And misuse in small steps, day after day,
  becomes usual; then the comparison with peers shows it.
- A user who looks up people one at a time scores little more than colleagues who do so for good reasons.
- A day's score takes its results as being about different people. A user who asks for the same table ten times scores
  higher than what was learned.
- Days are those of the log's clock. Days without results are not observed."""),
    CONFIDENTIAL,
)
HISTORY = points("""
- Open circles are days as usual, filled ones unusual; the dotted line is what was to be expected. Scores count in
  powers of ten.""")
UNUSUAL_METHOD = points("""
- The score M of a result is rows^(1/x) times the worst of record score over people alike (Harel et al. 2012). A day
  weighs (Σ M^x)^(1/x) over its results; y is the logarithm of one plus that.
- Each day is held against the user's other days and against other users in the same role. The user's median is weighed
  against the median of the peers by how much medians differ between peers and how many days the user has (empirical
  Bayes); z is the distance of y from there over the spread of days. Medians and median absolute deviations keep single
  days from hiding each other (Iglewicz & Hoaglin 1993).""")
UNUSUAL_REFERENCES = (
    (
        "Efron, B. & Morris, C. (1975). Data analysis using Stein's estimator and its generalizations. Journal of the "
        "American Statistical Association 70."
    ),
    HAREL,
    "Iglewicz, B. & Hoaglin, D. (1993). How to detect and handle outliers. ASQC Quality Press.",
)


def anomaly_findings(found: Anomalies) -> tuple[Finding, ...]:
    """What was found, in words."""
    return tuple(finding for _, finding in anomalies_by_topic(found))


def anomalies_by_topic(found: Anomalies) -> Iterator[tuple[str, Finding]]:
    """Findings with the figure that proves each."""
    whole = plural(len(found.days), "day")
    if not found.unusual:
        yield topic(
            "days",
            f"None of {whole} is unusual: no score is more than {found.threshold:g} deviations above what was to be expected.",
            "Look again when the log has grown.",
        )
    else:
        users = list(dict.fromkeys(day.user for day in found.unusual))
        yield topic(
            "days",
            f"{len(found.unusual):,} of {whole} {agree(len(found.unusual), 'is', 'are')} unusual, by {listed(users)}.",
            "Ask what these days were for, the highest z first.",
        )
        worst = found.unusual[0]
        times = worst.score / worst.usual if worst.usual > 0 else math.inf
        much = f"{times:,.0f} times" if 2 <= times < 1e4 else "far more than"
        yield topic(
            "history-1",
            f"On {date(worst.day)} {worst.user} received {plural(worst.rows, 'row')} that score "
            f"{measure(worst.score)}: {much} what was to be expected ({measure(worst.usual)}).",
            "Rank that day's results with `discreet misuse incidents`.",
        )
    for standing in found.high[:2]:
        yield topic(
            "standing",
            f"The usual day of {standing.user} scores {measure(standing.usual)}, that of "
            f"{plural(standing.peers, 'peer')} {measure(standing.peers_usual)}.",
            "Check whether the role fits what the user does, or whether what the user does fits the role.",
        )


def anomalies_page(found: Anomalies, *, source: str, created: datetime.datetime, command: str, version: str) -> str:
    """The report: findings, pictures, the unusual days, what remains, method, command."""
    users = list(dict.fromkeys((day.user, day.role) for day in found.unusual))[:HISTORIES]
    figures = [overview(found), *(history(found, *who, place) for place, who in enumerate(users, start=1))]
    parts = [
        page.findings(anomalies_by_topic(found), figures, elsewhere={"standing": "method"}),
        page.evidence(figures),
        page.section("listed", "Days", days_table(found), title="The days"),
        page.remains(NO_VERDICT, UNUSUAL_REMAINS),
        page.method(UNUSUAL_METHOD, UNUSUAL_REFERENCES),
        page.reproduce(command, lead=SAME_LOG),
    ]
    unusual = plural(len(found.unusual), "unusual day")
    everybody = len({standing.user for standing in found.standings})
    return page.document(
        parts,
        kicker="Unusual days",
        title=f"Unusual days in {source}",
        about=[source, plural(len(found.days), "user-day"), plural(everybody, "user")],
        pills=[Pill("▲", unusual, "danger") if found.unusual else Pill("✓", "Nothing unusual", "good")],
        created=created,
        version=version,
    )


def overview(found: Anomalies) -> Figure:
    """Every day of everybody."""
    x, ticks = calendar([day.day for day in found.days])
    frame = Frame(x, linear([0.0, found.threshold, *(day.z for day in found.days)]), TOP, HEIGHT)
    usual: dict[datetime.date, list[float]] = {}
    for day in sorted(found.days, key=lambda day: day.day):
        if day.z <= found.threshold:
            usual.setdefault(day.day, []).append(day.z)
    spans = [
        upright(frame.across(day.toordinal()), frame.down(max(zs)), frame.down(min(zs)) + 1, class_="link")
        for day, zs in usual.items()
    ]
    # Users beside their dots, as far as names run into nothing on a phone; the worst first.
    dots, marks, labels = [], [], {}
    for place, day in enumerate(found.unusual):
        share, y = x.share(day.day.toordinal()), frame.down(day.z)
        middle, wide = share * PHONE, 10 + len(day.user) * LETTER
        starts = anchor(share) == "start"
        dots.append(dot(frame.across(day.day.toordinal()), y, r=4.5, class_="dot this"))
        marks.append(Box(middle - (6 if starts else 10), middle + (10 if starts else 6), y - 8, y + 8))
        if place < NAMED:
            labels[place] = Box(middle - (6 if starts else wide), middle + (wide if starts else 6), y - 8, y + 8)
    names = []
    for place in readable(labels, marks):
        day = found.unusual[place]
        at, share = frame.across(day.day.toordinal()), x.share(day.day.toordinal())
        names.append(beside(day.user, at, frame.down(day.z) + 4, share=share, away=10, class_="label lifted"))
    limit = level(frame.down(found.threshold), class_="lead")
    return Figure(
        key="days",
        title="Every day against what was to be expected",
        about=f"{plural(len(found.unusual), 'day is', 'days are')} above {found.threshold:g}, of {len(found.days):,}.",
        reading=points(f"""
- z says how far the score of a user's day is above what the user's other days and peers lead one to expect, in usual
  deviations.
- Each line spans the days of all users that are not unusual; a dot is a day above {found.threshold:g}, the dotted line."""),
        chart=frame.drawing(spans, limit, dots, names, upwards="z", across="Day", ticks=ticks),
        table=days_table(found),
    )


def history(found: Anomalies, user: str, role: str, place: int) -> Figure:
    """The days of one user with unusual ones among them."""
    days = sorted((day for day in found.days if (day.user, day.role) == (user, role)), key=lambda day: day.day)
    unusual = [day for day in days if day.z > found.threshold]
    worst = max(unusual, key=lambda day: day.z)
    x, ticks = calendar([day.day for day in found.days])
    frame = Frame(x, logarithmic([max(day.score, FAINTEST) for day in days]), TOP, LOW)
    dots = []
    for day in days:
        at = frame.across(day.day.toordinal()), frame.down(max(day.score, FAINTEST))
        dots.append(dot(*at, r=4.5, class_="dot this" if day.z > found.threshold else "dot open"))
    expected, expected_score = level(frame.down(max(worst.usual, FAINTEST)), class_="lead"), measure(worst.usual)
    head = ("Day", "Score", "Expected", "Rows", "Results", "z")
    head = ("Day", "Score", "Expected", "Rows", "Results", "z")
    return Figure(
        key=f"history-{place}",
        title=f"The days of {user}",
        about=f"{plural(len(unusual), 'unusual day')} of {len(days):,}.",
        reading=(
            f"On {date(worst.day)} the score was {measure(worst.score)}; {expected_score} was to be expected of this {role}.",
            *HISTORY,
        ),
        chart=frame.drawing(expected, dots, upwards="Score of the day", across="Day", ticks=ticks),
        table=Table(f"The days of {user}", head, tuple(_row(day) for day in days), (1, 2, 3, 4, 5)),
    )


def days_table(found: Anomalies) -> Table:
    """The unusual days, the worst first."""
    shown = found.unusual[:LISTED] or found.days[:5]
    name = "Unusual days" if found.unusual else "No day is unusual; these come closest"
    caption = f"{name}, the first {len(shown)}" if len(found.unusual) > len(shown) else name
    head = ("User", "Role", "Day", "Score", "Expected", "Rows", "Results", "z")
    return Table(caption, head, tuple((day.user, day.role, *_row(day)) for day in shown), (3, 4, 5, 6, 7))


def _row(day: Day) -> tuple[str, ...]:
    numbers = (measure(day.score), measure(day.usual), f"{day.rows:,}", f"{day.results:,}", f"{day.z:.1f}")
    return (brief_date(day.day), *numbers)


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


# Incidents.
DRAWN = 12
INCIDENT_REMAINS = (
    *points("""
- The score weighs what was in the results, not what was done with it.
- What a user learned outside this log, or together with other users, is not counted.
- Results that do not say about whom they are count by themselves only; the score is then a lower bound."""),
    CONFIDENTIAL,
)
INCIDENT_METHOD = points("""
- Everything a user received is joined person by person. For every set of columns, all people of whom at least these are
  known are scored as one table (Harel et al. 2012); the largest score counts.
- A row weighs what is known of its person over the people who look alike; a column weighs what the score would fall by
  if nobody had seen it. Rows are counted from 1, in the order of the result.""")


def incident_findings(found: Sequence[Incident]) -> tuple[Finding, ...]:
    """What was found, in words."""
    return tuple(finding for _, finding in incidents_by_topic(found))


def incidents_by_topic(found: Sequence[Incident]) -> Iterator[tuple[str, Finding]]:
    """Findings with the figure that proves each."""
    if not found:
        yield topic(
            "ranking",
            "No result was let through with an alert, and none was named.",
            "Name what leaked: `discreet misuse incidents LOG --leaked ID`.",
        )
        return
    worst = found[0]
    yield topic(
        "ranking",
        f"The worst of {plural(len(found), 'incident')} is {worst.result.id}, received by "
        f"{worst.result.user}: with what the user held before, it scores {measure(worst.score)}, by itself "
        f"{measure(worst.result.score)}.",
        "Begin there.",
    )
    if worst.rows:
        rows = listed([f"{row.row:,}" for row in worst.rows[:3]])
        columns = listed([column.column for column in worst.columns if column.weight > 0][:3])
        among = f", and among all columns that the user has seen {columns}." if columns else "."
        headline = f"In {worst.result.id} rows {rows} weigh most{among}"
        yield "weights", Finding(headline, "Warn the people behind these rows first.")
    joined = sum(incident.score > 1.5 * incident.result.score for incident in found)
    if joined:
        yield topic(
            "ranking",
            f"{plural(joined, 'incident is', 'incidents are')} much worse than the leaked result shows, because "
            "its reader held more already.",
            "Ask these users what they still have.",
        )


def incidents_page(
    found: Sequence[Incident],
    *,
    whole: int,
    frame: int | None,
    source: str,
    created: datetime.datetime,
    command: str,
    version: str,
) -> str:
    """The report: findings, pictures, the incidents, what remains, method, command."""
    figures = [ranking(found)] if found else []
    if found and found[0].rows:
        figures.append(weights(found[0]))
    held = "for ever" if frame is None else f"for {plural(frame, 'day')}"
    parts = [
        page.findings(incidents_by_topic(found), figures),
        page.evidence(figures),
        page.section("listed", "Incidents", incidents_table(found) if found else None, title="The incidents"),
        page.remains(NO_VERDICT, INCIDENT_REMAINS),
        page.method((*INCIDENT_METHOD, f"Users are taken to keep what they received {held}."), (HAREL,)),
        page.reproduce(command, lead=SAME_LOG),
    ]
    number = plural(whole, "incident")
    return page.document(
        parts,
        kicker="Incident triage",
        title=f"Incidents in {source}",
        about=[source, number],
        pills=[Pill("▲", number, "danger") if whole else Pill("✓", "No incident", "good")],
        created=created,
        version=version,
    )


def ranking(found: Sequence[Incident]) -> Figure:
    """The incidents by score, with what their readers held before."""
    most = max(incident.score for incident in found) or 1.0
    bars = tuple(
        Bar(
            f"{incident.result.id} · {incident.result.user}",
            measure(incident.score),
            incident.score / most,
            note=f"{plural(incident.result.rows, 'row')}, held before: {plural(incident.held, 'result')}",
            before=incident.result.score / most,
        )
        for incident in found[:DRAWN]
    )
    return Figure(
        key="ranking",
        title="The worst first",
        about=f"The worst scores {measure(found[0].score)}.",
        reading=points("""
- The bar is the score of the leaked result with all that its reader held; the thin bar above is the result by itself.
- Where the two differ, the damage comes from what the reader held already."""),
        chart=(Group(bars),),
        table=incidents_table(found[:DRAWN]),
    )


def weights(worst: Incident) -> Figure:
    """The columns and rows of one incident that weigh most."""
    columns = tuple(
        Bar(column.column, measure(column.weight), column.weight / max(worst.score, 1e-12)) for column in worst.columns
    )
    rows = tuple(
        Bar(f"row {row.row:,}", measure(row.score), row.score, note=f"known: {', '.join(row.columns)}")
        for row in worst.rows
    )
    listed_rows = (*((f"column {bar.label}", bar.value) for bar in columns), *((bar.label, bar.value) for bar in rows))
    return Figure(
        key="weights",
        title=f"What weighs most in {worst.result.id}",
        about=f"Row {worst.rows[0].row:,} weighs most.",
        reading=points("""
- A column weighs what the score would fall by had nobody seen it; a row what is known of its person over the people who
  look alike.
- Rows are positions in the leaked result; no value is shown."""),
        chart=(Group(columns, title="Columns"), Group(rows, title="Rows")),
        table=Table(f"Rows and columns of {worst.result.id}", ("What", "Weight"), listed_rows, (1,)),
    )


def incidents_table(found: Sequence[Incident]) -> Table:
    """The incidents in numbers."""
    head = ("Result", "User", "Role", "Received", "Score", "By itself", "Rows", "Held")
    rows = tuple(
        (
            incident.result.id,
            incident.result.user,
            incident.result.role,
            moment(incident.result.time),
            f"{'at least ' if incident.unknown else ''}{measure(incident.score)}",
            measure(incident.result.score),
            f"{incident.result.rows:,}",
            f"{incident.held:,}",
            ", ".join(f"{row.row:,}" for row in incident.rows) or "not known",
            ", ".join(column.column for column in incident.columns if column.weight > 0) or "not known",
        )
        for incident in found
    )
    return Table("Incidents, the worst first", (*head, "Heaviest rows", "Heaviest columns"), rows, (4, 5, 6, 7))
