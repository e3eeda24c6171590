"""How results reach the terminal: data to stdout, talk to stderr, colour only for people."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.report import Finding


def plain(text: str) -> str:
    """Text without control characters: a column name must not steer the terminal.

    >>> plain("na\x1b[31mme")
    'na�[31mme'
    """
    return "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in text)


def say(text: str = "") -> None:
    """Talk, on stderr."""
    click.echo(plain(text), err=True)


def data(value: Any) -> None:
    """A result as JSON, on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def heading(text: str) -> None:
    """A title, bold on a terminal."""
    click.secho(plain(text), bold=True)


def findings(found: Sequence[Finding], *, signs: Sequence[str] = ()) -> None:
    """Findings in words, each with its next step; `signs` stand before them in place of bullets."""
    for finding, sign in zip(found, signs or ["•"] * len(found), strict=True):
        click.echo()
        text = plain(finding.headline)
        click.echo(click.wrap_text(text, width=96, initial_indent=f"{sign} ", subsequent_indent="  "))
        if finding.next_step:
            click.secho(
                click.wrap_text(plain(finding.next_step), width=96, initial_indent="  → ", subsequent_indent="    "),
                dim=True,
            )


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, numeric: Sequence[int] = ()) -> None:
    """A plain table; the columns in `numeric` are aligned to the right."""
    cells = [[plain(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headers))]
    for number, row in enumerate(cells):
        line = "  ".join(
            cell.rjust(width) if column in numeric else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        click.secho(line, bold=number == 0)


@contextmanager
def working(text: str) -> Iterator[None]:
    """Say what is going on while it takes its time; only on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def command_line() -> str:
    """The command as it was typed, to be repeated."""
    return shlex.join(["discreet", *sys.argv[1:]])


def next_step(*words: str, store: str | None) -> str:
    """The command to go on with, on the same store."""
    return shlex.join(["discreet", *words, *([] if store is None else ["--store", store])])


def refuse_other_than_html(report: Path) -> None:
    """A report is an HTML file and is named so."""
    if report.suffix.lower() not in (".html", ".htm"):
        raise UsageError(
            f"The report is an HTML file, but {report.name} is not named so.", remedy="Use a name such as report.html."
        )


def write_text(path: Path, text: str) -> None:
    """Write a file, or say why not."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({type(error).__name__}).", remedy="Give a path you may write to."
        ) from None


def note_repeated(table: Any) -> None:
    """Say where rows are counted as people although numbers of people repeat."""
    for name, numbering in table.repeated_numbers.items():
        say(
            f"Note: {numbering.repeated:,} numbers of the identifier {name} stand on more than one row each: what is said "
            "here of people counts rows."
        )
