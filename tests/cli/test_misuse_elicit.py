"""`discreet misuse` as its users meet it: questions in a real terminal, logs, reports."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from discreet.misuse import Sensitivity
from discreet.misuse.elicitation import Compare, Interview
from discreet.policy import Policy
from tests.cli.test_commands import CANARY, CROWD, POLICY, run
from tests.swift import REAL

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")


class Terminal:
    """A person in front of `discreet`: types lines, sees what comes."""

    def __init__(self, *words: str | Path) -> None:
        self.main, other = pty.openpty()
        self.process = subprocess.Popen(
            [REAL, *map(str, words)], stdin=other, stdout=subprocess.PIPE, stderr=other, close_fds=True
        )
        os.close(other)
        self.seen = self.unread = ""

    def wait_for(self, text: str) -> None:
        """Read until something is on the screen since the last wait."""
        assert self.sees(text, 60.0), self.seen

    def sees(self, text: str, seconds: float) -> bool:
        """Whether something comes in time; what comes after it is left for the next look."""
        limit = time.monotonic() + seconds
        while text not in self.unread and time.monotonic() < limit:
            if select.select([self.main], [], [], 0.1)[0]:
                came = os.read(self.main, 4096).decode(errors="replace")
                self.seen += came
                self.unread += came
        found = text in self.unread
        self.unread = self.unread.partition(text)[2]
        return found

    def type(self, line: str) -> None:
        self.wait_for("Your answer")
        os.write(self.main, f"{line}\n".encode())

    def end(self) -> tuple[int, str]:
        try:
            out = self.process.communicate(timeout=60)[0].decode()
        finally:
            self.process.kill()
            os.close(self.main)
        return self.process.returncode, out

    def interrupt(self) -> int:
        self.wait_for("Your answer")
        # A signal that comes just before the terminal is read from waits for the next key: press again if it does.
        for _ in range(4):
            time.sleep(0.5)
            self.process.send_signal(signal.SIGINT)
            if self.sees("Every answer is saved", 6.0):
                break
        return self.end()[0]


@pytest.fixture
def table(write: Any) -> tuple[Path, Path]:
    return write("people.csv", CROWD + f"x,F,10115,{CANARY}\n"), write("policy.toml", POLICY)


def elicit(table: tuple[Path, Path], out: Path, *more: str) -> tuple[str | Path, ...]:
    plan = ("--comparisons", "5", "--ratings", "3")
    return ("misuse", "elicit", table[0], "--policy", table[1], "--out", out, "--expert", "ann", *plan, *more)


def answers(path: Path) -> Interview:
    return Interview.from_dict(json.loads(path.read_text(encoding="utf-8")))


def test_an_interview_stops_goes_on_and_becomes_a_function(table: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "ann.json"
    person = Terminal(*elicit(table, out))
    for line in ("a3", "nonsense", "b2"):
        person.type(line)
    assert person.interrupt() == 130
    assert len(answers(out).answers) == 2
    assert CANARY not in person.seen + out.read_text(encoding="utf-8")

    person = Terminal(*elicit(table, out, "--json"))
    for line in ("u", "=", "s", "?", "a9", "="):
        person.type(line)
    for line in ("3", "11", "7.5", "10"):
        person.type(line)
    code, shown = person.end()
    assert code == 0
    told = json.loads(shown)
    assert (told["expert"], told["answers"], told["left"]) == ("ann", 8, 0)
    values = [one.value for one in answers(out).answers]
    assert values[1:5] == [1.0, None, 9.0, 1.0]
    assert values[5:] == [0.3, 0.75, 1.0]

    done = run("misuse", "combine", out, "--out", tmp_path / "f.toml")
    assert done.returncode == 0, done.stderr
    policy = tmp_path / "whole.toml"
    policy.write_text(POLICY + (tmp_path / "f.toml").read_text(encoding="utf-8"), encoding="utf-8")
    f = Sensitivity.from_policy(Policy.load(policy))
    assert f.version in (tmp_path / "f.toml").read_text(encoding="utf-8")
    assert 0 < f("illness", "flu1") <= 1
    assert run("misuse", "combine", out, "--out", tmp_path / "f.toml").returncode == 2


def test_what_is_in_dispute_is_asked_again(table: tuple[Path, Path], tmp_path: Path) -> None:
    paths = [tmp_path / "ann.json", tmp_path / "ben.json"]
    for path, ratio in zip(paths, ("a9", "b9"), strict=True):
        person = Terminal(*elicit(table, path, "--ratings", "0"))
        for _ in range(4):
            person.type(ratio)
        person.type("q")
        assert person.end()[0] == 0
    person = Terminal(*elicit(table, paths[0], "--beside", str(paths[1]), "--again", "1"))
    person.type("=")
    person.type("q")
    assert person.end()[0] == 0
    assert answers(paths[0]).answers[-1].value == 1.0
    assert len(answers(paths[0]).answers) == 5
    done = run("misuse", "combine", *paths, "--json")
    told = json.loads(done.stdout)
    assert -1 <= told["agreement"] <= 1
    assert len(told["version"]) == 16


def test_contradictions_are_put_once_more(table: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "ann.json"
    person = Terminal(*elicit(table, out, "--comparisons", "6", "--ratings", "0"))
    asked = 0
    while person.process.poll() is None and asked < 6:
        person.type("a9" if asked % 2 else "b9")
        asked += 1
    person.wait_for("contradict each other")
    person.type("=")
    person.type("=")
    assert person.end()[0] == 0
    questions = [one.question for one in answers(out).answers]
    assert len(questions) == 8
    assert all(isinstance(question, Compare) for question in questions)


def test_without_a_terminal_nothing_is_asked(table: tuple[Path, Path], tmp_path: Path) -> None:
    done = run(*elicit(table, tmp_path / "ann.json"), stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert "terminal" in done.stderr
    assert not (tmp_path / "ann.json").exists()


def test_bad_files_and_options_are_refused(table: tuple[Path, Path], tmp_path: Path, write: Any) -> None:
    broken = write("broken.json", f'{{"expert": "{CANARY}"')
    for words in (
        ("misuse", "combine", broken),
        ("misuse", "combine", tmp_path / "none.json"),
        elicit(table, broken),
    ):
        done = run(*words)
        assert done.returncode == 3, done.stderr
        assert CANARY not in done.stderr + done.stdout
    assert run(*elicit(table, tmp_path / "a.json", "--level", "illness")).returncode == 2
    assert run(*elicit(table, tmp_path / "a.json", "--level", "illness=7")).returncode == 2
    assert run(*elicit(table, tmp_path / "a.json", "--column", "none")).returncode == 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("misuse")
    assert run("misuse", "generate", "--out", place, "--days", "7", "--misusers", "4").returncode == 0
    return place


def test_unusual_days_end_with_1_and_a_report(folder: Path, tmp_path: Path) -> None:
    done = run("misuse", "anomalies", folder / "log.jsonl", "--out", tmp_path / "days.html")
    assert done.returncode == 1, done.stderr
    assert "unusual" in done.stdout
    assert "<script" not in (tmp_path / "days.html").read_text(encoding="utf-8")
    told = json.loads(run("misuse", "anomalies", folder / "log.jsonl", "--json").stdout)
    assert set(told) == {"days", "users", "threshold", "x", "sensitivity", "unusual", "high"}
    assert set(told["unusual"][0]) == {"user", "role", "day", "results", "rows", "score", "usual", "z"}
    calm = run("misuse", "anomalies", folder / "log.jsonl", "--threshold", "1000")
    assert calm.returncode == 0
    assert "None of" in calm.stdout


def test_a_period_can_be_chosen(folder: Path) -> None:
    words = ("misuse", "anomalies", folder / "log.jsonl", "--json")
    told = json.loads(run(*words, "--since", "2025-03-05", "--until", "2025-03-06").stdout)
    assert {day["day"] for day in told["unusual"]} <= {"2025-03-05", "2025-03-06"}
    assert told["days"] < json.loads(run(*words).stdout)["days"]
    assert run(*words, "--since", "2031-01-01").returncode == 3
    assert run(*words, "--since", "yesterday").returncode == 2


def test_incidents_are_ranked(folder: Path, tmp_path: Path) -> None:
    done = run("misuse", "incidents", folder / "log.jsonl", "--out", tmp_path / "incidents.html")
    assert done.returncode == 0, done.stderr
    assert "heaviest rows" in done.stdout
    assert "<script" not in (tmp_path / "incidents.html").read_text(encoding="utf-8")
    told = json.loads(run("misuse", "incidents", folder / "log.jsonl", "--leaked", "r000005", "--json").stdout)
    (one,) = told["incidents"]
    assert set(one) == {
        *("id", "time", "user", "role", "score", "alone", "rows", "held", "unknown", "heavy_rows", "heavy_columns")
    }
    assert one["score"] >= one["alone"]
    assert run("misuse", "incidents", folder / "log.jsonl", "--leaked", "nothing").returncode == 2


def test_a_bad_line_is_named_by_number(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    lines[6] = lines[6].replace('"score":', f'"score":"{CANARY}",')
    bad = tmp_path / "bad.jsonl"
    bad.write_text("\n".join(lines), encoding="utf-8")
    for verb in ("anomalies", "incidents"):
        done = run("misuse", verb, bad)
        assert done.returncode == 3
        assert "line 7" in done.stderr
        assert CANARY not in done.stderr + done.stdout


def test_three_experts_of_the_demo_agree_mostly(folder: Path) -> None:
    done = run("misuse", "combine", *(folder / f"{name}.json" for name in ("ann", "ben", "eva")))
    assert done.returncode == 0
    assert "mostly agree" in done.stderr
    assert "[sensitivity.diagnosis.values]" in done.stdout
