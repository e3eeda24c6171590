"""State that all requests of one process share: settings, ledger, templates, static files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import jinja2
import markupsafe

from discreet import __version__
from discreet.ledger import Ledger
from discreet.ledger.entry import timestamp
from discreet.operations.monitoring_port import MonitoringPort
from discreet.report.toolkit.html import Markup
from discreet.report.toolkit.page import stylesheet
from discreet.report.toolkit.words import MONTHS, plural
from discreet.store import Store
from discreet.web.accounts.accounts import Hasher
from discreet.web.datasets.files import DatasetPlaces, Folder
from discreet.web.framework.page_words import page_prose, page_section
from discreet.web.framework.request_events import RequestEvents
from discreet.web.framework.route import Route
from discreet.web.framework.settings import Settings
from discreet.wording import percent

if TYPE_CHECKING:
    from fastapi import FastAPI

FOLDER = Path(__file__).parents[1]


class JobStarter(Protocol):
    """What starts jobs, once the server runs."""

    def wake(self) -> None:
        """Look for work now."""

    def close(self) -> None:
        """Stop, and put running jobs back."""


@dataclass
class Site:
    """Everything a handler can reach beside its request."""

    settings: Settings
    ledger: Ledger
    hasher: Hasher
    table: Mapping[tuple[str, str], Route]
    app: FastAPI | None = field(default=None, repr=False)
    supervisor: JobStarter | None = field(default=None, repr=False)
    visitors: tuple[tuple[str, str, str], ...] = field(default=(), repr=False)
    """Of a demonstration: names, roles and passwords of generated accounts, which its sign-in page shows."""
    monitoring: MonitoringPort | None = field(default=None, repr=False)
    events: RequestEvents = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.events = RequestEvents(self.settings.operations)

    @property
    def store(self) -> Store:
        """Where the state is."""
        return self.ledger.store

    def now(self) -> datetime:
        """What the clock says."""
        return self.settings.clock()

    def stamp(self, *, ago: timedelta = timedelta(0)) -> str:
        """Now, or some time ago, as the store writes moments."""
        return timestamp(self.now() - ago)

    @cached_property
    def places(self) -> DatasetPlaces:
        """Where data sets are."""
        folder = Folder.of(self.settings.data, self.ledger.head()["ledger"])
        return DatasetPlaces(folder, self.settings.folders, self.ledger.keys)

    def render(self, template: str, values: Mapping[str, Any]) -> str:
        """A template, filled in: everything escaped, nothing silently missing."""
        return _environment().get_template(template).render(values)

    def wake_supervisor(self) -> None:
        """Have jobs looked at now, where this process starts them."""
        if self.supervisor is not None:
            self.supervisor.wake()

    def close(self) -> None:
        """Put running jobs back, write what waits, then close the store."""
        if self.supervisor is not None:
            self.supervisor.close()
            self.supervisor = None
        self.ledger.close()
        self.events.log.close()


@cache
def _environment() -> jinja2.Environment:
    """Every template, compiled once for all applications of a process."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # What the report builds is escaped already.
        finalize=lambda value: markupsafe.Markup(value.text) if isinstance(value, Markup) else value,  # noqa: S704
    )
    # Sections that a job had the report build: everything in them was escaped before they were stored.
    environment.filters.update(FILTERS)
    environment.globals.update(version=__version__, asset=asset_address)
    return environment


@cache
def assets() -> dict[str, tuple[bytes, str]]:
    """Every file that pages load, with its type."""
    static = resources.files("discreet.web").joinpath("static")
    more = sorted(file.name for file in static.iterdir() if file.name.endswith(".css") and file.name != "app.css")
    sheet = stylesheet() + "".join(static.joinpath(name).read_text(encoding="utf-8") for name in ("app.css", *more))
    scripts = {file.name: file.read_bytes() for file in static.iterdir() if file.name.endswith(".js")}
    return {
        "style.css": (sheet.encode(), "text/css; charset=utf-8"),
        "mark.svg": (static.joinpath("mark.svg").read_bytes(), "image/svg+xml"),
        **{name: (content, "text/javascript; charset=utf-8") for name, content in scripts.items()},
    }


@cache
def asset_address(name: str) -> str:
    """Where a file is, with its version, so that browsers may keep it."""
    content, _ = assets()[name]
    return f"/assets/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"


# Formats of moments and amounts, for templates.
MOST_DIGITS = 6
UNITS = ((86_400, "day", "days"), (3_600, "hour", "hours"), (60, "minute", "minutes"))


def moment(stamp: str) -> str:
    """A stored moment, to the minute.

    >>> moment("2026-01-31T12:05:00.000000Z")
    '31 January 2026, 12:05 UTC'
    """
    when = datetime.fromisoformat(stamp)
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}, {when:%H:%M} UTC"


def day(text: str) -> str:
    """A day.

    >>> day("2026-01-31")
    '31 January 2026'
    """
    when = date.fromisoformat(text)
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}"


def short_moment(stamp: str) -> str:
    """A stored moment for tables, to the second.

    >>> short_moment("2026-01-31T12:05:07.000000Z")
    '2026-01-31 12:05:07'
    """
    return stamp[:19].replace("T", " ")


def ago(stamp: str, now: datetime) -> str:
    """How long ago it was.

    >>> from datetime import UTC
    >>> ago("2026-01-31T12:00:00.000000Z", datetime(2026, 1, 31, 12, 3, tzinfo=UTC))
    '3 minutes ago'
    """
    passed = now - datetime.fromisoformat(stamp)
    return f"{span(passed)} ago" if passed.total_seconds() >= 60 else "just now"


def ahead(stamp: str, now: datetime) -> str:
    """How far ahead it is.

    >>> from datetime import UTC
    >>> ahead("2026-01-31T12:00:00.000000Z", datetime(2026, 1, 30, 12, 0, tzinfo=UTC))
    'in 1 day'
    """
    return f"in {span(datetime.fromisoformat(stamp) - now + timedelta(seconds=59))}"


def span(length: timedelta) -> str:
    """A length of time in its largest whole unit.

    >>> span(timedelta(hours=26)), span(timedelta(seconds=20))
    ('1 day', 'less than a minute')
    """
    seconds = int(length.total_seconds())
    for size, singular, plural_word in UNITS:
        if seconds >= size:
            return plural(seconds // size, singular, plural_word)
    return "less than a minute"


def amount(value: Fraction) -> str:
    """An exact amount: a decimal number where few digits suffice, else a fraction.

    >>> amount(Fraction(23, 2)), amount(Fraction(1, 3)), amount(Fraction(12345))
    ('11.5', '1/3', '12,345')
    """
    for digits in range(MOST_DIGITS + 1):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            whole, rest = divmod(abs(scaled.numerator), 10**digits)
            sign = "-" if value < 0 else ""
            return f"{sign}{whole:,}.{rest:0{digits}}" if digits else f"{sign}{whole:,}"
    return str(value)


def per_cent(value: Fraction, of: Fraction) -> str:
    """An exact amount as a share of its limit, with the amount where it is short.

    >>> per_cent(Fraction(1), Fraction(3)), per_cent(Fraction(0), Fraction(2)), per_cent(Fraction(5, 2), Fraction(0))
    ('33.3 %', '0 %', '2.5')
    """
    return percent(float(value / of)) if of else amount(value)


ENDLESS = 10**6
"""A limit above is none: the account only adds up."""


def charge_words(number: int, allowed: int, parts: int) -> str:
    """Parts of a budget as a share of its limit; as an amount where there is no limit to speak of, and what is left then as nothing.

    >>> charge_words(1, 4, 2), charge_words(1_500_000, 10**15, 10**6), charge_words(10**15, 10**15, 10**6)
    ('25 %', '1.50', '')
    """
    if allowed <= ENDLESS * parts:
        return per_cent(Fraction(number, parts), Fraction(allowed, parts))
    return f"{number / parts:,.2f}" if number * 2 < allowed else ""


FILTERS: dict[str, Callable[..., Any]] = {
    "moment": moment,
    "day": day,
    "short_moment": short_moment,
    "ago": ago,
    "ahead": ahead,
    "span": span,
    "plural": plural,
    "number": lambda value: f"{value:,}",
    "share": lambda value: percent(float(value)),
    "stamp": lambda moment: timestamp(datetime.fromtimestamp(moment / 1000, UTC)),
    "named": lambda thing: (thing.id, thing.name),
    "pair": lambda value: (value, value),
    "anonymised": lambda table: (table[0], f"anonymised: {table[1]}"),
    "parts": lambda number, parts: amount(Fraction(number, parts)),
    "amount": amount,
    "per_cent": per_cent,
    "spent": lambda charge: charge_words(charge.amount, charge.allowed, charge.parts),
    "left": lambda charge: charge_words(charge.allowed - charge.spent - charge.reserved, charge.allowed, charge.parts),
    "prose": page_prose,
    "built": page_section,
}
"""What templates may use."""


# Flash messages: named in the address, so that a reload shows the same.
REMARKS = {
    "signed-out": "You are signed out.",
    "signed-out-idle": "You were signed out: a session ends after 15 minutes without use, and 8 hours after signing in. Nothing is lost.",
    "step-over": "That took too long, or began in another browser. Sign in again.",
    "factor-removed": "The second factor is removed. Your password alone signs you in again.",
    "one-factor-removed": "It is removed. The other second factor stays.",
    "passkey-added": "The passkey is added. Your other sessions have ended.",
    "factor-reset": "The second factor is removed, and the account is signed out everywhere.",
    "session-ended": "The session has ended.",
    "welcome": "Your password is set, and you are signed in.",
    "password": "Your password is changed. You are signed out everywhere else, and your tokens are revoked.",
    "steps-away": "Getting-started guide hidden. You can reopen it from the footer.",
    "steps-back": "The getting-started guide is on the dashboard again.",
    "role-proposed": "The role is proposed. The account has it once a custodian approves.",
    "role-changed": "The role is changed. Sessions, tokens and links of the account have ended.",
    "role-rejected": "You rejected the role. The administrator who proposed it sees your reason.",
    "role-withdrawn": "The proposal is withdrawn. Its entries in the ledger stay.",
    "closed": "The account is closed, and its sessions and tokens have ended.",
    "reopened": "The account is open again.",
    "ended": "All sessions and tokens of the account have ended.",
    "brought": "The data set is added. Its columns are being profiled.",
    "roles": "The roles are saved, and the risk is being measured again.",
    "roles-only": "The roles are saved. Give at least one column the role quasi, so that the risk can be measured.",
    "confirmed": "Confirmed, and recorded in the ledger.",
    "policy": "The policy is saved.",
    "hierarchy": "The hierarchy is saved.",
    "population": "The population is saved. Measure the risk again to see what it changes.",
    "removed": "The data set is removed. Its entries in the ledger remain.",
    "cancelled": "The job is cancelled.",
    "moved-on": "That question was answered already, perhaps in another window. This one comes next.",
    "study": "The study is open. Its experts find it under Sensitivity.",
    "invited": "The experts are invited. They find the study under Sensitivity.",
    "again": "The questions about the most disputed values are repeated.",
    "agreed": "No questions to repeat: the experts largely agree.",
    "study-closed": "The study is closed. No further answers are taken.",
    "study-open": "The study is open again.",
    "version": "The version is stored, and recorded in the ledger.",
    "planned": "The plan is saved. Its pre-flight is running; then another custodian decides.",
    "plan-changed": "The plan is changed. Its pre-flight is running again, and it must be approved again.",
    "approved": "You approved the plan. The copies can be made now.",
    "rejected": "You rejected the plan. The planner sees your reason.",
    "withdrawn": "The plan is withdrawn. Its entries in the ledger stay.",
    "retired": "The recipient gets no further copies. A trace can still identify the one they had.",
    "traced": "The trace is recorded in the ledger. The data you sent were deleted.",
    "made": "The project is made: sensitive columns are stored separately, and pairs are found. Choose next who decides which pairs.",
    "zones": "The pairs are divided again. Assigned pairs stay with their reviewers.",
    "study-begun": "The project is a study now. Enrol participants next.",
    "study-declined": "You do not take part any more. Thank you.",
    "gold-hidden": "The pairs of known truth are hidden among the others.",
    "too-fast": "Your last five decisions came faster than people read. Take your time: a wrong link harms two people.",
    "assigned": "The pairs are assigned. Reviewers find them under Linkage.",
    "nothing-assigned": "No pairs to assign: the chosen reviewers have, or have had, all of them.",
    "pairs-withdrawn": "The undecided pairs are withdrawn. What was shown stays charged.",
    "to-settle": "The disputed pairs are assigned to the adjudicator.",
    "nothing-to-settle": "No pair is in dispute.",
    "learning": "The model is being trained on the decisions. Pairs are scored again when it is done.",
    "sampled": "The label sample is drawn: reviewers get its pairs first. Assign them next.",
    "adding": "The table is being added. Its pairs are found by the model that is there; assign them when it is done.",
    "project-closed": "The project is closed: no further cell is opened and no pair decided.",
    "discarded": "The project is discarded, and its uploads are deleted.",
    "decision-undone": "The decision is undone. Opened cells stay open.",
    "nothing-to-undo": "There is no decision to undo.",
    "lent": "The data set is lent: managers of linkage projects can link it.",
    "not-lent": "The data set is no longer lent. Projects that were made from it remain.",
    "limit-proposed": "The limit is proposed. It takes effect once another custodian approves it.",
    "limit-approved": "The limit is in force. Running gateways apply it within a few seconds.",
    "limit-declined": "You rejected the limit. The custodian who proposed it sees your reason.",
    "limit-withdrawn": "The proposal is withdrawn.",
    "limit-withdrawal-proposed": "The withdrawal is proposed. The limit holds until another custodian approves the withdrawal.",
    "limit-withdrawal-declined": "You rejected the withdrawal. The limit stays in force, and the custodian who proposed it sees your reason.",
    "limit-ended": "The limit is withdrawn. Running gateways apply the policy again within a few seconds.",
    "revoked": "The token is revoked. Programs that use it are refused from now on.",
    "verified": "The ledger is intact: no entry was changed, removed, inserted, moved or cut off.",
}
"""Sentences by name."""
