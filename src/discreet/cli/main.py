"""The command `discreet`: runs a verb and turns every ending into an exit code.

0 done and within limits; 1 done, a limit is exceeded; 2 the call cannot be understood; 3 bad data; 4 bad policy;
5 refused; 6 integrity failure; 69 the store cannot be used; 70 a bug.
"""

from __future__ import annotations

import importlib
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from discreet import __version__
from discreet.errors import DiscreetError


class Verbs(click.Group):
    """A group that imports a command only when it is called.

    `verbs` maps each verb to its module, the command in it, and one line of help. With a `default` the group takes its
    arguments where a verb is expected: `discreet attack DATA` is `discreet attack table DATA`.
    """

    def __init__(
        self, *, verbs: Mapping[str, tuple[str, str, str]], default: str | None = None, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self._verbs, self.default = verbs, default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Pass anything that is not a verb to the default verb."""
        if self.default and args and args[0] not in (*self._verbs, *self.get_help_option_names(ctx)):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in order."""
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb's command object."""
        if cmd_name not in self._verbs:
            return None
        module, name, _ = self._verbs[cmd_name]
        command: click.Command = getattr(importlib.import_module(f".{module}", "discreet.cli.verbs"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(verb, words) for verb, (_, _, words) in self._verbs.items()])


VERBS = {
    "account": ("serve", "account", "Create accounts of the web application from outside it."),
    "anonymise": ("anonymise", "command", "Write the least generalised table within a limit."),
    "assess": ("assess", "assess", "Measure the risk of publishing a table."),
    "attack": ("attack", "command", "Predict a planning adversary's attack, and what deters it."),
    "backup": ("ledger", "backup", "Back up store, keys and data folder, while they are used."),
    "compare": ("anonymise", "comparison", "Compare the tables that several limits would give."),
    "completion": ("help_and_demo", "completion", "Print a script that completes commands in a shell."),
    "demo": ("help_and_demo", "demo", "Walk through every capability on generated people."),
    "demo-data": ("help_and_demo", "demo_data", "Generate a synthetic population and a hospital extract."),
    "doctor": ("doctor", "command", "Check what is installed, what is missing, and how to get it."),
    "gateway": ("gateway", "command", "Govern queries between PostgreSQL clients and their server."),
    "hierarchy": ("hierarchy", "command", "Draft, preview and export hierarchies."),
    "help": ("help_and_demo", "command", "Read the manual of a command."),
    "ledger": ("ledger", "command", "Show, verify and export what was disclosed."),
    "link": ("link.group", "command", "Find records of the same person; reviewers decide unclear pairs."),
    "misuse": ("misuse", "command", "Measure what query results could do in the wrong hands."),
    "policy": ("assess", "policy", "Draft, check and describe policy files."),
    "profile": ("assess", "profile", "Describe a table's columns and what they may be."),
    "release": ("release", "command", "Give every recipient a traceable copy."),
    "report": ("ledger", "report", "Report on a whole data-sharing project."),
    "reproduce": ("reproduce", "command", "Compute what a paper prints, with a verdict on every number."),
    "restore": ("ledger", "restore", "Verify a backup, and put it back."),
    "serve": ("serve", "command", "Run the web application."),
    "trace": ("trace", "command", "Identify which recipient's copy a leak came from."),
}
INNER = ("ledger verify", "policy check", "policy confirm", "policy init", "policy schema")
"""Commands of groups that are often typed without the group."""
INTERRUPTED = 130
BUG = 70
SENT: list[int] = []
"""The signal that ends this process: a library may raise an error of its own in place of ours (DuckDB does)."""


@click.command(
    cls=Verbs, verbs=VERBS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="discreet")
def cli() -> None:
    """Share person-level data knowing what every disclosure risks.

    \b
    Examples:
      discreet demo --out demo                                    every capability in a minute
      discreet profile people.csv                                 what is in it?
      discreet policy init people.csv --out policy.toml           draft the roles of its columns
      discreet assess people.csv --policy policy.toml --out report.html
    """


def main() -> NoReturn:
    """Run the command line and end the process with the documented exit code."""
    end_tidily()
    try:
        result = cli.main(standalone_mode=False, prog_name="discreet")
        code = result if isinstance(result, int) else 0
    except click.exceptions.Exit as leave:
        code = leave.exit_code
    except click.ClickException as error:
        error.show()
        if isinstance(error, click.UsageError) and (next_step := near_miss(error)):
            click.echo(f"Next:  {next_step}", err=True)
        code = 2
    except DiscreetError as error:
        code = _report(error)
    except ModuleNotFoundError as error:
        from discreet.cli.verbs.doctor import missing_extra

        extra = missing_extra(error, sys.argv[1:])
        code = _report(extra) if extra else _bug(error)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        code = INTERRUPTED
    except BrokenPipeError:
        # The reader went away (as `head` does); stdout must not complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        # A folder that cannot be made, a disk that is full: named by its path, which is no value of a person.
        code = _bug(error) if error.filename is None else _report(_unusable(error))
    except Exception as error:
        code = _bug(error)
    sys.exit(code)


def _unusable(error: OSError) -> DiscreetError:
    from discreet.errors import UsageError
    from discreet.wording import reason

    return UsageError(
        f"{os.fsdecode(error.filename)} cannot be used ({reason(error)}).",
        remedy="Check the path, your rights there, and the space on the disk.",
    )


def near_miss(error: click.UsageError) -> str:
    """The command that was probably meant where there is none of that name."""
    group, typed = error.ctx.command if error.ctx else None, re.match(r"No such command '(.*)'", error.message)
    if not isinstance(group, click.Group) or error.ctx is None or typed is None:
        return ""
    names = {name: f"{error.ctx.command_path} {name}" for name in group.list_commands(error.ctx)}
    # A verb of a group is often typed without its group.
    inner = {} if group is not cli else {name: f"discreet {path}" for path in INNER for name in [path.split()[1]]}
    meant = get_close_matches(typed[1].lower(), names, n=1) or get_close_matches(
        typed[1].lower(), inner, n=1, cutoff=0.8
    )
    return (
        f"Did you mean: {({**inner, **names})[meant[0]]}" if meant else f"{error.ctx.command_path} --help lists them."
    )


def _report(error: DiscreetError) -> int:
    if SENT:
        return 128 + SENT[0]
    from discreet.cli.output import say

    keywords = options_of(sys.argv[1:])
    say(f"Error: {in_options(error.problem, keywords, whole=True)}")
    if remedy := in_options(error.remedy, keywords):
        say(f"Next:  {remedy}")
    return error.exit_code


def _bug(error: Exception) -> int:
    """Report a bug by its place only; its message may hold a person's value."""
    if SENT:
        return 128 + SENT[0]
    if os.environ.get("DISCREET_DEBUG") == "1":
        traceback.print_exception(error)
        return BUG
    last = traceback.extract_tb(error.__traceback__)[-1]
    click.echo(f"Error: {type(error).__name__} at {Path(last.filename).name}:{last.lineno}. This is a bug.", err=True)
    click.echo("Next:  Report it with that line. DISCREET_DEBUG=1 shows more, and may show values of people.", err=True)
    return BUG


# Rooms speak to Python callers: `overwrite=True`. On the command line the same errors speak of options: --overwrite.
CALL = r"[A-Za-z_][\w.]*\((?:[^()]|\([^()]*\))*\)"
VALUE = rf"True|\"[^\"]*\"|'[^']*'|\([^()]*\)|\[[^\[\]]*\]|\{{[^{{}}]*\}}|{CALL}|\.\.\.|(?=[\s:,.)]|$)"
KEYWORD = re.compile(rf"\b([a-z_]+)=({VALUE})")
BARE = re.compile(r"(?<![\w.'\"-])[a-z]+(?:_[a-z]+)+(?![\w='\"(.-])")
PYTHON = re.compile(rf"{KEYWORD.pattern}|\[\.\.\.\]|\bdiscreet\.[a-z]|\b[A-Z]\w*\.[a-z_]+\(|\w\([^()]*(?:=|\.\.\.)")


def options_of(words: Sequence[str]) -> dict[str, str]:
    """Options of the called command, by the keywords that rooms use."""
    command: click.Command | None = cli
    remaining = list(words)
    while isinstance(command, click.Group):
        following = command.get_command(click.Context(command), remaining.pop(0)) if remaining else None
        if following is None and isinstance(command, Verbs) and command.default:
            following = command.get_command(click.Context(command), command.default)
        if following is None and command.invoke_without_command:
            break
        command = following
    options = [option for option in command.params if isinstance(option, click.Option)] if command else []
    spelled = {option.opts[0].lstrip("-").replace("-", "_"): option.opts[0] for option in options}
    return {**{option.name or "": option.opts[0] for option in options}, **spelled}


def in_options(text: str, keywords: Mapping[str, str], *, whole: bool = False) -> str:
    """An error's text with options for keyword arguments.

    Advice that the command has no option for is left out, unless the `whole` text is needed.

    >>> in_options("Choose another name, or say overwrite=True to replace it.", {"overwrite": "--overwrite"})
    'Choose another name, or say --overwrite to replace it.'
    >>> in_options("Choose another name, or say overwrite=True to replace it.", {})
    'Choose another name.'
    >>> in_options('Use search="optimal". For example presence=(0, 0.5).', {"search": "--search", "presence": "--presence"})
    'Use --search optimal. For example --presence 0 0.5.'
    >>> in_options("max_risk must be between 0 and 1, 'max_risk' is a column.", {"max_risk": "--max-risk"}, whole=True)
    "--max-risk must be between 0 and 1, 'max_risk' is a column."
    >>> in_options('The recipient "a or b" is named search="x".', {}, whole=True)
    'The recipient "a or b" is named search x.'
    """

    def option(match: re.Match[str]) -> str:
        name, value = match.groups()
        if name not in keywords and not whole:
            return match[0]
        spoken = value.strip("\"'()").replace(",", "") if value[:1] in ('"', "'", "(") else ""
        if value.startswith('{"'):  # JSON, as a shell takes it
            spoken = f"'{value}'"
        return f"{keywords.get(name, name)} {spoken}".rstrip()

    # A bare keyword of several words is Python, too, unless it is quoted: it is the name of a column then.
    text = BARE.sub(lambda match: keywords.get(match[0], match[0]), text)
    if whole:
        return KEYWORD.sub(option, text)
    sentences = []
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", text):
        clauses = [KEYWORD.sub(option, clause) for clause in re.split(r",? or ", sentence)]
        spoken = [clause for clause in clauses if not PYTHON.search(clause)]
        if len(spoken) == len(clauses):
            sentences.append(KEYWORD.sub(option, sentence))
        elif spoken:
            remaining = ", or ".join(spoken)
            sentences.append(f"{remaining[:1].upper()}{remaining[1:].rstrip('.')}.")
    return " ".join(sentences)


# Signals: a process that is asked to stop first removes what is temporary.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What a terminal, a supervisor or a closed window sends; not every system has all of them."""


class StopSignal(BaseException):
    """A signal asked the process to end. Not an Exception, so that no handler swallows it."""


@contextmanager
def in_good_order() -> Iterator[None]:
    """Close what is open within when a signal comes, before the process ends.

    The process ends by SIGTERM afterwards, as it would have without this; Ctrl-C stays a KeyboardInterrupt.
    """
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in SIGNALS}
    stop = _ended_by(lambda number: KeyboardInterrupt() if number == signal.SIGINT else StopSignal())
    for number, handler in before.items():
        if handler is signal.SIG_IGN:  # as under nohup
            continue
        if number == getattr(signal, "SIGHUP", None):
            # Like SIGTERM, also for a server that handles only that one.
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGTERM))
        else:
            signal.signal(number, stop)
    try:
        yield
    except StopSignal:
        if (scratch := sys.modules.get("discreet.sources.duckdb_scratch")) is not None:
            scratch.remove_private_place()  # a signal ends the process without its usual cleaning up
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTERM)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_tidily() -> None:
    """Let SIGTERM and SIGHUP end the process like an exit, which cleans up."""
    for number in SIGNALS:
        if number != signal.SIGINT and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _ended_by(lambda sent: SystemExit(128 + sent)))


def _ended_by(error: Callable[[int], BaseException]) -> Callable[[int, FrameType | None], NoReturn]:
    """A handler that raises once: a second signal must not interrupt the clean-up."""

    def handle(number: int, frame: FrameType | None) -> NoReturn:
        for other in SIGNALS:
            signal.signal(other, signal.SIG_IGN)
        SENT.append(number)
        raise error(number)

    return handle
