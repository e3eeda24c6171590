"""Results of commands: words, JSON, an HTML report, an exit code.

A command returns a `CommandResult`; `@output` adds the options `--json` and, where there is one, the report, and prints
what was asked for. Results go to stdout, remarks to stderr.
"""

from __future__ import annotations

import datetime
import functools
import json
import shlex
import stat
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet import __version__
from discreet.cli.options import target_option
from discreet.errors import UsageError
from discreet.wording import reason

if TYPE_CHECKING:
    from discreet import Table
    from discreet.cli.progress import ProgressLine
    from discreet.report import Finding

WIDTH = 96
OPENING = "Opening the data"


@dataclass(frozen=True)
class CommandResult:
    """Outcome of a command in every form; each is made only on demand."""

    data: Callable[[], Any]
    """What --json prints."""
    words: Iterable[str | Iterator[str]]
    """Lines for the terminal; iterators among them are worked out only without --json."""
    page: Callable[..., str] | None = None
    """The HTML report, called with `created`, `command` and `version`."""
    notes: Sequence[str] = ()
    """Remarks on stderr, whatever the form."""
    next_step: str = ""
    """The command to continue with; for people only."""
    exit_code: int = 0

    def show(self, *, as_json: bool, report: Path | None = None) -> int:
        """Print the result, write its report, and give the exit code."""
        if as_json:
            with working("Working out the figures"):
                found = self.data()
            print_json(found)
        else:
            for lines in self.words:
                for line in [lines] if isinstance(lines, str) else lines:
                    click.echo(line)
        remarks = list(self.notes)
        if report is not None and self.page is not None:
            replaced = report.exists()
            now, typed = datetime.datetime.now(datetime.UTC), shlex.join(["discreet", *sys.argv[1:]])
            with working("Making the report"):
                page = self.page(created=now, command=typed, version=__version__)
            write_text(report, page)
            remarks.append(f"Report: {report}{' (it replaces the one that was there)' if replaced else ''}")
        if self.next_step and not as_json:
            remarks.append(f"Next: {self.next_step}")
        if remarks and not as_json:
            say()
        for remark in remarks:
            say(remark)
        return self.exit_code


def output(
    json_help: str, *, report: str | None = None, default: Path | None = None
) -> Callable[[Callable[..., CommandResult]], Callable[..., int]]:
    """Add `--json` and the `report` option to a command, and print its result."""

    def decorate(function: Callable[..., CommandResult]) -> Callable[..., int]:
        @functools.wraps(function)
        def run(*args: Any, as_json: bool, report_file: Path | None = None, **options: Any) -> int:
            if report_file is not None and report_file.suffix.lower() not in (".html", ".htm"):
                # Before anything is measured.
                raise UsageError(
                    f"The report is an HTML file, but {report_file.name} is not named so.",
                    remedy="Use a name such as report.html.",
                )
            return function(*args, **options).show(as_json=as_json, report=report_file)

        decorated = run
        if report is not None:
            decorated = target_option(
                report,
                "report_file",
                type=click.Path(path_type=Path, dir_okay=False),
                default=default,
                metavar="FILE",
                help="Write a report (HTML).",
            )(decorated)
        return click.option("--json", "as_json", is_flag=True, help=json_help)(decorated)

    return decorate


def plain(text: str) -> str:
    """Text without control characters: a column name must not steer the terminal.

    >>> plain("na\x1b[31mme")
    'na�[31mme'
    """
    return "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in text)


def print_json(value: Any) -> None:
    """A result as JSON, on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def say(text: str = "") -> None:
    """A remark, on stderr."""
    click.echo(plain(text), err=True)


def heading(text: str) -> str:
    """A title, bold on a terminal."""
    return click.style(plain(text), bold=True)


def paragraph(text: str, first: str = "", rest: str = "") -> str:
    """Text in lines of readable length; `first` and `rest` begin them."""
    # Names such as south-institute stay in one piece.
    wrapper = textwrap.TextWrapper(
        WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )
    return wrapper.fill(plain(text))


def bullet(text: str, *, sign: str = "•") -> str:
    """One item of a list, wrapped."""
    return paragraph(text, f"{sign} ", "  ")


def finding_lines(findings: Callable[[], Sequence[Finding]], *, signs: Sequence[str] = ()) -> Iterator[str]:
    """Findings in words, each with its next step; `signs` replace the bullets."""
    found = findings()
    for finding, sign in zip(found, signs or ["•"] * len(found), strict=True):
        yield ""
        yield bullet(finding.headline, sign=sign)
        if finding.next_step:
            yield click.style(paragraph(finding.next_step, "  → ", "    "), dim=True)


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: Sequence[int] = ()) -> str:
    """A plain table; the columns in `numeric` are aligned to the right."""
    cells = [[plain(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headers))]
    lines = [
        "  ".join(
            cell.rjust(width) if column in numeric else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return "\n".join([click.style(lines[0], bold=True), *lines[1:]])


@contextmanager
def working(text: str, data: Table | None = None) -> Iterator[ProgressLine | None]:
    """Say what is going on while it takes its time, and how long it may take; only on a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from discreet.cli.progress import ProgressLine

    with ProgressLine(plain(text), None if data is None else data.progress).live() as line:
        yield line


def on_store(*words: str, store: str | None) -> str:
    """A command to continue with, on the same store."""
    return shlex.join(["discreet", *words, *([] if store is None else ["--store", store])])


def write_text(path: Path, text: str) -> None:
    """Write a file, or say why it cannot be written."""
    with writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def replace_text(path: Path, text: str) -> None:
    """Replace a file's text in one step; its permissions stay, and lines end as the text has it."""
    beside = path.with_name(f".{path.name}.new")
    with writable(path):
        try:
            beside.touch(mode=0o600)  # nobody reads it before it has the permissions of the file
            beside.write_text(text, encoding="utf-8", newline="")
            beside.chmod(stat.S_IMODE(path.stat().st_mode))
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turn what goes wrong while a file is written into an error in words."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({reason(error)}).", remedy="Give a path you may write to."
        ) from None


def hand_over(text: str, out: Path | None, *, next_step: str) -> None:
    """Print a drafted file, or write it where `--out` says."""
    if out is None:
        click.echo(text, nl=False)
        return
    write_text(out, text)
    say(f"Wrote {out}. {next_step}")
