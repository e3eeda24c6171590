"""Study of reviewers: pages of participants from consent to quiz, and what its manager does."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from discreet.linkage import MARKS
from discreet.linkage.evaluation import evaluate
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.matching.pairs import Labels, read_labels
from discreet.linkage.project import Project
from discreet.linkage.review.assignments import hide_gold
from discreet.linkage.review.views import CONDITIONS
from discreet.linkage.study import (
    KINDS,
    PRACTICE,
    STAGES,
    Participant,
    advance,
    decline,
    export_study,
    participant,
    practice_cells,
    start_study,
)
from discreet.report.linkage import evaluation_parts
from discreet.web.datasets import ingest, inspection
from discreet.web.framework.context import Here, go, or_again
from discreet.web.framework.problems import Problem
from discreet.web.linkage.review import ReviewTarget, label_of, open_kinds

LONGEST_CONSENT = 5_000


@dataclass(frozen=True)
class QuizQuestion:
    """A question of the quiz; the first option is the right one."""

    words: str
    options: tuple[str, str, str]
    markup: bool = False
    """Only where differences are marked."""
    opens: bool = False
    """Only where cells can be opened."""

    def shuffled(self, place: int) -> list[tuple[int, str]]:
        """The options in an order in which the right one moves."""
        numbered = list(enumerate(self.options))
        return numbered[place % 3 :] + numbered[: place % 3]


QUIZ = (
    QuizQuestion("What does the sign * stand for?", ("a character that is the same in both records", "a character that differs", "a missing value"), markup=True),
    QuizQuestion("What do @ above and & below stand for?", ("characters that differ", "two missing characters", "characters that are the same"), markup=True),
    QuizQuestion("What does ? mean?", ("the value is missing", "you may open the value", "the value is rare")),
    QuizQuestion("What do H, M and L mean?", ("how sure you are: high, medium, low", "how much the records differ", "how long you took")),
    QuizQuestion("You cannot tell whether two records are one person. What do you do?", ("answer can’t tell", "skip the pair", "guess same")),
    QuizQuestion("What does it cost to open a cell?", ("it adds to both meters and cannot be undone", "nothing", "one point, given back at the end"), markup=True, opens=True),
)  # fmt: skip


def questions(condition: str) -> list[QuizQuestion]:
    """The questions that make sense in an interface."""
    chosen = CONDITIONS[condition]
    return [one for one in QUIZ if (chosen.markup or not one.markup) and (not chosen.static or not one.opens)]


# -- participants -------------------------------------------------------------------------------------------------------


def _taking_part(context: Here) -> Participant:
    target: ReviewTarget = context.loaded
    found = participant(context.site.store, target.project, target.worker) if target.project.study else None
    if found is None:
        raise Problem(409, "There is no study here for you.", remedy="See your pairs under Linkage.")
    return found


def study_page(context: Here) -> Response:
    """Where a participant is: consent, tutorial, practice, feedback, quiz, ready."""
    project = context.loaded.project
    if not project.study or (found := _taking_part(context)).stage == "pairs":
        return go(f"/linkage/{project.id}/review")
    steps = context.request.query_params.get("open", "")
    opened = steps if len(steps) == len(PRACTICE) * len(KINDS) and set(steps) <= set("012") else ""
    width = len(KINDS)
    pairs = [
        practice_cells(pair, found.condition, opened[at * width : (at + 1) * width]) for at, pair in enumerate(PRACTICE)
    ]
    return context.page(
        "linkage_study.html",
        project=project,
        mine=found,
        condition=CONDITIONS[found.condition],
        number=STAGES.index(found.stage) + 1 if found.stage in STAGES else 0,
        stages=STAGES,
        practice=list(zip(PRACTICE, pairs, strict=True)),
        opened=opened or "0" * (len(PRACTICE) * width),
        width=width,
        quiz=questions(found.condition),
        marks=MARKS,
        label_of=label_of,
        open_kinds=open_kinds,
    )


@or_again(study_page)
def go_on(context: Here) -> Response:
    """Consent, or what the participant answered; then the next stage."""
    found, project, form = _taking_part(context), context.loaded.project, context.form
    leaving = form.choice("stage", STAGES[:-1])
    right: list[bool] | None = None
    if leaving == "consent" and form.text("agree") != "yes":
        raise Problem(422, "Without consent nobody takes part.", remedy="Tick the box, or decline below.")
    if leaving == "practice":
        truth = [("different", "same")[pair.same] for pair in PRACTICE]
        right = [form.choice(f"pair-{place}", ("same", "different")) == truth[place] for place in range(len(PRACTICE))]
    if leaving == "quiz":
        asked = range(len(questions(found.condition)))
        right = [form.choice(f"question-{place}", ("0", "1", "2")) == "0" for place in asked]
    if found.stage == leaving:
        advance(context.site.ledger, project, found.worker, leaving=leaving, right=right)
    return go(f"/linkage/{project.id}/study")


def stop(context: Here) -> Response:
    """Decline, or stop taking part."""
    found, project = _taking_part(context), context.loaded.project
    decline(context.site.ledger, project, found.worker)
    return go("/linkage", said="study-declined")


# -- the manager --------------------------------------------------------------------------------------------------------


def begin(context: Here) -> Response:
    """Make the project a study."""
    project, form = context.loaded, context.form
    chosen = [
        list(CONDITIONS)[int(place)] for place in form.choices("condition", [str(n) for n in range(len(CONDITIONS))])
    ]
    consent = form.verbatim("consent", most=LONGEST_CONSENT, lines=True)
    start_study(context.site.ledger, project, chosen, actor=context.owner.name, consent=consent)
    return go(f"/linkage/{project.id}", said="study-begun")


def hide(context: Here) -> Response:
    """Hide pairs of known truth among the others."""
    project: Project = context.loaded
    labels, _ = _labels(context, project)
    if not len(labels.same):
        raise Problem(422, "The file names no pair of this project's records.", remedy="Its first two columns are ids.")
    hide_gold(context.site.ledger, project, labels, actor=context.owner.name)
    return go(f"/linkage/{project.id}", said="gold-hidden")


def evaluation_page(context: Here) -> Response:
    """Reviewers against an uploaded truth: per condition and reviewer."""
    project: Project = context.loaded
    labels, listed = _labels(context, project)
    found = evaluate(context.site.ledger, project, labels, complete=not listed)
    return context.page("linkage_evaluation.html", project=project, parts=evaluation_parts(found))


def take_study(context: Here) -> Response:
    """Export what participants did, without a value of a person, as an archive; recorded first."""
    project: Project = context.loaded
    folder = Path(tempfile.mkdtemp(prefix="export-", dir=context.site.places.folder.path))
    try:
        export_study(context.site.ledger, project, folder / "study", actor=context.owner.name)
        with zipfile.ZipFile(folder / "study.zip", "w", compression=zipfile.ZIP_DEFLATED) as archive:
            for file in sorted((folder / "study").iterdir()):
                archive.write(file, file.name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    headers = {"Content-Disposition": 'attachment; filename="study.zip"'}
    swept = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    return FileResponse(folder / "study.zip", media_type="application/zip", headers=headers, background=swept)


def _labels(context: Here, project: Project) -> tuple[Labels, bool]:
    """The labels of an uploaded file; whether a column says what is the same."""
    upload = context.form.files.get("truth")
    if upload is None or not upload.filename:
        raise Problem(422, "No file is chosen.", remedy="Choose a file whose first two columns are ids of records.")
    name = ingest.plain_name(upload.filename)
    ending = inspection.ending_of(name)
    path = context.site.places.folder.new("upload", ending)
    try:
        ingest.keep(context, upload, path)
        table = ingest.inspected(context, path, name, ending, "utf-8")
        names, wanted = [str(column) for column in table.columns], context.form.text("same", most=200)
        if wanted and wanted not in names:
            raise Problem(422, "The file has no such column.", remedy=f"Its columns are: {', '.join(names)}.")
        same = wanted or next((column for column in names[2:] if column.lower() == "same"), None)
        return read_labels(ProjectFolder.open(project.folder), str(path), same=same), same is not None
    finally:
        context.site.places.folder.forget([path.name])
