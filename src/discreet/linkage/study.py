"""Study of reviewers: conditions, random assignment, consent, practice, quiz, and a log of every act.

As the authors of MINDFIRL evaluated their interfaces (Ragan et al., CHI 2018): every participant sees all pairs in one of
several interfaces, drawn at random, after consent, a tutorial, practice with feedback and a quiz.
"""

from __future__ import annotations

import csv
import json
import random
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select, update

from discreet.errors import Refused, UsageError
from discreet.kernel.serialise import json_of
from discreet.ledger import Ledger
from discreet.linkage.folder import staged
from discreet.linkage.masking.comparison import Kind, Piece, compare, compare_names
from discreet.linkage.masking.text import check_name
from discreet.linkage.progress import decision_times
from discreet.linkage.project import Project, find_project, now
from discreet.linkage.review import reveal
from discreet.linkage.review.assignments import Limits, give, records_of, withdraw, worker_of
from discreet.linkage.review.decisions import answers_of
from discreet.linkage.review.held_pair import not_there
from discreet.linkage.review.views import CHOICES, CONDITIONS, CellView, RowView
from discreet.sources.export.targets import guarded
from discreet.store import Store
from discreet.store.tables.linkage import ASSIGNMENT, CELL, DECISION, EVENT, PROJECT, WORKER

STAGES = ("consent", "tutorial", "practice", "feedback", "quiz", "ready", "pairs")
"""What a participant goes through, in order; `declined` ends it. `feedback` is that on the practice, `ready` on the quiz."""
DECLINED = "declined"
LONGEST_LOG = 500
"""Acts on one pair that are logged."""
LONGEST_ACT = 86_400_000
CONSENT = (
    "You take part in a study of how people decide whether two records are the same person. You see pairs of records in one "
    "of several interfaces, drawn at random. Your decisions, their times, and which cells you look at and open are recorded "
    "under the name of your account. You may stop at any time without giving a reason."
)


@dataclass(frozen=True)
class Participant:
    """How far a participant of a study is."""

    worker: str
    condition: str
    stage: str
    answers: Mapping[str, Any] = field(default_factory=dict)
    """Moments of the stages; right answers of practice and quiz."""

    def right(self, part: str) -> str:
        """Right answers of the practice or the quiz, in words."""
        given = self.answers.get(part)
        return "" if given is None else f"{sum(given)} of {len(given)}"

    to_dict = json_of(
        "worker condition stage",
        practice=lambda self: self.answers.get("practice"),
        quiz=lambda self: self.answers.get("quiz"),
    )


def start_study(
    ledger: Ledger, project: Project, conditions: Iterable[str], *, actor: str, consent: str = CONSENT
) -> Project:
    """Make a project a study of these interfaces; not once pairs are assigned."""
    chosen = tuple(dict.fromkeys(conditions))
    for name in chosen:
        check_name("interface of a study", name, CONDITIONS)
    if not chosen:
        raise UsageError("A study needs at least one interface.", remedy=f"Choose among: {', '.join(CONDITIONS)}.")
    declared = json.dumps({"conditions": chosen, "consent": consent.strip() or CONSENT}, ensure_ascii=False)

    def along(connection: Connection) -> None:
        given = select(ASSIGNMENT.c.id).where(ASSIGNMENT.c.project == project.id).limit(1)
        if connection.execute(given).first() is not None:
            raise UsageError(
                "Pairs of this project are assigned already.", remedy="Make a study of a project before its pairs are."
            )
        connection.execute(update(PROJECT).where(PROJECT.c.id == project.id).values(study=declared))

    details = {"study": ", ".join(chosen)}
    ledger.record(actor=actor, event="linkage.project", subject=project.subject, details=details, along=along)
    return find_project(ledger.store, project.name)


def enrol(
    ledger: Ledger,
    project: Project,
    workers: Sequence[str],
    *,
    actor: str,
    limits: Limits | None = None,
    rng: random.Random | None = None,
) -> dict[str, str]:
    """Give every new participant all pairs, in an order of their own, in an interface drawn at random.

    Interfaces stay balanced: each goes to the one with the fewest participants, ties by lot. `limits` are for interfaces in
    which cells can be opened. Gives the interface of each.
    """
    if project.study is None:
        raise UsageError(f"'{project.name}' is not a study.", remedy="Make it one before pairs are assigned.")
    lots = rng or random.Random(secrets.randbits(128))  # noqa: S311 - seeded by the machine's randomness
    with ledger.store.reading() as connection:
        records = records_of(connection, project)
        known = {participant.worker: participant for participant in _participants(connection, project)}
    taken, drawn = Counter(participant.condition for participant in known.values()), {}
    for worker in lots.sample(list(workers), len(workers)):
        if worker in known:
            continue
        least = min(taken[name] for name in project.study.conditions)
        drawn[worker] = lots.choice([name for name in project.study.conditions if taken[name] == least])
        taken[drawn[worker]] += 1
    pairs = list(records)
    for worker, name in drawn.items():
        with ledger.store.writing() as connection:
            new = not worker_of(connection, project, worker)["known"]
            joined = {"condition": name, "stage": STAGES[0], "answers": json.dumps({})}
            if new:
                counts = dict.fromkeys(("displays", "characters", "characters_shown"), 0)
                connection.execute(insert(WORKER).values(project=project.id, worker=worker, **counts, **joined))
        order = lots.sample(pairs, len(pairs))
        shown = reveal.measure(project, [records[pair] for pair in order], initial=CONDITIONS[name].initial)
        opens = None if CONDITIONS[name].static else limits
        give(ledger, project, worker, list(zip(order, shown, strict=True)), actor=actor, limits=opens or Limits())
    return {worker: drawn[worker] for worker in workers if worker in drawn}


def participants(store: Store, project: Project) -> list[Participant]:
    """The participants of a study, by name."""
    with store.reading() as connection:
        return list(_participants(connection, project))


def participant(store: Store, project: Project, worker: str) -> Participant | None:
    """One participant; None for a reviewer of a project that is no study."""
    return next((one for one in participants(store, project) if one.worker == worker), None)


def _participants(connection: Connection, project: Project) -> Iterator[Participant]:
    rows = select(WORKER).where(WORKER.c.project == project.id, WORKER.c.stage.is_not(None)).order_by(WORKER.c.worker)
    for row in connection.execute(rows).all():
        yield Participant(row.worker, row.condition, row.stage, json.loads(row.answers))


def advance(
    ledger: Ledger, project: Project, worker: str, *, leaving: str, right: Sequence[bool] | None = None
) -> Participant:
    """Go on from one stage to the next; `right` says which answers of practice or quiz were right.

    Consent is an entry of the ledger. From a stage that is left already nothing changes.
    """
    check_name("stage of a study", leaving, STAGES[:-1])
    going = STAGES[STAGES.index(leaving) + 1]

    def along(connection: Connection) -> None:
        mine = (WORKER.c.project == project.id, WORKER.c.worker == worker, WORKER.c.stage == leaving)
        row = connection.execute(select(WORKER.c.answers).where(*mine)).one_or_none()
        if row is None:
            return
        answers = json.loads(row.answers) | ({} if right is None else {leaving: list(right)})
        connection.execute(update(WORKER).where(*mine).values(stage=going, answers=json.dumps(answers)))
        _event(connection, project, worker, going)

    if leaving == "consent":
        details = {"consent": "given"}
        subject = f"{project.subject}/worker:{worker}"
        ledger.record(actor=worker, event="linkage.consent", subject=subject, details=details, along=along)
    else:
        with ledger.store.writing() as connection:
            along(connection)
    found = participant(ledger.store, project, worker)
    if found is None:
        raise not_there()
    return found


def decline(ledger: Ledger, project: Project, worker: str) -> None:
    """Stop taking part, before or after the first pair: undecided pairs are withdrawn."""
    subject = f"{project.subject}/worker:{worker}"
    stop = update(WORKER).where(WORKER.c.project == project.id, WORKER.c.worker == worker, WORKER.c.stage.is_not(None))

    def along(connection: Connection) -> None:
        connection.execute(stop.values(stage=DECLINED))
        _event(connection, project, worker, DECLINED)

    details = {"consent": DECLINED}
    ledger.record(actor=worker, event="linkage.consent", subject=subject, details=details, along=along)
    withdraw(ledger, project, worker, actor=worker)


# The log: acts on pairs, as the page measured them.
@dataclass(frozen=True)
class LoggedAct:
    """One act of a participant on a pair: `hover`, `opened` or `decided`."""

    act: str
    attribute: str | None = None
    since: int | None = None
    """Milliseconds since the pair was shown."""
    lasted: int | None = None


def acts_of(text: str, attributes: Sequence[str]) -> list[LoggedAct]:
    """Hovers as a page sends them: JSON rows of cell, beginning and length in milliseconds. Nonsense is left out.

    >>> acts_of("[[0, 120, 450]]", ["name"])
    [LoggedAct(act='hover', attribute='name', since=120, lasted=450)]
    """
    try:
        rows = json.loads(text)
    except ValueError:
        return []
    found = []
    for row in rows[:LONGEST_LOG] if isinstance(rows, list) else []:
        whole = isinstance(row, list) and len(row) == 3 and all(type(number) is int for number in row)
        if whole and 0 <= row[0] < len(attributes) and all(0 <= number <= LONGEST_ACT for number in row[1:]):
            found.append(LoggedAct("hover", attributes[row[0]], row[1], row[2]))
    return found


def log(store: Store, project: Project, worker: str, pair: int, acts: Iterable[LoggedAct]) -> None:
    """Write acts of a participant into the log of a study."""
    with store.writing() as connection:
        for act in acts:
            _event(connection, project, worker, act.act, pair, act)


def _event(
    connection: Connection,
    project: Project,
    worker: str,
    act: str,
    pair: int | None = None,
    more: LoggedAct | None = None,
) -> None:
    measured = {} if more is None else {"attribute": more.attribute, "since": more.since, "lasted": more.lasted}
    row = {"project": project.id, "worker": worker, "pair": pair, "act": act, "at": now(), **measured}
    connection.execute(insert(EVENT).values(row))


# Practice is about invented people: they disclose nothing, and are right or wrong.
KINDS: dict[str, Kind] = {
    "ID": "fixed",
    "first name": "string",
    "last name": "string",
    "birth date": "date",
    "sex": "category",
}


@dataclass(frozen=True)
class PracticePair:
    """Two invented records, whether they are one person, and how one sees it."""

    records: tuple[tuple[str, ...], tuple[str, ...]]
    same: bool
    reason: str


PRACTICE = (
    PracticePair(
        (("40211976", "Maria", "Lopez", "1980-03-05", "F"), ("40211967", "Maria", "Lopes", "1980-05-03", "F")),
        True,
        "Two digits exchanged, one letter, day and month swapped: three slips of the pen, and nothing else differs.",
    ),
    PracticePair(
        (("35570182", "James", "Carter", "1969-07-21", "M"), ("84121936", "Jason", "Carter", "1969-07-21", "M")),
        False,
        "Same family and birthday, another first name and quite another ID: twins.",
    ),
    PracticePair(
        (("51806643", "Jones", "Robert", "1971-01-30", "M"), ("51806643", "Robert", "Jones", "1971-01-30", "M")),
        True,
        "First and last name were entered in each other's column; all else agrees.",
    ),
    PracticePair(
        (("22904417", "George", "Hill", "1950-11-02", "M"), ("96031485", "George", "Hill", "1978-06-14", "M")),
        False,
        "The same name, but ID and birth date differ as a whole: father and son, or namesakes.",
    ),
)


def practice_cells(pair: PracticePair, condition: str, opened: str = "") -> list[CellView]:
    """The cells of an invented pair as an interface shows them; `opened` counts the steps of each that were opened."""
    chosen, cells = CONDITIONS[condition], []
    first, second = pair.records
    names = compare_names((first[1], first[2]), (second[1], second[2]))
    compared = [compare(kind, *both) for kind, *both in zip(KINDS.values(), first, second, strict=True)]
    compared[1:3] = names
    for place, (name, cell) in enumerate(zip(KINDS, compared, strict=True)):
        mode, marks = cell.first_mode(chosen.initial), cell.markup if chosen.markup else ()
        for _ in range(int(opened[place]) if place < len(opened) else 0):
            mode = cell.next_mode(mode) or mode
        left, right = (
            RowView(text, drawn if chosen.markup else (Piece("plain", text),), text, None)
            for text, drawn in zip(cell.text(mode), cell.pieces(mode), strict=True)
        )
        cells.append(CellView(name, cell.kind, mode, marks, (left, right), None, None))
    return cells


# What a study exports: numbers and names of attributes, never a value of a person.
PARTICIPANTS = ("participant", "condition", "stage", "practice right", "quiz right", "pairs", "decided", "KAPR",
                "characters", "seconds")  # fmt: skip
STUDY_DECISIONS = ("participant", "condition", "pair", "place", "gold", "answer", "confidence", "decided at", "seconds",
                   "revised")  # fmt: skip
LOG = ("order", "at", "participant", "condition", "pair", "act", "attribute", "mode", "since ms", "lasted ms")


def export_study(ledger: Ledger, project: Project, out: str | Path, *, actor: str) -> dict[str, int]:
    """Write a folder with `participants.csv`, `decisions.csv` and `log.csv`; gives the rows of each."""
    if project.study is None:
        raise Refused(f"'{project.name}' is not a study.", remedy="Export its links: discreet link export")
    from discreet.linkage.progress import progress

    current = {row.worker: row for row in progress(ledger, project).workers}
    everybody = {row.worker: row for row in participants(ledger.store, project)}
    times = decision_times(ledger.store, project)
    rows: dict[str, list[tuple[Any, ...]]] = {}
    rows["participants"] = [
        (
            name, row.condition, row.stage, row.right("practice"), row.right("quiz"), current[name].pairs,
            current[name].decided, float(current[name].risk.used), float(current[name].characters.used), current[name].seconds,
        )
        for name, row in everybody.items()
    ]  # fmt: skip
    gold = {answered.pair: answered.gold for answered in answers_of(ledger.store, project)}
    with ledger.store.reading() as connection:
        rows["decisions"] = list(_decisions(connection, project, everybody, gold, times))
        rows["log"] = list(_log(connection, project, everybody))
    titles = {"participants": PARTICIPANTS, "decisions": STUDY_DECISIONS, "log": LOG}
    with staged(Path(out)) as stage:
        for name, head in titles.items():
            with (stage / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(head)
                writer.writerows(
                    ["" if cell is None else guarded(cell) if isinstance(cell, str) else cell for cell in row]
                    for row in rows[name]
                )
        counts = {name: len(found) for name, found in rows.items()}
        ledger.record(actor=actor, event="linkage.exported", subject=project.subject, details={"study": True, **counts})
    return counts


def _decisions(
    connection: Connection,
    project: Project,
    everybody: Mapping[str, Participant],
    gold: Mapping[int, bool | None],
    times: Mapping[str, Mapping[int, float | None]],
) -> Iterator[tuple[Any, ...]]:
    """The decisions that count, in the order in which they were taken."""
    columns = select(
        ASSIGNMENT.c.worker, ASSIGNMENT.c.pair, ASSIGNMENT.c.place, DECISION.c.choice, DECISION.c.at, DECISION.c.id
    )
    made = columns.join(DECISION, DECISION.c.assignment == ASSIGNMENT.c.id).where(ASSIGNMENT.c.project == project.id)
    latest: dict[tuple[str, int], Any] = {}
    revised: Counter[tuple[str, int]] = Counter()
    for row in connection.execute(made.order_by(DECISION.c.id)):
        latest[row.worker, row.pair] = row
        revised[row.worker, row.pair] += 1
    for (worker, pair), row in sorted(latest.items(), key=lambda item: item[1].id):
        if worker in everybody and row.choice is not None:
            answer, sure = CHOICES[row.choice]
            seconds = times.get(worker, {}).get(pair)
            truth = {True: "same", False: "different", None: ""}[gold.get(pair)]
            time = None if seconds is None else round(seconds, 1)
            yield (
                worker, everybody[worker].condition, pair, row.place, truth, answer, sure, row.at, time,
                revised[worker, pair] - 1,
            )  # fmt: skip


def _log(connection: Connection, project: Project, everybody: Mapping[str, Participant]) -> Iterator[tuple[Any, ...]]:
    """Stages, hovers, openings and decisions of participants, in order of time."""
    lines: list[tuple[Any, ...]] = []
    for row in connection.execute(select(EVENT).where(EVENT.c.project == project.id)):
        lines.append((row.at, row.worker, row.pair, row.act, row.attribute, None, row.since, row.lasted))
    of_project = ASSIGNMENT.c.project == project.id
    opened = select(CELL, ASSIGNMENT.c.worker, ASSIGNMENT.c.pair).join(ASSIGNMENT, ASSIGNMENT.c.id == CELL.c.assignment)
    for row in connection.execute(opened.where(of_project, CELL.c.reason == "asked")):
        lines.append((row.at, row.worker, row.pair, "opened", row.attribute, row.mode, None, None))
    for order, (at, worker, *rest) in enumerate(sorted(lines, key=lambda line: line[0]), start=1):
        if worker in everybody:
            yield order, at, worker, everybody[worker].condition, *rest
